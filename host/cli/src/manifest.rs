//! Which installation a command is about: its manifest, its data folder, its bundled plugins.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use mainstay_driver::{Failpoint, HostOptions};
use mainstay_manifest::HostManifest;
use mainstay_protocol::TenantId;

use crate::{
    args::PlaceArgs,
    exit::{Exit, Failure},
};

/// The manifest that counts when none is named.
const DEFAULT_MANIFEST: &str = "mainstay.toml";
/// The data folder when there is no manifest.
const DEFAULT_DATA: &str = "mainstay-data";

/// An installation.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) manifest: HostManifest,
    /// Where the manifest came from; none for the built-in one.
    pub(crate) manifest_file: Option<PathBuf>,
    /// What relative paths of the manifest are relative to.
    manifest_dir: PathBuf,
    pub(crate) data_dir: PathBuf,
    args: PlaceArgs,
}

impl Place {
    pub(crate) fn find(args: &PlaceArgs) -> Result<Self, Failure> {
        let folder = std::env::current_dir()
            .map_err(|error| Failure::new(Exit::Unavailable, format!("could not find the current folder: {error}")))?;
        Self::find_in(&folder, args)
    }

    fn find_in(folder: &Path, args: &PlaceArgs) -> Result<Self, Failure> {
        let found = read_manifest(folder, args.manifest.as_deref())?;
        let (manifest, manifest_file) =
            found.map_or_else(|| (HostManifest::default(), None), |(manifest, file)| (manifest, Some(file)));
        let manifest_dir = manifest_file.as_deref().and_then(Path::parent).unwrap_or(folder).to_owned();
        let data_dir = match (&args.data_dir, &manifest_file) {
            (Some(named), _) => folder.join(named),
            (None, Some(_)) => manifest.host().data_dir().resolve(&manifest_dir),
            (None, None) => folder.join(DEFAULT_DATA),
        };
        Ok(Self { manifest, manifest_file, manifest_dir, data_dir, args: args.clone() })
    }

    /// What a host of this installation is opened with.
    pub(crate) fn host_options(&self) -> Result<HostOptions, Failure> {
        Ok(HostOptions {
            data_dir: self.data_dir.clone(),
            manifest: self.manifest.clone(),
            manifest_dir: self.manifest_dir.clone(),
            bundled_plugins: bundled_plugins(),
            linger: mainstay_driver::DEFAULT_LINGER,
            failpoint: failpoint()?.map(Arc::new),
        })
    }

    /// The tenant of this installation.
    pub(crate) fn tenant(&self) -> Result<TenantId, Failure> {
        let name = self.manifest.host().tenant().as_str();
        TenantId::new(name).map_err(|error| Failure::new(Exit::Configuration, format!("host.tenant: {error}")))
    }

    /// A `mainstay` command for this installation, as a person would type it.
    pub(crate) fn command(&self, rest: &str) -> String {
        let mut out = format!("mainstay {rest}");
        let options = [("--manifest", &self.args.manifest), ("--data-dir", &self.args.data_dir)];
        for (option, path) in options {
            if let Some(path) = path {
                out += &format!(" {option} {}", quoted(&path.display().to_string()));
            }
        }
        out
    }
}

/// The manifest that counts and its path; none when there is none and none was named.
fn read_manifest(folder: &Path, named: Option<&Path>) -> Result<Option<(HostManifest, PathBuf)>, Failure> {
    let shown = named.unwrap_or(Path::new(DEFAULT_MANIFEST));
    let file = folder.join(shown);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => return Ok(None),
        Err(error) => {
            let message = format!("could not read the manifest `{}`: {error}", shown.display());
            return Err(Failure::new(Exit::Configuration, message).hint("name another file with --manifest"));
        }
    };
    match HostManifest::parse(&text, &shown.display().to_string()) {
        Ok(manifest) => Ok(Some((manifest, file))),
        Err(errors) => Err(Failure::new(Exit::Configuration, format!("the manifest can't be used:\n{errors}"))),
    }
}

/// The folder with the packages that come with the product: named by the environment, else beside the program.
fn bundled_plugins() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("MAINSTAY_PLUGINS").filter(|named| !named.is_empty()) {
        return std::path::absolute(named).ok();
    }
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let places = ["plugins", "../plugins", "../lib/mainstay/plugins"];
    places.iter().map(|place| folder.join(place)).find(|place| place.is_dir())
}

/// For tests of crash safety only, hence not in the help.
fn failpoint() -> Result<Option<Failpoint>, Failure> {
    match std::env::var("MAINSTAY_FAILPOINT") {
        Ok(text) if !text.is_empty() => {
            let wrong = |error| Failure::new(Exit::Usage, format!("MAINSTAY_FAILPOINT: {error}"));
            Failpoint::parse(&text).map(Some).map_err(wrong)
        }
        _ => Ok(None),
    }
}

/// Quoted for a shell when it has to be.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(folder: &Path, manifest: Option<&str>, data_dir: Option<&str>) -> Result<Place, Failure> {
        let args = PlaceArgs { manifest: manifest.map(Into::into), data_dir: data_dir.map(Into::into) };
        Place::find_in(folder, &args)
    }

    #[test]
    fn without_a_manifest_the_defaults_count() {
        let folder = tempfile::tempdir().unwrap();
        let place = find(folder.path(), None, None).unwrap();
        assert_eq!((place.manifest_file.clone(), place.data_dir.clone()), (None, folder.path().join("mainstay-data")));
        assert_eq!(place.command("check"), "mainstay check");
    }

    #[test]
    fn the_data_folder_is_relative_to_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("etc")).unwrap();
        std::fs::write(folder.path().join("etc/my host.toml"), "[host]\ndata_dir = \"var\"\n").unwrap();
        let place = find(folder.path(), Some("etc/my host.toml"), None).unwrap();
        assert_eq!(place.data_dir, folder.path().join("etc/var"));
        assert_eq!(place.command("check"), "mainstay check --manifest 'etc/my host.toml'");
        let place = find(folder.path(), Some("etc/my host.toml"), Some("elsewhere")).unwrap();
        assert_eq!(place.data_dir, folder.path().join("elsewhere"));
    }

    #[test]
    fn a_manifest_that_was_named_must_be_there_and_right() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path(), Some("no.toml"), None).unwrap_err().exit, Exit::Configuration);
        std::fs::write(folder.path().join("mainstay.toml"), "[hots]\n").unwrap();
        let failure = find(folder.path(), None, None).unwrap_err();
        assert_eq!(failure.exit, Exit::Configuration);
        assert!(failure.to_string().contains("mainstay.toml:1"), "{failure}");
    }
}
