//! Records on one line each: what happened, where in the turn, and which build of which plugin did it.

use mainstay_protocol::{
    StepIndex, TurnId,
    record::{
        RecordBody,
        v1::{
            Attempt, AttemptError, Build, CallDecision, CallEnded, CallOutcome, CallVerdict, HookNotes,
            PluginLifecycle, Reason, RunStarted, SessionFault, StepCompleted, TurnEnded,
        },
    },
};
use mainstay_server::wire::v1::Record;

use super::{
    escape,
    style::{BAD, NAME, QUIET, paint},
    time,
};

/// Characters of plugins' and models' words that a line shows.
const WORDS: usize = 160;

/// One record as one line, without its end.
pub(crate) fn line(record: &Record) -> String {
    let body = record.decode();
    let details = body.as_ref().map_or_else(|| "its body can't be read".to_owned(), details);
    let kind = format!("{:<18}", escape::line(&record.kind));
    let kind = match &body {
        Some(RecordBody::TurnFailed(_) | RecordBody::TurnAborted(_) | RecordBody::SessionFault(_)) => paint(BAD, kind),
        _ => paint(NAME, kind),
    };
    let (ordinal, at) = (record.ordinal, paint(QUIET, time::utc(record.at)));
    format!("{ordinal:>5}  {at}  {kind}  {details}").trim_end().to_owned()
}

/// The end of an id: the ids of one host begin alike.
pub(crate) fn tail(id: &str) -> String {
    let count = id.chars().count();
    if count <= 12 { id.to_owned() } else { id.chars().skip(count - 8).collect() }
}

/// `files@1a2b3c4d5e6f`.
pub(crate) fn build(build: &Build) -> String {
    format!("{}@{}", build.plugin, build.sha256.short())
}

fn details(body: &RecordBody) -> String {
    match body {
        RecordBody::SessionConfigured(configured) => {
            format!("{}, route {}", word(&configured.opening), configured.route)
        }
        RecordBody::MessageAccepted(message) => {
            let (number, delivery, bytes) = (message.accepted, word(&message.delivery), message.bytes);
            format!("message {number}, {delivery}, {bytes} bytes, submission {}", message.submission)
        }
        RecordBody::ModelChanged(changed) => format!("route {}", changed.route),
        RecordBody::TurnStarted(started) => {
            format!("turn {} for message {}{}", tail(started.turn.as_str()), started.accepted, hooks(&started.hooks))
        }
        RecordBody::StepOpened(opened) => format!("{} on route {}", place(&opened.turn, opened.step), opened.route),
        RecordBody::StepCompleted(step) => step_completed(step),
        RecordBody::CallsDecided(decided) => {
            let calls: Vec<_> = decided.calls.iter().map(decision).collect();
            format!("{} {}{}", place(&decided.turn, decided.step), calls.join("; "), hooks(&decided.hooks))
        }
        RecordBody::ApprovalRequested(asked) => {
            let (place, index, tool) = (place(&asked.turn, asked.step), asked.index, escape::line(&asked.tool));
            format!("{place} call {index} {tool}: approval {}{}", asked.approval, reasons(&asked.reasons))
        }
        RecordBody::ApprovalResolved(resolved) => {
            let (turn, resolution) = (tail(resolved.turn.as_str()), word(&resolved.resolution));
            let comment = resolved.comment.iter().map(|comment| format!(": {}", clip(comment))).collect::<String>();
            format!("turn {turn} call {}: {} {resolution}{comment}", resolved.index, resolved.approval)
        }
        RecordBody::RunStarted(run) => run_started(run),
        RecordBody::CallEnded(call) => call_ended(call),
        RecordBody::RunInterrupted(run) => {
            let calls: Vec<_> = run.calls.iter().map(ToString::to_string).collect();
            format!("{} call {}: planned again", place(&run.turn, run.step), calls.join(", "))
        }
        RecordBody::TurnContinued(continued) => {
            format!("turn {}{}", tail(continued.turn.as_str()), hooks(&continued.hooks))
        }
        RecordBody::TurnCompleted(end)
        | RecordBody::TurnAborted(end)
        | RecordBody::TurnFailed(end)
        | RecordBody::TurnRejected(end) => turn_ended(end),
        RecordBody::SessionFault(fault) => session_fault(fault),
        RecordBody::SessionRetried(retried) => escape::line(&retried.cause),
        RecordBody::ReceiptRecorded(receipt) => {
            let (plugin, version, digest) = (&receipt.plugin, clip(&receipt.version), receipt.sha256.short());
            format!("{plugin} {version} {plugin}@{digest} serves from here")
        }
        RecordBody::PluginActivated(change)
        | RecordBody::PluginSwapped(change)
        | RecordBody::PluginRefused(change)
        | RecordBody::PluginDrained(change) => lifecycle(change),
        RecordBody::ElicitationRequested(_)
        | RecordBody::ElicitationResolved(_)
        | RecordBody::ActivityChanged(_)
        | RecordBody::NoticeAdded(_) => people(body),
        RecordBody::OperationBegun(_)
        | RecordBody::OperationCorrelated(_)
        | RecordBody::CheckpointSaved(_)
        | RecordBody::CommandEnded(_) => operation(body),
        RecordBody::UsageRecorded(recorded) => {
            let usage = &recorded.usage;
            format!("route {}: {} tokens in, {} out", recorded.route, usage.input_tokens, usage.output_tokens)
        }
        RecordBody::ContextCompacted(compacted) => {
            format!("models see item {} and later{}", compacted.keep_from, hooks(&compacted.hooks))
        }
        RecordBody::LegacyNotice(notice) => {
            format!("{}: {}", escape::line(&notice.original_kind), clip(&notice.message))
        }
        RecordBody::Unknown(unknown) => clip(unknown.body.get()),
    }
}

