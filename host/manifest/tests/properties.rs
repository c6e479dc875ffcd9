//! Properties of manifests and grants, each named after the invariant that it holds.

use mainstay_manifest::{
    Access, ByteSize, ConfigSchema, EffectiveGrant, Hook, HostManifest, ManifestErrors, PluginManifest, Timespan,
    validate_config,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

const HOST: &str = include_str!("cases/host-full.toml");
const PLUGIN: &str = include_str!("cases/plugin-full.toml");

/// Pieces that a careless or hostile hand puts into a manifest.
const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "\n",
    "\0",
    "\u{202e}",
    "é",
    "[plugin.x]",
    "[host]",
    "grant",
    "-1",
    "0",
    "99999999999999999999",
    "nan",
    "1979-05-27",
    "true",
    "\"64 MiB\"",
    "default",
    "[tool.\"\"]",
    "# ",
    "[plugin.\"\\u001b[2J\u{202e}\"]\npath = \"x\"\n",
    "[route.\"\\u202e\"]\nadapter = \"fiels\"\nmodel = \"m\"\n",
    "\u{feff}",
];

proptest! {
    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = HostManifest::parse(&text, "mainstay.toml");
        let _ = PluginManifest::parse(&text, "plugin.toml");
        let _ = ConfigSchema::parse(&text, "schema.json");
    }

    #[test]
    fn parsing_mutated_manifests_never_panics(
        host in any::<bool>(),
        edits in vec((any::<Index>(), 0..40_usize, select(PIECES)), 1..6),
    ) {
        let text = edits.iter().fold(if host { HOST } else { PLUGIN }.to_owned(), |text, edit| mutate(&text, edit));
        let _ = HostManifest::parse(&text, "mainstay.toml");
        let _ = PluginManifest::parse(&text, "plugin.toml");
    }

    #[test]
    fn errors_never_repaint_a_terminal(
        text in any::<String>(),
        edits in vec((any::<Index>(), 0..3_usize, prop_oneof![any::<String>(), select(PIECES).prop_map(str::to_owned)]), 1..4),
    ) {
        let mutated = edits.iter().fold(HOST.to_owned(), |text, (at, cut, piece)| mutate(&text, &(*at, *cut, piece)));
        for errors in [&text, &mutated].into_iter().filter_map(|text| HostManifest::parse(text, "evil\u{1b}[2J.toml").err()) {
            prop_assert!(is_safe(&errors), "{:?}", errors.to_string());
        }
    }

    #[test]
    fn every_error_lies_in_the_text(edits in vec((any::<Index>(), 0..40_usize, select(PIECES)), 1..6)) {
        let text = edits.iter().fold(HOST.to_owned(), |text, edit| mutate(&text, edit));
        let lines = text.split('\n').count();
        for error in HostManifest::parse(&text, "mainstay.toml").err().iter().flatten() {
            if let Some(position) = error.position() {
                prop_assert!((1..=lines).contains(&(position.line() as usize)), "{error}");
            }
        }
    }

    #[test]
    fn the_same_manifest_gives_the_same_errors(edits in vec((any::<Index>(), 0..40_usize, select(PIECES)), 1..6)) {
        let text = edits.iter().fold(HOST.to_owned(), |text, edit| mutate(&text, edit));
        prop_assert_eq!(HostManifest::parse(&text, "a"), HostManifest::parse(&text, "a"));
    }

    #[test]
    fn canonical_grant_is_order_independent(grants in grants().prop_shuffle(), asks in Just(all_asks()).prop_shuffle()) {
        let sorted = combine(&all_asks(), &sorted(&grants));
        let shuffled = combine(&asks, &grants);
        prop_assert_eq!(sorted.canonical(), shuffled.canonical());
        prop_assert_eq!(sorted.missing(), shuffled.missing());
        prop_assert_eq!(sorted.unused(), shuffled.unused());
    }

    #[test]
    fn a_grant_never_exceeds_either_key(
        asked in subsequence(Hook::ALL, 0..=Hook::ALL.len()),
        granted in subsequence(Hook::ALL, 0..=Hook::ALL.len()),
        ask in select(Access::ALL),
        grant in select(Access::ALL),
    ) {
        let asks = vec![line("hooks", &words(&asked)), dir_ask(ask)];
        let grants = vec![line("grant.hooks", &words(&granted)), dir_grant(grant)];
        let effective = combine(&asks, &grants);
        for hook in Hook::ALL {
            prop_assert_eq!(effective.allows_hook(*hook), asked.contains(hook) && granted.contains(hook));
        }
        let access: Vec<Access> = effective.dirs().map(mainstay_manifest::DirGrant::access).collect();
        prop_assert_eq!(access, [ask.min(grant)]);
        let gaps = asked.iter().filter(|hook| !granted.contains(hook)).count() + usize::from(ask > grant);
        prop_assert_eq!(effective.missing().len(), gaps);
    }

    #[test]
    fn quantities_read_back_what_they_write(number in 1..=u64::MAX) {
        let number = std::num::NonZeroU64::new(number).expect("the range starts at one");
        prop_assert_eq!(ByteSize::from_bytes(number).to_string().parse(), Ok(ByteSize::from_bytes(number)));
        prop_assert_eq!(Timespan::from_millis(number).to_string().parse(), Ok(Timespan::from_millis(number)));
    }

    #[test]
    fn hostile_schemas_never_panic(schema in schema(), config in json()) {
        if let Err(errors) = validate_config("p", &schema.to_string(), &config) {
            prop_assert!(is_safe(&errors), "{:?}", errors.to_string());
        }
    }
}

