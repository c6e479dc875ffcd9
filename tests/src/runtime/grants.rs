//! A plugin can do what was granted and nothing else.

use std::{fs, os::unix::fs::symlink, sync::Arc};

use mainstay_runtime::{Access, Capability, Generation, Grant, LoadError, Registry};
use serde_json::{Value, json};

use super::support::{call, failure, invocation, json as json_of, load, refused, request, text, tool_call};

async fn hostile(grant: Grant) -> Arc<Generation> {
    let mut request = request("hostile");
    request.grant = grant;
    load(request).await
}

/// What every import that needs a grant answers.
async fn answers(generation: &Arc<Generation>) -> Value {
    let mut invocation = invocation();
    invocation.snapshot = Some(Registry::default().snapshot());
    json_of(generation.call_tool(invocation, tool_call("denied_imports", &json!({}))).await)
}

#[tokio::test]
async fn imports_without_a_grant_answer_denied() {
    let found = answers(&hostile(Grant::nothing()).await).await;
    let found = found.as_object().unwrap();
    assert_eq!(found.len(), 11);
    for (import, answer) in found {
        assert_eq!(answer, "denied", "{import}");
    }
}

#[tokio::test]
async fn granted_imports_answer_what_this_build_serves() {
    let all = Capability::ALL.iter().fold(Grant::nothing(), |grant, &capability| grant.with_capability(capability));
    let found = answers(&hostile(all).await).await;
    let expected = json!({
        "transcript.open": "not-found",
        "catalog.tool-names": "ok",
        "catalog.find-tool": "ok",
        "current-step.request": "not-found",
        "plugin-state.get": "unsupported",
        "plugin-state.add": "unsupported",
        "plugin-state.put-if-version": "unsupported",
        "blobs.stat": "not-found",
        "blobs.read": "not-found",
        "secrets.placeholder": "unsupported",
        "models.generate": "unsupported",
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn only_listed_environment_variables_are_seen() {
    let generation = hostile(Grant::nothing()).await;
    assert_eq!(json_of(call(&generation, "list_env", json!({})).await), json!([]));
    assert_eq!(json_of(call(&generation, "read_env", json!({"name": "PATH"})).await), Value::Null);

    let generation = hostile(Grant::nothing().with_env("MAINSTAY_TEST_ASKED", "yes").unwrap()).await;
    assert_eq!(json_of(call(&generation, "list_env", json!({})).await), json!([["MAINSTAY_TEST_ASKED", "yes"]]));
}

#[tokio::test]
async fn without_a_folder_there_are_no_files() {
    let generation = hostile(Grant::nothing()).await;
    let failed = failure(call(&generation, "read_file", json!({"path": "/etc/passwd"})).await);
    assert_eq!(failed.code(), "guest-error");
}

#[tokio::test]
async fn a_read_only_folder_can_be_read_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let generation = hostile(Grant::nothing().with_dir(folder.path(), "/effects", Access::ReadOnly).unwrap()).await;
    assert_eq!(text(call(&generation, "read_file", json!({"path": "/effects/a.txt"})).await), "hello");
    for path in ["/effects/a.txt", "/effects/new.txt"] {
        let failed = failure(call(&generation, "write_file", json!({"path": path, "text": "x"})).await);
        assert_eq!(failed.code(), "guest-error", "{failed}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "hello");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_read_write_folder_ends_at_its_edge() {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(outer.path().join("secret"), "s").unwrap();
    symlink("../secret", inner.join("link")).unwrap();
    symlink("/etc/passwd", inner.join("absolute")).unwrap();
    let generation = hostile(Grant::nothing().with_dir(&inner, "/effects", Access::ReadWrite).unwrap()).await;
    assert_eq!(text(call(&generation, "write_file", json!({"path": "/effects/b", "text": "x"})).await), "written");
    assert_eq!(fs::read_to_string(inner.join("b")).unwrap(), "x");
    for path in ["/effects/../secret", "/effects/link", "/effects/absolute", "/secret"] {
        let failed = failure(call(&generation, "read_file", json!({"path": path})).await);
        assert_eq!(failed.code(), "guest-error", "{path}");
    }
}

/// The folder is the one that was there when the plugin was loaded: another plugin with a wider grant can not redirect it.
#[tokio::test]
async fn a_folder_that_is_swapped_for_a_link_does_not_widen_the_grant() {
    let outer = tempfile::tempdir().unwrap();
    let (granted, other) = (outer.path().join("granted"), outer.path().join("other"));
    fs::create_dir(&granted).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("secret"), "s").unwrap();
    let generation = hostile(Grant::nothing().with_dir(&granted, "/effects", Access::ReadOnly).unwrap()).await;
    fs::rename(&granted, outer.path().join("moved")).unwrap();
    symlink(&other, &granted).unwrap();
    let failed = failure(call(&generation, "read_file", json!({"path": "/effects/secret"})).await);
    assert_eq!(failed.code(), "guest-error");
}

#[tokio::test]
async fn a_folder_that_is_not_there_refuses_the_load_without_its_path() {
    let mut request = request("hostile");
    request.grant = Grant::nothing().with_dir("/no/such/folder", "/effects", Access::ReadOnly).unwrap();
    let error = refused(request).await;
    assert!(matches!(error, LoadError::Dir(_)), "{error}");
    let message = error.to_string();
    assert!(message.contains("`/effects`") && !message.contains("/no/such"), "{message}");
}
