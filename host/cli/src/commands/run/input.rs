//! Lines of standard input, read by a thread of its own: a terminal can't be read without blocking. The thread starts with the
//! first line that is wanted, so that a command that asks nothing leaves what is typed to the shell.

use std::io::BufRead;

use tokio::sync::mpsc;

/// Lines that may wait.
const BACKLOG: usize = 16;

#[derive(Debug)]
pub(super) struct Input {
    lines: Option<mpsc::Receiver<String>>,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { lines: None }
    }

    /// The next line; none at the end of the input. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(start).recv().await
    }
}

fn start() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            // Input that can't be read is over.
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
