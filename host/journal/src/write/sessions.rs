//! Finding a session by its ids, creating it, and moving its head.

use mainstay_protocol::{Digest, Ordinal, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Failure, Lane, integrity,
    prepare::{Facts, Snapshot},
};
use crate::codec::{Columns, PackedId, int, minute};

/// A session's numbers: the key of everything that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionKey {
    pub(crate) tenant: i64,
    pub(crate) session: i64,
}

/// Where a session stands.
pub(super) struct Head {
    pub(super) key: SessionKey,
    pub(super) ordinal: Ordinal,
    pub(super) chain: Digest,
    pub(super) active_at: Timestamp,
    turns: u64,
    minute: i64,
    busy: bool,
}

const FIND: &str = "
    SELECT h.tenant, h.session, h.head, h.chain, h.active_at, h.turns, h.minute, h.busy
    FROM tenants t JOIN sessions s ON s.tenant = t.tenant AND s.id = ?2
    JOIN heads h ON h.tenant = s.tenant AND h.session = s.session
    WHERE t.id = ?1";

pub(super) fn find(connection: &Connection, lane: &Lane) -> rusqlite::Result<Option<Head>> {
    let mut statement = connection.prepare_cached(FIND)?;
    let head = statement.query_row(params![lane.tenant.as_str(), PackedId(lane.session.as_str())], |row| {
        Ok(Head {
            key: SessionKey { tenant: row.get(0)?, session: row.get(1)? },
            ordinal: Ordinal(row.number(2)?),
            chain: row.digest(3)?,
            active_at: row.time(4)?,
            turns: row.number(5)?,
            minute: row.get(6)?,
            busy: row.get(7)?,
        })
    });
    head.optional()
}

/// Makes a session that has no record yet, and its tenant if need be.
pub(super) fn create(connection: &Connection, lane: &Lane, at: Timestamp) -> rusqlite::Result<Head> {
    let mut number = connection.prepare_cached(
        "INSERT INTO tenants (id, sessions) VALUES (?1, 1)
         ON CONFLICT (id) DO UPDATE SET sessions = sessions + 1 RETURNING tenant, sessions",
    )?;
    let key =
        number.query_row([lane.tenant.as_str()], |row| Ok(SessionKey { tenant: row.get(0)?, session: row.get(1)? }))?;
    connection
        .prepare_cached("INSERT INTO sessions (tenant, id, session, created_at, labels) VALUES (?1, ?2, ?3, ?4, '{}')")?
        .execute(params![key.tenant, PackedId(lane.session.as_str()), key.session, int(at.0)])?;
    connection
        .prepare_cached(
            "INSERT INTO heads (tenant, session, head, chain, active_at, minute) VALUES (?1, ?2, 0, ?3, ?4, ?5)",
        )?
        .execute(params![key.tenant, key.session, Digest::ZERO.as_bytes(), int(at.0), minute(at)])?;
    Ok(Head { key, ordinal: Ordinal(0), chain: Digest::ZERO, active_at: at, turns: 0, minute: minute(at), busy: false })
}

/// Labels are set once; metadata is replaced.
pub(super) fn store_facts(connection: &Connection, key: SessionKey, facts: &Facts) -> Result<(), Failure> {
    if let Some(labels) = &facts.labels {
        let changed = connection
            .prepare_cached(
                "UPDATE sessions SET labels = ?3 WHERE tenant = ?1 AND session = ?2 AND labels IN ('{}', ?3)",
            )?
            .execute(params![key.tenant, key.session, labels])?;
        if changed != 1 {
            return Err(integrity("a session's labels are set once").into());
        }
    }
    if let Some(metadata) = &facts.metadata {
        connection
            .prepare_cached("UPDATE sessions SET metadata = ?3 WHERE tenant = ?1 AND session = ?2")?
            .execute(params![key.tenant, key.session, metadata])?;
    }
    Ok(())
}

/// Moves the head of a session that has no state: the host's own.
pub(super) fn advance(connection: &Connection, head: &Head) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE heads SET head = ?3, chain = ?4, active_at = ?5 WHERE tenant = ?1 AND session = ?2")?
        .execute(params![
            head.key.tenant,
            head.key.session,
            int(head.ordinal.0),
            head.chain.as_bytes(),
            int(head.active_at.0)
        ])?;
    Ok(())
}

/// Moves the head of a session together with its state.
pub(super) fn advance_with_state(connection: &Connection, head: &Head, snapshot: &Snapshot) -> Result<(), Failure> {
    if snapshot.summary.turns < head.turns {
        return Err(integrity("the count of turns does not fall").into());
    }
    connection
        .prepare_cached(
            "UPDATE heads SET head = ?3, chain = ?4, active_at = ?5, phase = ?6, route = ?7, turns = ?8, state = ?9,
             checksum = ?10 WHERE tenant = ?1 AND session = ?2",
        )?
        .execute(params![
            head.key.tenant,
            head.key.session,
            int(head.ordinal.0),
            head.chain.as_bytes(),
            int(head.active_at.0),
            snapshot.summary.phase,
            snapshot.summary.route.as_ref().map(mainstay_protocol::RouteName::as_str),
            int(snapshot.summary.turns),
            snapshot.encoded,
            snapshot.checksum
        ])?;
    update_indexed(connection, head, snapshot.summary.phase != "idle")?;
    Ok(())
}

/// The columns that indexes are over are written only when they change: SQLite rewrites an index whenever its columns are set.
fn update_indexed(connection: &Connection, head: &Head, busy: bool) -> rusqlite::Result<()> {
    let minute = minute(head.active_at);
    if minute != head.minute {
        connection.prepare_cached("UPDATE heads SET minute = ?3 WHERE tenant = ?1 AND session = ?2")?.execute([
            head.key.tenant,
            head.key.session,
            minute,
        ])?;
    }
    if busy != head.busy {
        connection.prepare_cached("UPDATE heads SET busy = ?3 WHERE tenant = ?1 AND session = ?2")?.execute([
            head.key.tenant,
            head.key.session,
            i64::from(busy),
        ])?;
    }
    Ok(())
}
