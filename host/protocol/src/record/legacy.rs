//! Kinds that no build of today writes, and what they read as. They were written before records had their present list; what can
//! be told from them becomes a record of today, all else a `legacy_notice`.

use serde::Deserialize;

use super::v1::{LegacyNotice, Reason, RecordBody, StopReason, TurnEnded};
use crate::{AcceptedOrdinal, SubmissionId, TurnId, feed::FeedKind, model::Usage};

/// An event that told of something wrong.
#[derive(Deserialize)]
struct Error {
    #[serde(default, alias = "submission")]
    command_id: Option<SubmissionId>,
    message: String,
}

/// The end of a turn, before each outcome had a kind of its own.
#[derive(Deserialize)]
struct Ended {
    #[serde(alias = "turn_id")]
    turn: TurnId,
    #[serde(default, alias = "submission")]
    command_id: Option<SubmissionId>,
    #[serde(default)]
    accepted: AcceptedOrdinal,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
}

/// The record of today that an old one reads as; none when the kind is not an old one, or its body is not of its shape.
pub(super) fn upcast(kind: &str, body: &[u8]) -> Option<RecordBody> {
    match kind {
        "error" => {
            let Error { command_id, message } = serde_json::from_slice(body).ok()?;
            let notice = LegacyNotice { original_kind: kind.to_owned(), command: command_id, message };
            Some(RecordBody::LegacyNotice(notice))
        }
        "turn_ended" => serde_json::from_slice(body).ok().and_then(ended),
        _ => None,
    }
}

/// As what the feed tells a kind that no build of today writes.
pub(crate) fn feed_kind(kind: &str) -> Option<FeedKind> {
    match kind {
        "error" => Some(FeedKind::LegacyNotice),
        "turn_ended" => Some(FeedKind::TurnEnded),
        _ => None,
    }
}

/// A turn that says nothing of its outcome completed: only those that did not were marked.
fn ended(old: Ended) -> Option<RecordBody> {
    let code = old.stop_reason.filter(|code| !code.is_empty());
    let submission = old.command_id.or_else(|| SubmissionId::new(old.turn.as_str()).ok())?;
    let body = TurnEnded {
        turn: old.turn,
        submission,
        accepted: old.accepted,
        stop: code.as_deref().map(StopReason::of_code),
        reason: code.map(|code| Reason::new(&code, "")),
        interrupted_by: None,
        steps: 0,
        tool_calls: 0,
        failed_tool_calls: 0,
        usage: old.usage,
        last_message: None,
        hooks: super::v1::HookNotes::default(),
    };
    Some(match old.outcome.as_deref() {
        None | Some("completed") => RecordBody::TurnCompleted(body),
        Some("cancelled" | "interrupted" | "aborted") => RecordBody::TurnAborted(body),
        Some("rejected") => RecordBody::TurnRejected(body),
        Some(_) => RecordBody::TurnFailed(body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kinds_read_as_records_of_today() {
        let error = RecordBody::decode("error", br#"{"command_id":"c-1","message":"it broke"}"#);
        let notice = LegacyNotice {
            original_kind: "error".to_owned(),
            command: SubmissionId::new("c-1").ok(),
            message: "it broke".to_owned(),
        };
        assert_eq!(error, Some(RecordBody::LegacyNotice(notice)));
        let ended = |body: &str| RecordBody::decode("turn_ended", body.as_bytes()).expect("JSON");
        assert!(matches!(ended(r#"{"turn":"t-1"}"#), RecordBody::TurnCompleted(end) if end.turn.as_str() == "t-1"));
        assert!(matches!(ended(r#"{"turn_id":"t-1","outcome":"failed"}"#), RecordBody::TurnFailed(_)));
        assert!(matches!(ended(r#"{"other":1}"#), RecordBody::Unknown(_)), "another shape is served as it is");
    }
}
