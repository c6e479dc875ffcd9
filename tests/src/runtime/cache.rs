//! The compile cache: a hit is as good as a compilation, and a damaged file is a miss.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mainstay_runtime::{Allocation, Runtime};
use serde_json::json;

use super::support::{call, engine_with, json as json_of, request};

/// Without a pool, so that all engines of a test have the same settings however tight the address space is.
fn engine(folder: &Path) -> Runtime {
    engine_with(|options| {
        options.cache_dir = Some(folder.to_owned());
        options.allocation = Allocation::OnDemand;
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

async fn loads(engine: &Runtime) {
    let generation = engine.load(request("echo-json")).await.unwrap();
    assert_eq!(json_of(call(&generation, "echo_json", json!({"a": 1})).await), json!({"a": 1}));
}

#[tokio::test]
async fn a_second_start_finds_what_the_first_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let engine = |()| engine(folder.path());
    loads(&engine(())).await;
    let [file] = files(folder.path()).try_into().unwrap();
    let written = fs::metadata(&file).unwrap().modified().unwrap();
    loads(&engine(())).await;
    assert_eq!(files(folder.path()), std::slice::from_ref(&file));
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written, "files are never rewritten");
}

#[tokio::test]
async fn damaged_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    loads(&engine(folder.path())).await;
    let [file] = files(folder.path()).try_into().unwrap();
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 3], b"", &flipped] {
        fs::remove_file(&file).unwrap();
        fs::write(&file, damaged).unwrap();
        loads(&engine(folder.path())).await;
        assert!(fs::read(&file).unwrap() == whole, "it was compiled again");
    }
}

#[tokio::test]
async fn a_folder_that_others_can_write_into_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let engine = engine(folder.path());
    assert!(!engine.has_cache());
    loads(&engine).await;
    assert!(files(folder.path()).is_empty());
}
