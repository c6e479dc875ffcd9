//! Bytes that must not be loaded, each refused with a message that names what, why and what to do.

use mainstay_protocol::Digest;
use mainstay_runtime::{LoadError, LoadRequest};

use super::support::{engine, guest, load, refused, request, request_for, wat};

/// Loads a component that must be refused, and checks what the message says.
async fn check(request: LoadRequest, code: &str, says: &[&str]) {
    let error = refused(request).await;
    let message = error.to_string();
    assert_eq!(error.code(), code, "{message}");
    for word in says {
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
}

async fn check_text(text: &str, code: &str, says: &[&str]) {
    check(request_for(wat(text)), code, says).await;
}

/// A component that exports an interface with the given functions, none of which has the right type.
fn exporting(interface: &str, functions: &[&str]) -> String {
    let exports: String = functions.iter().map(|name| format!(r#"(export "{name}" (func $f))"#)).collect();
    format!(
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $t {exports})
            (export "{interface}" (instance $t)))"#
    )
}

#[tokio::test]
async fn what_is_no_component() {
    let garbage = |bytes: &[u8]| request_for(bytes.into());
    check(garbage(b""), "not-a-component", &["it is empty"]).await;
    check(garbage(b"#!/bin/sh\n"), "not-a-component", &["not a WebAssembly component"]).await;
    check(garbage(b"\x7fELF"), "not-a-component", &[]).await;
    check(garbage(b"\0asm\x0d\0\x01\0\xff\xff"), "not-a-component", &[]).await;
    let cut = guest("echo-json");
    check(garbage(&cut[..cut.len() / 2]), "not-a-component", &[]).await;
    check_text("(module)", "core-module", &["wasm32-wasip2"]).await;
}

#[tokio::test]
async fn unknown_exports_of_our_namespace() {
    let unknown = exporting("mainstay:plugin/tool-gate-v2@0.1.0", &["gate-call"]);
    check_text(&unknown, "unknown-export", &["`mainstay:plugin/tool-gate-v2@0.1.0`", "tool-gate, "]).await;
    check_text(&exporting("mainstay:admin/sudo@0.1.0", &[]), "unknown-export", &["`mainstay:admin/sudo@0.1.0`"]).await;
    check_text(&exporting("mainstay:plugin/context@0.1.0", &[]), "unknown-export", &["context"]).await;
}

#[tokio::test]
async fn wrong_versions() {
    let says = ["`mainstay:plugin/tools@0.2.0`", "serves mainstay:plugin@0.1.0"];
    check_text(&exporting("mainstay:plugin/tools@0.2.0", &["list-tools", "call-tool"]), "export-version", &says).await;
    check_text(&exporting("mainstay:plugin/tools", &["list-tools"]), "export-version", &[]).await;
    check_text(&exporting("mainstay:plugin/tools@0.1.0-rc.1", &["list-tools"]), "export-version", &[]).await;
}

#[tokio::test]
async fn wrong_shapes() {
    let missing = exporting("mainstay:plugin/tools@0.1.0", &["list-tools"]);
    check_text(&missing, "export-type", &["`tools`", "call-tool"]).await;
    let mistyped = exporting("mainstay:plugin/tools@0.1.9", &["list-tools", "call-tool"]);
    check_text(&mistyped, "export-type", &["`tools`", "type mismatch"]).await;
    let no_interface = r#"(component (core module $m) (export "mainstay:plugin/tools@0.1.0" (core module $m)))"#;
    check_text(no_interface, "export-type", &["it is no interface"]).await;
    check_text("(component)", "nothing-exported", &["no `tools`"]).await;
}

#[tokio::test]
async fn imports_that_the_host_lacks() {
    let importing = |import: &str, function: &str| {
        let function = if function.is_empty() { String::new() } else { format!(r#"(export "{function}" (func))"#) };
        let tools = exporting("mainstay:plugin/tools@0.1.0", &["list-tools", "call-tool"]);
        tools.replacen("(component", &format!(r#"(component (import "{import}" (instance {function}))"#), 1)
    };
    for (import, function, says) in [
        ("acme:db/query@1.0.0", "", "no such package"),
        ("wasi:http/types@0.2.0", "", "HTTP"),
        ("wasi:cli/environment@0.3.0", "", "WASI 0.2"),
        ("mainstay:plugin/log@0.2.0", "", "serves version 0.1.0"),
        ("mainstay:plugin/telepathy@0.1.0", "", "newer host"),
        ("mainstay:plugin/log@0.1.5", "write-twice", "newer host"),
        ("wasi:cli/teleport@0.2.0", "run", "newer host"),
    ] {
        let says = [says, import.split('@').next().unwrap()];
        check_text(&importing(import, function), "missing-import", &says).await;
    }
}

#[tokio::test]
async fn other_bytes_than_the_pinned_ones() {
    let mut request = request("echo-json");
    request.expected = Some(Digest::ZERO);
    let found = Digest::of(&guest("echo-json")).to_string();
    check(request, "digest-mismatch", &[&Digest::ZERO.to_string(), &found, "`sha256`"]).await;
}

#[tokio::test]
async fn configuration_that_is_no_object() {
    let mut request = request("echo-json");
    for config in ["", "[]", "{"] {
        request.config = config.into();
        check(request.clone(), "config", &["not a JSON object"]).await;
    }
}

#[tokio::test]
async fn what_fits_is_described() {
    let bytes = guest("hooks");
    let inspection = engine().inspect(&bytes).unwrap();
    assert_eq!(inspection.digest, Digest::of(&bytes));
    let names: Vec<_> = inspection.exports.iter().map(|export| export.name()).collect();
    assert_eq!(names, ["input", "tool-gate", "stop", "self-check"]);
    assert_eq!(inspection.hooks.len(), 3);
    assert!(inspection.imports.iter().any(|import| import.starts_with("mainstay:plugin/context@0.1.")));
    assert!(inspection.compiled_bytes > bytes.len());
    assert_eq!(inspection.places, 1, "a guest of Rust takes one place");
    assert!(matches!(engine().inspect(b"x"), Err(LoadError::NotAComponent { .. })));
}

#[tokio::test]
async fn exports_outside_our_namespace_are_ignored() {
    let text = exporting("acme:extra/thing@2.0.0", &["run"]);
    let inspection = engine().inspect(&wat(&text)).unwrap();
    assert_eq!(inspection.other_exports, ["acme:extra/thing@2.0.0"]);
    check_text(&text, "nothing-exported", &[]).await;
}

#[tokio::test]
async fn a_receipt_says_exactly_what_runs() {
    let generation = load(request("echo-json")).await;
    let receipt = generation.receipt();
    assert_eq!(receipt.plugin.as_str(), "echo-json");
    assert_eq!(receipt.sha256, Digest::of(&guest("echo-json")));
    assert_eq!(receipt.interface, "0.1.0");
    assert!(receipt.host.starts_with("mainstay "));

    let mut other = request("echo-json");
    other.config = r#"{"a":1}"#.into();
    assert_ne!(load(other).await.receipt().grant, receipt.grant, "another configuration is another receipt");
}
