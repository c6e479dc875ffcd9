//! Errors as outsiders see them: a status, a stable word, a sentence. Paths of the host, SQL and secrets stay in the log.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use mainstay_driver::{HostError, OpenError, SwapError};
use mainstay_protocol::{cursor::StoreEpoch, op::Refusal};

use crate::wire::v1::Problem;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    problem: Box<Problem>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, error: &str, message: impl Into<String>) -> Self {
        let problem =
            Problem { error: error.to_owned(), message: message.into(), field: None, epoch: None, refusal: None };
        Self { status, problem: Box::new(problem) }
    }

    /// One parameter or header is at fault.
    pub(crate) fn in_field(mut self, field: &str) -> Self {
        self.problem.field = Some(field.to_owned());
        self
    }

    #[cfg(test)]
    pub(crate) fn into_problem(self) -> Problem {
        *self.problem
    }

    /// A place in the feed of another life of the store. It is gone for good: 410.
    fn epoch_changed(epoch: StoreEpoch, message: String) -> Self {
        let mut error = Self::new(StatusCode::GONE, "epoch_changed", message);
        error.problem.epoch = Some(epoch.to_string());
        error
    }

    /// The session was forgotten.
    pub(crate) fn session_gone() -> Self {
        Self::new(StatusCode::GONE, "session_gone", "the session was forgotten; nothing of it is left to read")
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn too_large(allowed: usize) -> Self {
        let message = format!("the body may have {allowed} bytes; send less");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    pub(crate) fn no_session(session: &str) -> Self {
        Refusal::UnknownSession { session: session.to_owned() }.into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let problem =
            Problem { error: "refused".into(), message, field: None, epoch: None, refusal: Some(refusal.clone()) };
        Self { status: refusal_status(&refusal), problem: Box::new(problem) }
    }
}

/// Each kind of refusal has the status that generic clients treat right: retry (429, 503), drop (404), or ask a person (409).
const fn refusal_status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::UnknownSession { .. } | Refusal::UnknownApproval { .. } | Refusal::UnknownElicitation { .. } => {
            StatusCode::NOT_FOUND
        }
        Refusal::SessionGone { .. } => StatusCode::GONE,
        Refusal::SubmissionReused { .. }
        | Refusal::StaleTurn { .. }
        | Refusal::AlreadyResolved { .. }
        | Refusal::ElicitationResolved { .. }
        | Refusal::OperationRunning { .. }
        | Refusal::StaleOwner { .. }
        | Refusal::AlreadyEnded { .. }
        | Refusal::RequiredBuildMissing { .. }
        | Refusal::NotParked => StatusCode::CONFLICT,
        Refusal::MessageTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::InvalidMessage { .. }
        | Refusal::InvalidForm { .. }
        | Refusal::InvalidOp { .. }
        | Refusal::ArchiveMissing { .. }
        | Refusal::UnknownRoute { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::QueueFull { .. } | Refusal::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unsupported { .. } => StatusCode::NOT_IMPLEMENTED,
        Refusal::Stopped { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        if let HostError::PageToken(_) | HostError::Name(_) = error {
            return Self::bad_request(error.to_string());
        }
        if let (Some(epoch), HostError::Read(why)) = (error.current_epoch(), &error) {
            return Self::epoch_changed(epoch, why.to_string());
        }
        if error.is_gone() {
            return Self::session_gone();
        }
        tracing::error!(%error, "a request failed");
        let message = "the host could not read what was asked for; its log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unknown(session) => Self::no_session(session.as_str()),
            OpenError::UnknownRoute { route, known } => Refusal::UnknownRoute { route, known }.into(),
            OpenError::Metadata => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_metadata", error.to_string()),
            OpenError::Labels => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_labels", error.to_string()),
            OpenError::TooManyRequired(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_requirements", error.to_string())
            }
            OpenError::RequiredBuildMissing(missing) => Refusal::from(missing).into(),
            OpenError::RouteGone { .. } => Self::new(StatusCode::CONFLICT, "route_gone", error.to_string()),
            OpenError::NoRoute => Self::new(StatusCode::CONFLICT, "no_route", error.to_string()),
            OpenError::Refused(refusal) => refusal.into(),
            OpenError::Host(error) => error.into(),
        }
    }
}

/// The messages name files of the package only, which the client chose.
impl From<SwapError> for ApiError {
    fn from(error: SwapError) -> Self {
        let status = match error {
            SwapError::UnknownPlugin { .. } => StatusCode::NOT_FOUND,
            SwapError::Package(_) | SwapError::Refused(_) | SwapError::Snapshot(_) | SwapError::NoAdapter { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            SwapError::Journal(_) | SwapError::DataFolder(_) => {
                tracing::error!(%error, "a swap failed");
                let message = "the host could not record the swap, and the old build serves on; its log says why";
                return Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
            }
            SwapError::Ended => return Self::new(StatusCode::SERVICE_UNAVAILABLE, "ended", error.to_string()),
        };
        Self::new(status, "swap_refused", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{ElicitationId, SubmissionId, TurnId};

    use super::*;

    #[track_caller]
    fn check(refusal: Refusal, status: u16) {
        assert_eq!(ApiError::from(refusal).status.as_u16(), status);
    }

    #[test]
    fn refusals_have_fitting_statuses() {
        check(Refusal::UnknownSession { session: "s".into() }, 404);
        check(Refusal::StaleTurn { turn: TurnId::new("t").unwrap() }, 409);
        check(Refusal::SubmissionReused { submission: SubmissionId::new("s").unwrap() }, 409);
        check(Refusal::MessageTooLarge { bytes: 2, allowed: 1 }, 413);
        check(Refusal::InvalidMessage { reason: "empty".into() }, 422);
        check(Refusal::UnknownElicitation { elicitation: ElicitationId::new("e").unwrap() }, 404);
        check(Refusal::StaleOwner { command: SubmissionId::new("c").unwrap() }, 409);
        check(Refusal::ArchiveMissing { command: SubmissionId::new("c").unwrap() }, 422);
        check(Refusal::Busy { waiting: 64 }, 429);
        check(Refusal::QueueFull { allowed: 1_024 }, 429);
        check(Refusal::Stopped { reason: "leaving".into() }, 503);
    }

    #[test]
    fn only_retryable_refusals_have_retryable_statuses() {
        for refusal in [Refusal::Busy { waiting: 1 }, Refusal::NotParked, Refusal::Stopped { reason: String::new() }] {
            let retryable = matches!(refusal_status(&refusal).as_u16(), 429 | 503);
            assert_eq!(retryable, refusal.is_retryable(), "{refusal}");
        }
    }
}
