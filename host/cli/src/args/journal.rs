//! The command line of `mainstay journal`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mainstay_protocol::{PluginName, SessionId, TurnId, cursor::Cursor, feed::FeedKind};

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    // Their help is that of their arguments.
    Feed(FeedArgs),
    Verify(VerifyArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    Stats(StatsArgs),
}

/// Check that everything in the journal is as it was written.
///
/// Computes every digest again, follows the chain of each session, replays its state, and compares what refers to each other. All
/// that is wrong is named, and everything else is still checked. Nothing is changed. Works beside a running host, and on the
/// data folder of one that has ended.
///
/// Exit code 0: sound. 6: something is damaged, and what is named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay journal verify
  mainstay journal verify --session notes
  mainstay journal verify --backup backups/monday
  mainstay journal verify --json | jq '.findings[]'

The JSON document:
  sound                 whether nothing is wrong
  damaged, findings     how many things are wrong, and the first 10,000 of them: `tenant`, `session`
                        (absent for what belongs to none), `place` with its `kind`, `damage`, `message`
  notes                 what could not be looked at, and why
  counts                what was looked at: sessions, records, events, turns, items, ..., bytes
  elapsed, megabytes_per_second
  depth, format, store_epoch, latest

Kinds of damage:
  shape digest chain missing reference count pair replay orphan page")]
pub(crate) struct VerifyArgs {
    /// Only this session
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// A backup, instead of the data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) backup: Option<PathBuf>,
    /// Only the structure of the file and where each session stands; bodies are not read
    #[arg(long)]
    pub(crate) quick: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a backup, beside a running host or without one.
///
/// The folder then holds the journal as it was at one moment, without what was forgotten, the builds of plugins, and a
/// `backup.json` that says what they are. It appears whole or not at all.
///
/// A running host is not held up. But its log can't start over while the copy is made; a backup that sees the log grow to
/// 192 MiB gives up, before the host would have to refuse work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay journal backup backups/$(date +%F)
  mainstay journal backup /mnt/other-disk/monday --json")]
pub(crate) struct BackupArgs {
    /// The folder to make; it must not exist, or be empty
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// One JSON document: what backup.json says
    #[arg(long)]
    pub(crate) json: bool,
}

/// Put a backup into a data folder that no host has.
///
/// Each file is compared with its digest, and the journal is checked, before anything changes. The data folder is new or empty; with
/// --replace a journal that is there is moved aside within it. A crash in between leaves the old journal or the new one.
///
/// The restored journal is another life of the store: clients that give back a place in the feed of the old one are told.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay journal restore backups/monday --data-dir elsewhere
  mainstay journal restore backups/monday --replace

Exit code 6: the backup is damaged, or is not as it was made.")]
pub(crate) struct RestoreArgs {
    /// The folder that `mainstay journal backup` made
    #[arg(value_name = "BACKUP")]
    pub(crate) backup: PathBuf,
    /// Move a journal that is there aside, into a folder of its own in the data folder
    #[arg(long)]
    pub(crate) replace: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what the journal holds and what it takes.
///
/// Works beside a running host, whose writer is told of too, and on the data folder of one that has ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay journal stats --json | jq .file_bytes
  mainstay journal stats --tables")]
pub(crate) struct StatsArgs {
    /// Bytes by table and index too: that reads the whole file
    #[arg(long)]
    pub(crate) tables: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the feed: what happened in all sessions, and to plugins, in one order.
///
/// Each event has a cursor, the place after it. Give one back with --after to go on from there, as often as need be: nothing is left
/// out and nothing comes twice. Without a place the command prints all that there is; with --follow, what happens from
/// now on. Works with a running host, and on the data folder of one that has ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay journal feed --kind session_fault          all that failed, in all sessions
  mainstay journal feed --follow --session notes      what happens in one session, live
  mainstay journal feed --json --after \"$CURSOR\"      what is new; the last line has the next cursor

Kinds:
  turn_started turn_ended input_required input_resolved command_ended session_fault activity
  runtime_receipt plugin_lifecycle legacy_notice unknown")]
pub(crate) struct FeedArgs {
    /// Go on with what happens from now on, until Ctrl-C (needs a running host)
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only what comes after this place
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<Cursor>,
    /// With --follow: first all that there is
    #[arg(long, conflicts_with = "after")]
    pub(crate) from_start: bool,
    /// Only events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<FeedKind>,
    /// Only events of this session
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Only events of sessions with this label `workspace`
    #[arg(long, value_name = "TEXT")]
    pub(crate) workspace: Option<String>,
    /// Only events of this turn
    #[arg(long, value_name = "ID")]
    pub(crate) turn: Option<TurnId>,
    /// Only events about this plugin, or with a part of it
    #[arg(long, value_name = "NAME")]
    pub(crate) plugin: Option<PluginName>,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// One line of JSON an event, with its cursor
    #[arg(long)]
    pub(crate) json: bool,
}
