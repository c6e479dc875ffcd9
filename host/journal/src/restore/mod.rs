//! Putting a backup into a data folder that no host has, as another life of the store: clients with cursors of the old one are told.
//!
//! Everything is made ready in a folder beside the journal, checked and synced. Giving that folder the name [`PENDING`] is the one
//! moment at which the restore takes place: before it the old store is untouched, and after it whoever opens the folder next moves
//! the old files aside and the new ones into place, however often that is cut short. Nothing is ever deleted.

mod errors;
mod listed;
mod options;
mod pending;

use std::{fs, io, path::Path};

use mainstay_protocol::Seq;
use rusqlite::Connection;

pub use errors::RestoreError;
pub use options::RestoreOptions;
pub(crate) use pending::finish_pending;
pub use pending::is_pending;

use crate::{
    OpenError, ReadError,
    backup::{BackupFile, BackupManifest, CopyProgress},
    connection::{FILE, StoreFile},
    folder_copy::{copy_file, private_folder, staging_in, sync_tree},
    lock::{FolderLock, private_file, sync_folder},
    migrations,
    verify::{self, Depth},
};
use listed::{check_listed, read_manifest};

/// The folder that holds a store which is to take the place of the one that is there.
const PENDING: &str = "restore.pending";
/// What the names of half-made ones begin with.
const STAGING: &str = ".restore-";
/// In it, the name of the folder to which the old store goes.
const ASIDE: &str = "aside";
/// What a data folder may have without holding a store: a host that never wrote left it, or a restore that was cut short.
const LEFT_OVER: [&str; 2] = ["lock", "reserve"];

/// What was restored.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// What the backup says of itself.
    pub backup: BackupManifest,
    /// The last position that the feed had given out; it goes on from there.
    pub latest: Seq,
    /// The folder in the data folder to which the old journal was moved, if there was one.
    pub aside: Option<String>,
}

/// Restores a backup into a data folder that no host has. Blocks.
///
/// # Errors
/// It can't be restored, and then what was in the data folder is as it was.
pub fn restore(
    backup: &Path,
    data_dir: &Path,
    options: &RestoreOptions,
    tell: impl FnMut(CopyProgress),
) -> Result<Restored, RestoreError> {
    let manifest = read_manifest(backup)?;
    check_listed(backup, &manifest)?;
    // Looked at before the lock's file is made in it, and again when nobody else can change it.
    check_free(data_dir, options.replace)?;
    let _lock = FolderLock::take(data_dir)?;
    // A restore that was cut short has taken place: it is ended before another one begins.
    finish_pending(data_dir)?;
    remove_left_over(data_dir).map_err(RestoreError::io("remove what a restore left that was cut short"))?;
    let is_new = check_free(data_dir, options.replace)?;
    let staging = staging_in(data_dir, STAGING);
    let staging = staging.map_err(RestoreError::io("make a folder in the data folder"))?;
    copy(backup, staging.path(), &manifest, tell)?;
    let latest = prepare(staging.path())?;
    let aside = name_aside(data_dir, staging.path(), options, is_new)?;
    place_beside(staging.path(), data_dir, &manifest)?;
    sync_tree(staging.path()).map_err(RestoreError::io("make the restored files durable"))?;
    options.pass("restore.staged");
    fs::rename(staging.path(), data_dir.join(PENDING)).map_err(RestoreError::io("take the restored journal"))?;
    let _ = staging.keep();
    sync_folder(data_dir).map_err(RestoreError::io("make the restore durable"))?;
    options.pass("restore.decided");
    pending::finish(data_dir, |point| options.pass(point))?;
    Ok(Restored { backup: manifest, latest, aside })
}

