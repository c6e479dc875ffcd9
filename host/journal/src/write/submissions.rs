//! Accepted ops, by which a repetition is recognised.

use mainstay_protocol::{SubmissionId, op::Accepted, record::StoredRecord};
use rusqlite::{Connection, params};

use super::{Failure, sessions::SessionKey};
use crate::{
    CommitError, NewSubmission,
    codec::{PackedId, int},
    read,
};

/// Refuses a submission that the session has already.
pub(super) fn refuse_known(connection: &Connection, key: SessionKey, submission: &SubmissionId) -> Result<(), Failure> {
    match read::find_submission(connection, key, submission)? {
        None => Ok(()),
        Some((digest, accepted)) => {
            Err(CommitError::Duplicate { submission: submission.clone(), digest, accepted }.into())
        }
    }
}

pub(super) fn store(
    connection: &Connection,
    key: SessionKey,
    submission: &NewSubmission,
    answer: &StoredRecord,
) -> rusqlite::Result<Accepted> {
    connection
        .prepare_cached(
            "INSERT INTO submissions (tenant, session, submission, ordinal, accepted, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            key.tenant,
            key.session,
            PackedId(submission.submission.as_str()),
            int(answer.ordinal.0),
            submission.accepted.map(|accepted| int(accepted.0)),
            submission.digest.as_bytes()
        ])?;
    Ok(Accepted {
        submission: submission.submission.clone(),
        ordinal: answer.ordinal,
        seq: answer.seq,
        accepted: submission.accepted,
        already: false,
    })
}
