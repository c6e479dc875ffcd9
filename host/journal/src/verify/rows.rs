//! The smaller tables of a session: its queue, its turns' summaries, and what plugins keep.

use mainstay_protocol::{AcceptedOrdinal, TurnId, record::RecordBody};
use rusqlite::{Connection, OptionalExtension};

use super::{
    items::{BlobRefs, what},
    ledger::Ledger,
    records::Walk,
    report::Location,
};
use crate::{
    Damage, ReadError,
    codec::{Columns, int},
    read,
    write::SessionKey,
};

/// Each message that waits has its checksum, and those that wait are those that were accepted and not taken.
pub(super) fn check_queue(
    connection: &Connection,
    key: SessionKey,
    walk: &Walk,
    refs: &mut BlobRefs,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let mut waiting: Vec<u64> = walk.state.queue().map(|queued| queued.accepted.0).collect();
    let mut statement = connection.prepare_cached(
        "SELECT accepted, bytes, octet_length(content), blob FROM queue
         WHERE tenant = ?1 AND session = ?2 ORDER BY accepted",
    )?;
    let mut rows = statement.query([key.tenant, key.session])?;
    while let Some(row) = rows.next()? {
        ledger.counts().queued += 1;
        ledger.row(row.number(2).map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)));
        if let Some(blob) = row.get(3)? {
            refs.add(blob);
        }
        let Ok(accepted) = row.number(0) else {
            ledger.find(Location::Table { name: "queue" }, Damage::Shape, "a message's number can't be");
            continue;
        };
        let place = Location::Queued { accepted };
        match waiting.binary_search(&accepted) {
            Ok(at) => drop(waiting.remove(at)),
            Err(_) if walk.is_whole() => {
                ledger.find(place.clone(), Damage::Orphan, "it waits, and the records say that it does not");
            }
            Err(_) => {}
        }
        check_message(connection, key, accepted, row.number(1).ok(), ledger)?;
    }
    if walk.is_whole() {
        for accepted in waiting {
            refs.lose();
            let message = "it was accepted and not taken, and is not there";
            ledger.find(Location::Queued { accepted }, Damage::Missing, message);
        }
    }
    Ok(())
}

fn check_message(
    connection: &Connection,
    key: SessionKey,
    accepted: u64,
    bytes: Option<u64>,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let place = Location::Queued { accepted };
    match read::queued_of(connection, key, AcceptedOrdinal(accepted)) {
        Ok(Some(message)) => {
            let payload: u64 = message.content.iter().map(|part| part.bytes() as u64).sum();
            if bytes != Some(payload) {
                ledger.find(place, Damage::Count, format!("it has {payload} bytes, and its row says otherwise"));
            }
        }
        Ok(None) => {}
        Err(ReadError::Damaged { .. }) => ledger.find(place, Damage::Digest, what(Damage::Digest)),
        Err(_) => return Err(crate::codec::impossible(0)),
    }
    Ok(())
}

/// Follows the summaries of turns beside the records: each turn has one, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Executions {
    number: u64,
    open: Option<TurnId>,
}

const EXECUTION: &str =
    "SELECT turn, started, ended FROM executions WHERE tenant = ?1 AND session = ?2 AND number = ?3";

impl Executions {
    /// Takes the next record, which is the last that was walked over.
    pub(super) fn take(
        &mut self,
        connection: &Connection,
        key: SessionKey,
        walk: &Walk,
        body: &RecordBody,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        let (turn, ends) = match (body, body.turn_ended()) {
            (RecordBody::TurnStarted(started), _) => (&started.turn, false),
            (_, Some(ended)) => (&ended.turn, true),
            _ => return Ok(()),
        };
        // A terminal record of an old kind may be all that is there of its turn.
        let begins = !ends || self.open.as_ref() != Some(turn);
        self.number += u64::from(begins);
        self.open = (!ends).then(|| turn.clone());
        if walk.broken {
            return Ok(());
        }
        let at = int(walk.last.0);
        let found = connection
            .prepare_cached(EXECUTION)?
            .query_row([key.tenant, key.session, int(self.number)], |row| {
                let (started, ended): (i64, Option<i64>) = (row.get(1)?, row.get(2)?);
                Ok(row.id::<String>(0).is_ok_and(|id| id == turn.as_str())
                    && (!begins || started == at)
                    && (!ends || ended == Some(at)))
            })
            .optional()?;
        let place = Location::Turn { number: self.number };
        match found {
            None if begins => ledger.find(place, Damage::Missing, "its summary is not there"),
            Some(false) => {
                let message = format!("its summary does not agree with record {}", walk.last);
                ledger.find(place, Damage::Reference, message);
            }
            None | Some(true) => {}
        }
        Ok(())
    }

    /// No turn has a summary that did not begin, and the one that runs has no end.
    pub(super) fn finish(
        &self,
        connection: &Connection,
        key: SessionKey,
        walk: &Walk,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        ledger.counts().turns += self.number;
        if walk.broken {
            return Ok(());
        }
        let ended = self.number - u64::from(self.open.is_some());
        let mut statement = connection.prepare_cached(
            "SELECT number, ended FROM executions WHERE tenant = ?1 AND session = ?2 AND (number < 1 OR number > ?3)",
        )?;
        let mut rows = statement.query([key.tenant, key.session, int(ended)])?;
        while let Some(row) = rows.next()? {
            match (row.number(0), row.optional_number(1)) {
                (Ok(number), _) if number == 0 || number > self.number => {
                    ledger.find(Location::Turn { number }, Damage::Orphan, "it has a summary, and never began");
                }
                (Ok(_), Ok(None)) => {}
                (Ok(number), _) => {
                    let message = "its summary has an end, and it still runs";
                    ledger.find(Location::Turn { number }, Damage::Reference, message);
                }
                (Err(_), _) => {
                    ledger.find(Location::Table { name: "executions" }, Damage::Shape, "a turn's number can't be");
                }
            }
        }
        Ok(())
    }
}

/// Each value that a plugin keeps has its checksum; those of format 1 have none.
pub(super) fn check_plugin_state(
    connection: &Connection,
    key: SessionKey,
    walk: &Walk,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT plugin, key, ordinal, value, checksum FROM plugin_state WHERE tenant = ?1 AND session = ?2",
    )?;
    let mut rows = statement.query([key.tenant, key.session])?;
    while let Some(row) = rows.next()? {
        ledger.counts().plugin_values += 1;
        let place = || Location::PluginValue { plugin: lossy(row, 0), key: lossy(row, 1) };
        ledger.row(row.bytes(3).map_or(0, <[u8]>::len));
        match row.number(2) {
            Ok(ordinal) if (1..=walk.last.0).contains(&ordinal) => {}
            Ok(_) => ledger.find(place(), Damage::Reference, "the record that wrote it is not there"),
            Err(_) => ledger.find(place(), Damage::Shape, what(Damage::Shape)),
        }
        if let Err(damage) = read::check_state_value(row) {
            ledger.find(place(), damage, what(damage));
        }
    }
    Ok(())
}

fn lossy(row: &rusqlite::Row<'_>, column: usize) -> String {
    row.bytes(column).map_or_else(|_| "?".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}
