//! A plugin's package: a component with its `plugin.toml`, in a folder of their own or side by side.

use std::path::{Path, PathBuf};

use mainstay_manifest::{ManifestErrors, PluginManifest};

/// Bytes that a component may have.
const MAX_COMPONENT: u64 = 256 << 20;
/// Bytes that a text file of a package may have.
const MAX_TEXT: u64 = 1 << 20;

/// What a package holds.
#[derive(Clone, Debug)]
pub struct PackageFiles {
    /// What the author says.
    pub manifest: PluginManifest,
    /// The component.
    pub component: Vec<u8>,
    /// JSON Schema of the configuration.
    pub config_schema: Option<String>,
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
    /// `plugin.toml` has mistakes.
    #[error("{0}")]
    Manifest(#[from] ManifestErrors),
}

/// Reads a package: a folder with `plugin.toml`, or a `.wasm` file with `<stem>.plugin.toml` or `plugin.toml` beside it.
///
/// # Errors
/// A file is missing, too large, or has mistakes.
pub fn read_package(path: &Path) -> Result<PackageFiles, PackageError> {
    let (text_file, component_file) = locate(path)?;
    let text = read_text(&text_file)?;
    let manifest = PluginManifest::parse(&text, &text_file.display().to_string())?;
    let folder = text_file.parent().unwrap_or(Path::new("."));
    let component_file = component_file.unwrap_or_else(|| match manifest.component() {
        Some(file) => file.resolve(folder),
        None => folder.join(format!("{}.wasm", manifest.name())),
    });
    let component = read_bounded(&component_file, MAX_COMPONENT)?;
    let config_schema = match manifest.config_schema() {
        Some(file) => Some(read_text(&file.resolve(folder))?),
        None => None,
    };
    Ok(PackageFiles { manifest, component, config_schema })
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
