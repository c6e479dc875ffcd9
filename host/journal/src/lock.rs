//! The data folder: private to its owner, and held by one host at a time through a lock on a file in it. The system drops the
//! lock with the process, however that ends. The file also says whether the folder has had a journal, so that one that was emptied
//! is not taken for one that is still to be made.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
};

use crate::OpenError;

/// The lock's file. Its first line is the process that holds it, and the second is [`HAD`] once a journal was made.
const FILE: &str = "lock";
/// For people too.
const HAD: &str = "journal made";

/// The data folder, held for as long as this lives.
#[derive(Debug)]
pub(crate) struct FolderLock {
    /// Holding it open is what holds the lock.
    file: File,
    had_journal: bool,
}

impl FolderLock {
    /// Makes the folder if need be, and takes it.
    pub(crate) fn take(folder: &Path) -> Result<Self, OpenError> {
        if !folder.is_dir() {
            create_folder(folder).map_err(OpenError::io("create the data folder"))?;
        }
        let file = private_file(&folder.join(FILE)).map_err(OpenError::io("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { pid: Said::by(&file).pid }),
            Err(TryLockError::Error(error)) => return Err(OpenError::io("lock the data folder")(error)),
        }
        let lock = Self { had_journal: Said::by(&file).had_journal, file };
        // For people and for the message above; nothing depends on it.
        if let Err(error) = lock.say() {
            tracing::debug!(%error, "could not note the process id in the lock file");
        }
        Ok(lock)
    }

    /// Whether a journal was made in this folder.
    pub(crate) fn had_journal(&self) -> bool {
        self.had_journal
    }

    /// Notes, durably, whether there is a journal. Whoever says so has made it durable before.
    pub(crate) fn note_journal(&mut self, is_there: bool) -> std::io::Result<()> {
        if self.had_journal == is_there {
            return Ok(());
        }
        self.had_journal = is_there;
        self.say()?;
        self.file.sync_all()
    }

    /// In one write, and shortened after it: whoever is cut off meanwhile leaves what the folder had.
    fn say(&self) -> std::io::Result<()> {
        let had = if self.had_journal { format!("{HAD}\n") } else { String::new() };
        let text = format!("{}\n{had}", std::process::id());
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

/// Whether a journal was made in a folder that somebody else may hold.
pub(crate) fn had_journal(folder: &Path) -> bool {
    File::open(folder.join(FILE)).is_ok_and(|file| Said::by(&file).had_journal)
}

/// What a lock's file says.
struct Said {
    pid: Option<u32>,
    had_journal: bool,
}

impl Said {
    fn by(file: &File) -> Self {
        let mut text = [0; 100];
        let length = file.read_at(&mut text, 0).unwrap_or(0);
        let text = str::from_utf8(&text[..length]).unwrap_or_default();
        let pid = text.lines().next().and_then(|line| line.trim().parse().ok());
        Self { pid, had_journal: text.lines().any(|line| line == HAD) }
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

    #[test]
    fn that_there_was_a_journal_is_remembered_until_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let take = || FolderLock::take(folder.path()).unwrap();
        assert!(!take().had_journal() && !had_journal(folder.path()));
        take().note_journal(true).unwrap();
        assert!(take().had_journal() && had_journal(folder.path()));
        let held = take();
        assert!(
            matches!(FolderLock::take(folder.path()), Err(OpenError::Locked { pid: Some(pid) }) if pid == std::process::id())
        );
        drop(held);
        take().note_journal(false).unwrap();
        assert!(!take().had_journal() && !had_journal(folder.path()));
    }

    #[test]
    fn a_lock_of_an_older_build_says_nothing_of_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "4194304\n").unwrap();
        assert!(!FolderLock::take(folder.path()).unwrap().had_journal());
        std::fs::write(folder.path().join(FILE), "\u{0}\u{0}").unwrap();
        assert!(!FolderLock::take(folder.path()).unwrap().had_journal());
    }
}
