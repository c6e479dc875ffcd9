//! A plugin's package: a component with its `plugin.toml`, in a folder of their own or side by side.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mainstay_manifest::{FileName, ManifestErrors, PluginManifest};
use mainstay_protocol::Digest;

use super::components::PackageId;

/// Bytes that a component may have.
const MAX_COMPONENT: u64 = 256 << 20;
/// Bytes that a text file of a package may have.
const MAX_TEXT: u64 = 1 << 20;

/// What a package holds.
#[derive(Clone, Debug)]
pub struct PackageFiles {
    /// What the author says.
    pub manifest: PluginManifest,
    /// The same in the author's own words.
    pub text: String,
    /// The component.
    pub component: Arc<[u8]>,
    /// JSON Schema of the configuration.
    pub config_schema: Option<String>,
    /// What tells it from other packages.
    pub(crate) id: PackageId,
}

/// Why a package can't be read. Messages name files of the package, which the operator chose.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A file is missing or can't be read.
    #[error("can't read `{file}` of the plugin's package: {source}; build the plugin, or correct the path")]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is too large.
    #[error("`{file}` of the plugin's package has more than {allowed} bytes")]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// What is allowed.
        allowed: u64,
    },
    /// A text file is not UTF-8.
    #[error("`{file}` of the plugin's package is not UTF-8 text")]
    NotText {
        /// The file.
        file: PathBuf,
    },
    /// The path is neither a folder nor a component.
    #[error("`{path}` is no package: name a folder with `plugin.toml`, or a `.wasm` file with `plugin.toml` beside it")]
    NoPackage {
        /// The path.
        path: PathBuf,
    },
    /// A copy in the data folder is not what was kept.
    #[error("the kept package `{folder}` is damaged; swap the plugin again, or restore a copy of the data folder")]
    Damaged {
        /// The copy.
        folder: PathBuf,
    },
    /// `plugin.toml` has mistakes.
    #[error("{0}")]
    Manifest(#[from] ManifestErrors),
}

impl PackageFiles {
    /// Reads a package whose `plugin.toml` is at `text_file`, and whose other files are where the callers say.
    pub(crate) fn read(
        text_file: &Path,
        component_file: impl FnOnce(&PluginManifest) -> PathBuf,
        schema_file: impl FnOnce(&FileName) -> PathBuf,
    ) -> Result<Self, PackageError> {
        let text = read_text(text_file)?;
        let manifest = PluginManifest::parse(&text, &text_file.display().to_string())?;
        let component: Arc<[u8]> = read_bounded(&component_file(&manifest), MAX_COMPONENT)?.into();
        let config_schema = match manifest.config_schema() {
            Some(file) => Some(read_text(&schema_file(file))?),
            None => None,
        };
        let sha256 = Digest::of(&component);
        let package = package_digest(&sha256, &text, config_schema.as_deref());
        Ok(Self { manifest, text, component, config_schema, id: PackageId { sha256, package } })
    }
}

/// Whether there is a schema, the text says.
fn package_digest(sha256: &Digest, text: &str, config_schema: Option<&str>) -> Digest {
    let schema = config_schema.unwrap_or_default();
    Digest::of_fields("mainstay/package/1", &[sha256.as_bytes(), text.as_bytes(), schema.as_bytes()])
}

/// Reads a package: a folder with `plugin.toml`, or a `.wasm` file with `<stem>.plugin.toml` or `plugin.toml` beside it.
///
/// # Errors
/// A file is missing, too large, or has mistakes.
pub fn read_package(path: &Path) -> Result<PackageFiles, PackageError> {
    let (text_file, named) = locate(path)?;
    let folder = text_file.parent().unwrap_or(Path::new("."));
    let component_file = |manifest: &PluginManifest| match (named, manifest.component()) {
        (Some(file), _) => file,
        (None, Some(file)) => file.resolve(folder),
        (None, None) => folder.join(format!("{}.wasm", manifest.name())),
    };
    PackageFiles::read(&text_file, component_file, |file| file.resolve(folder))
}

/// The same, off the async threads: a component can be large, and its digest takes time.
pub(crate) async fn read_package_off_thread(path: &Path) -> Result<PackageFiles, PackageError> {
    let owned = path.to_owned();
    let read = off_thread(move || read_package(&owned)).await;
    read.map_err(|source| PackageError::File { file: path.to_owned(), source })?
}

/// Runs work with files where it holds up nobody. An error is a panic of the work.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)
}

/// The `plugin.toml` of a path and, if the path names it itself, the component.
fn locate(path: &Path) -> Result<(PathBuf, Option<PathBuf>), PackageError> {
    if path.is_dir() {
        return Ok((path.join("plugin.toml"), None));
    }
    if path.extension().is_none_or(|extension| extension != "wasm") {
        return Err(PackageError::NoPackage { path: path.to_owned() });
    }
    let own = path.with_extension("plugin.toml");
    let text_file = if own.is_file() { own } else { path.with_file_name("plugin.toml") };
    Ok((text_file, Some(path.to_owned())))
}

fn read_bounded(file: &Path, allowed: u64) -> Result<Vec<u8>, PackageError> {
    let failed = |source| PackageError::File { file: file.to_owned(), source };
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > allowed {
        return Err(PackageError::TooLarge { file: file.to_owned(), allowed });
    }
    std::fs::read(file).map_err(failed)
}

fn read_text(file: &Path) -> Result<String, PackageError> {
    let bytes = read_bounded(file, MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|_| PackageError::NotText { file: file.to_owned() })
}
