//! The `mainstay` command as people and scripts use it: what it prints, how it exits, what it says when something is wrong.

mod attaching;
mod blobs;
mod errors;
mod feed;
mod journal;
mod running;

use std::process::Output;

use crate::support::{World, binary};

/// Runs the command on a world.
fn mainstay(world: &World, arguments: &[&str]) -> Output {
    binary::command(world).args(arguments).output().expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Lines of JSON.
fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
