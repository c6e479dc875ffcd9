//! The five tools over a temporary folder: what they give back, and what they say when they can't.

use std::fs;
use std::path::Path;

use crate::Files;
use mainstay_sdk::prelude::*;
use mainstay_sdk::serde_json::{self, Value, json};
use mainstay_sdk::testing::{self, Entered, Host};
use mainstay_sdk::text_of;
use tempfile::TempDir;

struct Workspace {
    dir: TempDir,
    _host: Entered,
}

impl Workspace {
    fn new() -> Self {
        Self::with(json!({}))
    }

    fn with(mut config: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        config["root"] = dir.path().to_str().unwrap().into();
        let _host = Host::new().config(config.to_string()).session("s").enter();
        Self { dir, _host }
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn ok(tool: &str, arguments: Value) -> String {
    match Files::call_tool(testing::call(tool, arguments.to_string())) {
        Ok(output) => text_of(&output.content),
        Err(interruption) => panic!("{tool} {arguments}: {interruption:?}"),
    }
}

fn fails(tool: &str, arguments: Value) -> Error {
    match Files::call_tool(testing::call(tool, arguments.to_string())) {
        Err(Interruption::Failed(error)) => error,
        other => panic!("{tool} {arguments}: expected a failure, got {other:?}"),
    }
}

/// The lines of a text, without the numbers that the next release writes.
fn numbered(lines: &[(u32, &str)]) -> String {
    let show = |(number, line): &(u32, &str)| {
        if cfg!(feature = "next") { format!("{number:>6}  {line}\n") } else { format!("{line}\n") }
    };
    lines.iter().map(show).collect()
}

#[test]
fn the_version_is_that_of_the_manifest() {
    let manifest = include_str!("../plugin.toml");
    let expected = if cfg!(feature = "next") { "0.1.1" } else { "0.1.0" };
    assert_eq!(crate::VERSION, expected);
    assert!(manifest.contains("version = \"0.1.0\""));
}

#[test]
fn the_schema_knows_every_setting_and_its_default() {
    let schema: Value = serde_json::from_str(include_str!("../config.schema.json")).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    let mut config: Value = properties.iter().map(|(key, schema)| (key.clone(), schema["default"].clone())).collect();
    assert!(!config.as_object().unwrap().values().any(Value::is_null));
    let dir = tempfile::tempdir().unwrap();
    config["root"] = dir.path().to_str().unwrap().into();
    let _host = Host::new().config(config.to_string()).enter();
    assert_eq!(Files::check_self(), Ok(vec![]));
}

#[test]
fn only_the_tools_that_write_ask() {
    let claims: Vec<_> = Files::list_tools()
        .unwrap()
        .into_iter()
        .map(|tool| (tool.name, tool.effect, tool.execution, tool.approval))
        .collect();
    for (name, effect, execution, approval) in claims {
        let expected = if name.starts_with("write") || name.starts_with("edit") {
            (Effect::AtMostOnce, Execution::Exclusive, Approval::Ask)
        } else {
            (Effect::Pure, Execution::Parallel, Approval::Unneeded)
        };
        assert_eq!((effect, execution, approval), expected, "{name}");
    }
}

#[test]
fn listing_is_sorted_and_goes_as_deep_as_asked() {
    let _w = Workspace::new().file("b.txt", "12").file("a/x.md", "").file("a/c/y.md", "123").file(".git/HEAD", "");
    assert_eq!(ok("list_files", json!({})), ".git/\na/\nb.txt  2");
    assert_eq!(ok("list_files", json!({ "depth": 9 })), ".git/\na/\na/c/\na/c/y.md  3\na/x.md  0\nb.txt  2");
    assert_eq!(ok("list_files", json!({ "path": "a", "depth": 2, "include": "*.md" })), "a/c/y.md  3\na/x.md  0");
    assert_eq!(ok("list_files", json!({ "include": "*.rs" })), "[nothing matches]");
}

#[test]
fn listing_is_bounded() {
    let w = Workspace::with(json!({ "max_results": 2, "max_depth": 2 })).file("a/b/c/d", "");
    assert_eq!(ok("list_files", json!({ "depth": 60 })), "a/\na/b/\n[1 folders are deeper and were not entered]");
    let _w = w.file("x", "").file("y", "");
    assert_eq!(
        ok("list_files", json!({})),
        "a/\nx  0\n[more than 2 entries; choose a smaller folder, or use `include`]"
    );
}

#[test]
fn listing_says_what_is_wrong() {
    let _w = Workspace::new().file("a.txt", "");
    assert_eq!(fails("list_files", json!({ "path": "nowhere" })).kind, ErrorKind::NotFound);
    assert_eq!(fails("list_files", json!({ "path": "a.txt" })).kind, ErrorKind::InvalidArgument);
    assert_eq!(fails("list_files", json!({ "path": "../x" })).code, "bad-path");
    assert_eq!(fails("list_files", json!({ "include": "[a" })).code, "bad-pattern");
}

#[cfg(unix)]
#[test]
fn links_are_shown_and_not_followed_and_odd_names_are_counted() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let w = Workspace::new().file("a/x.md", "needle");
    std::os::unix::fs::symlink(w.path("."), w.path("a/loop")).unwrap();
    std::os::unix::fs::symlink("x.md", w.path("a/link")).unwrap();
    fs::write(w.path("a").join(OsStr::from_bytes(b"bad\xff")), "").unwrap();
    let listing = ok("list_files", json!({ "depth": 20 }));
    assert_eq!(
        listing,
        "a/\na/link@\na/loop@\na/x.md  6\n[1 entries could not be read, or have names that are not UTF-8]"
    );
    assert!(ok("search_files", json!({ "pattern": "needle" })).starts_with("a/x.md:1: needle\n["));
    assert_eq!(fails("write_file", json!({ "path": "a/link", "content": "x" })).code, "not-a-file");
    assert_eq!(w.read("a/x.md"), "needle");
}

#[test]
fn reading_gives_ranges_and_says_how_to_go_on() {
    let _w = Workspace::new().file("f", "one\ntwo\nthree\nfour").file("empty", "");
    assert_eq!(
        ok("read_file", json!({ "path": "f" })).trim_end(),
        numbered(&[(1, "one"), (2, "two"), (3, "three"), (4, "four")]).trim_end()
    );
    let page = ok("read_file", json!({ "path": "f", "from_line": 2, "max_lines": 2 }));
    assert_eq!(page, numbered(&[(2, "two"), (3, "three")]) + "[lines 2 to 3; go on with from_line = 4]\n");
    assert_eq!(ok("read_file", json!({ "path": "f", "from_line": 4 })).trim_end(), numbered(&[(4, "four")]).trim_end());
    assert_eq!(ok("read_file", json!({ "path": "empty" })), "[the file is empty]");
    let error = fails("read_file", json!({ "path": "f", "from_line": 5 }));
    assert_eq!(
        (error.code.as_str(), error.message.contains("it has 4 lines")),
        ("no-such-line", true),
        "{}",
        error.message
    );
}

#[test]
fn a_page_ends_before_a_line_that_does_not_fit() {
    let _w = Workspace::with(json!({ "max_read_bytes": 256 }))
        .file("f", format!("{}\n{}\nend\n", "a".repeat(200), "b".repeat(100)));
    let page = ok("read_file", json!({ "path": "f" }));
    assert_eq!(page, numbered(&[(1, &"a".repeat(200))]) + "[lines 1 to 1; go on with from_line = 2]\n");
    assert_eq!(ok("read_file", json!({ "path": "f", "from_line": 2 })), numbered(&[(2, &"b".repeat(100)), (3, "end")]));
}

#[test]
fn a_line_longer_than_a_page_is_cut_between_characters() {
    let _w = Workspace::with(json!({ "max_read_bytes": 256 })).file("f", format!("x{}\nend\n", "ü".repeat(100_000)));
    let page = ok("read_file", json!({ "path": "f" }));
    let kept = format!("x{}", "ü".repeat(127));
    assert_eq!(
        page,
        numbered(&[(1, &kept)])
            + "[line 1 is longer; the rest of it is left out]\n[lines 1 to 1; go on with from_line = 2]\n"
    );
    assert_eq!(ok("read_file", json!({ "path": "f", "from_line": 2 })), numbered(&[(2, "end")]));
}

#[test]
fn a_huge_file_is_read_by_ranges() {
    let lines: String = (1..=200_000).map(|n| format!("line {n}\n")).collect();
    let _w = Workspace::new().file("f", lines);
    let page = ok("read_file", json!({ "path": "f", "from_line": 150_000, "max_lines": 1 }));
    assert_eq!(
        page,
        numbered(&[(150_000, "line 150000")]) + "[lines 150000 to 150000; go on with from_line = 150001]\n"
    );
}

#[test]
fn binary_files_are_named_and_not_dumped() {
    let _w = Workspace::new().file("nul", b"ab\0cd").file("latin", b"caf\xe9\n").file("ok", "caf\n");
    for name in ["nul", "latin"] {
        let error = fails("read_file", json!({ "path": name }));
        assert_eq!(error.code, "binary-file", "{name}: {}", error.message);
        assert_eq!(fails("edit_file", json!({ "path": name, "old": "a", "new": "b" })).code, "binary-file");
    }
    assert_eq!(ok("search_files", json!({ "pattern": "caf" })), "ok:1: caf\n[files passed over: 2 binary]");
    assert_eq!(fails("read_file", json!({ "path": "." })).code, "is-a-folder");
    assert_eq!(fails("read_file", json!({ "path": "none" })).kind, ErrorKind::NotFound);
}

#[test]
fn searching_filters_limits_and_shortens() {
    let long = format!("needle {}", "x".repeat(500));
    let _w = Workspace::with(json!({ "max_file_bytes": 1000 }))
        .file("a.md", "one\nNeedle\nneedle\n")
        .file("src/b.rs", long)
        .file("big", "needle".repeat(1000));
    let all = ok("search_files", json!({ "pattern": "(?i)needle", "include": "*.md" }));
    assert_eq!(all, "a.md:2: Needle\na.md:3: needle");
    assert_eq!(ok("search_files", json!({ "pattern": "needle", "path": "a.md", "ignore_case": true })), all);
    let shortened = ok("search_files", json!({ "pattern": "needle", "path": "src" }));
    assert_eq!(shortened, format!("src/b.rs:1: needle {}…", "x".repeat(293)));
    let limited = ok("search_files", json!({ "pattern": "needle", "max_results": 1 }));
    assert_eq!(
        limited,
        "a.md:3: needle\n[more than 1 matches; narrow the pattern or the path]\n[files passed over: 1 too large]"
    );
    assert_eq!(ok("search_files", json!({ "pattern": "nothing", "include": "a.*" })), "[no match in 1 files]");
}

#[test]
fn a_pattern_that_costs_too_much_is_refused() {
    let _w = Workspace::new();
    for pattern in ["(", &"(".repeat(100), "(?:a{1000}){1000}"] {
        let error = fails("search_files", json!({ "pattern": pattern }));
        assert_eq!(error.code, "bad-pattern", "{pattern}");
    }
}

#[test]
fn what_was_found_before_time_ran_out_comes_back() {
    let w = Workspace::new().file("a", "");
    let root = w.dir.path().to_str().unwrap().to_owned();
    let Workspace { dir, _host } = w;
    drop(_host);
    let _late = Host::new().config(json!({ "root": root }).to_string()).remaining_ms(100).enter();
    assert!(ok("list_files", json!({})).contains("time ran out"));
    drop(dir);
}

#[test]
fn writing_makes_folders_and_leaves_nothing_else_behind() {
    let w = Workspace::new();
    assert_eq!(
        ok("write_file", json!({ "path": "a/b/c.txt", "content": "hello" })),
        "wrote 5 bytes to the new file `a/b/c.txt`"
    );
    assert_eq!(
        ok("write_file", json!({ "path": "a/b/c.txt", "content": "" })),
        "wrote 0 bytes to `a/b/c.txt`, which had 5 before"
    );
    assert_eq!((w.read("a/b/c.txt").as_str(), w.names("a/b")), ("", vec!["c.txt".to_owned()]));
    let absolute = w.path("abs.txt");
    ok("write_file", json!({ "path": absolute, "content": "x" }));
    assert_eq!(w.read("abs.txt"), "x");
}

#[test]
fn a_leftover_of_a_crash_is_no_obstacle() {
    let w = Workspace::new().file(".f.0.tmp", "half");
    ok("write_file", json!({ "path": "f", "content": "whole" }));
    assert_eq!((w.read("f").as_str(), w.read(".f.0.tmp").as_str()), ("whole", "half"));
}

#[test]
fn writing_refuses_what_it_should() {
    let w = Workspace::with(json!({ "max_write_bytes": 4 })).file("dir/x", "keep");
    assert_eq!(fails("write_file", json!({ "path": "f", "content": "12345" })).code, "too-large");
    assert_eq!(fails("write_file", json!({ "path": "dir", "content": "1" })).code, "not-a-file");
    assert_eq!(fails("write_file", json!({ "path": "", "content": "1" })).code, "not-a-file");
    assert_eq!(fails("write_file", json!({ "path": "dir/x/y", "content": "1" })).kind, ErrorKind::InvalidArgument);
    assert_eq!(fails("edit_file", json!({ "path": "dir/x", "old": "keep", "new": "longer" })).code, "too-large");
    assert_eq!((w.read("dir/x").as_str(), w.names("dir")), ("keep", vec!["x".to_owned()]));
}

#[test]
fn editing_replaces_exactly_what_is_meant() {
    let w = Workspace::new().file("f", "a = 1\nb = 1\n");
    assert_eq!(
        ok("edit_file", json!({ "path": "f", "old": "b = 1", "new": "b = 2" })),
        "replaced once, on line 2 in `f`, which now has 12 bytes"
    );
    assert_eq!(w.read("f"), "a = 1\nb = 2\n");
    let text = ok("edit_file", json!({ "path": "f", "old": " = ", "new": "=", "replace_all": true }));
    assert_eq!(
        (text.as_str(), w.read("f").as_str()),
        ("replaced 2 times, on lines 1, 2 in `f`, which now has 8 bytes", "a=1\nb=2\n")
    );
}

#[test]
fn an_edit_that_is_not_clear_changes_nothing() {
    let w = Workspace::new().file("f", "x\nx\n\nx y").file("crlf", "a\r\nb\r\n");
    let check = |path: &str, old: &str, code: &str, words: &str| {
        let error = fails("edit_file", json!({ "path": path, "old": old, "new": "z" }));
        assert_eq!(error.code, code, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
    };
    check("f", "x", "several-matches", "3 times, on lines 1, 2, 4");
    check("f", "q", "no-match", "copy the text exactly");
    check("f", "  x y ", "no-match", "without the white space");
    check("crlf", "a\nb", "no-match", "CR LF");
    check("f", "", "nothing-to-do", "`old` is empty");
    check("f", "z", "nothing-to-do", "the same");
    assert_eq!(w.read("f"), "x\nx\n\nx y");
    assert!(Path::exists(&w.path("crlf")));
}
