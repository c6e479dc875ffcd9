//! The data folder's copies of packages: what a build that a swap chose is started from again, wherever its package was.
//!
//! `components/<sha256>/component.wasm` is a component under its own digest, `components/<sha256>/<package>/` what an author says
//! of it, byte for byte, under the digest of the whole package: one component can come with several texts. Each file is written by
//! rename; whether a package is whole, its digest tells.

use std::{
    collections::BTreeSet,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use mainstay_protocol::Digest;

use super::package::{PackageError, PackageFiles, off_thread};

const COMPONENT: &str = "component.wasm";
const TEXT: &str = "plugin.toml";
const SCHEMA: &str = "config.schema.json";
/// What the names of half-written files begin with.
const STAGING: &str = ".tmp";

/// A package by the digest of its component and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackageId {
    pub(crate) sha256: Digest,
    pub(crate) package: Digest,
}

/// The folder `components` of a data folder.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    folder: PathBuf,
}

impl Components {
    pub(crate) fn of(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("components") }
    }

    /// Keeps a package. The same one twice changes nothing; what was damaged meanwhile is written anew.
    pub(crate) async fn keep(&self, package: &PackageFiles) -> io::Result<()> {
        let (components, package) = (self.clone(), package.clone());
        off_thread(move || components.write(&package)).await?
    }

    /// Reads a kept package, and checks that it is the one that was kept.
    pub(crate) async fn read(&self, id: PackageId) -> Result<PackageFiles, PackageError> {
        let (components, folder) = (self.clone(), self.package_folder(&id));
        let read = off_thread(move || components.read_now(&id)).await;
        read.map_err(|source| PackageError::File { file: folder, source })?
    }

    /// Removes the packages that nothing names, and what a killed host left half written. Files of others stay.
    pub(crate) async fn sweep(&self, named: BTreeSet<PackageId>) -> io::Result<()> {
        let components = self.clone();
        off_thread(move || components.sweep_now(&named)).await?
    }

    fn component_folder(&self, sha256: &Digest) -> PathBuf {
        self.folder.join(sha256.to_string())
    }

    fn package_folder(&self, id: &PackageId) -> PathBuf {
        self.component_folder(&id.sha256).join(id.package.to_string())
    }

    fn write(&self, package: &PackageFiles) -> io::Result<()> {
        let (folder, own) = (self.component_folder(&package.id.sha256), self.package_folder(&package.id));
        fs::create_dir_all(&own)?;
        self.put(&folder.join(COMPONENT), &package.component)?;
        self.put(&own.join(TEXT), package.text.as_bytes())?;
        if let Some(schema) = &package.config_schema {
            self.put(&own.join(SCHEMA), schema.as_bytes())?;
        }
        let folders = [Some(own.as_path()), Some(folder.as_path()), Some(self.folder.as_path()), self.folder.parent()];
        folders.into_iter().flatten().try_for_each(|folder| fs::File::open(folder)?.sync_all())
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        if fs::read(file).is_ok_and(|kept| kept == bytes) {
            return Ok(());
        }
        let mut staging = tempfile::Builder::new().prefix(STAGING).tempfile_in(&self.folder)?;
        staging.write_all(bytes)?;
        staging.as_file().sync_all()?;
        staging.persist(file)?;
        Ok(())
    }

    fn read_now(&self, id: &PackageId) -> Result<PackageFiles, PackageError> {
        let folder = self.package_folder(id);
        let component = self.component_folder(&id.sha256).join(COMPONENT);
        let package = PackageFiles::read(&folder.join(TEXT), |_| component, |_| folder.join(SCHEMA))?;
        if package.id == *id { Ok(package) } else { Err(PackageError::Damaged { folder }) }
    }

    fn sweep_now(&self, named: &BTreeSet<PackageId>) -> io::Result<()> {
        for entry in entries(&self.folder)? {
            match digest_of(&entry) {
                Some(sha256) if named.iter().any(|id| id.sha256 == sha256) => sweep_texts(&entry, sha256, named)?,
                Some(_) => remove(&entry)?,
                None if entry.file_name().to_string_lossy().starts_with(STAGING) => remove(&entry)?,
                None => {}
            }
        }
        Ok(())
    }
}

/// Removes what authors say of a component in packages that nothing names.
fn sweep_texts(folder: &fs::DirEntry, sha256: Digest, named: &BTreeSet<PackageId>) -> io::Result<()> {
    for entry in entries(&folder.path())? {
        match digest_of(&entry) {
            Some(package) if !named.contains(&PackageId { sha256, package }) => remove(&entry)?,
            _ => {}
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found?.collect(),
    }
}

fn digest_of(entry: &fs::DirEntry) -> Option<Digest> {
    entry.file_name().to_str()?.parse().ok()
}

fn remove(entry: &fs::DirEntry) -> io::Result<()> {
    if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }
}
