//! What every transition of a session must keep, whatever it says: held against the session's row before anything is written.
//! A violation is a bug of the host, or a state that is not the one that the records give; nothing of the transition is written.

use mainstay_protocol::record::{RecordBody, v1::Opening};

use super::{
    Prepared, integrity,
    sessions::{Counts, Head},
};
use crate::CommitError;

/// Checks a transition against the head that it is about to move.
pub(super) fn check(head: &Head, prepared: &Prepared) -> Result<(), CommitError> {
    let (old, new) = (head.counts, Counts::of(&prepared.snapshot.summary));
    check_counts(old, new)?;
    check_identity(head, prepared)?;
    check_items(old, new, prepared)?;
    check_messages(old, new, prepared)
}

/// Nothing that counts falls.
fn check_counts(old: Counts, new: Counts) -> Result<(), CommitError> {
    let rules = [
        (old.turns, new.turns, "the count of turns does not fall"),
        (old.aborted, new.aborted, "the count of aborted turns does not fall"),
        (old.accepted, new.accepted, "the count of accepted messages does not fall"),
        (old.item, new.item, "the last item of a session does not go back"),
        (old.context_epoch, new.context_epoch, "the context epoch does not fall"),
        (new.aborted, new.turns, "there are no more aborted turns than turns"),
    ];
    match rules.into_iter().find(|(least, most, _)| least > most) {
        Some((_, _, rule)) => Err(integrity(rule)),
        None => Ok(()),
    }
}

/// A session is created by its first record and never again: its owner, its id and when it was created are columns that
/// no statement rewrites, and its labels are checked where they are stored.
fn check_identity(head: &Head, prepared: &Prepared) -> Result<(), CommitError> {
    let created = prepared.records.iter().zip(head.ordinal.0 + 1..).find(|(record, ordinal)| {
        *ordinal > 1
            && matches!(&*record.body, RecordBody::SessionConfigured(configured) if configured.opening == Opening::Created)
    });
    if created.is_some() { Err(integrity("a session is created once, by its first record")) } else { Ok(()) }
}

/// Items follow those before, and the state counts them.
fn check_items(old: Counts, new: Counts, prepared: &Prepared) -> Result<(), CommitError> {
    let mut last = old.item;
    for item in &prepared.items {
        if item.id.0 <= last {
            return Err(integrity("items are appended"));
        }
        last = item.id.0;
    }
    if new.item == last {
        Ok(())
    } else {
        Err(integrity("the last item of the state is the last one that was appended"))
    }
}

/// Messages are numbered from 1 as they are accepted, and the state counts them.
fn check_messages(old: Counts, new: Counts, prepared: &Prepared) -> Result<(), CommitError> {
    let mut last = old.accepted;
    for message in &prepared.queued {
        let accepted = message.message.accepted.0;
        if accepted <= last {
            return Err(integrity("messages enter the queue in the order of their numbers"));
        }
        last = accepted;
    }
    if last > new.accepted {
        return Err(integrity("the state counts the messages that enter the queue"));
    }
    let answered = prepared.submission.as_ref().and_then(|submission| submission.accepted);
    match answered {
        Some(accepted) if accepted.0 <= old.accepted || accepted.0 > new.accepted => {
            Err(integrity("an op is answered with the number of its own message"))
        }
        _ => Ok(()),
    }
}
