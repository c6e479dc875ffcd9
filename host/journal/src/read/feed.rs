//! Pages of the feed. A page looks at a bounded part of the feed, and reads the records of only those events that pass the
//! filters which need none.

use std::sync::Arc;

use mainstay_protocol::{
    Ordinal, Seq, TenantId,
    cursor::{Cursor, StoreEpoch},
    feed::{FeedEvent, FeedKind},
    record::{RecordBody, StoredRecord, record_digest, v1::UnknownRecord},
};
use rusqlite::{Connection, OptionalExtension, Row, named_params, types::ValueRef};

use super::page_limit;
use crate::{
    Damage, DamagedEvent, FeedFilter, FeedPage, ReadError,
    codec::{Columns, PackedId, int},
    feed::WORKSPACE,
    host_tenant,
};

/// Places that one page looks at, at most.
const WINDOW: u64 = 20_000;
/// Records that one page reads, at most: those that a filter by turn or plugin then leaves out count too.
const RECORDS: usize = 2_000;
/// A page ends once the bodies of its events have this many bytes, as stored. It always has one event, if there is one.
const PAGE_BYTES: usize = 4 << 20;

/// The page after a place. See [`FeedQuery`](crate::FeedQuery).
pub(crate) fn feed(
    connection: &Connection,
    filter: &FeedFilter,
    after: Option<Cursor>,
    limit: u32,
) -> Result<FeedPage, ReadError> {
    let limit = page_limit(limit)?;
    let latest = latest(connection)?;
    let mut page = FeedPage { events: Vec::new(), damaged: Vec::new(), next: latest, latest, more: false };
    let Some(after) = after else { return Ok(page) };
    check(connection, &after, &latest)?;
    let end = Seq(after.seq.0.saturating_add(WINDOW)).min(latest.seq);
    let (reached, more) = match fill(connection, filter, &mut page, (after.seq, end), limit)? {
        Some(stopped_at) => (stopped_at, true),
        None if end < latest.seq => match before_next(connection, end)? {
            Some(before) => (before, true),
            None => (latest.seq, false),
        },
        None => (latest.seq, false),
    };
    page.more = more;
    page.next = place(connection, latest.epoch, reached)?;
    Ok(page)
}

/// The place after the newest event that ever was: deletions don't move it.
pub(crate) fn latest(connection: &Connection) -> Result<Cursor, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'feed'), 0),
                    ifnull((SELECT max(seq) FROM feed), 0))",
    )?;
    let seq = statement.query_row([], |row| row.number(0)).map(Seq)?;
    place(connection, epoch(connection)?, seq)
}

fn epoch(connection: &Connection) -> Result<StoreEpoch, ReadError> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = 'store_epoch'")?;
    let epoch =
        statement.query_row([], |row| Ok(<[u8; 16]>::try_from(row.bytes(0)?).ok().map(StoreEpoch))).optional()?;
    epoch.flatten().ok_or(ReadError::Corrupt)
}

/// A place, with the check of the event there. Where none is (any more), or its digest can't be read, the check is zeroes, which
/// are not compared.
fn place(connection: &Connection, epoch: StoreEpoch, seq: Seq) -> Result<Cursor, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT r.digest FROM feed f JOIN records r
         ON r.tenant = f.tenant AND r.session = f.session AND r.ordinal = f.ordinal WHERE f.seq = ?1",
    )?;
    let digest = statement.query_row([int(seq.0)], |row| Ok(row.digest(0).ok())).optional()?.flatten();
    let check = digest.as_ref().map(Cursor::check_of).unwrap_or_default();
    Ok(Cursor { epoch, shard: 0, seq, check })
}

/// Refuses a place of another life of this store: one of another epoch, one that this store has not reached, and one at which
/// it has another event. A damaged event tells nothing.
fn check(connection: &Connection, cursor: &Cursor, latest: &Cursor) -> Result<(), ReadError> {
    let changed = Err(ReadError::EpochChanged { current: latest.epoch });
    if cursor.epoch != latest.epoch || cursor.shard != latest.shard || cursor.seq > latest.seq {
        return changed;
    }
    if cursor.check == [0; 4] || cursor.check == place(connection, latest.epoch, cursor.seq)?.check {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(
        "SELECT r.at, k.name, r.digest, r.body FROM feed f JOIN records r
         ON r.tenant = f.tenant AND r.session = f.session AND r.ordinal = f.ordinal
         JOIN kinds k ON k.kind = r.kind WHERE f.seq = ?1",
    )?;
    let sound = statement.query_row([int(cursor.seq.0)], |row| Ok(is_sound(row).unwrap_or(false))).optional()?;
    if sound == Some(true) { changed } else { Ok(()) }
}

fn is_sound(row: &Row<'_>) -> rusqlite::Result<bool> {
    Ok(record_digest(row.text(1)?, row.time(0)?, row.bytes(3)?) == row.digest(2)?)
}

/// The place before the next event after `seq`, which may be far: events of forgotten sessions leave gaps.
fn before_next(connection: &Connection, seq: Seq) -> Result<Option<Seq>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT min(seq) - 1 FROM feed WHERE seq > ?1")?;
    Ok(statement.query_row([int(seq.0)], |row| row.optional_number(0))?.map(Seq))
}

