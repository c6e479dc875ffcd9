//! A journal whose file has lost all that was in it. To SQLite such a file is a store that is still to be made: it would remove the
//! log beside it, and everything would be gone from sight without a word.

use std::{io, path::Path};

use crate::{
    OpenError,
    connection::FILE,
    lock::{self, FolderLock},
    read_only::companion,
};

/// A file of one byte is empty to SQLite: it wrote one into each new file once, for the sake of a file system.
const EMPTY: u64 = 1;

/// Refuses a folder whose journal was emptied. One whose journal somebody has removed begins anew.
///
/// A host that is cut off while it makes its first journal leaves an empty file too: then nothing is known of a journal, and there
/// is no log yet.
pub(crate) fn refuse(folder: &Path, lock: &mut FolderLock) -> Result<(), OpenError> {
    if is_emptied(folder, lock.had_journal())? {
        return Err(OpenError::Emptied);
    }
    if bytes(&folder.join(FILE))?.is_none() {
        lock.note_journal(false).map_err(OpenError::io("note that there is no journal yet"))?;
    }
    Ok(())
}

/// The same for whoever only reads.
pub(crate) fn refuse_to_read(folder: &Path) -> Result<(), OpenError> {
    if is_emptied(folder, lock::had_journal(folder))? { Err(OpenError::Emptied) } else { Ok(()) }
}

fn is_emptied(folder: &Path, had_journal: bool) -> Result<bool, OpenError> {
    let store = folder.join(FILE);
    let has_log = || Ok(bytes(&companion(&store, "-wal"))?.is_some_and(|log| log > 0));
    match bytes(&store)? {
        Some(bytes) if bytes > EMPTY => Ok(false),
        Some(_) if had_journal => Ok(true),
        _ => has_log(),
    }
}

/// The size of a file; none when it is not there. Not by opening it: closing it again would drop the locks that SQLite holds on it
/// in this process.
fn bytes(file: &Path) -> Result<Option<u64>, OpenError> {
    match file.metadata() {
        Ok(file) => Ok(Some(file.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::io("look at the journal")(error)),
    }
}
