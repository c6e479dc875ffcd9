//! `mainstay journal restore`: puts a backup into a data folder that no host has.

use std::io::Write;

use mainstay_journal::{
    OpenError,
    restore::{self, RestoreError, RestoreOptions, Restored},
};
use serde_json::json;

use super::open::{blocking, open_failure};
use crate::{
    args::RestoreArgs,
    commands::{now, print_json},
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        progress::{ProgressLine, bytes, percent},
        style::{GOOD, paint},
        time,
    },
};

pub(super) async fn run(place: &Place, args: RestoreArgs) -> Result<Exit, Failure> {
    let (asked, json) = (place.clone(), args.json);
    let restored = blocking(move || {
        let options = RestoreOptions::new(now()).replacing(args.replace);
        let mut line = ProgressLine::new(json);
        let tell = |progress: mainstay_journal::backup::CopyProgress| {
            line.show(|| format!("copying: {} %, {}", percent(progress.bytes, progress.total), bytes(progress.bytes)));
        };
        restore::restore(&args.backup, &asked.data_dir, &options, tell).map_err(|error| failure(&asked, error))
    });
    let Restored { backup, latest, aside, .. } = restored.await?;
    let mut out = anstream::stdout();
    if json {
        print_json(&mut out, &json!({"backup": backup, "latest": latest, "aside": aside}))?;
        return Ok(Exit::Done);
    }
    let (sessions, records, made) = (backup.sessions, backup.records, time::utc(backup.made_at));
    let folder = place.data_dir.display();
    writeln!(out, "{} {sessions} sessions, {records} records of {made} into `{folder}`", paint(GOOD, "restored:"))?;
    if let Some(aside) = aside {
        writeln!(out, "The journal that was there is in `{folder}/{aside}`; remove it when you don't need it.")?;
    }
    writeln!(out, "Clients that followed the old one are told, and begin anew.")?;
    Ok(Exit::Done)
}

fn failure(place: &Place, error: RestoreError) -> Failure {
    match error {
        RestoreError::Open(error @ OpenError::Locked { .. }) => {
            Failure::new(Exit::Unavailable, error).hint("a backup is restored only where no host runs: stop it first")
        }
        RestoreError::Open(error) => open_failure(place, error),
        RestoreError::NotABackup(_) | RestoreError::TooNew(_) | RestoreError::Occupied | RestoreError::NotEmpty => {
            Failure::new(Exit::Failed, error)
        }
        RestoreError::Altered { .. } | RestoreError::Damaged(_) => Failure::new(Exit::Damaged, error),
        error => Failure::new(Exit::Unavailable, error),
    }
}