/// What people are asked and told.
fn people(body: &RecordBody) -> String {
    match body {
        RecordBody::ElicitationRequested(asked) => {
            format!("turn {}: form {}: {}", tail(asked.turn.as_str()), asked.elicitation, clip(&asked.request))
        }
        RecordBody::ElicitationResolved(resolved) => {
            format!(
                "turn {}: form {} {}",
                tail(resolved.turn.as_str()),
                resolved.elicitation,
                word(&resolved.resolution)
            )
        }
        RecordBody::ActivityChanged(changed) => {
            let details = changed.details.iter().map(|details| format!(": {}", clip(details))).collect::<String>();
            format!("{}{details}", word(&changed.activity))
        }
        RecordBody::NoticeAdded(notice) => format!("item {}: {}", notice.item, escape::line(&notice.code)),
        _ => String::new(),
    }
}

/// Commands and what they own.
fn operation(body: &RecordBody) -> String {
    match body {
        RecordBody::OperationBegun(begun) => {
            format!("{} {} for the {}", word(&begun.kind), begun.command, word(&begun.owner))
        }
        RecordBody::OperationCorrelated(one) => format!("{} goes with {}", one.related, one.command),
        RecordBody::CheckpointSaved(saved) => {
            let archive = &saved.archive;
            format!("{}: archive {} of {} bytes", saved.command, escape::line(&archive.name), archive.bytes)
        }
        RecordBody::CommandEnded(ended) => {
            let reason = ended.reason.iter().map(|reason| format!(", {}", word(reason))).collect::<String>();
            let message = if ended.message.is_empty() { String::new() } else { format!(": {}", clip(&ended.message)) };
            format!("{} {} {}{reason}{message}", word(&ended.kind), ended.command, word(&ended.outcome))
        }
        _ => String::new(),
    }
}

fn place(turn: &TurnId, step: StepIndex) -> String {
    format!("turn {} step {step}", tail(turn.as_str()))
}

/// A small enum by its name on the wire.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

fn clip(text: &str) -> String {
    escape::clipped(text, WORDS)
}

