//! Accepted ops: each row is what was written, points at the record that answers it, and none is missing.

use mainstay_protocol::{
    Ordinal, SubmissionId,
    record::{RecordBody, v1::MessageAccepted},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{items::what, ledger::Ledger, report::Location};
use crate::{
    Damage,
    codec::{Columns, PackedId, int},
    read,
    write::SessionKey,
};

/// What is known of a session's ops beside its records.
#[derive(Debug, Default)]
pub(super) struct Ops {
    /// As the head counts them; none where that can't be read.
    counted: Option<u64>,
    found: u64,
    /// Whether messages came as ops: then each has a row. Those of tests and imports need not.
    messages: bool,
    /// Those that records name and that are not there.
    missed: u64,
}

impl Ops {
    pub(super) fn read(connection: &Connection, key: SessionKey) -> rusqlite::Result<Self> {
        let sql = "SELECT (SELECT ops FROM heads WHERE tenant = ?1 AND session = ?2), count(*), count(accepted) > 0
                   FROM submissions WHERE tenant = ?1 AND session = ?2";
        connection.prepare_cached(sql)?.query_row([key.tenant, key.session], |row| {
            let counted = row.optional_number(0).unwrap_or_default();
            Ok(Self { counted, found: row.number(1)?, messages: row.get(2)?, missed: 0 })
        })
    }

    /// Whether rows are missing. Only then is it asked which: what has an id of the host's own need not have come as an op.
    fn lacks(&self) -> bool {
        self.counted.is_some_and(|counted| counted > self.found)
    }

    /// Looks for the op that a record names.
    pub(super) fn take(
        &mut self,
        connection: &Connection,
        key: SessionKey,
        ordinal: Ordinal,
        body: &RecordBody,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        let Some(submission) = named(body) else { return Ok(()) };
        let message = match body {
            RecordBody::MessageAccepted(message) => Some(message),
            _ => None,
        };
        let has_a_row = self.messages && message.is_some();
        if !has_a_row && !self.lacks() {
            return Ok(());
        }
        let place = || Location::Submission { submission: submission.to_string() };
        match agrees(connection, key, ordinal, submission, message)? {
            None => {
                self.missed += 1;
                ledger.find(place(), Damage::Missing, format!("record {ordinal} names it, and it is not there"));
            }
            Some(false) => {
                ledger.find(place(), Damage::Reference, format!("record {ordinal} accepted it, and it says otherwise"));
            }
            Some(true) => {}
        }
        Ok(())
    }

    /// Goes over all rows, and counts them.
    pub(super) fn finish(
        &self,
        connection: &Connection,
        key: SessionKey,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        check_rows(connection, key, ledger)?;
        let Self { counted: Some(counted), found, missed, .. } = *self else { return Ok(()) };
        if counted != found && counted.checked_sub(found) != Some(missed) {
            let message = format!("it counts {counted} accepted ops, and {found} are there");
            ledger.find(Location::Column { name: "ops" }, Damage::Count, message);
        }
        Ok(())
    }
}

/// Whether an op is there, and if it is a message, says of it what its record says.
fn agrees(
    connection: &Connection,
    key: SessionKey,
    ordinal: Ordinal,
    submission: &SubmissionId,
    message: Option<&MessageAccepted>,
) -> rusqlite::Result<Option<bool>> {
    let sql = "SELECT ordinal, accepted FROM submissions WHERE tenant = ?1 AND session = ?2 AND submission = ?3";
    connection
        .prepare_cached(sql)?
        .query_row(params![key.tenant, key.session, PackedId(submission.as_str())], |row| {
            let stored: (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(message.is_none_or(|message| stored == (int(ordinal.0), Some(int(message.accepted.0)))))
        })
        .optional()
}

/// The op that a record answers, where it says so.
fn answered(body: &RecordBody) -> Option<&SubmissionId> {
    match body {
        RecordBody::MessageAccepted(accepted) => Some(&accepted.submission),
        RecordBody::ApprovalResolved(resolved) => resolved.submission.as_ref(),
        RecordBody::ElicitationResolved(resolved) => resolved.submission.as_ref(),
        RecordBody::ModelChanged(changed) => changed.submission.as_ref(),
        _ => None,
    }
}

/// The op that a record says it comes from.
fn named(body: &RecordBody) -> Option<&SubmissionId> {
    match body {
        RecordBody::OperationBegun(begun) => Some(&begun.command),
        _ => answered(body).or_else(|| body.turn_ended()?.interrupted_by.as_ref()),
    }
}

/// Each row is what was written, and points at a record that is there, and that names it if it names one.
fn check_rows(connection: &Connection, key: SessionKey, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT s.submission, s.ordinal, s.accepted, s.digest, s.checksum, r.ordinal, k.name, r.body FROM submissions s
         LEFT JOIN records r ON r.tenant = s.tenant AND r.session = s.session AND r.ordinal = s.ordinal
         LEFT JOIN kinds k ON k.kind = r.kind
         WHERE s.tenant = ?1 AND s.session = ?2",
    )?;
    let mut rows = statement.query([key.tenant, key.session])?;
    while let Some(row) = rows.next()? {
        ledger.counts().submissions += 1;
        ledger.row(0);
        let Ok(submission) = row.id::<String>(0) else {
            ledger.find(Location::Table { name: "submissions" }, Damage::Shape, "an op's id can't be");
            continue;
        };
        let place = Location::Submission { submission: submission.clone() };
        if let Err(damage) = read::check_op(row) {
            ledger.find(place.clone(), damage, what(damage));
        }
        if row.get_ref(5)? == rusqlite::types::ValueRef::Null {
            ledger.find(place, Damage::Reference, "the record that answers it is not there");
            continue;
        }
        // A damaged record is named where records are checked.
        let body = row.text(6).ok().zip(row.bytes(7).ok()).and_then(|(kind, body)| RecordBody::decode(kind, body));
        if body.as_ref().and_then(answered).is_some_and(|answered| answered.as_str() != submission) {
            ledger.find(place, Damage::Reference, "the record that it points at answers another op");
        }
    }
    Ok(())
}
