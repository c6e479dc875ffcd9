//! `mainstay journal`: the journal as a whole.

mod backup;
mod feed;
mod open;
mod restore;
mod stats;
mod verify;

use crate::{
    args::JournalCommand,
    exit::{Exit, Failure},
    manifest::Place,
};

pub(super) async fn run(place: &Place, command: JournalCommand) -> Result<Exit, Failure> {
    match command {
        JournalCommand::Feed(args) => feed::run(place, args).await,
        JournalCommand::Verify(args) => verify::run(place, args).await,
        JournalCommand::Backup(args) => backup::run(place, args).await,
        JournalCommand::Restore(args) => restore::run(place, args).await,
        JournalCommand::Stats(args) => stats::run(place, args).await,
    }
}
