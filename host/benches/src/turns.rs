//! `turn_no_tools` and `turn_one_tool`: whole turns, from the submit until nothing is owed, with their fsync barriers counted.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::{
    summary::{Figure, Summary, Timings},
    world::{Disk, World, message, open, package},
};

const ROUNDS: u32 = 200;
/// Bytes that a barrier appends to the write-ahead log, about.
const TRANSACTION: usize = 6 * 4096;

pub(crate) async fn no_tools(summary: &mut Summary) -> Result<()> {
    let world = World::new("[[rule]]\noutput = [{ text = \"hi\" }]", "")?;
    run(summary, &world, "turn_no_tools", 2).await
}

pub(crate) async fn one_tool(summary: &mut Summary) -> Result<()> {
    let script = r#"
    [[rule]]
    when = { tool = "echo_json" }
    output = [{ text = "done" }]
    [[rule]]
    output = [{ call = { name = "echo_json", arguments = { a = 1 } } }]
    "#;
    let entry = format!(
        "[plugin.echo-json]\npath = {:?}\n[tool.echo_json]\napproval = \"unneeded\"",
        package("test-plugins", "echo-json")?
    );
    run(summary, &World::new(script, &entry)?, "turn_one_tool", 4).await
}

/// Each turn has a session of its own, so that the history stays short. `barriers` is asserted, beside the submit's own one.
async fn run(summary: &mut Summary, world: &World, name: &str, barriers: u64) -> Result<()> {
    let host = world.host().await?;
    let mut disk = Disk::new()?;
    let (mut turns, mut floors) = (Timings::default(), Timings::default());
    let mut counted = 0;
    for _ in 0..ROUNDS {
        let session = open(&host).await?;
        let mut floor = std::time::Duration::ZERO;
        for _ in 0..=barriers {
            floor += disk.sync(TRANSACTION)?;
        }
        floors.add(floor);
        let before = host.journal_metrics().groups;
        let began = Instant::now();
        host.op(&session, None, message("go")).await?;
        host.quiesced(&session).await;
        turns.add(began.elapsed());
        counted = host.journal_metrics().groups - before - 1;
        ensure!(counted == barriers, "{name} took {counted} fsync barriers beyond the submit, not {barriers}");
    }
    let (value, floor) = (turns.median(), Some(floors.median()));
    summary.add(&Figure { name, value, unit: "us", floor, budget: None })?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let figure = |count: u64| count as f64;
    summary.add(&Figure {
        name: &format!("{name}_fsyncs"),
        value: figure(counted),
        unit: "count",
        floor: None,
        budget: Some(figure(barriers)),
    })?;
    Summary::note(&format!(
        "p99 {:.0} us; the floor is {} syncs, one more than the barriers: the submit's",
        turns.micros(0.99),
        barriers + 1
    ));
    host.shutdown().await;
    Ok(())
}