/// The events of a part of the feed that pass all filters which need no record, each with its record. Those of a forgotten session
/// have no row in `sessions` and are left out.
const EVENTS: &str = "
    SELECT f.seq, f.ordinal, t.id, s.id, r.at, k.name, r.digest, r.body, r.seq
    FROM feed f
    CROSS JOIN sessions s ON s.tenant = f.tenant AND s.session = f.session
    CROSS JOIN tenants t ON t.tenant = f.tenant
    LEFT JOIN records r ON r.tenant = f.tenant AND r.session = f.session AND r.ordinal = f.ordinal
    LEFT JOIN kinds k ON k.kind = r.kind
    WHERE f.seq > :after AND f.seq <= :end
    AND (:tenant IS NULL OR f.tenant IN (SELECT tenant FROM tenants WHERE id IN (:tenant, :host)))
    AND (:kinds IS NULL OR f.kind IS NULL OR f.kind IN (SELECT value FROM json_each(:kinds)))
    AND (:session IS NULL OR (f.tenant, f.session) IN
         (SELECT o.tenant, o.session FROM tenants n CROSS JOIN sessions o ON o.tenant = n.tenant AND o.id = :session))
    AND (:workspace IS NULL OR CASE WHEN json_valid(s.labels) THEN s.labels ->> :label = :workspace END)
    ORDER BY f.seq";

/// Fills a page; where it is full before the part is over, gives the last event that it looked at.
fn fill(
    connection: &Connection,
    filter: &FeedFilter,
    page: &mut FeedPage,
    part: (Seq, Seq),
    limit: usize,
) -> Result<Option<Seq>, ReadError> {
    let mut statement = connection.prepare_cached(EVENTS)?;
    let (tenant, host) = (filter.tenant.as_ref(), host_tenant());
    let mut rows = statement.query(named_params! {
        ":after": int(part.0.0),
        ":end": int(part.1.0),
        ":tenant": tenant.map(TenantId::as_str),
        ":host": Some(host.as_str()).filter(|_| filter.host),
        ":kinds": kind_numbers(connection, filter)?,
        ":session": filter.session.as_ref().map(|session| PackedId(session.as_str())),
        ":workspace": filter.workspace,
        ":label": WORKSPACE,
    })?;
    let mut last = part.0;
    let (mut records, mut bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        if page.events.len() + page.damaged.len() == limit || records == RECORDS || bytes >= PAGE_BYTES {
            return Ok(Some(last));
        }
        records += 1;
        last = Seq(row.number(0)?);
        match read_event(row, last) {
            Ok((event, record)) if admits(filter, &record.body) => {
                bytes += row.bytes(7).map_or(0, <[u8]>::len);
                page.events.push(event);
            }
            Ok(_) => {}
            Err(damage) => page.damaged.push(damaged_event(row, last, damage)),
        }
    }
    Ok(None)
}

/// The kind is asked again: a row of the feed without one passed as any.
fn admits(filter: &FeedFilter, body: &RecordBody) -> bool {
    filter.admits_kind(FeedKind::of_record(body.kind())) && filter.admits_record(body)
}

/// The numbers of the kinds that the filter wants, as a JSON array; none when it wants all.
fn kind_numbers(connection: &Connection, filter: &FeedFilter) -> Result<Option<String>, ReadError> {
    if filter.kinds.is_empty() {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached("SELECT kind, name FROM kinds")?;
    let mut rows = statement.query([])?;
    let mut numbers: Vec<i64> = Vec::new();
    while let Some(row) = rows.next()? {
        let kind = row.text(1).map_or(FeedKind::Unknown, FeedKind::of_record);
        if filter.admits_kind(kind) {
            numbers.push(row.get(0)?);
        }
    }
    Ok(Some(format!("{numbers:?}")))
}

fn read_event(row: &Row<'_>, seq: Seq) -> Result<(FeedEvent, StoredRecord), Damage> {
    if row.get_ref(4).map_err(|_| Damage::Shape)? == ValueRef::Null {
        return Err(Damage::Missing);
    }
    let record = read_record(row, seq)?;
    let event = FeedEvent::of(&record).ok_or(Damage::Shape)?;
    Ok((event, record))
}

fn read_record(row: &Row<'_>, seq: Seq) -> Result<StoredRecord, Damage> {
    let shape = |_| Damage::Shape;
    let (at, kind, body) = (row.time(4).map_err(shape)?, row.text(5).map_err(shape)?, row.bytes(7).map_err(shape)?);
    let digest = row.digest(6).map_err(shape)?;
    if record_digest(kind, at, body) != digest {
        return Err(Damage::Digest);
    }
    if row.optional_number(8).map_err(shape)? != Some(seq.0) {
        return Err(Damage::Reference);
    }
    Ok(StoredRecord {
        tenant: row.id(2).map_err(shape)?,
        session: row.id(3).map_err(shape)?,
        ordinal: Ordinal(row.number(1).map_err(shape)?),
        seq: Some(seq),
        at,
        digest,
        body: Arc::new(decode(kind, body).ok_or(Damage::Shape)?),
    })
}

/// A record that this build knows and would not tell was put here by a build that tells it: it is served as it is.
fn decode(kind: &str, body: &[u8]) -> Option<RecordBody> {
    let decoded = RecordBody::decode(kind, body)?;
    if mainstay_protocol::feed::FeedBody::of(&decoded).is_some() {
        return Some(decoded);
    }
    let body = serde_json::from_slice(body).ok()?;
    Some(RecordBody::Unknown(UnknownRecord { kind: kind.to_owned(), body }))
}

fn damaged_event(row: &Row<'_>, seq: Seq, damage: Damage) -> DamagedEvent {
    let ordinal = Ordinal(row.number(1).unwrap_or_default());
    DamagedEvent { seq, tenant: row.id(2).ok(), session: row.id(3).ok(), ordinal, damage }
}
