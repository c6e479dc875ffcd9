//! Parts of tests that run as processes of their own: ignored tests of this binary, started by the test they are part of.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Tells a part which folder it works in.
const FOLDER: &str = "MAINSTAY_TEST_FOLDER";

/// The folder that this process was told.
pub(super) fn folder() -> PathBuf {
    std::env::var_os(FOLDER).expect("this is started by another test").into()
}

/// The arguments with which this binary runs one ignored test, and nothing else.
pub(super) fn arguments(test: &str) -> Vec<OsString> {
    let module = module_path!().rsplit_once("::").expect("a module in a crate").0;
    let module = module.split_once("::").expect("a module in a crate").1;
    let test = format!("{module}::{test}");
    ["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"].map(OsString::from).into()
}

/// A command that runs a part in a folder.
pub(super) fn part(test: &str, folder: &Path) -> Command {
    // By this name and not its path: that works for a user who can't enter the folders on the way.
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments(test));
    prepare(&mut command, folder);
    command
}

/// A command that runs a part through another program, which takes the part's own command as its last arguments.
pub(super) fn part_through(program: &str, first: &[&str], test: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(first).arg(std::env::current_exe().expect("the path of this test")).args(arguments(test));
    prepare(&mut command, folder);
    command
}

fn prepare(command: &mut Command, folder: &Path) {
    command.env(FOLDER, folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Runs a part to its end, which must be a good one; what it printed.
pub(super) fn run(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} starts: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}

/// A part that holds something, until it is let go.
pub(super) struct Holder {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// What a part prints when it holds.
pub(super) const HELD: &str = "held";

impl Holder {
    /// Starts a part and waits until it says that it holds.
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::inherit()).spawn().expect("the part starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while line.trim_end() != HELD {
            line.clear();
            assert!(output.read_line(&mut line).expect("its output") > 0, "the part ended: {:?}", child.wait());
        }
        Self { child, output }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it end well.
    pub(super) fn release(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("its output");
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "{status}: {rest}");
    }

    /// Kills it.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("its end");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a part: says that it holds, and waits until it may let go.
pub(super) fn hold() {
    println!("\n{HELD}");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
