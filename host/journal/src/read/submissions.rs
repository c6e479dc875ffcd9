//! Accepted ops.

use mainstay_protocol::{AcceptedOrdinal, Digest, Ordinal, Seq, SubmissionId, op::Accepted};
use rusqlite::{Connection, Row, params, types::ValueRef};

use super::find_session;
use crate::{
    Damage, ReadError,
    codec::{Columns, PackedId},
    write::{Lane, SessionKey, op_checksum},
};

pub(crate) fn submission(
    connection: &Connection,
    lane: &Lane,
    id: &SubmissionId,
) -> Result<Option<(Digest, Accepted)>, ReadError> {
    let Some(key) = find_session(connection, lane)? else { return Ok(None) };
    find_submission(connection, key, id)?
        .transpose()
        .map_err(|_| ReadError::Damaged { what: "answer that this op got" })
}

/// An op that was accepted; one whose row is damaged was accepted too, and how it was answered is not known.
pub(crate) fn find_submission(
    connection: &Connection,
    key: SessionKey,
    id: &SubmissionId,
) -> rusqlite::Result<Option<Result<(Digest, Accepted), Damage>>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.submission, s.ordinal, s.accepted, s.digest, s.checksum, r.seq FROM submissions s
         LEFT JOIN records r ON r.tenant = s.tenant AND r.session = s.session AND r.ordinal = s.ordinal
         WHERE s.tenant = ?1 AND s.session = ?2 AND s.submission = ?3",
    )?;
    let mut rows = statement.query(params![key.tenant, key.session, PackedId(id.as_str())])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(check_op(row).and_then(|op| {
        let seq = row.optional_number(5).map_err(|_| Damage::Shape)?.map(Seq);
        let accepted =
            Accepted { submission: id.clone(), ordinal: op.ordinal, seq, accepted: op.accepted, already: true };
        Ok((op.digest, accepted))
    })))
}

/// What is kept of an accepted op.
pub(crate) struct Op {
    pub(crate) ordinal: Ordinal,
    pub(crate) accepted: Option<AcceptedOrdinal>,
    digest: Digest,
}

/// An op as it was accepted, from the columns submission, ordinal, accepted, digest and checksum. Format 1 wrote no checksum.
pub(crate) fn check_op(row: &Row<'_>) -> Result<Op, Damage> {
    let read = || -> rusqlite::Result<Op> {
        let (ordinal, accepted) = (Ordinal(row.number(1)?), row.optional_number(2)?.map(AcceptedOrdinal));
        Ok(Op { ordinal, accepted, digest: row.digest(3)? })
    };
    let op = read().map_err(|_| Damage::Shape)?;
    if matches!(row.get_ref(4), Ok(ValueRef::Null)) {
        return Ok(op);
    }
    let id = row.id::<String>(0).map_err(|_| Damage::Shape)?;
    let is_sound = row.bytes(4).is_ok_and(|stored| stored == op_checksum(&id, op.ordinal, op.accepted, op.digest));
    if is_sound { Ok(op) } else { Err(Damage::Digest) }
}
