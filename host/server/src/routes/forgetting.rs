//! `DELETE /v1/sessions/{id}`: forgets a session for good. From the answer on, whatever is asked of it is answered with 410.

use axum::{Json, extract::State, http::StatusCode};
use mainstay_driver::ForgetError;

use super::{Shared, extract::SessionPath};
use crate::{errors::ApiError, wire::v1::ForgottenSession};

pub(super) async fn forget(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
) -> Result<Json<ForgottenSession>, ApiError> {
    shared.host.forget_session(&session).await?;
    Ok(Json(ForgottenSession { session }))
}

impl From<ForgetError> for ApiError {
    fn from(error: ForgetError) -> Self {
        let message = error.to_string();
        match error {
            ForgetError::Unknown(session) => Self::no_session(session.as_str()),
            ForgetError::Gone(_) => Self::session_gone(),
            ForgetError::TurnRunning { .. } => Self::new(StatusCode::CONFLICT, "turn_running", message),
            ForgetError::Busy { .. } => Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", message),
            ForgetError::Closing => Self::new(StatusCode::SERVICE_UNAVAILABLE, "ended", message),
            ForgetError::Host(error) => error.into(),
        }
    }
}
