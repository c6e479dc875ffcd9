//! Where a session stands: its row, its head, and its state, compared with what its records give.

use mainstay_protocol::Ordinal;
use mainstay_session::{SnapshotError, State};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use super::{difference, ledger::Ledger, records::Walk, report::Location};
use crate::{
    Damage,
    codec::{Columns, int, minute},
    read,
    write::{SessionKey, state_checksum},
};

/// What is stored of the head; a column that can't be is none.
pub(super) struct Head {
    ordinal: Option<Ordinal>,
    chain: Option<mainstay_protocol::Digest>,
    /// The stored state, if it has its checksum; none for the host's own session, which has no state.
    state: Option<Vec<u8>>,
    /// Columns that are summaries of the records, by name.
    summary: Vec<(&'static str, Value)>,
}

const SUMMARY: [&str; 11] = [
    "active_at",
    "minute",
    "busy",
    "operating",
    "phase",
    "route",
    "turns",
    "aborted",
    "accepted",
    "item",
    "context_epoch",
];

/// Reads the head, and checks what can be checked without the records.
pub(super) fn read(
    connection: &Connection,
    key: SessionKey,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<Option<Head>> {
    let sql = format!(
        "SELECT head, chain, state, checksum, {} FROM heads WHERE tenant = ?1 AND session = ?2",
        SUMMARY.join(", ")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let head = statement.query_row([key.tenant, key.session], |row| read_row(row, ledger)).optional()?;
    if head.is_none() {
        ledger.find(Location::Session, Damage::Missing, "the row that says where it stands is not there");
    }
    Ok(head)
}

fn read_row(row: &Row<'_>, ledger: &mut Ledger<'_>) -> rusqlite::Result<Head> {
    let (ordinal, chain) = (row.number(0).ok().map(Ordinal), row.digest(1).ok());
    for (name, ok) in [("head", ordinal.is_some()), ("chain", chain.is_some())] {
        if !ok {
            ledger.find(Location::Column { name }, Damage::Shape, "an impossible value");
        }
    }
    let columns = SUMMARY.iter().enumerate();
    let summary = columns.map(|(at, name)| Ok((*name, row.get(4 + at)?))).collect::<rusqlite::Result<_>>()?;
    Ok(Head { ordinal, chain, state: checked_state(row, ledger), summary })
}

fn checked_state(row: &Row<'_>, ledger: &mut Ledger<'_>) -> Option<Vec<u8>> {
    let state: Option<Vec<u8>> = match row.get(2) {
        Ok(state) => state,
        Err(_) => {
            ledger.find(Location::State, Damage::Shape, "an impossible value");
            return None;
        }
    };
    let state = state?;
    ledger.row(state.len());
    if row.bytes(3).ok() == Some(&state_checksum(&state)[..]) {
        return Some(state);
    }
    ledger.find(Location::State, Damage::Digest, "it does not have its checksum");
    None
}

impl Head {
    /// Whether the last record is the one that the head names, as far as that one alone tells.
    pub(super) fn check_last(
        &self,
        connection: &Connection,
        key: SessionKey,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        let sql = "SELECT ordinal, chain FROM records WHERE tenant = ?1 AND session = ?2 ORDER BY ordinal DESC LIMIT 1";
        let last = connection
            .prepare_cached(sql)?
            .query_row([key.tenant, key.session], |row| Ok((row.number(0).ok().map(Ordinal), row.digest(1).ok())))
            .optional()?;
        let (ordinal, chain) = last.unwrap_or((Some(Ordinal(0)), None));
        if self.ordinal.is_some() && ordinal != self.ordinal {
            ledger.find(Location::Column { name: "head" }, Damage::Reference, "it is not the session's last record");
        } else if self.chain.is_some() && chain != self.chain {
            ledger.find(Location::Column { name: "chain" }, Damage::Chain, "it is not that of the last record");
        }
        Ok(())
    }

    /// Compares the head with all records.
    pub(super) fn check_walk(&self, walk: &mut Walk, ledger: &mut Ledger<'_>) {
        let Some(head) = self.ordinal else { return };
        if head > walk.last {
            let place = Location::records(walk.last.0 + 1, head.0);
            ledger.find(place, Damage::Missing, "not there, and the session's head is behind them");
            walk.cut_short();
        } else if head < walk.last {
            let place = Location::Column { name: "head" };
            ledger.find(place, Damage::Reference, format!("it is {head}, and the last record is {}", walk.last));
        } else if let (Some(stored), Some(walked)) = (self.chain, walk.chain)
            && stored != walked
        {
            ledger.find(Location::Column { name: "chain" }, Damage::Chain, "the chain of records does not end in it");
        }
        if head != walk.last || !walk.is_whole() {
            return;
        }
        self.check_summary(walk, ledger);
    }

    fn check_summary(&self, walk: &Walk, ledger: &mut Ledger<'_>) {
        let expected = summary_of(walk, self.has_state());
        for ((name, stored), expected) in self.summary.iter().zip(expected) {
            if *stored != expected {
                let message = format!("it is {}, and the records give {}", shown(stored), shown(&expected));
                ledger.find(Location::Column { name }, Damage::Count, message);
            }
        }
    }

    fn has_state(&self) -> bool {
        self.summary.iter().any(|(name, stored)| *name == "phase" && *stored != Value::Null)
    }

    /// Whether the stored state is the one that the records give.
    pub(super) fn check_state(&self, connection: &Connection, key: SessionKey, walk: &Walk, ledger: &mut Ledger<'_>) {
        // A queue that can't be read is named by its own check.
        let (Some(stored), Ok(queue)) = (&self.state, read::queue(connection, key)) else { return };
        let state = match State::restore(stored, queue) {
            Ok(state) => state,
            Err(SnapshotError::Damaged(_)) => {
                return ledger.find(Location::State, Damage::Shape, "it can't be read as a state");
            }
            Err(SnapshotError::Newer(_)) => {
                return ledger.note("a newer build wrote the state: it was not compared with the records");
            }
        };
        if !walk.is_whole() || self.ordinal != Some(walk.last) {
            let why = match walk.unknown {
                0 => "some records are damaged",
                _ => "some records are of kinds that this build does not know",
            };
            ledger.note(format!("{why}: what the session's state and counts should be is not known"));
        } else if state != walk.state
            && let Some(part) =
                difference::between(stored, &walk.state.snapshot(), is_old(connection, key), &state, &walk.state)
        {
            ledger.find(Location::State, Damage::Replay, format!("its records give another state: `{part}` differs"));
        }
    }
}

/// Whether a session is of format 1: that kept no checksum of its name.
fn is_old(connection: &Connection, key: SessionKey) -> bool {
    let sql = "SELECT checksum IS NULL FROM sessions WHERE tenant = ?1 AND session = ?2";
    let old = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([key.tenant, key.session], |row| row.get(0)));
    old.unwrap_or(true)
}

/// What the columns of [`SUMMARY`] should be.
fn summary_of(walk: &Walk, has_state: bool) -> [Value; SUMMARY.len()] {
    let number = |number: u64| Value::Integer(int(number));
    let active_at = [number(walk.last_at.0), Value::Integer(minute(walk.last_at))];
    if !has_state {
        let [active_at, _] = active_at;
        // The host's own session is in no list, so that nothing keeps its minute.
        let minute = Value::Integer(walk.first_at.map_or(0, minute));
        let zero = || Value::Integer(0);
        let none = || Value::Null;
        return [active_at, minute, zero(), zero(), none(), none(), zero(), zero(), zero(), zero(), zero()];
    }
    let summary = walk.state.summary();
    let [active_at, minute] = active_at;
    [
        active_at,
        minute,
        Value::Integer(i64::from(summary.phase != "idle")),
        Value::Integer(i64::from(summary.operating)),
        Value::Text(summary.phase.to_owned()),
        summary.route.map_or(Value::Null, |route| Value::Text(route.to_string())),
        number(summary.turns),
        number(summary.aborted),
        number(summary.accepted.0),
        number(summary.last_item.0),
        number(summary.context_epoch.into()),
    ]
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("`{}`", text.chars().take(80).collect::<String>()),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// The session's own row, against what its records say of it.
pub(super) fn check_row(
    connection: &Connection,
    key: SessionKey,
    walk: &Walk,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    if walk.broken || walk.last == Ordinal(0) {
        return Ok(());
    }
    const NAMES: [&str; 3] = ["created_at", "labels", "metadata"];
    let sql = "SELECT created_at, labels, metadata FROM sessions WHERE tenant = ?1 AND session = ?2";
    let stored = connection
        .prepare_cached(sql)?
        .query_row([key.tenant, key.session], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))
        .optional()?;
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
    let expected = [
        Value::Integer(walk.first_at.map_or(0, |at| int(at.0))),
        text(Some(walk.labels.as_deref().unwrap_or("{}"))),
        text(walk.metadata.as_deref()),
    ];
    for ((name, stored), expected) in NAMES.iter().zip(stored.into_iter().flatten()).zip(expected) {
        if stored != expected {
            let message = format!("it is {}, and the records give {}", shown(&stored), shown(&expected));
            ledger.find(Location::Column { name }, Damage::Count, message);
        }
    }
    Ok(())
}
