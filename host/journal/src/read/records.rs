//! Records by ordinal. A row that is damaged is reported, and the page goes on past it.

use std::sync::Arc;

use mainstay_protocol::{
    Digest, Ordinal, Seq, Timestamp,
    record::{RecordBody, StoredRecord, record_digest},
};
use rusqlite::{Connection, Row, params};

use super::{Bounds, find_session};
use crate::{Damage, Damaged, Page, Place, Range, ReadError, codec::Columns, write::Lane};

const FORWARD: &str = "
    SELECT r.ordinal, r.seq, r.at, k.name, r.digest, r.body FROM records r LEFT JOIN kinds k ON k.kind = r.kind
    WHERE r.tenant = ?1 AND r.session = ?2 AND r.ordinal > ?3 AND r.ordinal < ?4 ORDER BY r.ordinal LIMIT ?5";
const BACKWARD: &str = "
    SELECT r.ordinal, r.seq, r.at, k.name, r.digest, r.body FROM records r LEFT JOIN kinds k ON k.kind = r.kind
    WHERE r.tenant = ?1 AND r.session = ?2 AND r.ordinal > ?3 AND r.ordinal < ?4 ORDER BY r.ordinal DESC LIMIT ?5";

pub(crate) fn records(
    connection: &Connection,
    lane: &Lane,
    range: &Range<Ordinal>,
) -> Result<Page<StoredRecord>, ReadError> {
    let bounds = Bounds::new(range, |ordinal| ordinal.0)?;
    let Some(key) = find_session(connection, lane)? else {
        return Ok(bounds.page(Vec::new()));
    };
    let mut statement = connection.prepare_cached(bounds.choose(FORWARD, BACKWARD))?;
    let rows = statement.query(params![key.tenant, key.session, bounds.after, bounds.before, bounds.lookahead()])?;
    let page = bounds.fill(rows, |row| {
        let (ordinal, bytes) = (Ordinal(row.number(0)?), row.bytes(5).map_or(0, <[u8]>::len));
        let record = read_record(row, lane, ordinal);
        Ok((record.map_err(|damage| Damaged { at: Place::Record(ordinal), damage }), bytes))
    })?;
    Ok(page)
}

fn read_record(row: &Row<'_>, lane: &Lane, ordinal: Ordinal) -> Result<StoredRecord, Damage> {
    let seq = row.optional_number(1).map_err(|_| Damage::Shape)?.map(Seq);
    let Checked { at, digest, body } = checked(row, 2)?;
    Ok(StoredRecord {
        tenant: lane.tenant.clone(),
        session: lane.session.clone(),
        ordinal,
        seq,
        at,
        digest,
        body: Arc::new(body),
    })
}

/// What a record says, and what it has beside its place.
pub(super) struct Checked {
    pub(super) at: Timestamp,
    pub(super) digest: Digest,
    pub(super) body: RecordBody,
}

/// Reads time, kind, digest and body, which are columns in a row from `first` on.
pub(super) fn checked(row: &Row<'_>, first: usize) -> Result<Checked, Damage> {
    let shape = |_| Damage::Shape;
    let (at, kind) = (row.time(first).map_err(shape)?, row.text(first + 1).map_err(shape)?);
    let (digest, body) = (row.digest(first + 2).map_err(shape)?, row.bytes(first + 3).map_err(shape)?);
    if record_digest(kind, at, body) != digest {
        return Err(Damage::Digest);
    }
    Ok(Checked { at, digest, body: RecordBody::decode(kind, body).ok_or(Damage::Shape)? })
}
