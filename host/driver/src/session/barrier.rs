//! Which barriers a transition is, by its records. Only names: failpoints and traces use them.

use mainstay_protocol::record::{
    NewRecord, RecordBody,
    v1::{StepCompleted, StepOutcome},
};

/// The names of the barriers that these records are, in the order of their first record.
pub(crate) fn names(records: &[NewRecord]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in records.iter().filter_map(|record| name(&record.body)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn name(record: &RecordBody) -> Option<&'static str> {
    Some(match record {
        RecordBody::SessionConfigured(_) => "B0",
        RecordBody::MessageAccepted(_)
        | RecordBody::ModelChanged(_)
        | RecordBody::ApprovalResolved(_)
        | RecordBody::ElicitationResolved(_)
        | RecordBody::ActivityChanged(_)
        | RecordBody::OperationBegun(_)
        | RecordBody::OperationCorrelated(_)
        | RecordBody::CommandEnded(_) => "B1",
        RecordBody::ElicitationRequested(_) => "BQ",
        RecordBody::TurnStarted(_) => "B2",
        RecordBody::StepCompleted(StepCompleted { outcome: StepOutcome::Completed, .. }) => "B3",
        RecordBody::CallsDecided(_) => "B4",
        RecordBody::CallEnded(_) => "B5",
        RecordBody::TurnContinued(_) => "B6",
        record if record.turn_ended().is_some() => "B7",
        _ => return None,
    })
}
