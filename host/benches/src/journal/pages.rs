//! `page_read`: pages of 100 records, items and events of a store with 2,000 turns, beside plain SELECTs of the same rows.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use mainstay_journal::{FeedFilter, FeedQuery, Journal as _, Options, Range, SqliteJournal};
use mainstay_protocol::{ItemId, Ordinal};
use rusqlite::Connection;

use super::script::{Session, text};
use crate::summary::{Figure, Summary, Timings, folder};

const TURNS: u64 = 2_000;
const ROUNDS: u64 = 300;
const LIMIT: u32 = 100;

pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let dir = tempfile::tempdir_in(folder())?;
    let journal = Arc::new(SqliteJournal::open(dir.path(), Options::default())?);
    let mut session = Session::create(&journal, "session").await?;
    for turn in 0..TURNS {
        session.turn(text("question", turn, 512), text("answer", turn, 512)).await?;
    }
    let (tenant, id) = (&session.tenant, &session.id);
    let mut cursor = journal.feed_start();
    let mut ours = [Timings::default(), Timings::default(), Timings::default()];
    for round in 0..ROUNDS {
        let began = Instant::now();
        let page = journal.records(tenant, id, Range::forward(LIMIT).after(Ordinal(round * 30))).await?;
        ours[0].add(began.elapsed());
        ensure!(page.rows.len() == LIMIT as usize, "a page of records is full");
        let began = Instant::now();
        let page = journal.items(tenant, id, Range::forward(LIMIT).after(ItemId(round * 10))).await?;
        ours[1].add(began.elapsed());
        ensure!(page.rows.len() == LIMIT as usize, "a page of items is full");
        let query = FeedQuery { filter: FeedFilter::default(), after: Some(cursor), limit: LIMIT };
        let began = Instant::now();
        let page = journal.feed(query).await?;
        ours[2].add(began.elapsed());
        cursor = if page.more { page.next } else { journal.feed_start() };
    }
    let floors = floors(dir.path())?;
    for ((name, ours), floor) in ["records", "items", "events"].iter().zip(&ours).zip(&floors) {
        summary.add(&Figure {
            name: &format!("page_read_{name}"),
            value: ours.median(),
            unit: "us",
            floor: Some(floor.median()),
            budget: None,
        })?;
    }
    Ok(())
}

/// The same rows, read as bytes and not looked at.
fn floors(folder: &Path) -> Result<[Timings; 3]> {
    let connection = Connection::open(folder.join("journal.sqlite"))?;
    let texts = [
        "SELECT ordinal, seq, at, kind, digest, body FROM records
         WHERE tenant = 1 AND session = 1 AND ordinal > ?1 ORDER BY ordinal LIMIT 101",
        "SELECT item, at, turn, checksum, extras, body FROM items
         WHERE tenant = 1 AND session = 1 AND item > ?1 ORDER BY item LIMIT 101",
        "SELECT f.seq, r.at, r.kind, r.digest, r.ordinal, r.body FROM feed f
         JOIN records r ON r.tenant = f.tenant AND r.session = f.session AND r.ordinal = f.ordinal
         WHERE f.seq > ?1 ORDER BY f.seq LIMIT 101",
    ];
    let mut floors = [Timings::default(), Timings::default(), Timings::default()];
    for (sql, timings) in texts.iter().zip(&mut floors) {
        let mut statement = connection.prepare(sql)?;
        for round in 0..ROUNDS {
            let began = Instant::now();
            let mut rows = statement.query([i64::try_from(round * 10)?])?;
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                bytes += row.get_ref(5)?.as_bytes()?.len();
            }
            timings.add(began.elapsed());
            std::hint::black_box(bytes);
        }
    }
    Ok(floors)
}
