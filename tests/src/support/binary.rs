//! The `mainstay` command as a process of its own, for what only a process can do: die.

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use super::World;

/// Where cargo puts the command.
pub(crate) fn path() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this test");
    let folder = own.ancestors().nth(2).expect("target/<profile>");
    let binary = folder.join("mainstay");
    assert!(binary.is_file(), "the command is not built: run `cargo build -p mainstay-cli`, or `make test`");
    binary
}

/// The command on a world, without anything of this process's environment that it listens to.
pub(crate) fn command(world: &World) -> Command {
    let mut command = Command::new(path());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MAINSTAY_")) {
        command.env_remove(name);
    }
    command.current_dir(world.path()).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

/// Runs `mainstay run` on a session with a failpoint, to the end or to its death.
pub(crate) fn run(world: &World, session: &str, failpoint: Option<&str>, prompt: &str) -> Output {
    let mut command = command(world);
    if let Some(failpoint) = failpoint {
        command.env("MAINSTAY_FAILPOINT", failpoint);
    }
    command.args(["run", "--session", session, "--json", "--approve", "all", prompt]);
    command.output().expect("the command runs")
}

/// Whether a process was killed by SIGKILL.
pub(crate) fn was_killed(output: &Output) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    output.status.signal() == Some(9)
}
