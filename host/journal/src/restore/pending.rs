//! A restore that has taken place: whoever has the folder next ends it, however often that is cut short.

use std::{fs, fs::DirBuilder, io, os::unix::fs::DirBuilderExt as _, path::Path};

use super::{ASIDE, PENDING};
use crate::{OpenError, connection::FILE, lock::sync_folder};

/// What the journal's companions end with.
const COMPANIONS: [&str; 3] = ["-shm", "-wal", ""];

/// Whether a restore has taken place and is not ended.
pub fn is_pending(data_dir: &Path) -> bool {
    data_dir.join(PENDING).is_dir()
}

/// Ends a restore that was cut short after it had taken place. Whoever calls this holds the folder.
pub(crate) fn finish_pending(data_dir: &Path) -> Result<(), OpenError> {
    if !is_pending(data_dir) {
        return Ok(());
    }
    tracing::info!("a restore of the journal was cut short: it is ended now");
    finish(data_dir, |_| {})
}

/// Each step may have been done before. The new store takes its place only after the old one has left it.
pub(super) fn finish(data_dir: &Path, pass: impl Fn(&'static str)) -> Result<(), OpenError> {
    let doing = || OpenError::io("put the restored journal into place");
    let pending = data_dir.join(PENDING);
    let new = pending.join(FILE);
    if new.exists() {
        if let Ok(aside) = fs::read_to_string(pending.join(ASIDE)) {
            let aside = data_dir.join(aside);
            DirBuilder::new().recursive(true).mode(0o700).create(&aside).map_err(doing())?;
            for companion in COMPANIONS {
                move_aside(data_dir, &aside, &format!("{FILE}{companion}")).map_err(doing())?;
                pass("restore.aside");
            }
            sync_folder(&aside).and_then(|()| sync_folder(data_dir)).map_err(doing())?;
        }
        fs::rename(&new, data_dir.join(FILE)).map_err(doing())?;
        sync_folder(data_dir).map_err(doing())?;
        pass("restore.placed");
    }
    fs::remove_dir_all(&pending).map_err(doing())?;
    sync_folder(data_dir).map_err(doing())
}

fn move_aside(data_dir: &Path, aside: &Path, name: &str) -> io::Result<()> {
    let from = data_dir.join(name);
    match fs::rename(&from, aside.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => Ok(()),
        moved => moved,
    }
}
