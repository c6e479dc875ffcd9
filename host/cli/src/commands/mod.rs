//! The commands, one module each.

mod check;
mod completions;
mod plugin;
mod run;
mod session;

use std::io::{self, Write};

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
        Command::Plugin(command) => plugin::run(&cli.place, command).await,
        Command::Check(args) => check::run(&place()?, &args).await,
        Command::Completions { shell } => completions::run(shell),
    }
}

/// Prints a value as one line of JSON.
fn print_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
