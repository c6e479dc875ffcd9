//! Version 1 of the wire types. The views of sessions and plugins, ops, refusals and items are shared with the floors below and
//! are promises there too; they are named here so that the version is complete.

use std::collections::BTreeMap;

use mainstay_protocol::{
    CallIndex, Digest, Ordinal, PluginName, RouteName, Seq, SessionId, StepIndex, SubmissionId, Timestamp, TurnId,
    record::{RecordBody, StoredRecord},
};
use serde::{Deserialize, Serialize};

mod feed;

pub use feed::{DamagedEntry, FeedEntry, FeedNews, FeedPage};
pub use mainstay_driver::WriterView;
pub use mainstay_driver::view::{
    ApprovalView, ElicitationView, PluginView, QueuedView, SessionRow, SessionView, SwapView, TurnView,
};
pub use mainstay_protocol::{
    content::Item,
    model::Delta,
    op::{Accepted, Labels, Op, Refusal},
};

/// Answer of `GET /v1/host`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The versions of the API that are served.
    pub api: Vec<String>,
    /// The version of the host.
    pub version: String,
    /// Its process id.
    pub pid: u32,
}

/// Answer of `GET /v1/sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionPage {
    /// Newest activity first.
    pub sessions: Vec<SessionRow>,
    /// What to pass as `before` for the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Body of `POST /v1/sessions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// Which session; without it the host makes an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Whether to create it when it does not exist.
    #[serde(default)]
    pub create: bool,
    /// The route to select.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteName>,
    /// Owner, workspace, origin.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// JSON text of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Plugins with the SHA-256 of the components that the session requires: it does not run without them. Replaces what an
    /// old session requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<BTreeMap<PluginName, Digest>>,
}

/// Answer of `POST /v1/sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedSession {
    /// The session.
    pub session: SessionId,
    /// Whether it is new.
    pub created: bool,
    /// The ordinal of its last record.
    pub head: Ordinal,
}

/// Answer of `DELETE /v1/sessions/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenSession {
    /// The session that was forgotten.
    pub session: SessionId,
}

/// Answer of `GET /v1/journal/stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalStats {
    /// How the journal's writer does.
    pub writer: WriterView,
}

/// Answer of `GET /v1/sessions/{id}/records`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordPage {
    /// In the order that was asked for.
    pub records: Vec<Record>,
}

/// Answer of `GET /v1/sessions/{id}/items`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemPage {
    /// Oldest first, without their private parts.
    pub items: Vec<Item>,
    /// Whether there may be more after the last one.
    pub more: bool,
}

/// Body of `POST /v1/sessions/{id}/ops`: the op's own fields, and the id by which a repetition is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpRequest {
    /// The id of the op; without it the host makes one, and a repetition is a new op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<SubmissionId>,
    /// What is asked.
    #[serde(flatten)]
    pub op: Op,
}

/// Answer of `GET /v1/plugins`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginList {
    /// The active ones.
    pub plugins: Vec<PluginView>,
}

/// Body of `POST /v1/plugins/{name}/swap`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapRequest {
    /// Absolute path on the host's machine: a package folder, or a component with its `plugin.toml` beside it.
    pub path: String,
}

/// A record, as it is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The session.
    pub session: SessionId,
    /// The position in the session.
    pub ordinal: Ordinal,
    /// When it was decided, in milliseconds since 1970.
    pub at: Timestamp,
    /// What kind it is.
    pub kind: String,
    /// The body, by its kind.
    pub body: serde_json::Value,
    /// The global position, when it is a feed event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The digest of what is stored.
    pub digest: Digest,
}

impl Record {
    /// The typed body; none when the peer sent something that is damaged.
    pub fn decode(&self) -> Option<RecordBody> {
        RecordBody::decode(&self.kind, self.body.to_string().as_bytes())
    }
}

impl From<&StoredRecord> for Record {
    fn from(record: &StoredRecord) -> Self {
        let body = serde_json::from_slice(&record.body.encode()).expect("record bodies are JSON");
        Self {
            session: record.session.clone(),
            ordinal: record.ordinal,
            at: record.at,
            kind: record.body.kind().to_owned(),
            body,
            seq: record.seq,
            digest: record.digest,
        }
    }
}

