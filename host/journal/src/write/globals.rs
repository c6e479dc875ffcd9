//! Small values of the host outside any session.

use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::{Failure, Job, Lane};
use crate::{
    CommitError,
    codec::{Checksum, checksum},
};

/// Covers a value and its key.
pub(crate) fn global_checksum(key: &str, value: &[u8]) -> Checksum {
    checksum("mainstay/global/1", &[key.as_bytes(), value])
}

pub(crate) struct SetGlobal {
    pub(crate) key: String,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) reply: oneshot::Sender<Result<(), CommitError>>,
}

impl Job for SetGlobal {
    fn lane(&self) -> Option<&Lane> {
        None
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        match &self.value {
            Some(value) => {
                let sql = "INSERT INTO globals (key, value, checksum) VALUES (?1, ?2, ?3)
                           ON CONFLICT (key) DO UPDATE SET value = ?2, checksum = ?3";
                connection.prepare_cached(sql)?.execute(params![self.key, value, global_checksum(&self.key, value)])?;
            }
            None => {
                connection.prepare_cached("DELETE FROM globals WHERE key = ?1")?.execute([&self.key])?;
            }
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        let _ = self.reply.send(outcome);
    }
}
