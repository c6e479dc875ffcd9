//! Where the control socket is: `control.sock` in the data folder. A path that does not fit the system's limit for socket
//! names, or a file system that has no sockets, moves it into a new private folder outside, and `control.path` in the data
//! folder names it.
//!
//! Only the owner may connect: the socket is made in a folder that nobody else can enter, gets mode 0600, and is then renamed
//! into its place, which also replaces what a dead host left. That is sound because the caller holds the folder's lock.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

/// The socket in the data folder.
const SOCKET: &str = "control.sock";
/// The file in the data folder that names the socket when it is elsewhere.
const POINTER: &str = "control.path";
/// The private folder in which a socket is made.
const NURSERY: &str = ".ctl";
/// Bytes of a socket's path: `sun_path` without its end, on Linux; macOS takes four fewer.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not make the control socket, neither in the data folder ({inside}) nor in `{folder}` ({outside}); use a data \
     folder on a local file system, or set XDG_RUNTIME_DIR to a folder that you can write to"
)]
pub struct SocketError {
    inside: String,
    folder: PathBuf,
    outside: String,
}

/// The socket of the host that has, or last had, this data folder; none when no host ever served there.
pub fn find_socket(data_dir: &Path) -> Option<PathBuf> {
    let inside = data_dir.join(SOCKET);
    if fits(&inside).is_ok() && inside.exists() {
        return Some(inside);
    }
    let outside = read_pointer(data_dir)?;
    outside.exists().then_some(outside)
}

/// A socket that is listened on. Its files go away when it is dropped.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    pointer: Option<PathBuf>,
}

/// Makes the socket. The caller holds the folder's lock.
pub(crate) fn bind(data_dir: &Path) -> Result<Bound, SocketError> {
    clear(data_dir);
    let inside = match bind_inside(data_dir) {
        Ok(bound) => return Ok(bound),
        Err(error) => error.to_string(),
    };
    let base = runtime_folder();
    tracing::debug!(why = inside, folder = %base.display(), "the control socket goes outside the data folder");
    bind_outside(data_dir, &base).map_err(|error| SocketError { inside, folder: base, outside: error.to_string() })
}

fn bind_inside(data_dir: &Path) -> io::Result<Bound> {
    let path = data_dir.join(SOCKET);
    fits(&path)?;
    let nursery = data_dir.join(NURSERY);
    make_private(&nursery)?;
    let born = nursery.join("s");
    let made = listen(&born).and_then(|listener| fs::rename(&born, &path).map(|()| listener));
    let _ = fs::remove_file(&born);
    let _ = fs::remove_dir(&nursery);
    Ok(Bound { listener: made?, path, pointer: None })
}

/// The folder is new each time and made in one step, so it is ours, whatever else is in a shared `/tmp`.
fn bind_outside(data_dir: &Path, base: &Path) -> io::Result<Bound> {
    let id = uuid::Uuid::now_v7().simple().to_string();
    let folder = base.join(format!("mainstay-{}", &id[16..]));
    let path = folder.join("s");
    fits(&path)?;
    make_private(&folder)?;
    let pointer = data_dir.join(POINTER);
    let made = listen(&path).and_then(|listener| write_pointer(&pointer, &path).map(|()| listener));
    if made.is_err() {
        remove_with_folder(&path);
    }
    Ok(Bound { listener: made?, path, pointer: Some(pointer) })
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes what a dead host left.
fn clear(data_dir: &Path) {
    let nursery = data_dir.join(NURSERY);
    let _ = fs::remove_file(nursery.join("s"));
    let _ = fs::remove_dir(nursery);
    let _ = fs::remove_file(data_dir.join(SOCKET));
    if let Some(outside) = read_pointer(data_dir) {
        remove_with_folder(&outside);
    }
    let _ = fs::remove_file(data_dir.join(POINTER));
}

fn remove_with_folder(socket: &Path) {
    let _ = fs::remove_file(socket);
    if let Some(folder) = socket.parent() {
        // Only succeeds when it is empty.
        let _ = fs::remove_dir(folder);
    }
}

fn runtime_folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|folder| folder.is_absolute() && folder.is_dir()).unwrap_or_else(|| PathBuf::from("/tmp"))
}

fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

fn fits(path: &Path) -> io::Result<()> {
    let bytes = path.as_os_str().len();
    if bytes <= MAX_PATH {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidFilename,
        format!("its path has {bytes} bytes, and a socket's may have {MAX_PATH}"),
    ))
}

/// Only a path of the form that [`bind_outside`] makes counts: nothing else is ever connected to, or removed.
fn read_pointer(data_dir: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(data_dir.join(POINTER)).ok()?;
    let path = PathBuf::from(text.trim_end_matches('\n'));
    let folder = path.parent()?.file_name()?.to_str()?;
    (path.is_absolute() && path.file_name()? == "s" && folder.starts_with("mainstay-")).then_some(path)
}

fn write_pointer(pointer: &Path, path: &Path) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(pointer)?;
    writeln!(file, "{}", path.display())
}

impl Drop for Bound {
    fn drop(&mut self) {
        match &self.pointer {
            None => drop(fs::remove_file(&self.path)),
            Some(pointer) => {
                let _ = fs::remove_file(pointer);
                remove_with_folder(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn the_socket_is_private_replaces_a_stale_one_and_goes_away() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(SOCKET), "stale").unwrap();
        let bound = bind(data.path()).unwrap();
        assert_eq!(find_socket(data.path()), Some(bound.path.clone()));
        assert_eq!(mode(&bound.path), 0o600);
        tokio::net::UnixStream::connect(&bound.path).await.unwrap();
        assert!(!data.path().join(NURSERY).exists());
        drop(bound);
        assert_eq!(find_socket(data.path()), None);
    }

    #[tokio::test]
    async fn a_long_path_moves_the_socket_and_leaves_a_pointer() {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("x".repeat(120));
        fs::create_dir(&data).unwrap();
        let first = bind(&data).unwrap();
        let folder = first.path.parent().unwrap().to_owned();
        assert_eq!(mode(&folder), 0o700);
        // A host that dies leaves its files; the next one removes them.
        std::mem::forget(first);
        let second = bind(&data).unwrap();
        assert!(!folder.exists());
        let found = find_socket(&data).unwrap();
        tokio::net::UnixStream::connect(&found).await.unwrap();
        drop(second);
        assert!(find_socket(&data).is_none() && !found.parent().unwrap().exists());
    }

    #[test]
    fn a_pointer_to_anything_else_is_not_followed() {
        let data = tempfile::tempdir().unwrap();
        for bad in ["/etc/passwd", "s", "/tmp/other/s", "mainstay-1/s"] {
            fs::write(data.path().join(POINTER), bad).unwrap();
            assert_eq!(read_pointer(data.path()), None, "{bad}");
        }
    }
}
