//! Tools whose effects can be counted outside: each call appends one line to `/effects/log.jsonl` and syncs it before
//! anything else can go wrong. One tool for each effect class; `hold` keeps a call open until `/effects/release` exists.
//! `read_whole` reads what the host kept of an output that was cut.

mod whole;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use mainstay_sdk::prelude::*;
use serde_json::{Value, json};

const LOG: &str = "/effects/log.jsonl";
const RELEASE: &str = "/effects/release";
const COUNT: &str = "calls";

/// Arguments of all tools.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Tells calls apart.
    note: String,
    /// Fails after the effect.
    #[serde(default)]
    fail: bool,
    /// Waits after the effect until the release file exists.
    #[serde(default)]
    hold: bool,
    /// Makes the output longer by so many bytes.
    #[serde(default)]
    pad: usize,
}

/// The plugin.
#[derive(Debug)]
pub struct Effects;

impl Tools for Effects {
    fn toolbox() -> Toolbox {
        Toolbox::new()
            .with(tool("effect_pure").pure().parallel().unattended())
            .with(tool("effect_idempotent").idempotent().parallel().unattended())
            .with(tool("effect_once").unattended())
            .with(tool("effect_once_parallel").parallel().unattended())
            .with(tool("effect_asked"))
            .with(whole::tool())
    }
}

fn tool(name: &'static str) -> Tool {
    Tool::new(name, "Leaves a line in a log.", move |arguments: Arguments| run(name, &arguments))
}

fn run(tool: &str, arguments: &Arguments) -> Outcome<Json<Value>> {
    let calls = session_state::get::<u32>(COUNT)?.unwrap_or(0) + 1;
    session_state::set(COUNT, &calls)?;
    let mut line = json!({
        "tool": tool,
        "idempotency_key": context::idempotency_key(),
        "attempt": context::attempt(),
        "arguments": arguments,
    });
    append(&line)?;
    while arguments.hold && !Path::new(RELEASE).exists() {
        thread::sleep(Duration::from_millis(5));
    }
    if arguments.fail {
        return Err(Error::internal("the arguments say so").with_code("asked-to-fail").into());
    }
    line["calls"] = calls.into();
    if arguments.pad > 0 {
        line["pad"] = "x".repeat(arguments.pad).into();
    }
    Ok(Json(line))
}

/// Appends and syncs in one go, so that a kill right after finds the line.
fn append(line: &Value) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(LOG)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()
}

mainstay_sdk::export!(Effects: tools);