/// An event of `GET /v1/sessions/{id}/follow`. The field `event` names its kind, as the SSE field does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The session as it stands: the first event of a stream. What waits for an answer is in it.
    State(Box<SessionView>),
    /// A record is durable.
    Record(Record),
    /// An item is durable. It comes before or after the record that names it, and always complete.
    Item(Item),
    /// A model says something that is not durable yet.
    Delta {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// What it says.
        delta: Delta,
    },
    /// An attempt of the step failed: nothing of what was shown of it stays.
    AttemptDropped {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
    },
    /// A call says how far it is.
    Progress {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The call.
        call: CallIndex,
        /// Untrusted text.
        text: String,
        /// Units done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<u32>,
        /// Units in all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u32>,
    },
    /// The follower was too slow: deltas and progress were lost. Records and items go on without a gap.
    Gap {},
    /// The stream ends here.
    End {
        /// Why: `stopping` (the host ends) or `failed` (the host could not go on reading).
        reason: String,
    },
    /// Something that this build does not know.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// The kind, as the SSE field `event` has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::State(_) => "state",
            Self::Record(_) => "record",
            Self::Item(_) => "item",
            Self::Delta { .. } => "delta",
            Self::AttemptDropped { .. } => "attempt-dropped",
            Self::Progress { .. } => "progress",
            Self::Gap {} => "gap",
            Self::End { .. } => "end",
            Self::Unknown => "unknown",
        }
    }
}

/// The body of every answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A stable word for programs; `refused` when the session refused an op, and then the refusal's own fields are beside it.
    pub error: String,
    /// One sentence for people.
    pub message: String,
    /// The parameter or header that is at fault, where it is one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// With `epoch_changed`, the life that the store has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Why the session refused.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        content::Part,
        op::FormAnswer,
        record::v1::{Activity, CommandKind, OperationOwner},
    };
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        value: &T,
        expected: &serde_json::Value,
    ) {
        let written = serde_json::to_value(value).unwrap();
        assert_eq!(&written, expected);
        assert_eq!(&serde_json::from_value::<T>(written).unwrap(), value);
    }

    #[test]
    fn an_op_has_its_fields_beside_its_id() {
        let op =
            Op::Submit { content: vec![Part::Text("hi".into())], delivery: mainstay_protocol::op::Delivery::Queue };
        let submission = Some(SubmissionId::new("s-1").unwrap());
        let expected = json!({"submission": "s-1", "op": "submit", "content": [{"text": "hi"}], "delivery": "queue"});
        check(&OpRequest { submission, op }, &expected);
        check(&OpRequest { submission: None, op: Op::Retry {} }, &json!({"op": "retry"}));
    }

    #[test]
    fn what_an_op_leaves_out_has_a_default() {
        let op = |body| serde_json::from_value::<OpRequest>(body).unwrap().op;
        let (owner, related) = (OperationOwner::Client, Vec::new());
        assert_eq!(op(json!({"op": "begin-checkpoint"})), Op::BeginCheckpoint { owner, related });
        let ended = op(json!({"op": "end-command", "command": "c", "kind": "begin_checkpoint"}));
        let (command, kind) = (SubmissionId::new("c").unwrap(), CommandKind::BeginCheckpoint);
        assert_eq!(ended, Op::EndCommand { command, kind, reason: None, message: String::new() });
        let activity = Activity::Background;
        let reported = op(json!({"op": "report-activity", "activity": "background"}));
        assert_eq!(reported, Op::ReportActivity { activity, details: None });
        let declined = op(json!({"op": "answer", "elicitation": "e", "answer": "decline"}));
        assert!(matches!(declined, Op::Answer { answer: FormAnswer::Decline, values: None, .. }));
    }

    #[test]
    fn an_op_with_an_unknown_field_is_refused() {
        let bad = json!({"op": "interrupt", "turn": "t", "force": true});
        assert!(serde_json::from_value::<OpRequest>(bad).is_err());
    }

    #[test]
    fn problems_carry_the_refusal() {
        let refusal = Refusal::StaleTurn { turn: TurnId::new("t").unwrap() };
        let message = refusal.to_string();
        let expected = json!({"error": "refused", "message": message, "refusal": "stale_turn", "turn": "t"});
        check(
            &Problem { error: "refused".into(), message, field: None, epoch: None, refusal: Some(refusal) },
            &expected,
        );
        let plain =
            Problem { error: "not_found".into(), message: "no".into(), field: None, epoch: None, refusal: None };
        check(&plain, &json!({"error": "not_found", "message": "no"}));
    }

    #[test]
    fn events_name_themselves_and_unknown_ones_are_passed_over() {
        let (turn, step) = (TurnId::new("t").unwrap(), StepIndex(0));
        let event = Event::Delta { turn, step, delta: Delta::Text("x".into()) };
        assert_eq!(serde_json::to_value(&event).unwrap()["event"], event.name());
        check(&event, &json!({"event": "delta", "turn": "t", "step": 0, "delta": {"text": "x"}}));
        check(&Event::Gap {}, &json!({"event": "gap"}));
        let later: Event = serde_json::from_value(json!({"event": "weather", "rain": true})).unwrap();
        assert_eq!(later, Event::Unknown);
    }
}
