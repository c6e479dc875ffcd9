//! `tail_latency`: from the call that commits an event to a subscriber that has it, beside the call's own acknowledgement.

use std::{sync::Arc, time::Instant};

use anyhow::Result;
use mainstay_journal::{FeedFilter, Journal as _, Options, SqliteJournal};
use tokio::sync::mpsc;

use super::script::Session;
use crate::summary::{Figure, Summary, Timings, folder};

const ROUNDS: usize = 600;
const SUBSCRIBERS: usize = 16;

pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let dir = tempfile::tempdir_in(folder())?;
    let journal = Arc::new(SqliteJournal::open(dir.path(), Options::default())?);
    let mut session = Session::create(&journal, "session").await?;
    let (told, mut received) = mpsc::unbounded_channel();
    for _ in 0..SUBSCRIBERS {
        let mut subscription = journal.subscribe(FeedFilter::default(), Some(journal.feed_start()));
        let told = told.clone();
        tokio::spawn(async move { while subscription.next().await.is_ok() && told.send(Instant::now()).is_ok() {} });
    }
    let (mut first, mut last, mut acks) = (Timings::default(), Timings::default(), Timings::default());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        session.record(480).await?;
        acks.add(began.elapsed());
        let mut all = Vec::with_capacity(SUBSCRIBERS);
        while all.len() < SUBSCRIBERS {
            all.extend(received.recv().await);
        }
        let since = |at: &Instant| at.saturating_duration_since(began);
        first.add(all.iter().map(since).min().unwrap_or_default());
        last.add(all.iter().map(since).max().unwrap_or_default());
    }
    let (value, floor) = (last.median(), Some(acks.median()));
    summary.add(&Figure { name: "tail_latency", value, unit: "us", floor, budget: None })?;
    Summary::note(&format!(
        "to the last of {SUBSCRIBERS} subscribers; to the first {:.0} us; the floor is the acknowledgement; p99 {:.0} us",
        first.median(),
        last.micros(0.99)
    ));
    Ok(())
}
