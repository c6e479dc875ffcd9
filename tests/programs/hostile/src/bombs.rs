//! What never ends or never stops growing.

use std::fs::File;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use mainstay_sdk::prelude::*;

/// How long to sleep.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sleep {
    ms: u64,
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("spin", "Runs for ever.", |_: NoArguments| -> Outcome { spin() }),
        Tool::new("sleep", "Waits for the clock.", |sleep: Sleep| {
            thread::sleep(Duration::from_millis(sleep.ms));
            Ok(format!("slept {} ms", sleep.ms))
        }),
        Tool::new("memory_bomb", "Allocates until it can't.", |_: NoArguments| -> Outcome { memory_bomb() }),
        Tool::new("deep_recursion", "Calls itself until the stack ends.", |_: NoArguments| Ok(recurse(1).to_string())),
        Tool::new("handle_leak", "Opens /effects until it can't.", |_: NoArguments| Ok(handle_leak())),
    ]
}

fn spin() -> ! {
    let mut count = 0_u64;
    loop {
        count = black_box(count).wrapping_add(1);
    }
}

fn memory_bomb() -> ! {
    let mut hoard: Vec<Vec<u8>> = Vec::new();
    loop {
        // Written to, so that it is memory and not only a promise of it.
        hoard.push(vec![0xAA; 1 << 20]);
        black_box(&hoard);
    }
}

#[allow(unconditional_recursion, reason = "running out of stack is what it is for")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    let below = recurse(depth + 1);
    below.wrapping_add(black_box(frame)[0])
}

/// Stops at the first error, and reports how far it came: a host with a limit on handles answers before this bound.
const MANY: usize = 1_000_000;

fn handle_leak() -> String {
    let mut open = Vec::new();
    while open.len() < MANY {
        match File::open("/effects") {
            Ok(file) => open.push(file),
            Err(error) => return format!("{} handles, then: {error}", open.len()),
        }
    }
    format!("{MANY} handles, and no end")
}
