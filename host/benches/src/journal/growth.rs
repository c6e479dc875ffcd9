//! `journal_growth`, `open_session` and `verify`: one session of 100,000 turns, looked at on its way there.

use std::{fs, path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use mainstay_journal::{Journal as _, Options, ReadOnlyJournal, SqliteJournal, verify::Depth};
use mainstay_protocol::Digest;
use rusqlite::Connection;

use super::script::{Session, text};
use crate::summary::{Figure, Summary, Timings, folder};

/// Bytes of a message; a turn has two.
const MESSAGE: usize = 512;
const MARKS: [u64; 4] = [10, 1_000, 10_000, 100_000];
const ROUNDS: usize = 200;

pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let dir = tempfile::tempdir_in(folder())?;
    let mut done = 0;
    let mut sizes = Vec::new();
    for mark in MARKS {
        let journal = Arc::new(SqliteJournal::open(dir.path(), Options::default())?);
        let mut session = match done {
            0 => Session::create(&journal, "session").await?,
            _ => Session::take_up(&journal, "session", done).await?,
        };
        while done < mark {
            session.turn(text("question", done, MESSAGE), text("answer", done, MESSAGE)).await?;
            done += 1;
        }
        open_session(summary, &session, dir.path(), mark).await?;
        drop((session, journal));
        sizes.push((mark, fs::metadata(dir.path().join("journal.sqlite"))?.len()));
    }
    growth(summary, &sizes)?;
    verify(summary, dir.path())
}

async fn open_session(summary: &mut Summary, session: &Session, folder: &Path, turns: u64) -> Result<()> {
    let (mut ours, mut floor) = (Timings::default(), Timings::default());
    let connection = Connection::open(folder.join("journal.sqlite"))?;
    let mut statement = connection.prepare("SELECT state FROM heads WHERE tenant = 1 AND session = 1")?;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let opened = session.journal.open_session(&session.tenant, &session.id).await?;
        ours.add(began.elapsed());
        ensure!(opened.is_some_and(|opened| opened.head == session.state.head()), "the session is there");
        let began = Instant::now();
        let state: Vec<u8> = statement.query_row([], |row| row.get(0))?;
        floor.add(began.elapsed());
        std::hint::black_box(state);
    }
    summary.add(&Figure {
        name: &format!("open_session_{turns}"),
        value: ours.median(),
        unit: "us",
        floor: Some(floor.median()),
        budget: Some(10_000.0),
    })
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a bench")]
fn growth(summary: &mut Summary, sizes: &[(u64, u64)]) -> Result<()> {
    let payload = (2 * MESSAGE) as f64;
    for (turns, bytes) in &sizes[1..] {
        summary.add(&Figure {
            name: &format!("journal_growth_{turns}"),
            value: *bytes as f64 / *turns as f64,
            unit: "B/turn",
            floor: Some(payload),
            budget: Some(1.3 * payload + 2_048.0),
        })?;
    }
    let [_, _, (few, small), (many, large)] = sizes else { return Ok(()) };
    let slope = (large - small) as f64 / (many - few) as f64;
    Summary::note(&format!("each of the last {} turns took {slope:.0} bytes more", many - few));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a bench")]
fn verify(summary: &mut Summary, folder: &Path) -> Result<()> {
    let bytes = fs::read(folder.join("journal.sqlite"))?;
    let megabytes = bytes.len() as f64 / 1e6;
    let began = Instant::now();
    std::hint::black_box(Digest::of(&bytes));
    let floor = began.elapsed().as_secs_f64() * 1e6 / megabytes;
    drop(bytes);
    let journal = ReadOnlyJournal::open(folder)?;
    let began = Instant::now();
    let report = journal.verify(Depth::Full, |_| {})?;
    let value = began.elapsed().as_secs_f64() * 1e6 / megabytes;
    ensure!(report.is_sound(), "the store is sound: {report:?}");
    summary.add(&Figure { name: "verify", value, unit: "us/MB", floor: Some(floor), budget: None })?;
    Summary::note(&format!("{:.0} MB/s of {megabytes:.0} MB; the floor is SHA-256 over the file", 1e6 / value));
    Ok(())
}
