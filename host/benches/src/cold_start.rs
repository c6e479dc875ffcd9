//! `cold_start_cached`: a host with ten plugins on an existing data folder, from the call until it takes ops; compiled code comes
//! from the cache.

use std::time::Instant;

use anyhow::Result;

use crate::{
    summary::{Figure, Summary, Timings},
    world::{World, package},
};

const ROUNDS: usize = 40;

pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let script = "[[rule]]\noutput = [{ text = \"hi\" }]";
    let ten = World::new(script, &nine_more()?)?;
    let one = World::new(script, "")?;
    // The first start of each fills its cache.
    for world in [&ten, &one] {
        world.host().await?.shutdown().await;
    }
    let (mut starts, mut floors) = (Timings::default(), Timings::default());
    for _ in 0..ROUNDS {
        for (world, timings) in [(&one, &mut floors), (&ten, &mut starts)] {
            let began = Instant::now();
            let host = world.host().await?;
            timings.add(began.elapsed());
            host.shutdown().await;
        }
    }
    summary.add(&Figure {
        name: "cold_start_cached",
        value: starts.median() / 1e3,
        unit: "ms",
        floor: Some(floors.median() / 1e3),
        budget: Some(60.0),
    })?;
    Summary::note(&format!("p99 {:.1} ms; the floor is the same start with one plugin", starts.micros(0.99) / 1e3));
    Ok(())
}

/// Nine plugins beside the model: the tools and the gate of the product, test guests, and one guest under several names.
fn nine_more() -> Result<String> {
    let mut entries = String::new();
    let mut add = |name: &str, set: &str, package_name: &str, grants: &str| -> Result<()> {
        let path = package(set, package_name)?;
        entries.push_str(&format!("[plugin.{name}]\npath = {path:?}\n{grants}\n"));
        Ok(())
    };
    let dir =
        |host: &str| format!("grant.dirs = [{{ host = \"{host}\", guest = \"/{host}\", access = \"read-write\" }}]");
    add("files", "plugins", "files", &dir("workspace"))?;
    add("approvals", "plugins", "approvals", "grant.hooks = [\"tool-gate\"]")?;
    add("effects", "test-plugins", "effects", &dir("effects"))?;
    add("echo-json", "test-plugins", "echo-json", "")?;
    for number in 1..=5 {
        let name = format!("hooks-{number}");
        add(&name, "test-plugins", "hooks", "grant.hooks = [\"input\", \"tool-gate\", \"stop\"]")?;
    }
    Ok(entries)
}
