//! The data folder's copies of packages, under the digest of their component: what an active or overridden build is started
//! from again, wherever its package was. Written by rename, never rewritten.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mainstay_protocol::Digest;

use super::package::{PackageError, PackageFiles, read_package};

/// The folder `components` of a data folder.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    folder: PathBuf,
}

impl Components {
    pub(crate) fn of(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("components") }
    }

    /// Keeps a package whose files lie at `source`. The same digest twice changes nothing.
    pub(crate) fn keep(&self, digest: &Digest, package: &PackageFiles, source: &Path) -> io::Result<()> {
        let target = self.folder.join(digest.to_string());
        if target.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        let staging = tempfile::tempdir_in(&self.folder)?;
        let name = package.manifest.name();
        fs::write(staging.path().join(format!("{name}.wasm")), &package.component)?;
        fs::write(staging.path().join("plugin.toml"), plugin_toml(source)?)?;
        if let (Some(schema), Some(file)) = (&package.config_schema, package.manifest.config_schema()) {
            fs::write(file.resolve(staging.path()), schema)?;
        }
        sync_all(staging.path())?;
        match fs::rename(staging.path(), &target) {
            Ok(()) => drop(staging.keep()),
            Err(_) if target.is_dir() => {}
            Err(error) => return Err(error),
        }
        fs::File::open(&self.folder)?.sync_all()
    }

    /// Reads a kept package.
    pub(crate) fn read(&self, digest: &Digest) -> Result<PackageFiles, PackageError> {
        read_package(&self.folder.join(digest.to_string()))
    }
}

/// The author's text, with the component's file under the name that it is kept by.
fn plugin_toml(source: &Path) -> io::Result<String> {
    let own = source.with_extension("plugin.toml");
    let file = match source.is_dir() {
        true => source.join("plugin.toml"),
        false if own.is_file() => own,
        false => source.with_file_name("plugin.toml"),
    };
    let text = fs::read_to_string(file)?;
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("component"));
    Ok(kept.map(|line| format!("{line}\n")).collect())
}

fn sync_all(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::File::open(entry?.path())?.sync_all()?;
    }
    fs::File::open(folder)?.sync_all()
}
