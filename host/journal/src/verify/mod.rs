//! Verification: every digest is computed again, chains are followed, states are replayed, and rows that refer to each other are
//! compared. All that is wrong is reported, not the first of it. Digests and chains detect damage; they don't stop someone who can
//! write to the file.
//!
//! Each session is read in a transaction of its own, so that a host that runs meanwhile is not disturbed. What is remembered does
//! not grow with the length of a session.

mod blobs;
mod calls;
mod difference;
mod feed;
mod generations;
mod head;
mod items;
mod ledger;
mod ops;
mod ranges;
mod records;
mod report;
mod rows;
mod schema;
mod session;
mod store;
#[cfg(test)]
mod tests;
mod turns;

use mainstay_protocol::{SessionId, TenantId};
use rusqlite::{Connection, OptionalExtension};

pub use ledger::{Phase, Progress};
pub use report::{Counts, Depth, Finding, Location, MAX_FINDINGS, Note, Report};

use crate::{
    Damage, ReadError,
    codec::Columns,
    read,
    write::{Lane, SessionKey},
};
use ledger::Ledger;
use session::Subject;

/// One session; none when there is no such session. The caller has a read transaction open.
pub(crate) fn one(
    connection: &Connection,
    lane: &Lane,
    depth: Depth,
    format: u32,
    tell: &mut dyn FnMut(Progress),
) -> Result<Option<Report>, ReadError> {
    let Some(key) = read::find_session(connection, lane)? else {
        return Ok(None);
    };
    let mut ledger = Ledger::new(depth, format, tell);
    ledger.check("meta", |ledger| store::check_facts(connection, ledger))?;
    ledger.check("feed", |ledger| feed::check_frontier(connection, ledger))?;
    ledger.check("heads", |ledger| expect(connection, Some(key), ledger))?;
    ledger.enter(Phase::Sessions);
    let (tenant, session) = (Some(lane.tenant.clone()), Some(lane.session.clone()));
    session::check(connection, &Subject { key, tenant, session }, &mut ledger)?;
    Ok(Some(ledger.finish()))
}

/// The whole store. `renew` is called whenever nothing is held of it, so that a host can start its log over.
pub(crate) fn all(
    connection: &Connection,
    depth: Depth,
    format: u32,
    renew: &dyn Fn(),
    tell: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    let mut ledger = Ledger::new(depth, format, tell).letting_go(renew);
    ledger.enter(Phase::Pages);
    ledger.check("sqlite_schema", |ledger| schema::check(connection, ledger))?;
    ledger.check("sqlite_schema", |ledger| store::check_pages(connection, ledger))?;
    ledger.check("meta", |ledger| store::check_facts(connection, ledger))?;
    ledger.check("heads", |ledger| expect(connection, None, ledger))?;
    ledger.enter(Phase::Sessions);
    check_sessions(connection, &mut ledger)?;
    ledger.enter(Phase::Store);
    ledger.check("tenants", |ledger| store::check_tenants(connection, ledger))?;
    ledger.check("forgotten", |ledger| store::check_forgotten(connection, ledger))?;
    ledger.check("generations", |ledger| generations::check(connection, ledger))?;
    ledger.check("globals", |ledger| store::check_globals(connection, ledger))?;
    ledger.check("heads", |ledger| store::check_orphans(connection, ledger))?;
    ledger.check("feed", |ledger| feed::check_frontier(connection, ledger))?;
    if depth == Depth::Full {
        step_by_step("feed", &mut ledger, |after, ledger| feed::check_events(connection, after, ledger))?;
        step_by_step("blobs", &mut ledger, |after, ledger| blobs::check_next(connection, after, ledger))?;
        step_by_step("blob_uses", &mut ledger, |after, ledger| blobs::check_users(connection, after, ledger))?;
        ledger.check("blob_pieces", |ledger| blobs::check_left_over(connection, ledger))?;
    }
    ledger.tell();
    Ok(ledger.finish())
}

/// How many records there are, as the heads say: what progress is measured by.
fn expect(connection: &Connection, key: Option<SessionKey>, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let records: i64 = match key {
        Some(key) => connection.query_row(
            "SELECT ifnull(max(head), 0) FROM heads WHERE tenant = ?1 AND session = ?2",
            [key.tenant, key.session],
            |row| row.get(0),
        )?,
        None => connection.query_row("SELECT CAST(total(head) AS INTEGER) FROM heads", [], |row| row.get(0))?,
    };
    ledger.expect_records(records.unsigned_abs());
    Ok(())
}

