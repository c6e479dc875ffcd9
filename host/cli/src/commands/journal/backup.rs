//! `mainstay journal backup`: one moment of the journal, beside a running host or without one.

use std::io::Write;

use mainstay_driver::COMPONENTS;
use mainstay_journal::{
    OpenError,
    backup::{self, BackupError, BackupManifest, BackupOptions},
};

use super::open::{blocking, open_failure};
use crate::{
    args::BackupArgs,
    commands::{now, print_json},
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        progress::{ProgressLine, bytes, percent},
        style::{GOOD, paint},
    },
};

pub(super) async fn run(place: &Place, args: BackupArgs) -> Result<Exit, Failure> {
    let (asked, to, json) = (place.clone(), args.folder.clone(), args.json);
    let to = std::path::absolute(&to).unwrap_or(to);
    let made = blocking(move || {
        let options = BackupOptions::new(env!("CARGO_PKG_VERSION"), now()).with_folder(COMPONENTS);
        let mut line = ProgressLine::new(json);
        let tell = move |progress: backup::CopyProgress| {
            line.show(|| format!("copying: {} %, {}", percent(progress.bytes, progress.total), bytes(progress.bytes)));
        };
        backup::backup(&asked.data_dir, &to, &options, tell).map_err(|error| failure(&asked, error))
    });
    let manifest = made.await?;
    let mut out = anstream::stdout();
    if json {
        print_json(&mut out, &manifest)?;
    } else {
        print(&mut out, place, &args, &manifest)?;
    }
    Ok(Exit::Done)
}

fn print(out: &mut impl Write, place: &Place, args: &BackupArgs, manifest: &BackupManifest) -> std::io::Result<()> {
    let BackupManifest { sessions, records, .. } = manifest;
    let (size, folder) = (bytes(manifest.bytes()), args.folder.display());
    writeln!(out, "{} {sessions} sessions, {records} records, {size} in `{folder}`", paint(GOOD, "backed up:"))?;
    writeln!(out, "Put it back with: {}", place.command(&format!("journal restore '{folder}' --replace")))
}

fn failure(place: &Place, error: BackupError) -> Failure {
    let exit = match error {
        BackupError::Open(error) => return opening(place, error),
        BackupError::Exists => Exit::Failed,
        BackupError::Damaged => Exit::Damaged,
        _ => Exit::Unavailable,
    };
    Failure::new(exit, error)
}

fn opening(place: &Place, error: OpenError) -> Failure {
    open_failure(place, error)
}
