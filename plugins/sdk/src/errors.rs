//! Constructors for the one error record, and the conversions that let `?` do its work in an export.

use crate::types::{Error, ErrorKind, Interruption, NeedInput, Wait};

impl Error {
    /// An error with a kind and one sentence for people and models.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: String::new(), message: message.into(), retry_after_ms: None, extras: None }
    }

    /// The caller passed something wrong; the same call will fail again.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// The named thing does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A grant, a policy or the remote side forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// It exists already, or has another version.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// A quota, a size bound or a budget is used up.
    pub fn limit_exceeded(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
    }

    /// The other side is out of reach for now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// This side does not do that at all.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Anything else: a bug, or an answer that can't be understood.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The same error with a stable word for programs.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// The same error with a time to wait before the next attempt.
    #[must_use]
    pub fn with_retry_after(mut self, milliseconds: u32) -> Self {
        self.retry_after_ms = Some(milliseconds);
        self
    }
}

/// The kind is that of the operating system's error, so far as there is one.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Denied,
            Io::AlreadyExists => ErrorKind::Conflict,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::LimitExceeded,
            Io::TimedOut => ErrorKind::TimedOut,
            Io::InvalidInput | Io::InvalidFilename | Io::IsADirectory | Io::NotADirectory => ErrorKind::InvalidArgument,
            Io::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<Error> for Interruption {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Interruption {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<NeedInput> for Interruption {
    fn from(question: NeedInput) -> Self {
        Self::NeedInput(question)
    }
}

impl From<Wait> for Interruption {
    fn from(wait: Wait) -> Self {
        Self::Wait(wait)
    }
}