/// Steps through a table from key to key, each step in a transaction of its own. A part that can't be read ends it.
fn step_by_step(
    table: &'static str,
    ledger: &mut Ledger<'_>,
    mut step: impl FnMut(i64, &mut Ledger<'_>) -> rusqlite::Result<Option<i64>>,
) -> Result<(), ReadError> {
    let mut at = i64::MIN;
    ledger.let_go();
    while let Some(Some(last)) = ledger.check(table, |ledger| step(at, ledger))? {
        at = last;
        ledger.let_go();
    }
    Ok(())
}

const NEXT: &str = "
    SELECT s.tenant, s.id, s.checksum, s.session, t.id FROM sessions s LEFT JOIN tenants t ON t.tenant = s.tenant
    WHERE (s.tenant, s.session) > (?1, ?2) ORDER BY s.tenant, s.session LIMIT 1";

fn check_sessions(connection: &Connection, ledger: &mut Ledger<'_>) -> Result<(), ReadError> {
    let mut at = SessionKey { tenant: i64::MIN, session: i64::MIN };
    loop {
        let next = ledger.check("sessions", |ledger| {
            let mut statement = connection.prepare_cached(NEXT)?;
            let next = statement.query_row([at.tenant, at.session], |row| {
                let key = SessionKey { tenant: row.get(0)?, session: row.get(3)? };
                Ok((Subject { key, tenant: row.id(4).ok(), session: row.id(1).ok() }, store::has_name(row)?))
            });
            let Some((subject, has_name)) = next.optional()? else { return Ok(None) };
            let place = Location::Table { name: "sessions" };
            if subject.tenant.is_none() || subject.session.is_none() {
                ledger.find(place, Damage::Shape, "the id of a session, or that of its tenant, can't be");
            } else if !has_name {
                ledger.find(place, Damage::Digest, "a session's id is not the one that it was given");
            }
            Ok(Some(subject))
        })?;
        match next {
            Some(Some(subject)) => {
                at = subject.key;
                in_transaction(connection, ledger, |connection| is_named(connection, at).then_some(subject))?;
            }
            Some(None) => return Ok(()),
            // The list breaks off here. Numbers are given out one after the other, so that the others are found by counting.
            None => return check_by_number(connection, at, ledger),
        }
    }
}

/// Checks the session that `look` finds, if it finds one: what was seen before this transaction may be forgotten since.
fn in_transaction(
    connection: &Connection,
    ledger: &mut Ledger<'_>,
    look: impl FnOnce(&Connection) -> Option<Subject>,
) -> Result<(), ReadError> {
    ledger.let_go();
    let transaction = connection.unchecked_transaction()?;
    if let Some(subject) = look(&transaction) {
        session::check(&transaction, &subject, ledger)?;
    }
    // There is nothing to undo.
    Ok(transaction.finish()?)
}

/// Whether a session has its name, as far as that can be read: that goes first when it is forgotten.
fn is_named(connection: &Connection, key: SessionKey) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE tenant = ?1 AND session = ?2)";
    let named = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([key.tenant, key.session], |row| row.get(0)));
    named.unwrap_or(true)
}

/// Numbers that are tried, for each tenant.
const MOST_NUMBERS: i64 = 1_000_000;

fn check_by_number(connection: &Connection, after: SessionKey, ledger: &mut Ledger<'_>) -> Result<(), ReadError> {
    let tenants = ledger.check("tenants", |_| {
        let mut statement = connection.prepare_cached("SELECT tenant, id, sessions FROM tenants ORDER BY tenant")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.id(1).ok(), row.get(2)?)))?;
        rows.collect::<rusqlite::Result<Vec<(i64, Option<TenantId>, i64)>>>()
    })?;
    for (tenant, id, sessions) in tenants.unwrap_or_default() {
        let from = match tenant.cmp(&after.tenant) {
            std::cmp::Ordering::Less => continue,
            std::cmp::Ordering::Equal => after.session.saturating_add(1),
            std::cmp::Ordering::Greater => 1,
        };
        for session in from..=sessions.min(from.saturating_add(MOST_NUMBERS)) {
            let key = SessionKey { tenant, session };
            in_transaction(connection, ledger, |connection| {
                let named = || Subject { key, tenant: id.clone(), session: name(connection, key) };
                exists(connection, key).then(named)
            })?;
        }
    }
    Ok(())
}

/// Whether a session has a head, as far as that can be read: those that are forgotten have none, or will have none soon.
fn exists(connection: &Connection, key: SessionKey) -> bool {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.tenant = h.tenant AND f.session = h.session)
               FROM heads h WHERE h.tenant = ?1 AND h.session = ?2";
    let found = connection.prepare_cached(sql).and_then(|mut statement| {
        statement.query_row([key.tenant, key.session], |row| row.get::<_, bool>(0)).optional()
    });
    found.map_or(true, |found| found.unwrap_or(false))
}

fn name(connection: &Connection, key: SessionKey) -> Option<SessionId> {
    let sql = "SELECT id FROM sessions WHERE tenant = ?1 AND session = ?2";
    let found = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([key.tenant, key.session], |row| row.id(0)));
    found.ok()
}
