//! By which a job finds its own records again after a commit that reported an error. They would be refused as a conflict, or
//! appended twice, if they were simply tried again.

use mainstay_protocol::{Digest, Ordinal};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Lane, is_forgotten, sessions::Head};
use crate::codec::{PackedId, int};

/// The last record that a job appended. Its chain digest covers all records of the session up to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    ordinal: Ordinal,
    chain: Digest,
}

impl Mark {
    /// The mark of a head that a job has just moved.
    pub(super) fn of(head: &Head) -> Self {
        Self { ordinal: head.ordinal, chain: head.chain }
    }

    /// Whether the session has that record. It need not be its last one: others may have followed in the same group. None when the
    /// session was forgotten: that followed in the same group too, and its rows may be gone. Whoever forgot it can tell.
    pub(super) fn is_in(&self, connection: &Connection, lane: &Lane) -> rusqlite::Result<Option<bool>> {
        let sql = "SELECT r.chain = ?4 FROM tenants t JOIN sessions s ON s.tenant = t.tenant AND s.id = ?2
             JOIN records r ON r.tenant = s.tenant AND r.session = s.session AND r.ordinal = ?3
             WHERE t.id = ?1";
        let id = (lane.tenant.as_str(), PackedId(lane.session.as_str()));
        let found = connection
            .prepare_cached(sql)?
            .query_row(params![id.0, id.1, int(self.ordinal.0), self.chain.as_bytes()], |row| {
                row.get::<_, Option<bool>>(0)
            });
        match found.optional()?.flatten() {
            None if is_forgotten(connection, lane)? => Ok(None),
            found => Ok(Some(found.unwrap_or(false))),
        }
    }
}
