//! `durable_records_1`, `_8`, `_64` and `append_latency`: sessions that each make record after record of 0.5 KB durable, beside the
//! plain loop with as many records in a transaction as the journal's groups had.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use mainstay_journal::{Journal as _, Options, SqliteJournal};
use tempfile::TempDir;

use super::{floor::Floor, script::Session};
use crate::summary::{Figure, Summary, Timings, folder};

/// Bytes of a record's body, about.
const RECORD: usize = 480;
/// Journal and floor take turns, so that both see the machine in the same mood.
const ROUNDS: usize = 7;
/// Records of a round.
const RECORDS: usize = 2_048;
/// The journal may take this much longer than the plain loop: 0.7 times its rate.
const BUDGET: f64 = 1.0 / 0.7;

pub(crate) async fn run(summary: &mut Summary, sessions: usize) -> Result<()> {
    let records = if sessions == 1 { RECORDS / 4 } else { RECORDS };
    let (ours, plain) = (tempfile::tempdir_in(folder())?, tempfile::tempdir_in(folder())?);
    drop(prepared(&plain, sessions).await?);
    let mut floor = Floor::over(plain.path())?;
    let (journal, mut writers) = prepared(&ours, sessions).await?;
    let (mut rates, mut floors) = (Vec::new(), Vec::new());
    let (mut latencies, mut floor_latencies) = (Timings::default(), Timings::default());
    let mut group = 1;
    for _ in 0..ROUNDS {
        let before = journal.metrics();
        let began = Instant::now();
        writers = round(writers, records / sessions, &mut latencies).await?;
        rates.push(micros_each(began, records));
        let after = journal.metrics();
        group = usize::try_from((after.jobs - before.jobs) / (after.groups - before.groups).max(1))?.max(1);
        let began = Instant::now();
        for took in floor.run(records / group, group)? {
            floor_latencies.add(took);
        }
        floors.push(micros_each(began, records / group * group));
    }
    let (value, floor) = (median(&mut rates), median(&mut floors));
    summary.add(&Figure {
        name: &format!("durable_records_{sessions}"),
        value,
        unit: "us",
        floor: Some(floor),
        budget: (sessions == 64).then_some(floor * BUDGET),
    })?;
    Summary::note(&format!(
        "{:.0} records/s, {:.2} of the plain loop's {:.0}; groups of {group}",
        1e6 / value,
        floor / value,
        1e6 / floor
    ));
    if sessions == 1 {
        summary.add(&Figure {
            name: "append_latency",
            value: latencies.median(),
            unit: "us",
            floor: Some(floor_latencies.median()),
            budget: None,
        })?;
        Summary::note(&format!(
            "p99 {:.0} us; of the floor {:.0} us",
            latencies.micros(0.99),
            floor_latencies.micros(0.99)
        ));
    }
    Ok(())
}

/// A new journal whose sessions each have a record like those to come.
async fn prepared(folder: &TempDir, sessions: usize) -> Result<(Arc<SqliteJournal>, Vec<Session>)> {
    let journal = Arc::new(SqliteJournal::open(folder.path(), Options::default())?);
    let mut writers = Vec::new();
    for number in 0..sessions {
        let mut session = Session::create(&journal, &format!("session-{number:03}")).await?;
        session.record(RECORD).await?;
        writers.push(session);
    }
    Ok((journal, writers))
}

/// Each session makes so many records durable, one after another, all sessions at once.
async fn round(writers: Vec<Session>, each: usize, latencies: &mut Timings) -> Result<Vec<Session>> {
    let tasks: Vec<_> = writers
        .into_iter()
        .map(|mut session| {
            tokio::spawn(async move {
                let mut took = Vec::with_capacity(each);
                for _ in 0..each {
                    let began = Instant::now();
                    session.record(RECORD).await?;
                    took.push(began.elapsed());
                }
                anyhow::Ok((session, took))
            })
        })
        .collect();
    let mut writers = Vec::new();
    for task in tasks {
        let (session, took) = task.await??;
        writers.push(session);
        took.into_iter().for_each(|one| latencies.add(one));
    }
    Ok(writers)
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn micros_each(began: Instant, records: usize) -> f64 {
    began.elapsed().as_secs_f64() * 1e6 / records as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
