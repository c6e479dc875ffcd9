//! Named points at which the process kills itself, for tests of crash safety. A kill is SIGKILL: nothing is flushed, no
//! destructor runs.
//!
//! Points: `B0.before` to `B7.after` around the commit of each barrier (the barriers are those of ARCHITECTURE.md);
//! `approval.pending` once a question is durable; `model.started`, `call.started`, `call.finished` around effects;
//! `swap.verified`, `swap.loaded`, `swap.recorded`, `swap.done` between the arrows of a hot swap.

use std::sync::atomic::{AtomicU32, Ordering};

/// Where to die: a point, and at which pass through it.
#[derive(Debug)]
pub struct Failpoint {
    name: String,
    left: AtomicU32,
}

impl Failpoint {
    /// Reads `NAME` or `NAME:N`: die at the first, or the N-th, pass.
    ///
    /// # Errors
    /// The text has no name, or N is not a number from 1.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, nth) = match text.split_once(':') {
            Some((name, nth)) => (name, nth.parse().ok().filter(|nth| *nth > 0)),
            None => (text, Some(1)),
        };
        match nth {
            Some(nth) if !name.is_empty() => Ok(Self { name: name.to_owned(), left: AtomicU32::new(nth) }),
            _ => Err(format!("`{text}` names no failpoint: write NAME, or NAME:N with N from 1")),
        }
    }

    /// Passes a point.
    pub fn pass(&self, name: &str) {
        if self.name == name && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
    }
}

fn die() -> ! {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_checked() {
        assert!(Failpoint::parse("B4.after").is_ok() && Failpoint::parse("B4.after:2").is_ok());
        for bad in ["", ":1", "B4:0", "B4:x"] {
            assert!(Failpoint::parse(bad).is_err(), "{bad}");
        }
    }
}