/// Nesting is what overflows stacks; a manifest that nests without end is refused by the parser.
#[test]
fn endless_nesting_is_an_error() {
    let deep = 100_000;
    let texts = [
        format!("x = {}", "[".repeat(deep)),
        format!("x = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x = {}", "{a = ".repeat(deep)),
        format!("[plugin.x.config]\n{}b = 1", "a.".repeat(deep)),
        format!("[plugin.x.config.{}b]", "a.".repeat(deep)),
    ];
    for text in texts {
        assert!(HostManifest::parse(&text, "mainstay.toml").is_err());
    }
    assert!(ConfigSchema::parse(&"{\"not\":".repeat(8_000), "schema.json").is_err());
    assert!(HostManifest::parse(&"#".repeat(1 << 21), "mainstay.toml").is_err());
}

/// Cuts some bytes at a place and puts a piece there.
fn mutate(text: &str, (at, cut, piece): &(Index, usize, &str)) -> String {
    let chars: Vec<char> = text.chars().collect();
    let start = at.index(chars.len() + 1);
    let end = (start + cut).min(chars.len());
    chars[..start].iter().copied().chain(piece.chars()).chain(chars[end..].iter().copied()).collect()
}

fn is_safe(errors: &ManifestErrors) -> bool {
    let hidden = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    errors.to_string().chars().all(|c| c == '\n' || (!c.is_control() && !hidden(c)))
}

fn line(key: &str, value: &str) -> String {
    format!("{key} = {value}")
}

fn words(hooks: &[Hook]) -> String {
    format!("{:?}", hooks.iter().map(|hook| hook.as_str()).collect::<Vec<_>>())
}

fn dir_ask(access: Access) -> String {
    format!("dirs = [{{ guest = \"/w\", access = \"{access}\", why = \"work\" }}]")
}

fn dir_grant(access: Access) -> String {
    format!("grant.dirs = [{{ host = \"w\", guest = \"/w\", access = \"{access}\" }}]")
}

