//! Paths as models write them, as the sandbox takes them, and as people read them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use mainstay_sdk::prelude::*;

/// A path that was written by a model: absolute, without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    full: PathBuf,
    shown: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Place {
    /// Reads a path: relative to the root, or absolute below any granted folder.
    pub(crate) fn parse(root: &str, path: &str) -> Result<Self, Error> {
        if path.contains('\0') {
            return Err(bad_path(path, "it holds a NUL character"));
        }
        let relative = !path.starts_with('/');
        let mut parts: Vec<&str> = if relative { segments(root).collect() } else { Vec::new() };
        let floor = parts.len();
        for segment in segments(path) {
            match segment {
                ".." if parts.len() > if relative { floor } else { 0 } => drop(parts.pop()),
                ".." => return Err(bad_path(path, "it leads out of the granted folders")),
                name => parts.push(name),
            }
        }
        let full = PathBuf::from(format!("/{}", parts.join("/")));
        Ok(Self { shown: shown(root, &full), full })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.full
    }

    /// The entry of that name in this folder.
    pub(crate) fn join(&self, root: &str, name: &Path) -> Self {
        let full = self.full.join(name);
        Self { shown: shown(root, &full), full }
    }

    /// An error that says what was being done with what, and why it failed.
    pub(crate) fn fault(&self, doing: &str, error: &io::Error) -> Error {
        // Which of the two a path outside of all granted folders brings about depends on the toolchain's C library.
        let reason = if error.raw_os_error() == Some(NOT_CAPABLE) { io::ErrorKind::NotFound } else { error.kind() };
        let kind = Error::from(io::Error::from(reason)).kind;
        let why = match reason {
            io::ErrorKind::NotFound => "there is no such file or folder in the granted folders".to_owned(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "it is outside the granted folders, or granted for reading only".to_owned()
            }
            _ => error.to_string(),
        };
        Error::new(kind, format!("{doing} `{self}`: {why}"))
    }
}

/// `ENOTCAPABLE` of WASI 0.1, which the standard library has no name for. Other systems use the number for what can't
/// come up here.
const NOT_CAPABLE: i32 = 76;

fn bad_path(path: &str, why: &str) -> Error {
    Error::invalid_argument(format!("the path `{}` can't be used: {why}", path.escape_debug())).with_code("bad-path")
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".")
}

/// Relative to the root where possible: shorter, and what the model may write itself.
fn shown(root: &str, full: &Path) -> String {
    match full.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => full.to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, full: &str, shown: &str) {
        let place = Place::parse("/workspace", path).unwrap();
        assert_eq!((place.path(), place.to_string().as_str()), (Path::new(full), shown), "{path}");
    }

    #[test]
    fn relative_and_absolute_paths_meet() {
        check("a/b.txt", "/workspace/a/b.txt", "a/b.txt");
        check("/workspace/a/b.txt", "/workspace/a/b.txt", "a/b.txt");
        check("./a//../b", "/workspace/b", "b");
        check("", "/workspace", ".");
        check(".", "/workspace", ".");
        check("/docs/x", "/docs/x", "/docs/x");
        check("/workspace2/x", "/workspace2/x", "/workspace2/x");
    }

    #[test]
    fn nothing_leads_above_a_root() {
        for path in ["..", "a/../../b", "/..", "/workspace/../../x", "a\0b"] {
            let error = Place::parse("/workspace", path).unwrap_err();
            assert_eq!(error.code, "bad-path", "{path:?}");
        }
    }
}
