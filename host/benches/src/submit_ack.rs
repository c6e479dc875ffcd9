//! `submit_ack`: from the call to the acknowledgement of a durable message, beside an fdatasync of about as many bytes.

use std::time::Instant;

use anyhow::Result;

use crate::{
    summary::{Figure, Summary, Timings},
    world::{Disk, World, message, open, package},
};

/// Bytes of the message.
const MESSAGE: usize = 512;
/// Bytes that its transaction appends to the write-ahead log: some pages of 4 KiB.
const TRANSACTION: usize = 6 * 4096;
const ROUNDS: usize = 900;

/// The session is parked by a failing hook, so that nothing but the acknowledgement is measured.
pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let hooks = package("test-plugins", "hooks")?;
    let entry = format!(
        r#"
        [plugin.hooks]
        path = {hooks:?}
        grant.hooks = ["input", "tool-gate", "stop"]
        config = {{ input = {{ do = "fail" }} }}
        "#
    );
    let world = World::new("[[rule]]\noutput = [{ text = \"hi\" }]", &entry)?;
    let host = world.host().await?;
    let session = open(&host).await?;
    host.op(&session, None, message("park")).await?;
    host.quiesced(&session).await;
    let mut disk = Disk::new()?;
    let (mut acks, mut floors) = (Timings::default(), Timings::default());
    let text = "x".repeat(MESSAGE);
    for _ in 0..ROUNDS {
        floors.add(disk.sync(TRANSACTION)?);
        let op = message(&text);
        let began = Instant::now();
        host.op(&session, None, op).await?;
        acks.add(began.elapsed());
    }
    let floor = floors.median();
    summary.add(&Figure {
        name: "submit_ack",
        value: acks.median(),
        unit: "us",
        floor: Some(floor),
        budget: Some(floor + 150.0),
    })?;
    let metrics = host.journal_metrics();
    Summary::note(&format!(
        "p99 {:.0} us; of the median {:.0} us are the journal's commit, {:.0} us of them its sync",
        acks.micros(0.99),
        metrics.average_commit.as_secs_f64() * 1e6,
        metrics.average_sync.as_secs_f64() * 1e6
    ));
    host.shutdown().await;
    Ok(())
}
