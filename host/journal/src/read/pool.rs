//! A bounded pool of read-only connections. SQLite blocks, so each read runs on a blocking thread.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::{sync::Semaphore, task};

use crate::{
    ReadError,
    connection::{self, StoreFile},
    migrations,
};

#[derive(Clone, Debug)]
pub(crate) struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: StoreFile,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Pool {
    pub(crate) fn new(file: StoreFile, size: usize) -> Self {
        Self(Arc::new(Inner { file, idle: Mutex::default(), permits: Semaphore::new(size) }))
    }

    /// Runs `read` in a read transaction.
    pub(crate) async fn run<T, F>(&self, read: F) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, ReadError> + Send + 'static,
    {
        let _permit = self.0.permits.acquire().await.map_err(|_| ReadError::Closed)?;
        let inner = self.0.clone();
        match task::spawn_blocking(move || inner.run(read)).await {
            Ok(answer) => answer,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(ReadError::Closed),
        }
    }

    /// Closes what is idle and refuses new reads; those that run finish.
    pub(crate) fn close(&self) {
        self.0.permits.close();
        self.0.idle().clear();
    }
}

impl Inner {
    fn run<T>(&self, read: impl FnOnce(&Connection) -> Result<T, ReadError>) -> Result<T, ReadError> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let transaction = connection.unchecked_transaction()?;
        let answer = read(&transaction);
        // Ends the transaction; there is nothing to undo. A connection that met an error of the store is not used again.
        let ended = transaction.finish();
        let sound = !matches!(answer, Err(ReadError::Io { .. } | ReadError::Corrupt)) && ended.is_ok();
        if sound && !self.permits.is_closed() {
            self.idle().push(connection);
        }
        answer
    }

    /// A store that was put in the journal's place meanwhile may be older than it: readers never migrate.
    fn open(&self) -> Result<Connection, ReadError> {
        let connection = connection::open_reader(&self.file)?;
        migrations::check_for_reading(&connection)?;
        Ok(connection)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
