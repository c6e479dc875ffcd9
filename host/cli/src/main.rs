//! The `mainstay` command: reads the command line, finds the installation, runs one command, and ends with a code that scripts
//! can rely on.
//!
//! This crate is the composition root. It decides nothing about sessions or plugins: that is the driver's, and the command
//! talks to it through the control socket like any other client.

mod args;
mod attach;
mod commands;
mod exit;
mod manifest;
mod terminal;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use clap::Parser;
use tracing_subscriber::EnvFilter;

use args::Cli;
use exit::{Exit, Failure};
use terminal::style::{BAD, paint};

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return report(&Failure::new(Exit::Unavailable, format!("could not start threads: {error}"))).into();
        }
    };
    let exit = match runtime.block_on(commands::run(cli)) {
        Ok(exit) => exit,
        Err(failure) => report(&failure),
    };
    // A thread that still waits for a person's input must not hold the process back.
    runtime.shutdown_timeout(Duration::from_millis(200));
    exit.into()
}

/// Logs are for operators: standard error, quiet unless asked.
fn start_logging() {
    let filter = EnvFilter::try_from_env("MAINSTAY_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).init();
}

fn report(failure: &Failure) -> Exit {
    if !failure.is_quiet() {
        // Nobody is left to tell when this fails.
        let _ = writeln!(anstream::stderr(), "{} {failure}", paint(BAD, "error:"));
    }
    failure.exit
}
