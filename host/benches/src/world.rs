//! Data folders and manifests of the benches, and the floor of everything durable: a plain fdatasync.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use mainstay_driver::{DEFAULT_LINGER, Host, HostOptions, OpenSession};
use mainstay_manifest::HostManifest;
use mainstay_protocol::{
    SessionId,
    content::Part,
    op::{Delivery, Op},
};
use tempfile::TempDir;

use crate::summary::folder;

/// A package that `make plugins` has built.
pub(crate) fn package(set: &str, name: &str) -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(set).join(name);
    ensure!(path.is_dir(), "the guest `{name}` is not built: run `make plugins`");
    Ok(path)
}

/// A folder with a manifest.
pub(crate) struct World {
    dir: TempDir,
    manifest: String,
}

impl World {
    /// A host whose model plays this script, with these further entries.
    pub(crate) fn new(script: &str, entries: &str) -> Result<Self> {
        let dir = tempfile::tempdir_in(folder())?;
        std::fs::create_dir(dir.path().join("scripts"))?;
        std::fs::create_dir(dir.path().join("effects"))?;
        std::fs::create_dir(dir.path().join("workspace"))?;
        std::fs::write(dir.path().join("scripts/script.toml"), script)?;
        let manifest = format!(
            r#"
            [host]
            allow_unpinned = true
            [route.default]
            adapter = "rehearsal"
            model = "rehearsal"
            settings = {{ script_file = "/scripts/script.toml" }}
            [plugin.rehearsal]
            path = {:?}
            grant.dirs = [{{ host = "scripts", guest = "/scripts", access = "read-only" }}]
            grant.imports = ["transcript"]
            {entries}
            "#,
            package("plugins", "rehearsal")?
        );
        Ok(Self { dir, manifest })
    }

    pub(crate) async fn host(&self) -> Result<Host> {
        let manifest = HostManifest::parse(&self.manifest, "mainstay.toml")?;
        let options = HostOptions {
            data_dir: self.dir.path().join("data"),
            manifest,
            manifest_dir: self.dir.path().to_owned(),
            bundled_plugins: None,
            linger: DEFAULT_LINGER,
            failpoint: None,
        };
        Host::open(options).await.context("opening a host")
    }
}

/// A new session.
pub(crate) async fn open(host: &Host) -> Result<SessionId> {
    Ok(host.open_session(OpenSession::default()).await?.session)
}

/// A message.
pub(crate) fn message(text: &str) -> Op {
    Op::Submit { content: vec![Part::Text(text.to_owned())], delivery: Delivery::Queue }
}

/// A file to which something is appended and synced: what every durable thing costs at least.
pub(crate) struct Disk {
    file: File,
    _dir: TempDir,
}

impl Disk {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::tempdir_in(folder())?;
        let file = File::create(dir.path().join("floor"))?;
        Ok(Self { file, _dir: dir })
    }

    /// Appends and syncs some bytes.
    pub(crate) fn sync(&mut self, bytes: usize) -> Result<Duration> {
        let block = vec![7_u8; bytes];
        let began = Instant::now();
        self.file.write_all(&block)?;
        self.file.sync_data()?;
        Ok(began.elapsed())
    }
}