/// Half-made folders of restores that never took place.
fn remove_left_over(data_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(data_dir)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(STAGING.as_bytes()) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Whether the data folder is new or empty; an error when it must not be used.
fn check_free(data_dir: &Path, replace: bool) -> Result<bool, RestoreError> {
    let entries = match fs::read_dir(data_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(RestoreError::io("look at the data folder"))?,
    };
    let (mut store, mut others) = (false, false);
    for entry in entries {
        let name = entry.map_err(RestoreError::io("look at the data folder"))?.file_name();
        let name = name.to_string_lossy();
        store |= name.starts_with(FILE) || name == PENDING;
        others |= !LEFT_OVER.contains(&&*name) && !name.starts_with(STAGING);
    }
    match (store, others) {
        (true, _) if !replace => Err(RestoreError::Occupied),
        (true, _) => Ok(false),
        (false, true) if !replace => Err(RestoreError::NotEmpty),
        (false, _) => Ok(true),
    }
}

/// Copies what is listed, and checks it on the way: what is checked is what is used.
fn copy(
    backup: &Path,
    staging: &Path,
    manifest: &BackupManifest,
    mut tell: impl FnMut(CopyProgress),
) -> Result<(), RestoreError> {
    let (mut bytes, total) = (0, manifest.bytes());
    for BackupFile { path, bytes: size, sha256 } in &manifest.files {
        let to = staging.join(path);
        if let Some(folder) = to.parent() {
            private_folder(folder).map_err(RestoreError::io("make a folder in the data folder"))?;
        }
        let copied = copy_file(&backup.join(path), &to, |more| {
            bytes += more;
            tell(CopyProgress { bytes, total });
        });
        match copied {
            Ok(copied) if copied == (*size, *sha256) => {}
            Ok(_) => return Err(RestoreError::altered(path, "is not what was backed up")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RestoreError::altered(path, "is missing"));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(RestoreError::altered(path, "is no regular file"));
            }
            Err(error) => return Err(RestoreError::io("copy a file of the backup")(error)),
        }
    }
    Ok(())
}

/// Looks whether the store is sound and gives it another life.
fn prepare(staging: &Path) -> Result<Seq, RestoreError> {
    let connection = Connection::open(StoreFile::of(staging, None).path)?;
    // One file: what is beside it would have to be placed with it.
    connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    migrations::check(&connection)?;
    check_sound(&connection)?;
    connection.execute("UPDATE meta SET value = randomblob(16) WHERE key = 'store_epoch'", [])?;
    let latest =
        connection.query_row("SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'feed'), 0)", [], |row| {
            row.get::<_, i64>(0)
        })?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(Seq(latest.unsigned_abs()))
}

/// A store of this build's format is verified, without its bodies. One of an older format can only be checked by SQLite.
fn check_sound(connection: &Connection) -> Result<(), RestoreError> {
    let damaged = RestoreError::Damaged;
    match migrations::inspect_for_reading(connection) {
        Ok(format) => {
            let report = verify::all(connection, Depth::Quick, format, &|| {}, &mut |_| {});
            let report = report.map_err(|error: ReadError| damaged(error.to_string()))?;
            report.findings.first().map_or(Ok(()), |first| Err(damaged(first.to_string())))
        }
        Err(OpenError::TooOld { .. }) => {
            let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if said == "ok" { Ok(()) } else { Err(damaged(said)) }
        }
        Err(error) => Err(error.into()),
    }
}

/// Chooses a name for the folder to which the old store will go, and notes it.
fn name_aside(
    data_dir: &Path,
    staging: &Path,
    options: &RestoreOptions,
    is_new: bool,
) -> Result<Option<String>, RestoreError> {
    use std::io::Write as _;
    if is_new {
        return Ok(None);
    }
    let mut name = format!("replaced-{}", options.now);
    let mut number = 1;
    while data_dir.join(&name).symlink_metadata().is_ok() {
        number += 1;
        name = format!("replaced-{}-{number}", options.now);
    }
    let noted = private_file(&staging.join(ASIDE)).and_then(|mut file| {
        file.write_all(name.as_bytes())?;
        file.sync_all()
    });
    noted.map_err(RestoreError::io("note where the old journal goes"))?;
    Ok(Some(name))
}

/// Puts the files beside the store into place. They never change, so that those of an old store may stay.
fn place_beside(staging: &Path, data_dir: &Path, manifest: &BackupManifest) -> Result<(), RestoreError> {
    let doing = "place the files beside the journal";
    for file in manifest.files.iter().filter(|file| file.path != FILE) {
        let (from, to) = (staging.join(&file.path), data_dir.join(&file.path));
        let folder = to.parent().unwrap_or(data_dir);
        private_folder(folder).map_err(RestoreError::io(doing))?;
        fs::rename(&from, &to).map_err(RestoreError::io(doing))?;
        for folder in folder.ancestors().take_while(|folder| *folder != data_dir) {
            sync_folder(folder).map_err(RestoreError::io(doing))?;
        }
    }
    Ok(())
}
