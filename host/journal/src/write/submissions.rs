//! Accepted ops, by which a repetition is recognised.

use mainstay_protocol::{AcceptedOrdinal, Digest, Ordinal, SubmissionId, op::Accepted, record::StoredRecord};
use rusqlite::{Connection, params};

use super::{
    Failure,
    sessions::{Head, SessionKey},
};
use crate::{
    CommitError, NewSubmission,
    codec::{Checksum, PackedId, checksum, int},
    read,
};

/// Covers an accepted op: its id, the record that answers it, its number if it is a message, and the digest of its payload.
pub(crate) fn op_checksum(id: &str, ordinal: Ordinal, accepted: Option<AcceptedOrdinal>, digest: Digest) -> Checksum {
    let accepted = accepted.map(|accepted| accepted.0.to_le_bytes());
    let accepted = accepted.as_ref().map_or(&[][..], |accepted| &accepted[..]);
    checksum("mainstay/op/1", &[id.as_bytes(), &ordinal.0.to_le_bytes(), accepted, digest.as_bytes()])
}

/// Refuses a submission that the session has already. Where the answer that it got is damaged, nothing is written.
pub(super) fn refuse_known(connection: &Connection, key: SessionKey, submission: &SubmissionId) -> Result<(), Failure> {
    match read::find_submission(connection, key, submission)? {
        None => Ok(()),
        Some(Ok((digest, accepted))) => {
            Err(CommitError::Duplicate { submission: submission.clone(), digest, accepted }.into())
        }
        Some(Err(_)) => Err(CommitError::Corrupt.into()),
    }
}

/// Keeps an op with the answer that it gets, and counts it.
pub(super) fn store(
    connection: &Connection,
    head: &mut Head,
    submission: &NewSubmission,
    answer: &StoredRecord,
) -> rusqlite::Result<Accepted> {
    let (id, NewSubmission { digest, accepted, .. }) = (submission.submission.as_str(), submission);
    connection
        .prepare_cached(
            "INSERT INTO submissions (tenant, session, submission, ordinal, accepted, digest, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            head.key.tenant,
            head.key.session,
            PackedId(id),
            int(answer.ordinal.0),
            accepted.map(|accepted| int(accepted.0)),
            digest.as_bytes(),
            op_checksum(id, answer.ordinal, *accepted, *digest)
        ])?;
    head.ops += 1;
    Ok(Accepted {
        submission: submission.submission.clone(),
        ordinal: answer.ordinal,
        seq: answer.seq,
        accepted: *accepted,
        already: false,
    })
}
