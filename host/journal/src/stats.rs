//! What a journal holds and what it takes, in numbers. Counts come from what is kept about sessions anyway; only bytes by table
//! read the whole file. A running host that writes much meanwhile is not held up: the read ends.

use std::{collections::BTreeMap, path::Path};

use mainstay_protocol::{Seq, cursor::StoreEpoch};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::{ReadError, ReadOnlyJournal, codec::Columns, log_guard::LogGuard, read_only::companion};

/// A journal in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The format of the store.
    pub format: u32,
    /// The lowest format that a build must know to use it.
    pub minimum_compatible: u32,
    /// Which life of the store this is.
    pub store_epoch: StoreEpoch,
    /// The last position that the feed gave out.
    pub latest: Seq,
    /// Sessions, without the host's own.
    pub sessions: u64,
    /// The same by what they do: `idle`, `queued`, `running`, `waiting`, `parked`.
    pub phases: BTreeMap<String, u64>,
    /// Sessions that were forgotten.
    pub forgotten: u64,
    /// Those of them whose rows are still being removed.
    pub forgetting: u64,
    /// Records of all sessions, with the host's own.
    pub records: u64,
    /// Transcript items.
    pub items: u64,
    /// Turns that ended, in any way.
    pub turns: u64,
    /// Those of them that were aborted.
    pub aborted_turns: u64,
    /// Messages that wait.
    pub queued: u64,
    /// Bytes of their content.
    pub queued_bytes: u64,
    /// Values that plugins keep.
    pub plugin_values: u64,
    /// Bytes of these.
    pub plugin_bytes: u64,
    /// Payloads that are stored once.
    pub blobs: u64,
    /// Bytes of these.
    pub blob_bytes: u64,
    /// Bytes more that they would take if each session that uses one had its own.
    pub blob_bytes_shared: u64,
    /// Builds of plugins that are active.
    pub generations: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of the write-ahead log's file.
    pub log_bytes: u64,
    /// Bytes of the database that are free for new rows.
    pub free_bytes: u64,
    /// Bytes of pages, by table or index; none when they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<Vec<TableBytes>>,
}

/// What a table or an index takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableBytes {
    /// Its name.
    pub name: String,
    /// Bytes of its pages.
    pub bytes: u64,
    /// Bytes of these that hold something.
    pub payload: u64,
}

impl ReadOnlyJournal {
    /// Counts. With `tables`, bytes by table too: that reads the whole file.
    ///
    /// # Errors
    /// The store can't be read, or a running host writes so much meanwhile that it would have to wait.
    pub fn stats(&self, tables: bool) -> Result<Stats, ReadError> {
        let mut connection = self.reader()?;
        LogGuard::on(&mut connection, &self.path, || {})?;
        let transaction = connection.unchecked_transaction()?;
        let mut stats = count(&transaction, self.format)?;
        if tables {
            stats.tables = Some(by_table(&transaction)?);
        }
        stats.file_bytes = bytes_of(&self.path, "");
        stats.log_bytes = bytes_of(&self.path, "-wal");
        Ok(stats)
    }
}

/// Not by opening it: closing it again would drop the locks that SQLite holds on it.
fn bytes_of(store: &Path, suffix: &str) -> u64 {
    companion(store, suffix).metadata().map_or(0, |file| file.len())
}

fn count(connection: &Connection, format: u32) -> Result<Stats, ReadError> {
    let latest = crate::read::latest(connection)?;
    let row = |sql: &str| -> rusqlite::Result<[u64; 2]> {
        connection.query_row(sql, [], |row| Ok([row.number(0)?, row.number(1)?]))
    };
    let [records, items] = row("SELECT CAST(total(head) AS INTEGER), CAST(total(item) AS INTEGER) FROM heads")?;
    let [turns, aborted_turns] =
        row("SELECT CAST(total(turns) AS INTEGER), CAST(total(aborted) AS INTEGER) FROM heads")?;
    let [queued, queued_bytes] = row("SELECT count(*), CAST(total(bytes) AS INTEGER) FROM queue")?;
    let [plugin_values, plugin_bytes] =
        row("SELECT count(*), CAST(total(octet_length(value)) AS INTEGER) FROM plugin_state WHERE value IS NOT NULL")?;
    let [blobs, blob_bytes] = row("SELECT count(*), CAST(total(size) AS INTEGER) FROM blobs")?;
    let [blob_bytes_shared, generations] = row("SELECT CAST(total(size * max(uses - 1, 0)) AS INTEGER),
                (SELECT count(*) FROM generations WHERE retired_at IS NULL) FROM blobs")?;
    let [forgotten, forgetting] = row("SELECT count(*), count(session) FROM forgotten")?;
    let [page_size, free_pages] =
        row("SELECT (SELECT page_size FROM pragma_page_size), (SELECT freelist_count FROM pragma_freelist_count)")?;
    let phases = phases(connection)?;
    Ok(Stats {
        format,
        minimum_compatible: minimum_compatible(connection)?,
        store_epoch: latest.epoch,
        latest: latest.seq,
        sessions: phases.values().sum(),
        phases,
        forgotten,
        forgetting,
        records,
        items,
        turns,
        aborted_turns,
        queued,
        queued_bytes,
        plugin_values,
        plugin_bytes,
        blobs,
        blob_bytes,
        blob_bytes_shared,
        generations,
        file_bytes: 0,
        log_bytes: 0,
        free_bytes: page_size * free_pages,
        tables: None,
    })
}

fn phases(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut statement = connection.prepare_cached(
        "SELECT h.phase, count(*) FROM heads h
         WHERE h.phase IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM forgotten f WHERE f.tenant = h.tenant AND f.session = h.session)
         GROUP BY h.phase",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.number(1)?)))?;
    rows.collect()
}

fn minimum_compatible(connection: &Connection) -> rusqlite::Result<u32> {
    let sql = "SELECT value FROM meta WHERE key = 'minimum_compatible_version'";
    Ok(connection.query_row(sql, [], |row| row.get(0)).optional()?.unwrap_or(0))
}

fn by_table(connection: &Connection) -> rusqlite::Result<Vec<TableBytes>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, sum(pgsize), sum(payload) FROM dbstat WHERE aggregate = TRUE GROUP BY name ORDER BY 2 DESC, 1",
    )?;
    let rows = statement
        .query_map([], |row| Ok(TableBytes { name: row.get(0)?, bytes: row.number(1)?, payload: row.number(2)? }))?;
    rows.collect()
}
