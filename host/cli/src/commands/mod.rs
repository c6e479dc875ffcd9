//! The commands, one module each.

mod check;
mod completions;
mod journal;
mod plugin;
mod run;
mod session;

use std::{
    io::{self, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use mainstay_protocol::Timestamp;
use serde::Serialize;

use crate::{
    args::{Cli, Command},
    exit::{Exit, Failure},
    manifest::Place,
};

/// Runs the command that was asked for.
pub(crate) async fn run(cli: Cli) -> Result<Exit, Failure> {
    let place = || Place::find(&cli.place);
    match cli.command {
        Command::Run(args) => run::run(&place()?, args).await,
        Command::Session(command) => session::run(&place()?, command).await,
        Command::Journal(command) => journal::run(&place()?, command).await,
        Command::Plugin(command) => plugin::run(&cli.place, command).await,
        Command::Check(args) => check::run(&place()?, &args).await,
        Command::Completions { shell } => completions::run(shell),
    }
}

/// The time of the system.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Prints a value as one line of JSON.
fn print_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
