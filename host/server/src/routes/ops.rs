//! `POST /v1/sessions/{id}/ops`: every op, one road. The answer comes once the op is durable.

use axum::{Json, extract::State};

use super::{
    Shared,
    extract::{Body, SessionPath},
};
use crate::{
    errors::ApiError,
    wire::v1::{Accepted, OpRequest},
};

pub(super) async fn submit(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
    Body(request): Body<OpRequest>,
) -> Result<Json<Accepted>, ApiError> {
    Ok(Json(shared.host.op(&session, request.submission, request.op).await?))
}
