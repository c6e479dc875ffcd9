//! Paths as manifests write them. Nothing here touches a file system: a host path is only joined, a guest path is only
//! compared.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use crate::error::InvalidValue;
use crate::text::is_unprintable;

/// The longest path, in bytes; what Linux takes.
const MAX_BYTES: usize = 4096;

/// A path on the host as the manifest writes it: absolute, or relative to the manifest's folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestPath(String);

impl ManifestPath {
    /// The text of the manifest.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path, taken relative to a folder: usually that of the manifest. `.` components disappear; `..` stays, since only
    /// the file system knows what it means behind a symbolic link.
    pub fn resolve(&self, base: &Path) -> PathBuf {
        base.join(&self.0).components().filter(|part| *part != Component::CurDir).collect()
    }

    pub(crate) fn constant(text: &'static str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for ManifestPath {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let hint = "write a path relative to the manifest's folder, or an absolute one";
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(InvalidValue::new("the path is empty or too long", hint));
        }
        if text.chars().any(is_unprintable) {
            return Err(InvalidValue::new("the path has a control or bidirectional-formatting character", hint));
        }
        if text == "~" || text.starts_with("~/") || text.starts_with('$') {
            return Err(InvalidValue::new("`~` and variables are not expanded in manifests", hint));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a plugin sees a folder: absolute and normalised, such as `/workspace`. Equal paths are equal texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestPath(String);

impl GuestPath {
    /// The path as text; `/` for the root, else without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the other path is this one or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        let Some(rest) = other.0.strip_prefix(self.0.as_str()) else { return false };
        self.0 == "/" || rest.is_empty() || rest.starts_with('/')
    }
}

impl FromStr for GuestPath {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = |problem: &str| Err(InvalidValue::new(problem, "write it like `/workspace` or `/data/models`"));
        if text.len() > MAX_BYTES || text.chars().any(|c| is_unprintable(c) || c == '\\') {
            return wrong("a guest path has no backslashes, no control characters, and at most 4096 bytes");
        }
        let Some(inner) = text.strip_prefix('/') else {
            return wrong("a guest path is absolute");
        };
        if !inner.is_empty() && inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return wrong("a guest path is normalised: no `.`, no `..`, no empty part, no slash at its end");
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file beside a plugin's manifest, such as `config.schema.json`: a name without a folder, so that a package can not
/// point out of itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

impl FileName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file's path in the folder of the plugin.
    pub fn resolve(&self, base: &Path) -> PathBuf {
        base.join(&self.0)
    }
}

impl FromStr for FileName {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let bad_char = |c: char| is_unprintable(c) || matches!(c, '/' | '\\' | ':');
        if matches!(text, "" | "." | "..") || text.len() > 255 || text.chars().any(bad_char) {
            return Err(InvalidValue::new(
                "not the name of a file",
                "name a file that lies beside plugin.toml, without a folder",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_paths_join_to_a_folder() {
        let resolve = |text: &str| text.parse::<ManifestPath>().unwrap().resolve(Path::new("/etc/mainstay"));
        assert_eq!(resolve("./data"), Path::new("/etc/mainstay/data"));
        assert_eq!(resolve("../shared/x"), Path::new("/etc/mainstay/../shared/x"));
        assert_eq!(resolve("/srv/data"), Path::new("/srv/data"));
        assert!("~/x".parse::<ManifestPath>().is_err());
    }

    #[test]
    fn guest_paths_are_absolute_and_normalised() {
        for good in ["/", "/workspace", "/data/models", "/a.b/..c"] {
            assert!(good.parse::<GuestPath>().is_ok(), "{good}");
        }
        for bad in ["", "workspace", "/a/", "//a", "/a/../b", "/./a", "/a\\b", "/a\0"] {
            assert!(bad.parse::<GuestPath>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn nesting_is_by_whole_parts() {
        let path = |text: &str| text.parse::<GuestPath>().unwrap();
        assert!(path("/a").contains(&path("/a/b")));
        assert!(path("/").contains(&path("/a")));
        assert!(!path("/a").contains(&path("/ab")));
        assert!(!path("/a/b").contains(&path("/a")));
    }

    #[test]
    fn file_names_do_not_leave_the_package() {
        assert!("files.wasm".parse::<FileName>().is_ok());
        for bad in ["", "..", "a/b", "..\\a", "c:x"] {
            assert!(bad.parse::<FileName>().is_err(), "{bad}");
        }
    }
}
