//! What the data folder keeps of packages, and what a restart makes of it.

use std::path::{Path, PathBuf};

use mainstay_driver::{Host, view::PluginView};
use mainstay_protocol::{Digest, PluginName, record::RecordBody};

use super::swaps::host_records;
use crate::support::{
    World,
    world::{guest, plugin},
};

const OK: &str = "[[rule]]\noutput = [{ text = \"ok\" }]";

fn world() -> World {
    World::new(OK).entry(&format!("[plugin.files]\npath = {:?}\n", plugin("files")))
}

fn files() -> PluginName {
    PluginName::new("files").expect("legal")
}

fn active(host: &Host) -> PluginView {
    host.plugins().into_iter().find(|view| view.plugin == files()).expect("files")
}

async fn swap(host: &Host, package: &Path) -> Digest {
    host.swap(&files(), package).await.unwrap_or_else(|error| panic!("{error}")).sha256
}

async fn end(host: Host) {
    host.shutdown().await;
}

/// The package `files` with another `plugin.toml`, and its component under another name.
fn copy(world: &World, name: &str, change: impl FnOnce(String) -> String) -> PathBuf {
    let package = world.path().join(name);
    std::fs::create_dir(&package).expect("a folder");
    let original = plugin("files");
    let text = std::fs::read_to_string(original.join("plugin.toml")).expect("text");
    std::fs::copy(original.join("files.wasm"), package.join("odd.wasm")).expect("a copy");
    std::fs::copy(original.join("config.schema.json"), package.join("config.schema.json")).expect("a copy");
    let text = change(text.replace("files.wasm", "odd.wasm"));
    std::fs::write(package.join("plugin.toml"), text).expect("written");
    package
}

fn version(text: &str, version: &str) -> String {
    let line = text.lines().find(|line| line.starts_with("version")).expect("a version");
    text.replace(line, &format!("version = {version:?}"))
}

fn component_folder(world: &World, sha256: &Digest) -> PathBuf {
    world.data_dir().join("components").join(sha256.to_string())
}

/// The texts that are kept with a component.
fn kept_texts(world: &World, sha256: &Digest) -> Vec<String> {
    let entries = std::fs::read_dir(component_folder(world, sha256)).expect("a kept component");
    let folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    folders.map(|folder| std::fs::read_to_string(folder.join("plugin.toml")).expect("text")).collect()
}

/// The same component with another `plugin.toml` is another package: its version, what it asks for, its schema.
#[tokio::test(flavor = "multi_thread")]
async fn a_swapped_package_is_the_same_after_a_restart() {
    let world = world();
    let package = copy(&world, "again", |text| version(&text, "9.9.9"));
    let host = world.host().await;
    let before = active(&host);
    assert_eq!(swap(&host, &package).await, before.sha256, "the component is the same");
    assert_eq!(active(&host).version, "9.9.9");
    end(host).await;
    let host = world.host().await;
    let after = active(&host);
    assert_eq!((after.version.as_str(), after.overridden), ("9.9.9", true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_kept_byte_for_byte() {
    let world = world();
    let comment = "# What is kept is what was written:\r\n  # component\n\n";
    let package = copy(&world, "commented", |text| format!("{comment}{}", version(&text, "9.9.8")));
    let text = std::fs::read_to_string(package.join("plugin.toml")).expect("text");
    let host = world.host().await;
    let sha256 = swap(&host, &package).await;
    assert!(kept_texts(&world, &sha256).contains(&text));
    end(host).await;
    std::fs::remove_dir_all(package).expect("removed");
    assert_eq!(active(&world.host().await).version, "9.9.8", "the data folder has all of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_package_is_not_kept() {
    let world = world();
    let host = world.host().await;
    let kept = || std::fs::read_dir(world.data_dir().join("components")).expect("components").count();
    let before = kept();
    host.swap(&files(), &guest("ungranted")).await.expect_err("refused");
    assert_eq!(kept(), before, "a refused build is kept for ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_names_is_swept_at_the_start() {
    let world = world();
    let host = world.host().await;
    let old = active(&host).sha256;
    let new = swap(&host, &plugin("files-next")).await;
    end(host).await;
    let components = world.data_dir().join("components");
    let (unnamed, half) = (component_folder(&world, &Digest::of(b"unnamed")), components.join(".tmphalf"));
    let text = component_folder(&world, &new).join(Digest::of(b"text").to_string());
    let others = components.join("README");
    std::fs::create_dir(&unnamed).expect("a folder");
    std::fs::create_dir(&text).expect("a folder");
    for file in [unnamed.join("component.wasm"), text.join("plugin.toml"), half.clone(), others.clone()] {
        std::fs::write(file, "?").expect("a file");
    }
    let host = world.host().await;
    assert!(!unnamed.exists() && !text.exists() && !half.exists());
    assert!(others.exists(), "it is not the host's");
    assert_eq!(active(&host).sha256, new);
    assert_eq!((kept_texts(&world, &old).len(), kept_texts(&world, &new).len()), (1, 1), "both have a history");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_build_that_is_damaged_gives_way_to_the_manifests() {
    let world = world();
    let host = world.host().await;
    let old = active(&host).sha256;
    let new = swap(&host, &plugin("files-next")).await;
    end(host).await;
    std::fs::write(component_folder(&world, &new).join("component.wasm"), "no component").expect("written");
    let host = world.host().await;
    let now = active(&host);
    assert_eq!((now.sha256, now.overridden), (old, false));
    end(host).await;
    let records = host_records(&world).await;
    let [.., RecordBody::PluginRefused(refused), RecordBody::PluginActivated(activated)] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!((refused.sha256, activated.sha256, activated.replaces), (new, old, Some(new)));
    let host = world.host().await;
    assert_eq!(swap(&host, &plugin("files-next")).await, new);
    end(host).await;
    assert_eq!(active(&world.host().await).sha256, new, "the swap replaced the damaged copy");
}
