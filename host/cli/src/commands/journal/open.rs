//! What the operator's commands share: reading the journal beside a host, running what blocks, and saying what went wrong.

use mainstay_journal::{OpenError, ReadError, ReadOnlyJournal};

use crate::{
    exit::{Exit, Failure},
    manifest::Place,
};

/// The journal of this installation, whether a host has it or not.
pub(super) fn read_only(place: &Place) -> Result<ReadOnlyJournal, Failure> {
    ReadOnlyJournal::open(&place.data_dir).map_err(|error| open_failure(place, error))
}

/// The failure of a journal that can't be opened.
pub(super) fn open_failure(place: &Place, error: OpenError) -> Failure {
    let exit = match error {
        OpenError::Corrupt | OpenError::NotAJournal => Exit::Damaged,
        _ => Exit::Unavailable,
    };
    let doing = format!("use the journal in `{}`", place.data_dir.display());
    Failure::new(exit, error).context(doing)
}

/// The failure of a journal that can't be read.
pub(super) fn read_failure(error: ReadError) -> Failure {
    let exit = match error {
        ReadError::Corrupt | ReadError::Damaged { .. } => Exit::Damaged,
        ReadError::Gone => Exit::Failed,
        _ => Exit::Unavailable,
    };
    Failure::new(exit, error)
}

/// Runs what blocks off the threads that answer.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Failure::new(Exit::Failed, format!("the work broke off: {error}"))),
    }
}
