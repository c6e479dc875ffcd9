//! The data folder: private to its owner, and held by one host at a time through a lock on a file in it. The system drops the
//! lock with the process, however that ends.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use crate::OpenError;

/// The data folder, held for as long as this lives.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "holding the file open is what holds the lock")] File);

impl FolderLock {
    /// Makes the folder if need be, and takes it.
    pub(crate) fn take(folder: &Path) -> Result<Self, OpenError> {
        if !folder.is_dir() {
            create_folder(folder).map_err(OpenError::io("create the data folder"))?;
        }
        let mut file = private_file(&folder.join("lock")).map_err(OpenError::io("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { pid: read_pid(&mut file) }),
            Err(TryLockError::Error(error)) => return Err(OpenError::io("lock the data folder")(error)),
        }
        // For people and for the message above; nothing depends on it.
        if let Err(error) = write_pid(&mut file) {
            tracing::debug!(%error, "could not note the process id in the lock file");
        }
        Ok(Self(file))
    }
}

/// A folder that only its owner can enter, durable under its name.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    match folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync_folder(parent),
        None => sync_folder(Path::new(".")),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A file that only its owner can read, made if it is missing.
pub(crate) fn private_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_held_once_and_is_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let held = FolderLock::take(&folder).unwrap();
        assert!(
            matches!(FolderLock::take(&folder), Err(OpenError::Locked { pid: Some(pid) }) if pid == std::process::id())
        );
        drop(held);
        FolderLock::take(&folder).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("lock"))), (0o700, 0o600));
    }
}
