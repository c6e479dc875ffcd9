//! Errors: each says what, with what, why, and what to do next; the exit code tells its kind; nothing has changed.

use super::{mainstay, stderr, stdout};
use crate::support::World;

const HI: &str = "[[rule]]\noutput = [{ text = \"hi\" }]";

/// Runs the command; it must fail with this code, and its error must say these things.
fn fails(world: &World, arguments: &[&str], code: i32, says: &[&str]) {
    let output = mainstay(world, arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "errors go to standard error");
    for words in says {
        assert!(said.contains(words), "{arguments:?} must say `{words}`:\n{said}");
    }
}

#[test]
fn a_wrong_command_line_is_usage() {
    let world = World::new(HI);
    fails(&world, &["frobnicate"], 2, &["unrecognized subcommand 'frobnicate'", "--help"]);
    fails(&world, &["run", "--approve", "maybe", "x"], 2, &["maybe", "all"]);
    fails(&world, &["run", "--session", "not a name", "x"], 2, &["not a name"]);
}

#[test]
fn a_bad_manifest_names_the_field_and_changes_nothing() {
    let world = World::new(HI).entry("[plugin.files]\npath = \"x.wasm\"\nlmits = {}");
    fails(&world, &["run", "hello"], 3, &["plugin.files.lmits", "did you mean `limits`?"]);
    fails(&world, &["check"], 3, &["plugin.files.lmits"]);
    assert!(!world.data_dir().exists(), "nothing was made");
    let world = World::new(HI).entry("[plugin.files]\npath = \"missing\"");
    fails(&world, &["run", "hello"], 3, &["plugin `files` can't be loaded", "missing", "mainstay check"]);
}

#[test]
fn a_missing_manifest_a_missing_session_and_a_missing_host_are_told_apart() {
    let world = World::new(HI);
    fails(&world, &["run", "--manifest", "nowhere.toml", "hello"], 3, &["nowhere.toml"]);
    fails(&world, &["session", "show", "nobody"], 1, &["there is no session `nobody`", "mainstay session list"]);
    fails(&world, &["plugin", "swap", "files", "x.wasm"], 4, &["a swap needs a running host", "mainstay run"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_another_host_has_without_answering_is_a_clear_error() {
    let world = World::new(HI);
    let host = world.host().await;
    fails(&world, &["run", "--wait", "0", "hello"], 4, &["another", "does not answer"]);
    host.shutdown().await;
}
