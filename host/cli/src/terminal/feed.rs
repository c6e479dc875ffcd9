//! Events of the feed on one line each: what happened, when, in which session. The kinds and their fields are the host's, which
//! may be newer than this command: what is not known is shown as it is.

use mainstay_server::wire::v1::{DamagedEntry, FeedEntry, FeedNews};
use serde_json::{Map, Value};

use super::{
    escape,
    records::tail,
    style::{BAD, NAME, QUIET, WARNING, paint},
    time,
};

/// Characters of other people's words that a line shows.
const WORDS: usize = 160;
/// Digits of a digest that a line shows.
const DIGITS: usize = 12;

/// One event as one line, without its end.
pub(crate) fn line(news: &FeedNews) -> String {
    match news {
        FeedNews::Event(entry) => event(entry),
        FeedNews::Damaged(entry) => damaged(entry),
        FeedNews::End { reason } => paint(QUIET, escape::line(reason)),
    }
}

fn event(entry: &FeedEntry) -> String {
    let body = Fields(&entry.body);
    let kind = format!("{:<16}", escape::line(&entry.event));
    let bad = entry.event == "session_fault" || matches!(body.text("outcome"), "failed");
    let kind = paint(if bad { BAD } else { NAME }, kind);
    let (seq, at, session) = (entry.seq, paint(QUIET, time::utc(entry.at)), entry.session.as_str());
    format!("{seq:>6}  {at}  {session}  {kind}  {}", details(entry, body)).trim_end().to_owned()
}

fn damaged(entry: &DamagedEntry) -> String {
    let session = entry.session.as_ref().map_or("(session unknown)", |session| session.as_str());
    let (seq, ordinal, damage) = (entry.seq, entry.ordinal, escape::line(&entry.damage));
    let what = paint(WARNING, format!("{:<16}", "damaged"));
    format!(
        "{seq:>6}  {session}  {what}  record {ordinal} can't be read ({damage}); `mainstay journal verify` says more"
    )
}

/// The fields of an event. All of their text is untrusted.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn text(self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn words(self, name: &str) -> String {
        escape::clipped(self.text(name), WORDS)
    }

    /// A small enum by its name on the wire.
    fn word(self, name: &str) -> String {
        escape::line(&self.text(name).replace('_', " "))
    }

    fn number(self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    fn inner(self, name: &str) -> Option<Fields<'a>> {
        self.0.get(name).and_then(Value::as_object).map(Fields)
    }

    fn turn(self) -> String {
        escape::line(&tail(self.text("turn")))
    }

    fn digest(self, name: &str) -> String {
        escape::line(&self.text(name).chars().take(DIGITS).collect::<String>())
    }

    /// `files@1a2b3c4d5e6f`.
    fn build(self) -> String {
        format!("{}@{}", self.words("plugin"), self.digest("sha256"))
    }

    /// ` (code: message)`, or nothing.
    fn reason(self) -> String {
        let Some(reason) = self.inner("reason") else { return String::new() };
        let code = reason.words("code");
        if reason.text("message").is_empty() {
            format!(" ({code})")
        } else {
            format!(" ({code}: {})", reason.words("message"))
        }
    }

    /// `prefix` and a text, or nothing.
    fn after(self, prefix: &str, name: &str) -> String {
        if self.text(name).is_empty() { String::new() } else { format!("{prefix}{}", self.words(name)) }
    }
}

