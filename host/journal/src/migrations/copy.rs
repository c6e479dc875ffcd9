//! The copy that is kept before a breaking step: a whole and synced store under a name of its own, or nothing. It is what goes
//! back into the journal's place when somebody wants the older build again.

use std::{
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    types::{ToSqlOutput, ValueRef},
};

use crate::{
    OpenError,
    lock::{private_file, sync_folder},
};

const DOING: &str = "copy the journal before bringing it to this build's format";

/// Keeps a copy beside the store, as `journal.sqlite.format-1`; needs as much room as the store takes. A copy that a crash left is
/// not made again: its name appears last. Another file of that name, such as the copy of a store that a backup took the place of, is
/// left alone: the copy is then `journal.sqlite.format-1-2`.
pub(super) fn keep(connection: &Connection, store: &Path, format: u32) -> Result<(), OpenError> {
    let named = |number: u32| match number {
        1 => beside(store, &format!("format-{format}")),
        _ => beside(store, &format!("format-{format}-{number}")),
    };
    let mut number = 1;
    while is_taken(&named(number))? {
        if is_copy_of(connection, &named(number)) {
            tracing::info!(number, format, "a copy of the journal in its old format is there already");
            return Ok(());
        }
        number += 1;
    }
    let copy = named(number);
    let name = copy.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let partial = beside(store, &format!("format-{format}.partial"));
    if let Err(error) = write(connection, &partial) {
        // What is left is of no use; the disk may be full.
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    fs::rename(&partial, &copy).map_err(OpenError::io(DOING))?;
    sync_folder(copy.parent().unwrap_or(Path::new("."))).map_err(OpenError::io(DOING))?;
    tracing::info!(
        copy = name,
        format,
        "kept a copy of the journal in its old format; remove it when you don't need it"
    );
    Ok(())
}

fn is_taken(path: &Path) -> Result<bool, OpenError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true).map_err(OpenError::io(DOING)),
    }
}

fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn write(connection: &Connection, partial: &Path) -> Result<(), OpenError> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OpenError::io(DOING)(error)),
        _ => {}
    }
    // SQLite takes an empty file; ours is one that nobody else can read.
    private_file(partial).map_err(OpenError::io(DOING))?;
    let name = ToSqlOutput::Borrowed(ValueRef::Text(partial.as_os_str().as_bytes()));
    connection.execute("VACUUM INTO ?1", [name]).map_err(OpenError::sqlite(DOING))?;
    File::open(partial).and_then(|file| file.sync_all()).map_err(OpenError::io(DOING))
}

/// Whether a file is a copy of the store as it is now. Each host that writes takes the next epoch of the lease first: with
/// the same epoch, in the same store, nothing was written since.
fn is_copy_of(connection: &Connection, copy: &Path) -> bool {
    let identity = |connection: &Connection| -> rusqlite::Result<(i32, Vec<u8>, i64)> {
        let sql = "SELECT (SELECT user_version FROM pragma_user_version), m.value, l.epoch FROM meta m JOIN lease l
                   WHERE m.key = 'store_epoch'";
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found = Connection::open_with_flags(copy, flags).and_then(|copy| identity(&copy));
    matches!((found, identity(connection)), (Ok(found), Ok(own)) if found == own)
}
