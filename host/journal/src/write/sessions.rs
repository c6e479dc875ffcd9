//! Finding a session by its ids, creating it, and moving its head.

use mainstay_protocol::{Digest, Ordinal, Timestamp};
use mainstay_session::Summary;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Failure, Lane, integrity,
    prepare::{Facts, Snapshot},
};
use crate::codec::{Checksum, Columns, PackedId, checksum, int, minute};

/// A session's numbers: the key of everything that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionKey {
    pub(crate) tenant: i64,
    pub(crate) session: i64,
}

/// Where a session stands: its row of `heads`, read once a commit.
pub(super) struct Head {
    pub(super) key: SessionKey,
    pub(super) ordinal: Ordinal,
    pub(super) chain: Digest,
    /// The latest time of any of its records. A record that is dated earlier, by a clock that was set back, keeps its own time
    /// and does not move this one: a session's activity never goes back.
    pub(super) active_at: Timestamp,
    /// What only ever rises.
    pub(super) counts: Counts,
    /// Accepted ops that have a row.
    pub(super) ops: u64,
    /// Whether a turn runs.
    pub(super) in_turn: bool,
    indexed: Indexed,
}

/// What of a session's state only ever rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) turns: u64,
    pub(super) aborted: u64,
    pub(super) accepted: u64,
    pub(super) item: u64,
    pub(super) context_epoch: u64,
}

impl Counts {
    pub(super) fn of(summary: &Summary) -> Self {
        Self {
            turns: summary.turns,
            aborted: summary.aborted,
            accepted: summary.accepted.0,
            item: summary.last_item.0,
            context_epoch: summary.context_epoch.into(),
        }
    }
}

/// The columns that indexes are over. They are written only when they change: SQLite rewrites an index whenever its columns
/// are set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Indexed {
    minute: i64,
    busy: bool,
    operating: bool,
}

const FIND: &str = "
    SELECT h.tenant, h.session, h.head, h.chain, h.active_at, h.turns, h.aborted, h.accepted, h.item, h.context_epoch,
           h.minute, h.busy, h.operating, ifnull(h.phase IN ('running', 'waiting'), 0), h.ops
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
            counts: Counts {
                turns: row.number(5)?,
                aborted: row.number(6)?,
                accepted: row.number(7)?,
                item: row.number(8)?,
                context_epoch: row.number(9)?,
            },
            indexed: Indexed { minute: row.get(10)?, busy: row.get(11)?, operating: row.get(12)? },
            in_turn: row.get(13)?,
            ops: row.number(14)?,
        })
    });
    head.optional()
}

/// Covers the name of a tenant, by its number.
pub(crate) fn tenant_checksum(tenant: i64, id: &str) -> Checksum {
    checksum("mainstay/tenant-name/1", &[&tenant.to_le_bytes(), id.as_bytes()])
}

/// Covers the name of a session, there or forgotten.
pub(crate) fn session_checksum(tenant: i64, id: &str) -> Checksum {
    checksum("mainstay/session-name/1", &[&tenant.to_le_bytes(), id.as_bytes()])
}

/// Makes a session that has no record yet, and its tenant if need be.
pub(super) fn create(connection: &Connection, lane: &Lane, at: Timestamp) -> rusqlite::Result<Head> {
    let key = next_number(connection, lane.tenant.as_str())?;
    connection
        .prepare_cached(
            "INSERT INTO sessions (tenant, id, session, created_at, labels, checksum) VALUES (?1, ?2, ?3, ?4, '{}', ?5)",
        )?
        .execute(params![
            key.tenant,
            PackedId(lane.session.as_str()),
            key.session,
            int(at.0),
            session_checksum(key.tenant, lane.session.as_str())
        ])?;
    connection
        .prepare_cached(
            "INSERT INTO heads (tenant, session, head, chain, active_at, minute) VALUES (?1, ?2, 0, ?3, ?4, ?5)",
        )?
        .execute(params![key.tenant, key.session, Digest::ZERO.as_bytes(), int(at.0), minute(at)])?;
    let indexed = Indexed { minute: minute(at), busy: false, operating: false };
    Ok(Head {
        key,
        ordinal: Ordinal(0),
        chain: Digest::ZERO,
        active_at: at,
        counts: Counts::default(),
        ops: 0,
        in_turn: false,
        indexed,
    })
}