fn all_asks() -> Vec<String> {
    [
        r#"hooks = ["tool-gate", "stop"]"#,
        r#"imports = [{ name = "blobs", why = "x" }, { name = "models", why = "x" }]"#,
        r#"dirs = [{ guest = "/b", access = "read-only", why = "x" }, { guest = "/a", access = "read-write", why = "x" }]"#,
        r#"env = [{ name = "LANG", why = "x" }, { name = "TZ", why = "x" }]"#,
        r#"http = [{ host = "*", methods = ["POST"], why = "x" }, { host = "b.test", methods = ["GET"], why = "x" }]"#,
        r#"secrets = [{ name = "KEY", why = "x" }]"#,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The lines of a grant, each list in an order of its own.
fn grants() -> impl Strategy<Value = Vec<String>> {
    let list = |key: &'static str, items: &'static [&'static str]| {
        Just(items.to_vec()).prop_shuffle().prop_map(move |items| format!("grant.{key} = [{}]", items.join(", ")))
    };
    (
        list("hooks", &["\"stop\"", "\"tool-gate\"", "\"input\""]),
        list("imports", &["\"models\"", "\"blobs\"", "\"catalog\""]),
        list(
            "dirs",
            &[
                r#"{ host = "a", guest = "/a", access = "read-only" }"#,
                r#"{ host = "b", guest = "/b", access = "read-write" }"#,
                r#"{ host = "c", guest = "/c", access = "read-only" }"#,
            ],
        ),
        list("env", &["\"LANG\"", "\"HOME\"", r#"{ name = "TZ", value = "UTC" }"#]),
        list(
            "http",
            &[
                r#"{ host = "a.test", methods = ["POST", "GET"] }"#,
                r#"{ host = "b.test", methods = ["GET", "POST"] }"#,
                r#"{ host = "b.test", port = 8443, methods = ["POST"] }"#,
            ],
        ),
        list(
            "secrets",
            &[
                r#"{ name = "KEY", from = "env", hosts = ["a.test", "b.test"], header = "x-key" }"#,
                r#"{ name = "OTHER", from = "env", hosts = ["b.test", "a.test"], header = "x-other" }"#,
            ],
        ),
    )
        .prop_map(|(hooks, imports, dirs, env, http, secrets)| vec![hooks, imports, dirs, env, http, secrets])
}

fn sorted(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    lines.sort();
    lines
}

fn combine(asks: &[String], grants: &[String]) -> EffectiveGrant {
    let author = format!("name = \"p\"\nversion = \"1.0.0\"\n[asks]\n{}\n", asks.join("\n"));
    let operator = format!("[host]\nallow_unpinned = true\n[plugin.p]\npath = \"p.wasm\"\n{}\n", grants.join("\n"));
    let author = PluginManifest::parse(&author, "plugin.toml").unwrap_or_else(|errors| panic!("{errors}\n{author}"));
    let operator =
        HostManifest::parse(&operator, "mainstay.toml").unwrap_or_else(|errors| panic!("{errors}\n{operator}"));
    EffectiveGrant::combine(&author, operator.plugin("p").expect("the plugin is there"))
}

/// JSON that uses the words of JSON schemas, in and out of place.
fn schema() -> impl Strategy<Value = serde_json::Value> {
    let keyword = select(vec![
        "$ref",
        "$defs",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "not",
        "if",
        "then",
        "type",
        "enum",
        "pattern",
        "required",
        "additionalProperties",
        "dependentSchemas",
        "a",
        "b",
        "$id",
        "$schema",
        "minimum",
        "unevaluatedProperties",
    ]);
    let leaf = prop_oneof![
        select(vec![
            "#",
            "#/$defs/a",
            "#/$defs/b",
            "#/properties/a",
            "#/items",
            "string",
            "object",
            "(a+)+$",
            "\u{202e}",
            "x/y"
        ])
        .prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i8>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            vec((keyword.clone(), inner), 0..4).prop_map(object),
        ]
    })
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf =
        prop_oneof![any::<bool>().prop_map(serde_json::Value::from), any::<String>().prop_map(serde_json::Value::from)];
    leaf.prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            vec((select(vec!["a", "b", "c/~", ""]), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(entries: Vec<(&'static str, serde_json::Value)>) -> serde_json::Value {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}