/// `code: message`, or the code alone.
pub(crate) fn reason(reason: &Reason) -> String {
    let code = escape::line(&reason.code);
    if reason.message.is_empty() { code } else { format!("{code}: {}", clip(&reason.message)) }
}

fn reasons(reasons: &[Reason]) -> String {
    let texts: Vec<_> = reasons.iter().map(reason).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join("; ")) }
}

fn hooks(notes: &HookNotes) -> String {
    let mut out = String::new();
    for decided in &notes.decided {
        let call = decided.call.map(|call| format!(" call {call}")).unwrap_or_default();
        let why = decided.reason.iter().map(|why| format!(" ({})", reason(why))).collect::<String>();
        let (hook, decision) = (escape::line(&decided.hook), escape::line(&decided.decision));
        out += &format!("; {hook} of {}:{call} {decision}{why}", build(&decided.build));
    }
    if !notes.passed.is_empty() {
        out += &format!("; passed {}", escape::line(&notes.passed));
    }
    out
}

fn step_completed(step: &StepCompleted) -> String {
    let mut out = format!("{} {}", place(&step.turn, step.step), word(&step.outcome));
    if let Some(build_of) = step.attempts.last().and_then(|attempt| attempt.build.as_ref()) {
        out += &format!(" by {}", build(build_of));
    }
    for (index, call) in step.calls.iter().enumerate() {
        out += &format!(", call {index} {}", escape::line(&call.tool));
    }
    let failed = step.attempts.iter().filter(|attempt| attempt.error.is_some());
    failed.for_each(|attempt| out += &format!("; {}", failed_attempt(attempt)));
    out
}

/// Why an attempt at a model call failed, on one line.
pub(crate) fn failed_attempt(attempt: &Attempt) -> String {
    let (code, message) = match &attempt.error {
        Some(AttemptError::Adapter(error)) => (error.code.clone(), error.message.clone()),
        Some(AttemptError::Call(failure)) => (failure.code().to_owned(), failure.to_string()),
        None => return String::new(),
    };
    format!("attempt on route {} failed ({}: {})", attempt.route, escape::line(&code), clip(&message))
}

fn decision(call: &CallDecision) -> String {
    let index = call.index;
    match &call.verdict {
        CallVerdict::Allowed { build: serves, effect, .. } => {
            format!("call {index} allowed on {} ({})", build(serves), word(effect))
        }
        CallVerdict::Asked => format!("call {index} asked"),
        CallVerdict::Denied(why) => format!("call {index} denied ({})", reason(why)),
    }
}

fn run_started(run: &RunStarted) -> String {
    let calls: Vec<_> = run
        .calls
        .iter()
        .map(|intent| {
            let again = if intent.attempt > 1 { format!(" (start {})", intent.attempt) } else { String::new() };
            format!("call {} on {}{again}", intent.index, build(&intent.build))
        })
        .collect();
    format!("{} {}", place(&run.turn, run.step), calls.join("; "))
}

fn call_ended(call: &CallEnded) -> String {
    let outcome = match &call.outcome {
        CallOutcome::Returned if call.is_error => "returned an error".to_owned(),
        CallOutcome::Returned => "returned".to_owned(),
        CallOutcome::Failed(failure) => format!("failed ({}: {})", failure.code(), clip(&failure.to_string())),
        CallOutcome::Denied(why) => format!("denied ({})", reason(why)),
        CallOutcome::Skipped(why) => format!("skipped ({})", reason(why)),
        CallOutcome::Unknown(why) => format!("unknown ({})", reason(why)),
    };
    let served = call.build.iter().map(|by| format!(" by {}, {} ms", build(by), call.ms)).collect::<String>();
    format!("{} call {} {}: {outcome}{served}", place(&call.turn, call.step), call.index, escape::line(&call.tool))
}

fn turn_ended(end: &TurnEnded) -> String {
    let why = end.reason.iter().map(|why| format!(" ({})", reason(why))).collect::<String>();
    format!("turn {}{why}: {}{}", tail(end.turn.as_str()), counts(end), hooks(&end.hooks))
}

