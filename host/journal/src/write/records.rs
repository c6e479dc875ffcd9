//! Appending records: ordinals, digests, the chain, and the feed.

use mainstay_protocol::{
    Seq,
    record::{StoredRecord, chain_digest},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Lane, prepare::PreparedRecord, sessions::Head};
use crate::codec::int;

/// Appends records after a head, and moves the head in memory; the caller stores it.
pub(super) fn append(
    connection: &Connection,
    lane: &Lane,
    head: &mut Head,
    records: &[PreparedRecord],
) -> rusqlite::Result<Vec<StoredRecord>> {
    let last = records.len().saturating_sub(1);
    let one = |(index, record)| append_one(connection, lane, head, record, index == last);
    records.iter().enumerate().map(one).collect()
}

/// Appended records, each with its stored size in bytes.
pub(super) fn sizes<'a>(
    stored: &'a [StoredRecord],
    prepared: &'a [PreparedRecord],
) -> impl Iterator<Item = (&'a StoredRecord, usize)> {
    stored.iter().zip(prepared).map(|(stored, prepared)| (stored, prepared.encoded.len()))
}

fn append_one(
    connection: &Connection,
    lane: &Lane,
    head: &mut Head,
    record: &PreparedRecord,
    is_last: bool,
) -> rusqlite::Result<StoredRecord> {
    head.ordinal = head.ordinal.next();
    head.chain = chain_digest(head.chain, head.ordinal, record.digest);
    head.active_at = head.active_at.max(record.at);
    let kind = kind_number(connection, record.body.kind())?;
    let seq = if record.is_feed { Some(publish(connection, head, kind)?) } else { None };
    insert(connection, head, record, kind, seq, is_last)?;
    Ok(StoredRecord {
        tenant: lane.tenant.clone(),
        session: lane.session.clone(),
        ordinal: head.ordinal,
        seq,
        at: record.at,
        digest: record.digest,
        body: record.body.clone(),
    })
}

/// Gives the record its place in the feed.
fn publish(connection: &Connection, head: &Head, kind: i64) -> rusqlite::Result<Seq> {
    connection
        .prepare_cached("INSERT INTO feed (tenant, session, ordinal, kind) VALUES (?1, ?2, ?3, ?4)")?
        .execute([head.key.tenant, head.key.session, int(head.ordinal.0), kind])?;
    Ok(Seq(connection.last_insert_rowid().unsigned_abs()))
}

fn insert(
    connection: &Connection,
    head: &Head,
    record: &PreparedRecord,
    kind: i64,
    seq: Option<Seq>,
    with_chain: bool,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (tenant, session, ordinal, seq, at, kind, digest, chain, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            head.key.tenant,
            head.key.session,
            int(head.ordinal.0),
            seq.map(|seq| int(seq.0)),
            int(record.at.0),
            kind,
            record.digest.as_bytes(),
            with_chain.then(|| head.chain.as_bytes()),
            record.encoded
        ])?;
    Ok(())
}

fn kind_number(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let mut find = connection.prepare_cached("SELECT kind FROM kinds WHERE name = ?1")?;
    match find.query_row([name], |row| row.get(0)).optional()? {
        Some(kind) => Ok(kind),
        None => {
            connection.prepare_cached("INSERT INTO kinds (name) VALUES (?1)")?.execute([name])?;
            Ok(connection.last_insert_rowid())
        }
    }
}