fn details(entry: &FeedEntry, body: Fields<'_>) -> String {
    match entry.event.as_str() {
        "turn_started" => format!("turn {} for message {}", body.turn(), body.number("accepted")),
        "turn_ended" => turn_ended(body),
        "input_required" if body.text("question") == "form" => {
            format!("turn {}: form {}: {}", body.turn(), body.words("input"), body.words("request"))
        }
        "input_required" => {
            format!("turn {}: approval {} for {}", body.turn(), body.words("input"), body.words("tool"))
        }
        "input_resolved" => format!("turn {}: {} {}", body.turn(), body.words("input"), body.word("resolution")),
        "command_ended" => {
            let (kind, command, outcome) = (body.word("kind"), body.words("command"), body.word("outcome"));
            let reason = body.word("reason");
            let reason = if reason.is_empty() { reason } else { format!(", {reason}") };
            format!("{kind} {command} {outcome}{reason}{}", body.after(": ", "message"))
        }
        "session_fault" => {
            let by = body.inner("build").map(|build| format!(" of {}", build.build())).unwrap_or_default();
            let parks = body.0.get("parks").and_then(Value::as_bool).unwrap_or_default();
            let parks = if parks { "; the session is parked" } else { "" };
            format!("{}{by}: {}{parks}", body.words("code"), body.words("message"))
        }
        "activity" => format!("{}{}", body.word("activity"), body.after(": ", "details")),
        "runtime_receipt" => {
            let of = body.inner("receipt").unwrap_or(body);
            format!("{} {} serves from here", of.build(), of.words("version"))
        }
        "plugin_lifecycle" => {
            let was = if body.text("replaces").is_empty() {
                String::new()
            } else {
                format!(", was {}", body.digest("replaces"))
            };
            format!("{} {} {}{was}{}", body.build(), body.words("version"), body.word("change"), body.reason())
        }
        "legacy_notice" => format!("{}: {}", body.words("original_kind"), body.words("message")),
        _ => escape::clipped(&Value::Object(entry.body.clone()).to_string(), WORDS),
    }
}

fn turn_ended(body: Fields<'_>) -> String {
    let count = |name, what: &str| {
        let count = body.number(name);
        format!("{count} {what}{}", if count == 1 { "" } else { "s" })
    };
    let stop = body.word("stop_reason");
    let stop = if stop.is_empty() { stop } else { format!(", {stop}") };
    let (steps, calls) = (count("steps", "step"), count("tool_calls", "tool call"));
    format!("turn {} {}{stop}{}: {steps}, {calls}", body.turn(), body.word("outcome"), body.reason())
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(body: &Value, expected: &str) {
        let cursor = mainstay_protocol::cursor::Cursor {
            epoch: mainstay_protocol::cursor::StoreEpoch([0; 16]),
            shard: 0,
            seq: mainstay_protocol::Seq(7),
            check: [0; 4],
        };
        let mut event = json!({"cursor": cursor, "seq": 7, "tenant": "default", "session": "s", "ordinal": 3, "at": 0,
            "digest": "0".repeat(64)});
        event.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let news: FeedNews = serde_json::from_value(event).unwrap();
        let shown = strip_str(&line(&news)).to_string();
        assert_eq!(shown, format!("     7  1970-01-01T00:00:00.000Z  s  {expected}"));
    }

    #[test]
    fn each_kind_says_what_happened() {
        let turn = "01890000-0000-7000-8000-0000deadbeef";
        check(
            &json!({"event": "turn_started", "turn": turn, "command": "c", "accepted": 2}),
            "turn_started      turn deadbeef for message 2",
        );
        check(
            &json!({"event": "turn_ended", "turn": turn, "outcome": "failed", "stop_reason": "provider_error", "steps": 1,
                "reason": {"code": "overloaded", "message": "later"}, "tool_calls": 0}),
            "turn_ended        turn deadbeef failed, provider error (overloaded: later): 1 step, 0 tool calls",
        );
        check(
            &json!({"event": "plugin_lifecycle", "change": "swapped", "plugin": "files", "sha256": "a".repeat(64),
                "version": "0.2.0", "replaces": "b".repeat(64)}),
            "plugin_lifecycle  files@aaaaaaaaaaaa 0.2.0 swapped, was bbbbbbbbbbbb",
        );
    }

    #[test]
    fn no_text_drives_the_terminal() {
        check(
            &json!({"event": "session_fault", "code": "x\u{1b}[2J", "message": "\u{202e}evil\nline", "parks": true}),
            "session_fault     x\\u{1b}[2J: \\u{202e}evil\\nline; the session is parked",
        );
        check(&json!({"event": "later\u{7}", "what": "\u{9b}"}), "later\\u{7}        {\"what\":\"\\u{9b}\"}");
    }
}