/// `2 steps, 1 tool call, 120 tokens in, 34 out`.
pub(crate) fn counts(end: &TurnEnded) -> String {
    let failed = if end.failed_tool_calls > 0 { format!(" ({} failed)", end.failed_tool_calls) } else { String::new() };
    let calls =
        if end.tool_calls > 0 { format!(", {}{failed}", many(end.tool_calls, "tool call")) } else { String::new() };
    let (steps, usage) = (many(end.steps, "step"), &end.usage);
    format!("{steps}{calls}, {} tokens in, {} out", usage.input_tokens, usage.output_tokens)
}

fn many(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn session_fault(fault: &SessionFault) -> String {
    let by = fault.build.iter().map(|by| format!(" of {}", build(by))).collect::<String>();
    let parks = if fault.parks { "; the session is parked" } else { "" };
    format!("{}{by}: {}{parks}", escape::line(&fault.code), clip(&fault.message))
}

fn lifecycle(change: &PluginLifecycle) -> String {
    let replaces = change.replaces.iter().map(|old| format!(", was {}", old.short())).collect::<String>();
    let why = change.reason.iter().map(|why| format!(" ({})", reason(why))).collect::<String>();
    format!("{}@{} {}{replaces}{why}", change.plugin, change.sha256.short(), clip(&change.version))
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use mainstay_protocol::{
        CallIndex, Digest, ItemId, Ordinal, PluginName, SessionId, Timestamp,
        failure::CallFailure,
        record::v1::{Intent, UnknownRecord},
    };

    use super::*;

    #[track_caller]
    fn check(body: &RecordBody, expected: &str) {
        let record = Record {
            session: SessionId::new("s").unwrap(),
            ordinal: Ordinal(7),
            at: Timestamp(0),
            kind: body.kind().to_owned(),
            body: serde_json::from_slice(&body.encode()).unwrap(),
            seq: None,
            digest: Digest::ZERO,
        };
        let shown = line(&record);
        assert_eq!(strip_str(&shown).to_string(), format!("    7  1970-01-01T00:00:00.000Z  {expected}"));
    }

    fn turn() -> TurnId {
        TurnId::new("01890000-0000-7000-8000-0000deadbeef").unwrap()
    }

    fn files() -> Build {
        Build { plugin: PluginName::new("files").unwrap(), sha256: Digest::ZERO }
    }

    #[test]
    fn a_run_says_which_build_serves_which_call() {
        let intent = |index, attempt| Intent { index: CallIndex(index), attempt, build: files() };
        let run = RunStarted { turn: turn(), step: StepIndex(1), calls: vec![intent(0, 1), intent(1, 2)] };
        check(
            &RecordBody::RunStarted(run),
            "run_started         turn deadbeef step 1 call 0 on files@000000000000; call 1 on files@000000000000 (start 2)",
        );
    }

    #[test]
    fn an_ended_call_says_how_and_by_whom() {
        let call = CallEnded {
            turn: turn(),
            step: StepIndex(0),
            index: CallIndex(0),
            tool: "read\u{1b}_file".into(),
            call_id: "c".into(),
            item: ItemId(3),
            is_error: true,
            outcome: CallOutcome::Failed(CallFailure::Timeout { allowed_ms: 50 }),
            build: Some(files()),
            ms: 51,
        };
        check(
            &RecordBody::CallEnded(call),
            "call_ended          turn deadbeef step 0 call 0 read\\u{1b}_file: failed (timeout: the plugin did not finish \
             within 50 ms (limits.call)) by files@000000000000, 51 ms",
        );
    }

    #[test]
    fn unknown_kinds_show_their_body() {
        let body = serde_json::from_str("{\"a\":1}").unwrap();
        let unknown = UnknownRecord { kind: "later".into(), body };
        check(&RecordBody::Unknown(unknown), "later               {\"a\":1}");
    }
}
