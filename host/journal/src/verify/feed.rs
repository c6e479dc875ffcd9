//! The feed as a whole: each event has its record, and no position can be given out twice.

use mainstay_protocol::Seq;
use rusqlite::{Connection, OptionalExtension};

use super::{ledger::Ledger, report::Location};
use crate::{Damage, codec::Columns};

/// Events of one transaction: a host that writes meanwhile must be able to start its log over.
const AT_ONCE: i64 = 20_000;

/// An event's record is found by the event and names it. Sessions that are being removed lose both piece by piece.
const EVENTS: &str = "
    SELECT f.seq, f.seq IS NOT r.seq OR f.kind IS NOT r.kind,
           r.ordinal IS NULL AND EXISTS (SELECT 1 FROM forgotten g WHERE g.tenant = f.tenant AND g.session = f.session)
    FROM feed f
    LEFT JOIN records r ON r.tenant = f.tenant AND r.session = f.session AND r.ordinal = f.ordinal
    WHERE f.seq > ?1 ORDER BY f.seq LIMIT ?2";

/// Looks at the events after one; gives the last, and none when there are no more.
pub(super) fn check_events(
    connection: &Connection,
    after: i64,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached(EVENTS)?;
    let mut rows = statement.query([after, AT_ONCE])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        ledger.counts().events += 1;
        ledger.row(0);
        let (wrong, going): (bool, bool) = (row.get(1)?, row.get(2)?);
        if wrong && !going {
            let seq = row.number(0).unwrap_or(0);
            ledger.find(Location::Event { seq }, Damage::Reference, "its record is not there, or says otherwise");
        }
        last = Some(row.get(0)?);
    }
    Ok(last)
}

/// The counter of positions is at least at the last one.
pub(super) fn check_frontier(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let max: Option<i64> = connection.query_row("SELECT max(seq) FROM feed", [], |row| row.get(0))?;
    let counter: Option<i64> =
        connection.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'feed'", [], |row| row.get(0)).optional()?;
    let (max, counter) = (max.unwrap_or(0), counter.unwrap_or(0));
    ledger.report().latest = Seq(max.max(counter).unsigned_abs());
    if counter < max {
        let message =
            format!("the counter of positions is at {counter}, behind event {max}: positions could be given out twice");
        ledger.find(Location::Fact { name: "sqlite_sequence" }, Damage::Count, message);
    }
    Ok(())
}
