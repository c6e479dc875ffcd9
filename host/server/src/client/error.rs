//! Why a request failed, by what the caller can do about it.

use crate::wire::v1::{Problem, Refusal};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens on the socket.
    #[error("no host answers on the control socket ({0})")]
    Unreachable(std::io::Error),
    /// Somebody listens and does not answer.
    #[error("the host did not answer within {0} s; it may be hanging")]
    TimedOut(u64),
    /// The session refused the op. Nothing has changed.
    #[error(transparent)]
    Refused(Refusal),
    /// The place in the feed is of another life of the store. Begin again: from now, or from the start.
    #[error("{message}")]
    EpochChanged {
        /// The life that the store has now.
        current: String,
        /// What happened, for people.
        message: String,
    },
    /// The host answered with another error.
    #[error("{message}")]
    Answered {
        /// The HTTP status.
        status: u16,
        /// A stable word.
        error: String,
        /// What happened, for people.
        message: String,
    },
    /// The connection broke, or what came over it makes no sense.
    #[error("the connection to the host broke: {0}")]
    Broken(String),
}

impl ClientError {
    pub(crate) fn broken(why: impl std::fmt::Display) -> Self {
        Self::Broken(format!("{why}"))
    }

    /// The error in an answer.
    pub(crate) fn answered(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(Problem { refusal: Some(refusal), .. }) => Self::Refused(refusal),
            Ok(Problem { epoch: Some(current), message, .. }) => Self::EpochChanged { current, message },
            Ok(Problem { error, message, .. }) => Self::Answered { status, error, message },
            Err(_) => Self::Broken(format!("the host answered with status {status} and no explanation")),
        }
    }

    /// Whether there is no host at the other end any more, or there never was.
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Broken(_))
    }
}
