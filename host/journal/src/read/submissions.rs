//! Accepted ops.

use mainstay_protocol::{AcceptedOrdinal, Digest, Ordinal, Seq, SubmissionId, op::Accepted};
use rusqlite::{Connection, OptionalExtension, params};

use super::find_session;
use crate::{
    ReadError,
    codec::{Columns, PackedId},
    write::{Lane, SessionKey},
};

pub(crate) fn submission(
    connection: &Connection,
    lane: &Lane,
    id: &SubmissionId,
) -> Result<Option<(Digest, Accepted)>, ReadError> {
    match find_session(connection, lane)? {
        Some(key) => Ok(find_submission(connection, key, id)?),
        None => Ok(None),
    }
}

pub(crate) fn find_submission(
    connection: &Connection,
    key: SessionKey,
    id: &SubmissionId,
) -> rusqlite::Result<Option<(Digest, Accepted)>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.digest, s.ordinal, s.accepted, r.seq FROM submissions s
         LEFT JOIN records r ON r.tenant = s.tenant AND r.session = s.session AND r.ordinal = s.ordinal
         WHERE s.tenant = ?1 AND s.session = ?2 AND s.submission = ?3",
    )?;
    let found = statement.query_row(params![key.tenant, key.session, PackedId(id.as_str())], |row| {
        let accepted = Accepted {
            submission: id.clone(),
            ordinal: Ordinal(row.number(1)?),
            seq: row.optional_number(3)?.map(Seq),
            accepted: row.optional_number(2)?.map(AcceptedOrdinal),
            already: true,
        };
        Ok((row.digest(0)?, accepted))
    });
    found.optional()
}
