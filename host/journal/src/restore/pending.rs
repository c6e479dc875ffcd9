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
    let pending = data_dir.join(PENDING).try_exists();
    if !pending.map_err(OpenError::io("look for a restore that was cut short"))? {
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
    // What can't be looked at is not gone: the folder with the restored store is removed below.
    if new.try_exists().map_err(doing())? {
        if let Some(aside) = name_of_aside(&pending).map_err(doing())? {
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

/// Where the old store goes; none when there was none.
fn name_of_aside(pending: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(pending.join(ASIDE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        name => name.map(Some),
    }
}

fn move_aside(data_dir: &Path, aside: &Path, name: &str) -> io::Result<()> {
    let from = data_dir.join(name);
    match fs::rename(&from, aside.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !from.try_exists()? => Ok(()),
        moved => moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data folder with a store, and with another one that is to take its place.
    fn decided() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let pending = folder.path().join(PENDING);
        fs::create_dir(&pending).unwrap();
        fs::write(folder.path().join(FILE), "old").unwrap();
        fs::write(pending.join(FILE), "new").unwrap();
        fs::write(pending.join(ASIDE), "replaced-1").unwrap();
        folder
    }

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn the_old_store_goes_aside_before_the_new_one_takes_its_place() {
        let folder = decided();
        finish_pending(folder.path()).unwrap();
        assert_eq!(
            (read(folder.path(), FILE), read(&folder.path().join("replaced-1"), FILE)),
            ("new".into(), "old".into())
        );
        assert!(!is_pending(folder.path()));
    }

    #[test]
    fn a_restored_store_that_can_not_be_looked_at_is_kept() {
        let folder = decided();
        let new = folder.path().join(PENDING).join(FILE);
        fs::remove_file(&new).unwrap();
        std::os::unix::fs::symlink(&new, &new).unwrap();
        finish_pending(folder.path()).unwrap_err();
        assert!(is_pending(folder.path()) && new.symlink_metadata().is_ok());
        assert_eq!(read(folder.path(), FILE), "old");
    }

    #[test]
    fn a_name_that_can_not_be_read_leaves_the_old_store_where_it_is() {
        let folder = decided();
        let aside = folder.path().join(PENDING).join(ASIDE);
        fs::remove_file(&aside).unwrap();
        fs::create_dir(&aside).unwrap();
        finish_pending(folder.path()).unwrap_err();
        assert_eq!((read(folder.path(), FILE), read(&folder.path().join(PENDING), FILE)), ("old".into(), "new".into()));
    }

    #[test]
    fn a_pending_restore_that_can_not_be_looked_at_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        finish_pending(folder.path()).unwrap();
        let pending = folder.path().join(PENDING);
        std::os::unix::fs::symlink(&pending, &pending).unwrap();
        finish_pending(folder.path()).unwrap_err();
    }
}
