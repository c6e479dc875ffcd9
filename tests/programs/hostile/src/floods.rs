//! Too much of everything that comes out.

use std::io::{self, Write};

use mainstay_sdk::prelude::*;

/// How much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bytes {
    bytes: usize,
}

/// A text of any size.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

/// 100 MB, in lines of 1 KB.
const LINES: usize = 100_000;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("output_flood", "Gives back so many bytes of text.", |flood: Bytes| Ok("x".repeat(flood.bytes))),
        Tool::new("log_flood", "Logs 100 MB.", |_: NoArguments| Ok(log_flood())),
        Tool::new("stderr_flood", "Writes 100 MB to stderr.", |_: NoArguments| Ok(stderr_flood())),
        Tool::new("huge_string_args", "Gives its text back.", |text: Text| Ok(text.text)),
    ]
}

fn log_flood() -> String {
    let line = "l".repeat(1_000);
    for _ in 0..LINES {
        log::write(log::Level::Info, &line, None);
    }
    format!("logged {LINES} lines")
}

fn stderr_flood() -> String {
    let line = "e".repeat(999) + "\n";
    let mut stderr = io::stderr();
    for number in 0..LINES {
        if let Err(error) = stderr.write_all(line.as_bytes()) {
            return format!("{number} lines, then: {error}");
        }
    }
    format!("wrote {LINES} lines")
}
