//! Sessions: opening one, and lists of them.

use mainstay_protocol::{Ordinal, TenantId, Timestamp, op::Labels};
use mainstay_session::{SnapshotError, State};
use rusqlite::{Connection, Row, params};

use super::{page, page_limit, queue, refuse_forgotten};
use crate::{
    Committed, Damage, Damaged, OpenedSession, Page, Place, ReadError, SessionCursor, SessionRow, SessionsQuery,
    codec::{Columns, PackedId, impossible, int, minute},
    write::{Lane, SessionKey, state_checksum},
};

const OPEN: &str = "
    SELECT h.tenant, h.session, h.head, s.created_at, h.active_at, s.labels, s.metadata, h.state, h.checksum
    FROM tenants t JOIN sessions s ON s.tenant = t.tenant AND s.id = ?2
    JOIN heads h ON h.tenant = s.tenant AND h.session = s.session
    WHERE t.id = ?1 AND h.state IS NOT NULL";

/// Reads a session's row and its queue, not its history. The host's own session has no state and is not opened.
pub(crate) fn open_session(
    connection: &Connection,
    lane: &Lane,
) -> Result<Option<Committed<OpenedSession>>, ReadError> {
    let mut statement = connection.prepare_cached(OPEN)?;
    let mut rows = statement.query(params![lane.tenant.as_str(), PackedId(lane.session.as_str())])?;
    let Some(row) = rows.next()? else {
        refuse_forgotten(connection, lane)?;
        return Ok(None);
    };
    let key = SessionKey { tenant: row.get(0)?, session: row.get(1)? };
    Ok(Some(Committed::new(OpenedSession {
        state: restore(connection, key, row)?,
        head: Ordinal(row.number(2)?),
        created_at: row.time(3)?,
        active_at: row.time(4)?,
        labels: labels(row, 5)?,
        metadata: row.get(6)?,
    })))
}

fn restore(connection: &Connection, key: SessionKey, row: &Row<'_>) -> Result<State, ReadError> {
    const STATE: &str = "state of the session";
    let snapshot = row.bytes(7)?;
    if row.bytes(8)? != state_checksum(snapshot) {
        return Err(ReadError::Damaged { what: STATE });
    }
    State::restore(snapshot, queue(connection, key)?).map_err(|error| {
        tracing::error!(%error, "the state of a session could not be restored");
        match error {
            SnapshotError::Damaged(_) => ReadError::Damaged { what: STATE },
            SnapshotError::Newer(_) => ReadError::TooNew { what: STATE },
        }
    })
}

const NEWEST: &str = "
    SELECT h.active_at, h.session, s.id, h.head, s.created_at, h.phase, h.route, h.turns, s.labels, s.metadata, t.id
    FROM tenants t JOIN heads h INDEXED BY heads_by_activity ON h.tenant = t.tenant
    JOIN sessions s ON s.tenant = h.tenant AND s.session = h.session
    WHERE t.id = ?1 AND (h.minute, h.active_at, h.session) < (?2, ?3, ?4) AND h.phase IS NOT NULL
    ORDER BY h.minute DESC, h.active_at DESC, h.session DESC LIMIT ?5";

/// Newest activity first.
pub(crate) fn sessions(
    connection: &Connection,
    tenant: &TenantId,
    query: SessionsQuery,
) -> Result<Page<SessionRow>, ReadError> {
    let limit = page_limit(query.limit)?;
    let before = query.before.unwrap_or(SessionCursor { active_at: Timestamp(u64::MAX), number: u64::MAX });
    let mut statement = connection.prepare_cached(NEWEST)?;
    let rows = statement.query_map(
        params![
            tenant.as_str(),
            minute(before.active_at),
            int(before.active_at.0),
            int(before.number),
            int(limit as u64 + 1)
        ],
        |row| Ok(checked_row(row)),
    )?;
    Ok(page(rows.collect::<rusqlite::Result<Vec<_>>>()?, limit))
}

const WITH_WORK: &str = "
    SELECT h.active_at, h.session, s.id, h.head, s.created_at, h.phase, h.route, h.turns, s.labels, s.metadata, t.id
    FROM heads h INDEXED BY heads_with_work JOIN tenants t ON t.tenant = h.tenant
    JOIN sessions s ON s.tenant = h.tenant AND s.session = h.session
    WHERE h.busy ORDER BY h.active_at DESC";

/// The sessions of all tenants that are not idle, newest activity first. A damaged row is reported in the log: recovery of the others
/// does not wait for it.
pub(crate) fn sessions_with_work(connection: &Connection) -> Result<Vec<SessionRow>, ReadError> {
    sound_rows(connection, WITH_WORK)
}

const WITH_OPERATIONS: &str = "
    SELECT h.active_at, h.session, s.id, h.head, s.created_at, h.phase, h.route, h.turns, s.labels, s.metadata, t.id
    FROM heads h INDEXED BY heads_with_operations JOIN tenants t ON t.tenant = h.tenant
    JOIN sessions s ON s.tenant = h.tenant AND s.session = h.session
    WHERE h.operating ORDER BY h.active_at DESC";

/// The sessions of all tenants in which an owned operation runs, newest activity first; damaged rows as above.
pub(crate) fn sessions_with_operations(connection: &Connection) -> Result<Vec<SessionRow>, ReadError> {
    sound_rows(connection, WITH_OPERATIONS)
}

fn sound_rows(connection: &Connection, sql: &str) -> Result<Vec<SessionRow>, ReadError> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok(checked_row(row)))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let sound =
        rows.into_iter().filter_map(|row| row.inspect_err(|_| tracing::error!("a session's row is damaged")).ok());
    Ok(sound.collect())
}

fn checked_row(row: &Row<'_>) -> Result<SessionRow, Damaged> {
    session_row(row).map_err(|_| {
        let cursor = row.time(0).and_then(|active_at| Ok(SessionCursor { active_at, number: row.number(1)? }));
        Damaged { at: cursor.map_or(Place::Session, Place::Listed), damage: Damage::Shape }
    })
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let route = row.get::<_, Option<String>>(6)?.map(|route| route.parse().map_err(|_| impossible(6))).transpose()?;
    Ok(SessionRow {
        tenant: row.id(10)?,
        session: row.id(2)?,
        head: Ordinal(row.number(3)?),
        created_at: row.time(4)?,
        active_at: row.time(0)?,
        phase: row.get(5)?,
        route,
        turns: row.number(7)?,
        labels: labels(row, 8)?,
        metadata: row.get(9)?,
        cursor: SessionCursor { active_at: row.time(0)?, number: row.number(1)? },
    })
}

fn labels(row: &Row<'_>, column: usize) -> rusqlite::Result<Labels> {
    serde_json::from_slice(row.bytes(column)?).map_err(|_| impossible(column))
}
