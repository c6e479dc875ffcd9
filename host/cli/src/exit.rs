//! How the command ends: exit codes that scripts can rely on, and failures that say what to do next.

use std::{fmt, io, process::ExitCode};

use mainstay_driver::HostError;
use mainstay_server::client::ClientError;

use crate::terminal::escape;

/// What the process tells the one who started it. Listed in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Done = 0,
    /// The turn failed, was rejected or was aborted; or what was asked for does not exist.
    Failed = 1,
    /// The command line makes no sense. Also clap's own code.
    Usage = 2,
    /// A manifest, a plugin or a package has a problem.
    Configuration = 3,
    /// The host or the data folder can't be used.
    Unavailable = 4,
    /// An approval waits, and nobody here can answer it. It stays pending.
    Waiting = 5,
    /// The journal, or a backup of it, is damaged.
    Damaged = 6,
    /// A person called it off.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    hint: Option<String>,
    /// The reader of our output is gone: there is nobody to tell, and nothing went wrong.
    quiet: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string(), hint: None, quiet: false }
    }

    /// What to do next.
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// What was being done.
    pub(crate) fn context(mut self, doing: impl fmt::Display) -> Self {
        self.message = format!("could not {doing}: {}", self.message);
        self
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// Messages may quote plugins and other processes, so they are escaped like everything from outside.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape::block(&self.message))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  {}", escape::block(hint)))
    }
}

/// Our own output could not be written. A closed pipe is how `| head` says that it has enough.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let quiet = error.kind() == io::ErrorKind::BrokenPipe;
        let exit = if quiet { Exit::Done } else { Exit::Failed };
        Self { quiet, ..Self::new(exit, format!("could not write the output: {error}")) }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Refused(_) => Self::new(Exit::Failed, error),
            ClientError::Answered { status: 500.., .. } => Self::new(Exit::Unavailable, error),
            ClientError::Answered { .. } => Self::new(Exit::Failed, error),
            _ => Self::new(Exit::Unavailable, error)
                .hint("nothing that was accepted is lost: start the command again, and the session goes on"),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let exit = match &error {
            HostError::Manifest(_) | HostError::Plugin { .. } | HostError::Plugins(_) | HostError::NoBundledPlugins => {
                Exit::Configuration
            }
            error if error.is_gone() => Exit::Failed,
            _ => Exit::Unavailable,
        };
        let failure = Self::new(exit, &error);
        match exit {
            Exit::Configuration => {
                failure.hint("`mainstay check` looks at the whole manifest without starting anything")
            }
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_escaped_and_say_what_was_done() {
        let failure = Failure::new(Exit::Failed, "no \u{1b}[2J").context("swap `files`").hint("try again");
        assert_eq!(failure.to_string(), "could not swap `files`: no \\u{1b}[2J\n  try again");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(failure.is_quiet() && failure.exit == Exit::Done);
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).is_quiet());
    }
}
