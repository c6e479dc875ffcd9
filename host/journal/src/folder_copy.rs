//! Copying files for backups: each is read once, hashed on the way, private to its owner, and durable before its name is used.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use mainstay_protocol::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// A file of a backup: where it is in the folder, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BackupFile {
    /// Its path in the backup, with `/` between names.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
}

/// Reads a file to its end and gives what is in it; `each` gets the bytes.
pub(crate) fn read_through(
    mut from: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, Digest)> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, Digest::from_bytes(hasher.finalize().into()))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        each(&buffer[..read])?;
        bytes += read as u64;
    }
}

/// Copies a file to a name that is not there yet, and makes it durable; not its name.
pub(crate) fn copy_file(from: &Path, to: &Path, mut told: impl FnMut(u64)) -> io::Result<(u64, Digest)> {
    let source = open_regular(from)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let copied = read_through(source, |bytes| {
        told(bytes.len() as u64);
        copy.write_all(bytes)
    })?;
    copy.sync_all()?;
    Ok(copied)
}

/// Opens a file that is one: no link to elsewhere, no pipe that would never end.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    File::open(path)
}

/// Makes a folder that only its owner can enter, with those above it.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A folder with a name of its own in another one, that only its owner can enter. It is removed when it is dropped.
pub(crate) fn staging_in(folder: &Path, prefix: &str) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(fs::Permissions::from_mode(0o700)).tempdir_in(folder)
}

/// The regular files under a folder, as paths relative to it, in order. Links and half-written files are left out.
pub(crate) fn files_under(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&below)) {
            // It may be removed while it is looked at.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = below.join(entry.file_name());
            match entry.file_type()? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() && !entry.file_name().as_encoded_bytes().starts_with(b".") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Makes the names in a folder, and in all folders in it, durable.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        }
    }
    crate::lock::sync_folder(folder)
}
