//! The one place of the session road where time is read and ids are drawn: floors below get both as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use mainstay_protocol::{ApprovalId, SessionId, SubmissionId, Timestamp, TurnId};
use uuid::Uuid;

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn new_session() -> SessionId {
    SessionId::from_uuid(Uuid::now_v7())
}

pub(crate) fn new_turn() -> TurnId {
    TurnId::from_uuid(Uuid::now_v7())
}

pub(crate) fn new_submission() -> SubmissionId {
    SubmissionId::from_uuid(Uuid::now_v7())
}

pub(crate) fn new_approval() -> ApprovalId {
    ApprovalId::from_uuid(Uuid::now_v7())
}
