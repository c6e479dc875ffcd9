//! What a backup says that it holds, and whether that is there and nothing else.

use std::{
    fs, io,
    path::{Component, Path},
};

use super::RestoreError;
use crate::{
    backup::{BackupManifest, MANIFEST},
    connection::FILE,
    folder_copy::files_under,
};

/// The folder in which files beside the store lie. Anything else could be taken for a part of the data folder that a backup has not,
/// such as the store's log, or its lock.
const BESIDE: &str = "components";

/// Reads `backup.json`.
pub(super) fn read_manifest(backup: &Path) -> Result<BackupManifest, RestoreError> {
    let text = match fs::read(backup.join(MANIFEST)) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(RestoreError::NotABackup("it has no backup.json"));
        }
        Err(error) => return Err(RestoreError::io("read the backup")(error)),
    };
    #[derive(serde::Deserialize)]
    struct Version {
        backup: u32,
    }
    let unreadable = |_| RestoreError::NotABackup("its backup.json can't be read");
    let Version { backup } = serde_json::from_slice(&text).map_err(unreadable)?;
    if backup != 1 {
        return Err(RestoreError::TooNew(backup));
    }
    serde_json::from_slice(&text).map_err(unreadable)
}

/// Exactly the files that are listed are there, under names that stay inside.
pub(super) fn check_listed(backup: &Path, manifest: &BackupManifest) -> Result<(), RestoreError> {
    if !manifest.files.iter().any(|file| file.path == FILE) {
        return Err(RestoreError::NotABackup("its backup.json names no journal"));
    }
    for file in &manifest.files {
        let path = Path::new(&file.path);
        if file.path.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(RestoreError::altered(&file.path, "has a name that leads out of it"));
        }
        if file.path != FILE && !path.parent().is_some_and(|folder| folder.starts_with(BESIDE)) {
            return Err(RestoreError::altered(&file.path, "has a name that nothing in a backup has"));
        }
        if manifest.files.iter().filter(|other| other.path == file.path).count() > 1 {
            return Err(RestoreError::altered(&file.path, "is listed twice"));
        }
    }
    let there = files_under(backup).map_err(RestoreError::io("look at the backup"))?;
    for path in there {
        let name = path.to_string_lossy();
        if name != MANIFEST && !manifest.files.iter().any(|file| file.path == name) {
            return Err(RestoreError::altered(&name, "is not listed in its backup.json"));
        }
    }
    Ok(())
}
