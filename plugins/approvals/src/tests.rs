//! The gate, seen through its exports: one table of verdicts for each part of the configuration.

use crate::Approvals;
use mainstay_sdk::prelude::*;
use mainstay_sdk::testing::{self, Host};
use serde_json::{Value, json};

/// "allow", "ask: reason" or "deny: reason".
fn judge(config: &Value, tool: &str, arguments: &Value) -> String {
    judge_text(config, tool, &arguments.to_string())
}

fn judge_text(config: &Value, tool: &str, arguments: &str) -> String {
    let _host = Host::new().config(config.to_string()).session("s").enter();
    match Approvals::gate_call(testing::call(tool, arguments)).unwrap() {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Ask(grounds) => format!("ask: {}", grounds.reason),
        Verdict::Deny(grounds) => format!("deny: {}", grounds.reason),
    }
}

#[test]
fn lists_are_by_strength_and_the_default_is_last() {
    let config = json!({ "allow": ["*"], "ask": ["write_*", "edit_file"], "deny": ["write_secret"] });
    assert_eq!(judge(&config, "read_file", &json!({})), "allow");
    assert_eq!(judge(&config, "write_file", &json!({})), "ask: the list `ask` covers `write_file`");
    assert_eq!(judge(&config, "write_secret", &json!({})), "deny: the list `deny` covers `write_secret`");
    let strict = json!({ "default": "deny", "allow": ["read_file"] });
    assert_eq!(judge(&strict, "read_file", &json!({})), "allow");
    assert_eq!(judge(&strict, "read_files", &json!({})), "deny: the default covers `read_files`");
    assert_eq!(judge(&json!({}), "anything", &json!({})), "allow");
}

#[test]
fn rules_come_first_and_in_order() {
    let config = json!({
        "ask": ["write_file"],
        "rules": [
            { "tool": "write_file", "argument": "/path", "matches": "notes/*", "verdict": "allow" },
            { "tool": "*_file", "argument": "/path", "matches": "regex:(^|/)\\.env$", "verdict": "deny", "reason": "secrets stay where they are" },
            { "tool": "run", "verdict": "ask" },
        ],
    });
    assert_eq!(judge(&config, "write_file", &json!({ "path": "notes/a.md" })), "allow");
    assert_eq!(judge(&config, "write_file", &json!({ "path": "a.md" })), "ask: the list `ask` covers `write_file`");
    assert_eq!(judge(&config, "read_file", &json!({ "path": "x/.env" })), "deny: secrets stay where they are");
    assert_eq!(judge(&config, "run", &json!({})), "ask: rule 3 covers this call of `run`");
    assert_eq!(judge(&config, "write_file", &json!({})), "ask: the list `ask` covers `write_file`");
}

#[test]
fn a_path_is_judged_however_it_is_written() {
    let config = json!({
        "default": "ask",
        "rules": [
            { "tool": "*", "argument": "/path", "matches": "secret/*", "verdict": "deny" },
            { "tool": "*", "argument": "/path", "matches": "public/*", "verdict": "allow" },
        ],
    });
    for path in ["secret/a", "./secret/a", "secret//a", "x/../secret/a", "public/../secret/a", "secret/./b/c"] {
        assert!(judge(&config, "t", &json!({ "path": path })).starts_with("deny"), "{path}");
    }
    assert_eq!(judge(&config, "t", &json!({ "path": "public/a" })), "allow");
    assert!(judge(&config, "t", &json!({ "path": "public/../a" })).starts_with("ask"));
    assert!(judge(&config, "t", &json!({ "path": "x/../public/a" })).starts_with("ask"));
}

#[test]
fn one_element_objects_and_all_elements_permit() {
    let rule = |verdict: &str| json!({ "default": "ask", "rules": [{ "tool": "*", "argument": "/paths", "matches": "a*", "verdict": verdict }] });
    assert!(judge(&rule("deny"), "t", &json!({ "paths": ["b", "a1"] })).starts_with("deny"));
    assert!(judge(&rule("allow"), "t", &json!({ "paths": ["b", "a1"] })).starts_with("ask"));
    assert_eq!(judge(&rule("allow"), "t", &json!({ "paths": ["a2", "a1"] })), "allow");
    assert!(judge(&rule("allow"), "t", &json!({ "paths": [] })).starts_with("ask"));
}

#[test]
fn other_values_are_judged_by_their_json() {
    let config = json!({ "rules": [
        { "tool": "pay", "argument": "/amount", "matches": "regex:^[0-9]{4,}$", "verdict": "deny" },
        { "tool": "pay", "argument": "", "matches": "*\"urgent\":true*", "verdict": "ask" },
    ] });
    assert!(judge(&config, "pay", &json!({ "amount": 1000 })).starts_with("deny"));
    assert!(judge(&config, "pay", &json!({ "amount": 10, "urgent": true })).starts_with("ask"));
    assert_eq!(judge(&config, "pay", &json!({ "amount": 10 })), "allow");
}

#[test]
fn what_can_not_be_understood_is_denied() {
    for (config, key) in [
        (json!({ "deny": ["[a"] }), "`deny[0]`"),
        (
            json!({ "rules": [{ "tool": "a", "argument": "/p", "matches": "regex:(", "verdict": "deny" }] }),
            "`rules[0].matches`",
        ),
        (json!({ "rules": [{ "tool": "{", "verdict": "deny" }] }), "`rules[0].tool`"),
        (
            json!({ "rules": [{ "tool": "a", "argument": "p", "matches": "x", "verdict": "deny" }] }),
            "`rules[0].argument`",
        ),
        (json!({ "rules": [{ "tool": "a", "matches": "x", "verdict": "deny" }] }), "`rules[0].argument`"),
        (json!({ "rules": [{ "tool": "a", "argument": "/p", "verdict": "deny" }] }), "`rules[0].matches`"),
        (json!({ "default": "maybe" }), "`default`"),
        (json!({ "dney": [] }), "dney"),
    ] {
        let verdict = judge(&config, "harmless", &json!({}));
        assert!(verdict.starts_with("deny: nothing may run: configuration: "), "{verdict}");
        assert!(verdict.contains(key), "{verdict}");
        let _host = Host::new().config(config.to_string()).enter();
        let error = Approvals::check_self().unwrap_err();
        assert_eq!(error.code, "bad-config");
        assert!(error.message.contains(key), "{}", error.message);
    }
    assert!(judge_text(&json!({}), "t", "not json").starts_with("deny"));
    assert_eq!(judge_text(&json!({}), "t", ""), "allow");
}

#[test]
fn codes_are_stable() {
    let _host = Host::new().config(r#"{"ask": ["a"], "deny": ["d"]}"#).session("s").enter();
    let code = |tool: &str| match Approvals::gate_call(testing::call(tool, "{}")).unwrap() {
        Verdict::Ask(grounds) | Verdict::Deny(grounds) => grounds.code,
        Verdict::Allow => String::new(),
    };
    assert_eq!((code("a").as_str(), code("d").as_str()), ("approvals-ask", "approvals-deny"));
}

#[test]
fn an_empty_policy_is_worth_a_warning() {
    let _host = Host::new().enter();
    assert_eq!(Approvals::check_self().unwrap().len(), 1);
}