/// The number of a tenant's next session; the first one makes the tenant.
fn next_number(connection: &Connection, tenant: &str) -> rusqlite::Result<SessionKey> {
    let read = |row: &rusqlite::Row<'_>| Ok(SessionKey { tenant: row.get(0)?, session: row.get(1)? });
    let known = connection
        .prepare_cached("UPDATE tenants SET sessions = sessions + 1 WHERE id = ?1 RETURNING tenant, sessions")?
        .query_row([tenant], read)
        .optional()?;
    if let Some(key) = known {
        return Ok(key);
    }
    let key = connection
        .prepare_cached("INSERT INTO tenants (id, sessions) VALUES (?1, 1) RETURNING tenant, sessions")?
        .query_row([tenant], read)?;
    connection
        .prepare_cached("UPDATE tenants SET checksum = ?2 WHERE tenant = ?1")?
        .execute(params![key.tenant, tenant_checksum(key.tenant, tenant)])?;
    Ok(key)
}

pub(super) const LABELS_ONCE: &str = "a session's labels are set once";

/// Labels are set once; metadata is replaced.
pub(super) fn store_facts(connection: &Connection, key: SessionKey, facts: &Facts) -> Result<(), Failure> {
    if let Some(labels) = &facts.labels {
        let changed = connection
            .prepare_cached(
                "UPDATE sessions SET labels = ?3 WHERE tenant = ?1 AND session = ?2 AND labels IN ('{}', ?3)",
            )?
            .execute(params![key.tenant, key.session, labels])?;
        if changed != 1 {
            return Err(integrity(LABELS_ONCE).into());
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
pub(super) fn advance_with_state(connection: &Connection, head: &Head, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let counts = Counts::of(&snapshot.summary);
    connection
        .prepare_cached(
            "UPDATE heads SET head = ?3, chain = ?4, active_at = ?5, phase = ?6, route = ?7, turns = ?8, aborted = ?9,
             accepted = ?10, item = ?11, context_epoch = ?12, ops = ?13, state = ?14, checksum = ?15
             WHERE tenant = ?1 AND session = ?2",
        )?
        .execute(params![
            head.key.tenant,
            head.key.session,
            int(head.ordinal.0),
            head.chain.as_bytes(),
            int(head.active_at.0),
            snapshot.summary.phase,
            snapshot.summary.route.as_ref().map(mainstay_protocol::RouteName::as_str),
            int(counts.turns),
            int(counts.aborted),
            int(counts.accepted),
            int(counts.item),
            int(counts.context_epoch),
            int(head.ops),
            snapshot.encoded,
            snapshot.checksum
        ])?;
    update_indexed(connection, head, &snapshot.summary)
}

fn update_indexed(connection: &Connection, head: &Head, summary: &Summary) -> rusqlite::Result<()> {
    let (old, new) = (
        head.indexed,
        Indexed { minute: minute(head.active_at), busy: summary.phase != "idle", operating: summary.operating },
    );
    let columns = [
        ("UPDATE heads SET minute = ?3 WHERE tenant = ?1 AND session = ?2", old.minute, new.minute),
        ("UPDATE heads SET busy = ?3 WHERE tenant = ?1 AND session = ?2", old.busy.into(), new.busy.into()),
        (
            "UPDATE heads SET operating = ?3 WHERE tenant = ?1 AND session = ?2",
            old.operating.into(),
            new.operating.into(),
        ),
    ];
    for (sql, old, new) in columns {
        if old != new {
            connection.prepare_cached(sql)?.execute([head.key.tenant, head.key.session, new])?;
        }
    }
    Ok(())
}
