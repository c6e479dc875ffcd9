//! `mainstay completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    args::Cli,
    exit::{Exit, Failure},
};

pub(super) fn run(shell: Shell) -> Result<Exit, Failure> {
    // Into memory first: the generator panics when its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mainstay", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Done)
}
