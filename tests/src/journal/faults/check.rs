//! What a journal holds, compared with a story: each lane stands after one of its steps, with all that belongs to it and nothing
//! else.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_journal::{Journal, Range, ReadError, SqliteJournal, Transition, host_session, host_tenant};
use mainstay_protocol::{
    AcceptedOrdinal, Ordinal, SessionId, TenantId,
    content::Item,
    record::{NewRecord, StoredRecord, record_digest},
};
use mainstay_session::{QueuedMessage, State, evolve};

use super::ledger::{HostStep, Ledger, VALUE, plugin};

/// What is wrong, in words.
pub(super) type Complaint = String;

/// The steps that each lane has taken, by what a journal holds. Complains about all that is not exactly as it was after one of
/// them.
pub(super) async fn progress(journal: &SqliteJournal, ledger: &Ledger) -> Result<Vec<usize>, Complaint> {
    let mut found = sessions(journal, ledger).await?;
    let host = found[ledger.host_lane()];
    active_builds(journal, &ledger.host[..host]).await?;
    found.push(value(journal, ledger).await?);
    Ok(found)
}

/// The steps that each session has taken, and the host's own.
async fn sessions(journal: &SqliteJournal, ledger: &Ledger) -> Result<Vec<usize>, Complaint> {
    let (mut seqs, mut found) = (BTreeSet::new(), Vec::new());
    for steps in &ledger.sessions {
        found.push(session(journal, steps, &mut seqs).await?);
    }
    found.push(host(journal, ledger, &mut seqs).await?);
    Ok(found)
}

/// How often the host's value was set.
async fn value(journal: &SqliteJournal, ledger: &Ledger) -> Result<usize, Complaint> {
    let Some(value) = journal.global(VALUE).await.map_err(unreadable)? else {
        return Ok(0);
    };
    let step = ledger.values.iter().position(|known| *known == value);
    step.map(|step| step + 1).ok_or_else(|| "a global value was never set".to_owned())
}

/// The last build that became active is active.
async fn active_builds(journal: &SqliteJournal, steps: &[HostStep]) -> Result<(), Complaint> {
    let active = journal.generations().await.map_err(unreadable)?;
    let expected = Vec::from_iter(steps.last().map(|step| step.row.clone()));
    if active == expected { Ok(()) } else { Err(format!("{} builds are active, or others", active.len())) }
}

/// That each lane has taken the steps that were acknowledged, and none that was not submitted.
pub(super) fn between(found: &[usize], acknowledged: &[usize], submitted: &[usize]) -> Result<(), Complaint> {
    for (lane, found) in found.iter().enumerate() {
        if *found < acknowledged[lane] {
            return Err(format!("lane {lane}: {found} steps are there, {} were acknowledged", acknowledged[lane]));
        }
        if *found > submitted[lane] {
            return Err(format!("lane {lane}: {found} steps are there, {} were submitted", submitted[lane]));
        }
    }
    Ok(())
}

/// The steps that a session has taken.
pub(super) async fn session(
    journal: &SqliteJournal,
    steps: &[Transition],
    seqs: &mut BTreeSet<u64>,
) -> Result<usize, Complaint> {
    let taken = history(journal, steps, seqs).await?;
    let (tenant, session) = (&steps[0].tenant, &steps[0].session);
    let report = journal.verify(tenant, session).await.map_err(unreadable)?;
    if report.as_ref().is_some_and(|report| !report.is_sound()) || report.is_some() != (taken > 0) {
        return Err(format!("session {session} after {taken} steps: verify says {report:?}"));
    }
    let steps = &steps[..taken];
    let complain = |what| format!("session {session} after {taken} steps: {what}");
    compare_queue(journal, steps).await.map_err(complain)?;
    compare_submissions(journal, steps).await.map_err(complain)?;
    compare_plugin_state(journal, steps).await.map_err(complain)?;
    Ok(taken)
}

