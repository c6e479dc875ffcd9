//! A data folder, a manifest and the folders that plugins are granted, in a temporary folder of their own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mainstay_driver::{DEFAULT_LINGER, Host, HostOptions};
use mainstay_journal::{ReadOnlyJournal, verify::Depth};
use mainstay_manifest::HostManifest;
use tempfile::TempDir;

/// The folder with the packages that come with the product.
pub(crate) fn bundled() -> PathBuf {
    built("plugins")
}

/// A package of the product.
pub(crate) fn plugin(name: &str) -> PathBuf {
    package("plugins", name)
}

/// A package of a test guest.
pub(crate) fn guest(name: &str) -> PathBuf {
    package("test-plugins", name)
}

/// A folder beside what was built. All tests share one compile cache: guests don't change between them.
fn built(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(folder)
}

fn package(folder: &str, name: &str) -> PathBuf {
    let path = built(folder).join(name);
    assert!(path.is_dir(), "the guest `{name}` is not built: run `make plugins`");
    path
}

/// The folders of a test.
pub(crate) struct World {
    dir: TempDir,
    entries: String,
}

impl World {
    /// A world whose model plays this script.
    pub(crate) fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["scripts", "workspace", "effects"] {
            fs::create_dir(dir.path().join(folder)).expect("a folder");
        }
        fs::write(dir.path().join("scripts/script.toml"), script).expect("a script");
        let world = Self { dir, entries: String::new() };
        world.entry(&format!(
            r#"
            [host]
            allow_unpinned = true
            compile_cache = {:?}
            [route.default]
            adapter = "rehearsal"
            model = "rehearsal"
            settings = {{ script_file = "/scripts/script.toml" }}
            [plugin.rehearsal]
            path = {:?}
            grant.dirs = [{{ host = "scripts", guest = "/scripts", access = "read-only" }}]
            grant.imports = ["transcript"]
            "#,
            built("compile-cache"),
            plugin("rehearsal")
        ))
    }

    /// Adds lines to the manifest.
    pub(crate) fn entry(mut self, toml: &str) -> Self {
        self.entries.push_str(toml);
        self.entries.push('\n');
        fs::write(self.manifest_file(), &self.entries).expect("a manifest");
        self
    }

    /// Adds a line to the host's own settings.
    pub(crate) fn host_setting(mut self, line: &str) -> Self {
        self.entries = self.entries.replace("[host]", &format!("[host]\n{line}"));
        self.entry("")
    }

    /// Adds the tools whose effects can be counted, all of them allowed.
    pub(crate) fn effects(self) -> Self {
        let tools = ["effect_pure", "effect_idempotent", "effect_once", "effect_once_parallel"];
        let allowed: String = tools.map(|tool| format!("[tool.{tool}]\napproval = \"unneeded\"\n")).concat();
        self.entry(&format!(
            r#"
            [plugin.effects]
            path = {:?}
            grant.dirs = [{{ host = "effects", guest = "/effects", access = "read-write" }}]
            {allowed}
            "#,
            guest("effects")
        ))
    }

    /// Adds the file tools of the product on the folder `workspace`; reading is allowed, writing asks.
    pub(crate) fn files(self) -> Self {
        self.entry(&format!(
            r#"
            [plugin.files]
            path = {:?}
            grant.dirs = [{{ host = "workspace", guest = "/workspace", access = "read-write" }}]
            [tool.read_file]
            approval = "unneeded"
            [tool.write_file]
            approval = "ask"
            "#,
            plugin("files")
        ))
    }

    /// Adds the middleware that does what `config` (TOML) says.
    pub(crate) fn hooks(self, config: &str) -> Self {
        self.hooks_with("on_failure = \"closed\"", config)
    }

    /// The same with other settings of its entry.
    pub(crate) fn hooks_with(self, settings: &str, config: &str) -> Self {
        self.entry(&format!(
            r#"
            [plugin.hooks]
            path = {:?}
            {settings}
            grant.hooks = ["input", "tool-gate", "stop"]
            grant.dirs = [{{ host = "effects", guest = "/effects", access = "read-write" }}]
            [plugin.hooks.config]
            log_file = "/effects/hooks.jsonl"
            {config}
            "#,
            guest("hooks")
        ))
    }

    /// Adds the tools that misbehave, all of them allowed.
    pub(crate) fn hostile(self, settings: &str, tools: &[&str]) -> Self {
        let allowed: String = tools.iter().map(|tool| format!("[tool.{tool}]\napproval = \"unneeded\"\n")).collect();
        self.entry(&format!("[plugin.hostile]\npath = {:?}\n{settings}\n{allowed}", guest("hostile")))
    }

    /// The folder of everything.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where the journal is.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path().join("data")
    }

    /// The manifest on disk.
    pub(crate) fn manifest_file(&self) -> PathBuf {
        self.path().join("mainstay.toml")
    }

    /// The manifest, as a host takes it.
    pub(crate) fn options(&self) -> HostOptions {
        let manifest = HostManifest::parse(&self.entries, "mainstay.toml").unwrap_or_else(|errors| panic!("{errors}"));
        HostOptions {
            data_dir: self.data_dir(),
            manifest,
            manifest_dir: self.path().to_owned(),
            bundled_plugins: Some(bundled()),
            linger: DEFAULT_LINGER,
            failpoint: None,
        }
    }

    /// A host on this world.
    pub(crate) async fn host(&self) -> Host {
        Host::open(self.options()).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The lines of a log that guests wrote.
    pub(crate) fn log(&self, name: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.path().join("effects").join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Lets calls go on that hold.
    pub(crate) fn release(&self) {
        fs::write(self.path().join("effects/release"), "").expect("the release file");
    }
}

/// Whatever a test's hosts did, their journal is sound afterwards.
impl Drop for World {
    fn drop(&mut self) {
        // A test that has failed says what it has to say, and one that puts something else in the journal's place has none.
        let Some(journal) = ReadOnlyJournal::open(&self.data_dir()).ok().filter(|_| !std::thread::panicking()) else {
            return;
        };
        let report = journal.verify(Depth::Full, |_| {}).expect("it can be verified");
        assert!(report.is_sound(), "{report:#?}");
    }
}
