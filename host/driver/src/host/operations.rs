//! Owned operations that a restart interrupted: ended once, before any other work of their sessions is taken up.

use mainstay_journal::{Journal, SessionRow};
use mainstay_protocol::Timestamp;
use mainstay_session::Command;

use crate::{errors::HostError, session::proposal::Proposal};

/// Ends the owned operations that were running when the last host of this journal ended, as cancelled, and starts no other work.
/// Tells how many there were: a second call finds none. All sessions are tried before the first error is returned.
///
/// # Errors
/// The journal can't be read or written.
pub async fn recover_operations(journal: &dyn Journal, now: Timestamp) -> Result<u64, HostError> {
    let mut ended = 0;
    let mut failed = None;
    for row in journal.sessions_with_operations().await? {
        match recover(journal, &row, now).await {
            Ok(recovered) => ended += u64::from(recovered),
            Err(error) => {
                tracing::error!(session = %row.session, "the session's operation can't be ended: {error}");
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(ended), Err)
}

async fn recover(journal: &dyn Journal, row: &SessionRow, now: Timestamp) -> Result<bool, HostError> {
    let Some(opened) = journal.open_session(&row.tenant, &row.session).await? else { return Ok(false) };
    let mut proposal = Proposal::on(&opened.state);
    if proposal.apply(Command::RecoverOperation, now).is_err() {
        return Ok(false);
    }
    let transition = proposal.into_transition(&row.tenant, &row.session, &opened.state, None);
    journal.commit(transition).await?;
    Ok(true)
}