/// The steps that a session has taken, by its state, its records and its items.
pub(super) async fn history(
    journal: &SqliteJournal,
    steps: &[Transition],
    seqs: &mut BTreeSet<u64>,
) -> Result<usize, Complaint> {
    let (tenant, session) = (&steps[0].tenant, &steps[0].session);
    let Some(opened) = journal.open_session(tenant, session).await.map_err(unreadable)? else {
        return Ok(0);
    };
    let complain = |what: &str| format!("session {session} at {:?}: {what}", opened.head);
    let taken = steps.iter().take_while(|step| step.state.head() <= opened.head).count();
    let Some(last) = taken.checked_sub(1).map(|last| &steps[last]) else {
        return Err(complain("it is there without a step"));
    };
    if opened.state != last.state {
        return Err(complain("its state is none that it ever had"));
    }
    let owner = opened.labels.0.get("owner").map(String::as_str);
    if (opened.metadata.as_deref(), owner) != (Some(r#"{"a":1}"#), Some("someone")) {
        return Err(complain("its metadata or labels are others"));
    }
    let steps = &steps[..taken];
    let records = records(journal, tenant, session).await?;
    compare_records(&records, steps.iter().flat_map(|step| &step.records), seqs).map_err(|what| complain(&what))?;
    let mut replayed = State::default();
    records.iter().for_each(|record| evolve(&mut replayed, &record.body));
    if replayed != opened.state {
        return Err(complain("its records replay to another state"));
    }
    compare_items(journal, steps).await.map_err(|what| complain(&what))?;
    Ok(taken)
}

async fn host(journal: &SqliteJournal, ledger: &Ledger, seqs: &mut BTreeSet<u64>) -> Result<usize, Complaint> {
    let (tenant, session) = (host_tenant(), host_session());
    let records = records(journal, &tenant, &session).await?;
    // One record each.
    let taken = records.len();
    let Some(steps) = ledger.host.get(..taken) else {
        return Err(format!("the host has {taken} records"));
    };
    compare_records(&records, steps.iter().flat_map(|step| &step.records), seqs)?;
    match journal.verify(&tenant, &session).await.map_err(unreadable)? {
        Some(verdict) if !verdict.is_sound() => Err(format!("verify says of the host: {verdict:?}")),
        None if taken > 0 => Err("the host's session is gone".to_owned()),
        _ => Ok(taken),
    }
}

async fn records(
    journal: &SqliteJournal,
    tenant: &TenantId,
    session: &SessionId,
) -> Result<Vec<StoredRecord>, Complaint> {
    let page = journal.records(tenant, session, Range::forward(1_000)).await.map_err(unreadable)?;
    if page.damaged.is_empty() && !page.more { Ok(page.rows) } else { Err(format!("damaged: {:?}", page.damaged)) }
}

/// The same records, without a gap, and with feed positions that no other has.
fn compare_records<'a>(
    found: &[StoredRecord],
    expected: impl Iterator<Item = &'a NewRecord>,
    seqs: &mut BTreeSet<u64>,
) -> Result<(), Complaint> {
    let expected: Vec<_> = expected.collect();
    if found.len() != expected.len() {
        return Err(format!("{} records are there, and should be {}", found.len(), expected.len()));
    }
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let digest = record_digest(expected.body.kind(), expected.at, &expected.body.encode());
        if found.ordinal != Ordinal(index as u64 + 1) || found.digest != digest || *found.body != expected.body {
            return Err(format!("record {:?} is not what was committed", found.ordinal));
        }
        if found.seq.is_some() != expected.body.is_feed() || found.seq.is_some_and(|seq| !seqs.insert(seq.0)) {
            return Err(format!("record {:?} has no place of its own in the feed", found.ordinal));
        }
    }
    Ok(())
}

async fn compare_items(journal: &SqliteJournal, steps: &[Transition]) -> Result<(), Complaint> {
    let page = journal.items(&steps[0].tenant, &steps[0].session, Range::forward(1_000)).await.map_err(unreadable)?;
    let expected: Vec<&Item> = steps.iter().flat_map(|step| &step.items).collect();
    let same = page.damaged.is_empty() && page.rows.iter().eq(expected.iter().copied());
    if same { Ok(()) } else { Err("its items are not what was committed".to_owned()) }
}

async fn compare_queue(journal: &SqliteJournal, steps: &[Transition]) -> Result<(), Complaint> {
    let mut waiting: BTreeMap<AcceptedOrdinal, Option<&QueuedMessage>> = BTreeMap::new();
    for step in steps {
        waiting.extend(step.queued.iter().map(|message| (message.accepted, Some(message))));
        waiting.extend(step.unqueued.iter().map(|accepted| (*accepted, None)));
    }
    for (accepted, expected) in waiting {
        let found = journal.queued(&steps[0].tenant, &steps[0].session, accepted).await.map_err(unreadable)?;
        if found.as_ref() != expected {
            return Err(format!("message {accepted:?} is not in the queue as it should be"));
        }
    }
    Ok(())
}

async fn compare_submissions(journal: &SqliteJournal, steps: &[Transition]) -> Result<(), Complaint> {
    for step in steps {
        let Some(submission) = &step.submission else { continue };
        let found =
            journal.submission(&step.tenant, &step.session, &submission.submission).await.map_err(unreadable)?;
        let same = found.is_some_and(|(digest, accepted)| {
            digest == submission.digest
                && accepted.accepted == submission.accepted
                && accepted.ordinal == Ordinal(step.expected.0 + submission.record as u64 + 1)
        });
        if !same {
            return Err(format!("submission {:?} would not be known again", submission.submission));
        }
    }
    Ok(())
}

async fn compare_plugin_state(journal: &SqliteJournal, steps: &[Transition]) -> Result<(), Complaint> {
    let writes = steps.iter().flat_map(|step| &step.plugin_state);
    let expected: BTreeMap<_, _> = writes.map(|write| (write.key.as_str(), write.value.as_ref())).collect();
    for (key, expected) in expected {
        let (tenant, session) = (&steps[0].tenant, &steps[0].session);
        let found = journal.state_value(tenant, session, &plugin(), key).await.map_err(unreadable)?;
        if found.as_ref() != expected {
            return Err(format!("the plugin's value {key} is not what was committed"));
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn unreadable(error: ReadError) -> Complaint {
    format!("it can't be read: {error}")
}
