//! `GET /v1/journal/stats`: how the journal's writer does. What the store holds, operators read beside the host.

use axum::{Json, extract::State};

use super::Shared;
use crate::wire::v1::JournalStats;

pub(super) async fn stats(State(shared): State<Shared>) -> Json<JournalStats> {
    Json(JournalStats { writer: shared.host.writer() })
}
