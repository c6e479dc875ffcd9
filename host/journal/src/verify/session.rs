//! One session. The caller has a read transaction open, so that nothing of what a host writes meanwhile is seen in part.

use mainstay_protocol::{SessionId, TenantId};
use rusqlite::Connection;

use super::{
    blobs, head,
    items::{self, BlobRefs},
    ledger::Ledger,
    ops::Ops,
    records::Walk,
    report::Depth,
    rows::{self, Executions},
};
use crate::{ReadError, write::SessionKey};

/// A session by its numbers, and by its names as far as they can be read.
pub(super) struct Subject {
    pub(super) key: SessionKey,
    pub(super) tenant: Option<TenantId>,
    pub(super) session: Option<SessionId>,
}

pub(super) fn check(connection: &Connection, subject: &Subject, ledger: &mut Ledger<'_>) -> Result<(), ReadError> {
    ledger.at_session(subject.tenant.clone(), subject.session.clone());
    ledger.counts().sessions += 1;
    match ledger.depth() {
        Depth::Quick => check_quickly(connection, subject.key, ledger)?,
        Depth::Full => check_all(connection, subject.key, ledger)?,
    }
    ledger.at_session(None, None);
    Ok(())
}

fn check_quickly(connection: &Connection, key: SessionKey, ledger: &mut Ledger<'_>) -> Result<(), ReadError> {
    let head = ledger.check("heads", |ledger| head::read(connection, key, ledger))?.flatten();
    if let Some(head) = head {
        ledger.check("records", |ledger| head.check_last(connection, key, ledger))?;
    }
    Ok(())
}

fn check_all(connection: &Connection, key: SessionKey, ledger: &mut Ledger<'_>) -> Result<(), ReadError> {
    let (mut walk, mut executions) = (Walk::new(), Executions::default());
    let head = ledger.check("heads", |ledger| head::read(connection, key, ledger))?.flatten();
    let mut ops = ledger.check("submissions", |_| Ops::read(connection, key))?.unwrap_or_default();
    let walked = ledger.check("records", |ledger| {
        walk.run(connection, key, ledger, |walk, ledger, body| {
            executions.take(connection, key, walk, body, ledger)?;
            ops.take(connection, key, walk.last, body, ledger)
        })
    })?;
    if walked.is_none() {
        walk.cut_short();
    }
    if let Some(head) = &head {
        if walked.is_some() {
            head.check_walk(&mut walk, ledger);
        }
        head.check_state(connection, key, &walk, ledger);
    }
    ledger.check("sessions", |ledger| head::check_row(connection, key, &walk, ledger))?;
    ledger.check("executions", |ledger| executions.finish(connection, key, &walk, ledger))?;
    ledger.check("submissions", |ledger| ops.finish(connection, key, ledger))?;
    ledger.check("plugin_state", |ledger| rows::check_plugin_state(connection, key, &walk, ledger))?;
    check_contents(connection, key, &walk, ledger)
}

/// The transcript and the queue, and with them the payloads that they refer to.
fn check_contents(
    connection: &Connection,
    key: SessionKey,
    walk: &Walk,
    ledger: &mut Ledger<'_>,
) -> Result<(), ReadError> {
    let refs = ledger.check("items", |ledger| items::check(connection, key, walk, ledger))?;
    let mut refs = refs.unwrap_or_else(|| {
        let mut refs = BlobRefs::default();
        refs.lose();
        refs
    });
    if ledger.check("queue", |ledger| rows::check_queue(connection, key, walk, &mut refs, ledger))?.is_none() {
        refs.lose();
    }
    ledger.check("blob_uses", |ledger| blobs::check_uses(connection, key, refs, ledger))?;
    Ok(())
}
