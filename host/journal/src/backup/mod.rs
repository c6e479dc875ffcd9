//! Backups of a journal, beside a running host or where none runs: one moment of the store, the files that lie beside it, and a page
//! that says what they are.
//!
//! The copy is what SQLite's `VACUUM INTO` makes: rows without the pages of what was removed. It reads one snapshot. Writers go on,
//! and the log can't start over meanwhile; a backup that sees the log grow to [`MOST_LOG`] gives up before a host would have to
//! refuse work.

mod errors;
mod manifest;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mainstay_protocol::{Seq, Timestamp, cursor::StoreEpoch};

pub use errors::BackupError;
pub use manifest::BackupManifest;

use crate::{
    ReadError, ReadOnlyJournal,
    codec::Columns,
    connection::{self, StoreFile},
    folder_copy::{copy_file, files_under, open_regular, private_folder, read_through, staging_in, sync_tree},
    lock::{private_file, sync_folder},
    log_guard::LogGuard,
    read_only::companion,
};
pub use crate::{folder_copy::BackupFile, log_guard::MOST_LOG};
use manifest::VERSION;

/// The page that says what a backup holds.
pub(crate) const MANIFEST: &str = "backup.json";
/// What a backup is made of, beside the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackupOptions {
    /// Folders of the data folder that are copied too. Their files never change.
    pub folders: Vec<String>,
    /// The version of the product, noted in the backup.
    pub version: String,
    /// When it is made.
    pub now: Timestamp,
}

impl BackupOptions {
    /// The store alone.
    pub fn new(version: &str, now: Timestamp) -> Self {
        Self { folders: Vec::new(), version: version.to_owned(), now }
    }

    /// The same, with a folder of the data folder.
    #[must_use]
    pub fn with_folder(mut self, folder: &str) -> Self {
        self.folders.push(folder.to_owned());
        self
    }
}

/// How far a backup or a restore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// Bytes that were written so far.
    pub bytes: u64,
    /// About how many there will be.
    pub total: u64,
}

/// Makes a backup of a data folder under a name that is not there yet, or is an empty folder. Blocks.
///
/// # Errors
/// It can't be made, and then nothing is left under its name.
pub fn backup(
    data_dir: &Path,
    to: &Path,
    options: &BackupOptions,
    mut tell: impl FnMut(CopyProgress) + Send + 'static,
) -> Result<BackupManifest, BackupError> {
    let journal = ReadOnlyJournal::open(data_dir)?;
    check_free(to)?;
    let parent = match to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent,
        None => Path::new("."),
    };
    private_folder(parent).map_err(BackupError::io("make the folder above the backup"))?;
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let staging = staging_in(parent, &format!(".{name}.partial-"));
    let staging = staging.map_err(BackupError::io("make a folder for the backup"))?;
    // A folder of this crate is private; so is each file in it.
    let expected = beside(data_dir, &options.folders)?;
    let own: u64 = store_bytes(&journal.path);
    let total = own + expected.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let copy = StoreFile::of(staging.path(), None);
    let tell_bytes = std::sync::Arc::new(std::sync::Mutex::new(move |bytes| tell(CopyProgress { bytes, total })));
    copy_store(&journal, &copy.path, tell_bytes.clone())?;
    let mut manifest = describe(&copy, options)?;
    let mut done = store_bytes(&copy.path);
    // Looked for again: a host keeps a file before its store names it, so that what the copy names is there by now.
    for (path, _) in &beside(data_dir, &options.folders)? {
        if let Some(file) = copy_beside(data_dir, staging.path(), path)? {
            done += file.bytes;
            manifest.files.push(file);
            report(&tell_bytes, done);
        }
    }
    write_manifest(staging.path(), &manifest)?;
    sync_tree(staging.path()).map_err(BackupError::io("make the backup durable"))?;
    fs::rename(staging.path(), to).map_err(BackupError::io("give the backup its name"))?;
    // It has another name now: there is nothing left to remove.
    let _ = staging.keep();
    sync_folder(parent).map_err(BackupError::io("make the backup's name durable"))?;
    report(&tell_bytes, done.max(total));
    Ok(manifest)
}

type Tell<F> = std::sync::Arc<std::sync::Mutex<F>>;

fn report(tell: &Tell<impl FnMut(u64)>, bytes: u64) {
    if let Ok(mut tell) = tell.lock() {
        tell(bytes);
    }
}

