//! Turns by number: what their first and last records tell of them.

use mainstay_protocol::{
    Ordinal,
    record::{
        RecordBody,
        v1::{TurnEnded, TurnStarted},
    },
};
use rusqlite::{Connection, Row, params};

use super::{
    Bounds, find_session,
    records::{Checked, checked},
};
use crate::{Damage, Damaged, Execution, Page, Place, Range, ReadError, RunState, codec::Columns, write::Lane};

const FORWARD: &str = "
    SELECT e.number, e.started, b.at, k.name, b.digest, b.body, e.ended, r.at, l.name, r.digest, r.body
    FROM executions e
    LEFT JOIN records b ON b.tenant = e.tenant AND b.session = e.session AND b.ordinal = e.started
    LEFT JOIN kinds k ON k.kind = b.kind
    LEFT JOIN records r ON r.tenant = e.tenant AND r.session = e.session AND r.ordinal = e.ended
    LEFT JOIN kinds l ON l.kind = r.kind
    WHERE e.tenant = ?1 AND e.session = ?2 AND e.number > ?3 AND e.number < ?4 ORDER BY e.number LIMIT ?5";
const BACKWARD: &str = "
    SELECT e.number, e.started, b.at, k.name, b.digest, b.body, e.ended, r.at, l.name, r.digest, r.body
    FROM executions e
    LEFT JOIN records b ON b.tenant = e.tenant AND b.session = e.session AND b.ordinal = e.started
    LEFT JOIN kinds k ON k.kind = b.kind
    LEFT JOIN records r ON r.tenant = e.tenant AND r.session = e.session AND r.ordinal = e.ended
    LEFT JOIN kinds l ON l.kind = r.kind
    WHERE e.tenant = ?1 AND e.session = ?2 AND e.number > ?3 AND e.number < ?4 ORDER BY e.number DESC LIMIT ?5";

pub(crate) fn executions(
    connection: &Connection,
    lane: &Lane,
    range: &Range<u64>,
) -> Result<Page<Execution>, ReadError> {
    let bounds = Bounds::new(range, |number| *number)?;
    let Some(key) = find_session(connection, lane)? else {
        return Ok(bounds.page(Vec::new()));
    };
    let mut statement = connection.prepare_cached(bounds.choose(FORWARD, BACKWARD))?;
    let rows = statement
        .query_map(params![key.tenant, key.session, bounds.after, bounds.before, bounds.lookahead()], |row| {
            let number = row.number(0)?;
            Ok(read_execution(row, number).map_err(|damage| Damaged { at: Place::Execution(number), damage }))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(bounds.page(rows))
}

/// A turn of which one record is damaged is not told at all: what is left of it would look like another turn.
fn read_execution(row: &Row<'_>, number: u64) -> Result<Execution, Damage> {
    let first = Ordinal(row.number(1).map_err(|_| Damage::Shape)?);
    let Some(begin) = record(row, 2)? else { return Err(Damage::Missing) };
    let RecordBody::TurnStarted(started) = begin.body else { return Err(Damage::Reference) };
    let last = row.optional_number(6).map_err(|_| Damage::Shape)?.map(Ordinal);
    let running = Execution {
        number,
        turn: started.turn.clone(),
        submission: started.submission.clone(),
        accepted: started.accepted,
        first,
        last,
        started_at: begin.at,
        ended_at: None,
        state: RunState::Running,
        outcome: None,
        stop_reason: None,
        steps: 0,
        tool_calls: 0,
        failed_tool_calls: 0,
        usage: Default::default(),
    };
    match (last, record(row, 7)?) {
        (None, _) => Ok(running),
        (Some(_), None) => Err(Damage::Missing),
        (Some(_), Some(end)) => ended(running, &started, &end).ok_or(Damage::Reference),
    }
}

/// The record in four columns from `column` on; none when there is no such row.
fn record(row: &Row<'_>, column: usize) -> Result<Option<Checked>, Damage> {
    let there = row.get_ref(column).map_err(|_| Damage::Shape)? != rusqlite::types::ValueRef::Null;
    there.then(|| checked(row, column)).transpose()
}

/// The turn with what its terminal record says; none when that is no such record, or one of another turn.
fn ended(running: Execution, started: &TurnStarted, end: &Checked) -> Option<Execution> {
    let outcome = end.body.turn_outcome()?;
    let body: &TurnEnded = end.body.turn_ended().filter(|ended| ended.turn == started.turn)?;
    Some(Execution {
        ended_at: Some(end.at),
        state: RunState::of(outcome),
        outcome: Some(outcome),
        stop_reason: body.stop_reason(),
        steps: body.steps,
        tool_calls: body.tool_calls,
        failed_tool_calls: body.failed_tool_calls,
        usage: body.usage.clone(),
        ..running
    })
}
