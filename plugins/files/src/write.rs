//! `write_file`, and the atomic write that `edit_file` uses too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mainstay_sdk::prelude::*;

use crate::roots::Place;
use crate::settings::Settings;

pub(crate) const DESCRIPTION: &str = "Writes a text file, whole. An existing file is replaced; missing folders are made. \
    To change a part of a file, use edit_file.";

/// Arguments of `write_file`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file.
    path: String,
    /// All of its new content.
    content: String,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<String> {
    let settings = Settings::load()?;
    let place = Place::parse(&settings.root, &arguments.path)?;
    check_size(&settings, &place, arguments.content.len())?;
    let before = existing_size(&place)?;
    if let Some(parent) = place.path().parent() {
        fs::create_dir_all(parent).map_err(|error| place.fault("making the folders of", &error))?;
    }
    replace(&place, arguments.content.as_bytes())?;
    let written = arguments.content.len();
    Ok(match before {
        Some(size) => format!("wrote {written} bytes to `{place}`, which had {size} before"),
        None => format!("wrote {written} bytes to the new file `{place}`"),
    })
}

/// Refuses content that is too large.
pub(crate) fn check_size(settings: &Settings, place: &Place, size: usize) -> Result<(), Error> {
    if size <= settings.max_write_bytes {
        return Ok(());
    }
    let message =
        format!("writing `{place}`: {size} bytes are more than the {} that are allowed", settings.max_write_bytes);
    Err(Error::limit_exceeded(message).with_code("too-large"))
}

/// The size of the file, if there is one. Anything else of that name is refused: a rename would replace a link by a file.
fn existing_size(place: &Place) -> Result<Option<u64>, Error> {
    let what = match fs::symlink_metadata(place.path()) {
        Ok(metadata) if metadata.is_file() => return Ok(Some(metadata.len())),
        Ok(metadata) if metadata.is_dir() => "a folder",
        Ok(metadata) if metadata.is_symlink() => "a symbolic link: write to the file that it leads to",
        Ok(_) => "not a regular file",
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(place.fault("writing", &error)),
    };
    Err(Error::invalid_argument(format!("writing `{place}`: it is {what}")).with_code("not-a-file"))
}

/// Replaces the file by one with this content, or leaves it as it was: a reader never sees half of it, and neither does
/// anybody after a crash.
pub(crate) fn replace(place: &Place, content: &[u8]) -> Result<(), Error> {
    existing_size(place)?;
    let fault = |error: &io::Error| place.fault("writing", error);
    let (temporary, file) = create_beside(place.path()).map_err(|error| fault(&error))?;
    let done = fill(file, content).and_then(|()| fs::rename(&temporary, place.path()));
    done.map_err(|error| {
        // Best effort: the error that matters is the first one.
        let _ = fs::remove_file(&temporary);
        fault(&error)
    })
}

fn fill(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.sync_all()
}

/// Leftovers of earlier crashes are stepped over, so many at most.
const ATTEMPTS: u32 = 100;

/// A new file in the same folder, so that the rename stays within one file system.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?.to_string_lossy();
    for attempt in 0..ATTEMPTS {
        let temporary = path.with_file_name(format!(".{name}.{attempt}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((temporary, opened?)),
        }
    }
    Err(io::Error::other(format!("{ATTEMPTS} temporary files `.{name}.*.tmp` are in the way")))
}
