//! Compiled components on disk: immutable files in a private folder. Any doubt about a file is a miss.
//!
//! A file is called `<component sha256>.<engine>.<own sha256>.cwasm`: which component, compiled under which settings, and
//! the digest of its bytes. One rename makes it appear whole, and nothing beside it can disagree with it.

use std::{
    fs::{self, DirBuilder, File},
    hash::{Hash, Hasher},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use mainstay_protocol::Digest;
use wasmtime::{Engine, component::Component};

use crate::mapped;

/// The folder with the compiled components of one engine.
#[derive(Debug)]
pub(crate) struct CompileCache {
    folder: PathBuf,
    engine_key: String,
}

/// The path of a file that was verified.
#[derive(Debug)]
pub(crate) struct Sealed(PathBuf);

impl Sealed {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Why the folder can not be used. The path is left to the caller, who knows which setting it came from.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CacheError {
    #[error("others can write into the folder: someone else's code would run as this user")]
    Writable,
    #[error("the folder belongs to another user")]
    Foreign,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CompileCache {
    /// Opens the folder, or makes it.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> Result<Self, CacheError> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let folder = folder.canonicalize()?;
        let metadata = fs::symlink_metadata(&folder)?;
        if metadata.mode() & 0o022 != 0 {
            return Err(CacheError::Writable);
        }
        let probe = tempfile::NamedTempFile::new_in(&folder)?;
        if probe.as_file().metadata()?.uid() != metadata.uid() {
            return Err(CacheError::Foreign);
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        Ok(Self { folder, engine_key: engine_key(engine) })
    }

    /// The compiled component, if a file of it can be trusted. A file that can not is removed.
    pub(crate) fn find(&self, engine: &Engine, component: &Digest) -> Option<Component> {
        let prefix = self.prefix(component);
        let entries = fs::read_dir(&self.folder).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with(&prefix)).find_map(|name| self.load(engine, &name, &prefix))
    }

    fn load(&self, engine: &Engine, name: &str, prefix: &str) -> Option<Component> {
        let loaded = self.verify(name, prefix).and_then(|file| mapped::map(engine, &file).ok());
        if loaded.is_none() {
            tracing::warn!(file = name, "a compiled component is damaged or out of date: it is compiled again");
            let _ = fs::remove_file(self.folder.join(name));
        }
        loaded
    }

    fn verify(&self, name: &str, prefix: &str) -> Option<Sealed> {
        let claimed: Digest = name.strip_prefix(prefix)?.strip_suffix(".cwasm")?.parse().ok()?;
        let path = self.folder.join(name);
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(&path).ok()?.read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == claimed).then_some(Sealed(path))
    }

    /// Compiles a component, keeps the result and maps it. When it can not be kept, it is used from memory.
    pub(crate) fn compile(&self, engine: &Engine, component: &Digest, bytes: &[u8]) -> wasmtime::Result<Component> {
        let compiled = engine.precompile_component(bytes)?;
        match self.keep(component, &compiled).map_err(wasmtime::Error::from).and_then(|file| mapped::map(engine, &file))
        {
            Ok(component) => Ok(component),
            Err(error) => {
                tracing::warn!("a compiled component can not be kept in the cache: {error:#}");
                Component::from_binary(engine, bytes)
            }
        }
    }

    fn keep(&self, component: &Digest, compiled: &[u8]) -> io::Result<Sealed> {
        let name = format!("{}{}.cwasm", self.prefix(component), Digest::of(compiled));
        let mut file = tempfile::Builder::new().prefix("new-").tempfile_in(&self.folder)?;
        file.write_all(compiled)?;
        // A file that the disk lost would be a miss, not a danger; syncing it keeps the next start fast.
        file.as_file().sync_data()?;
        let path = self.folder.join(name);
        file.persist(&path).map_err(|error| error.error)?;
        Ok(Sealed(path))
    }

    fn prefix(&self, component: &Digest) -> String {
        format!("{component}.{}.", self.engine_key)
    }
}

/// Names the engine's settings, the compiler's version included. Another engine finds none of our files.
fn engine_key(engine: &Engine) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_component() -> Vec<u8> {
        vec![0, b'a', b's', b'm', 0x0d, 0, 1, 0]
    }

    fn only_file(folder: &Path) -> PathBuf {
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    #[test]
    fn a_kept_component_is_found_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = CompileCache::open(folder.path(), &engine).unwrap();
        let (bytes, digest) = (empty_component(), Digest::of(&empty_component()));
        assert!(cache.find(&engine, &digest).is_none());
        cache.compile(&engine, &digest, &bytes).unwrap();
        assert!(cache.find(&engine, &digest).is_some());
        assert!(cache.find(&engine, &Digest::ZERO).is_none());

        let file = only_file(folder.path());
        let whole = fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&whole[..whole.len() / 2], &[], &flipped] {
            fs::remove_file(&file).unwrap();
            fs::write(&file, damaged).unwrap();
            assert!(cache.find(&engine, &digest).is_none());
            assert!(!file.exists(), "a damaged file is removed");
            cache.compile(&engine, &digest, &bytes).unwrap();
            assert!(cache.find(&engine, &digest).is_some());
        }
    }

    #[test]
    fn a_folder_that_others_can_write_into_is_refused_and_a_readable_one_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert!(matches!(CompileCache::open(folder.path(), &Engine::default()), Err(CacheError::Writable)));
        mode(0o755);
        CompileCache::open(folder.path(), &Engine::default()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().mode() & 0o777, 0o700);
    }
}