/// The name is not there, or an empty folder.
fn check_free(to: &Path) -> Result<(), BackupError> {
    match fs::read_dir(to) {
        Ok(mut entries) => entries.next().map_or(Ok(()), |_| Err(BackupError::Exists)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(BackupError::Exists),
        Err(error) => Err(BackupError::io("look at the folder for the backup")(error)),
    }
}

/// The files beside the store, as paths in the data folder, with their sizes.
fn beside(data_dir: &Path, folders: &[String]) -> Result<Vec<(PathBuf, u64)>, BackupError> {
    let mut found = Vec::new();
    for folder in folders {
        let files = match files_under(&data_dir.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            files => files.map_err(BackupError::io("look at the files beside the journal"))?,
        };
        for file in files {
            let path = Path::new(folder).join(file);
            let bytes = data_dir.join(&path).symlink_metadata().map_or(0, |file| file.len());
            found.push((path, bytes));
        }
    }
    Ok(found)
}

/// The size of a store with its log. Not by opening it: closing it again would drop the locks that SQLite holds on it.
fn store_bytes(store: &Path) -> u64 {
    [store, &companion(store, "-wal")].iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

fn copy_store<F>(journal: &ReadOnlyJournal, copy: &Path, tell: Tell<F>) -> Result<(), BackupError>
where
    F: FnMut(u64) + Send + 'static,
{
    // SQLite takes an empty file; ours is one that nobody else can read.
    private_file(copy).map_err(BackupError::io("make the copy of the journal"))?;
    let mut connection = journal.connect()?;
    // The store itself is opened for reading only; this would keep the copy from being written too.
    connection.pragma_update(None, "query_only", false).map_err(|error| BackupError::of(&error))?;
    let watched = copy.to_owned();
    let tell = move || report(&tell, watched.metadata().map_or(0, |copy| copy.len()));
    LogGuard::on(&mut connection, &journal.path, tell).map_err(|error| BackupError::of(&error))?;
    let name =
        copy.to_str().ok_or_else(|| BackupError::io("name the backup")(io::ErrorKind::InvalidFilename.into()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| BackupError::of(&error))?;
    drop(connection);
    let file = fs::File::open(copy).and_then(|file| file.sync_all());
    file.map_err(BackupError::io("make the copy of the journal durable"))
}

/// What the copy is, as it says itself.
fn describe(copy: &StoreFile, options: &BackupOptions) -> Result<BackupManifest, BackupError> {
    let connection = connection::open_reader(copy).map_err(ReadError::from)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.number(0)).map_err(ReadError::from);
    let epoch: [u8; 16] = connection
        .query_row("SELECT value FROM meta WHERE key = 'store_epoch'", [], |row| row.get(0))
        .map_err(ReadError::from)?;
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(ReadError::from)?;
    let manifest = BackupManifest {
        backup: VERSION,
        mainstay: options.version.clone(),
        made_at: options.now,
        format,
        store_epoch: StoreEpoch(epoch).to_string(),
        latest: Seq(number("SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'feed'), 0)")?),
        sessions: number("SELECT count(*) FROM heads WHERE phase IS NOT NULL")?,
        records: number("SELECT CAST(total(head) AS INTEGER) FROM heads")?,
        files: Vec::new(),
    };
    drop(connection);
    let file = open_regular(&copy.path).and_then(|file| read_through(file, |_| Ok(())));
    let (bytes, sha256) = file.map_err(BackupError::io("read the copy of the journal back"))?;
    let path = copy.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(BackupManifest { files: vec![BackupFile { path, bytes, sha256 }], ..manifest })
}

/// Copies a file beside the store; none when it is gone: a host removes what nothing names any more.
fn copy_beside(data_dir: &Path, staging: &Path, path: &Path) -> Result<Option<BackupFile>, BackupError> {
    let to = staging.join(path);
    if let Some(folder) = to.parent() {
        private_folder(folder).map_err(BackupError::io("make a folder of the backup"))?;
    }
    match copy_file(&data_dir.join(path), &to, |_| {}) {
        Ok((bytes, sha256)) => Ok(Some(BackupFile { path: slashed(path), bytes, sha256 })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::io("copy a file beside the journal")(error)),
    }
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn write_manifest(folder: &Path, manifest: &BackupManifest) -> Result<(), BackupError> {
    use std::io::Write as _;
    let mut text =
        serde_json::to_vec_pretty(manifest).map_err(|error| BackupError::io("describe the backup")(error.into()))?;
    text.push(b'\n');
    let written = private_file(&folder.join(MANIFEST)).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.map_err(BackupError::io("describe the backup"))
}
