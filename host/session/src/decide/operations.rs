//! Owned operations and the ends of commands. A command ends once. Only the command that owns the operation can save, fail or
//! defer it: a stale owner's save is an error, and what else it reports changes nothing.

#[cfg(test)]
mod tests;

use mainstay_protocol::{
    SubmissionId,
    content::{ItemBody, Notice},
    op::{MAX_RELATED, Refusal},
    record::{
        RecordBody,
        v1::{
            Archive, CheckpointSaved, CommandEnded, CommandKind, CommandOutcome, CommandReason, NoticeAdded,
            OperationBegun, OperationCorrelated, OperationOwner,
        },
    },
};

use super::{Draft, Place, Refused, clip};
use crate::command::CommandEnd;

/// Bytes that the name of an archive may have.
const MAX_ARCHIVE_NAME: usize = 256;
/// What a failed checkpoint says when nobody said why.
const FAILED: &str = "the checkpoint failed";

impl Draft {
    pub(super) fn begin_operation(&mut self, begun: OperationBegun) -> Result<(), Refused> {
        if begun.kind != CommandKind::Checkpoint || begun.owner == OperationOwner::Other {
            return Err(Refusal::Unsupported { what: "an owned operation of this kind or owner".to_owned() }.into());
        }
        if let Some(running) = &self.state().operation {
            return Err(Refusal::OperationRunning { running: running.command.clone() }.into());
        }
        if self.state().ended.has(&begun.command) {
            return Err(Refusal::AlreadyEnded { command: begun.command }.into());
        }
        if begun.related.len() > MAX_RELATED {
            return Err(too_many_related());
        }
        self.push(RecordBody::OperationBegun(begun));
        Ok(())
    }

    pub(super) fn correlate_operation(&mut self, command: SubmissionId, related: SubmissionId) -> Result<(), Refused> {
        let Some(operation) = self.owned_by(&command) else {
            return Err(Refusal::StaleOwner { command }.into());
        };
        if operation.related.contains(&related) {
            return Ok(());
        }
        if operation.related.len() >= MAX_RELATED {
            return Err(too_many_related());
        }
        self.push(RecordBody::OperationCorrelated(OperationCorrelated { command, related }));
        Ok(())
    }

    pub(super) fn save_checkpoint(&mut self, command: SubmissionId, archive: Archive) -> Result<(), Refused> {
        let Some(operation) = self.owned_by(&command).cloned() else {
            return Err(Refusal::StaleOwner { command }.into());
        };
        if archive.name.is_empty() || archive.name.len() > MAX_ARCHIVE_NAME {
            return Err(invalid(format!("the name of an archive has 1 to {MAX_ARCHIVE_NAME} bytes")));
        }
        let head = self.state().head;
        if archive.head > head {
            let reason = format!("the archive holds record {}, and the session's last one is {head}", archive.head);
            return Err(invalid(reason));
        }
        self.push(RecordBody::CheckpointSaved(CheckpointSaved { command, archive }));
        self.end_operation(operation, CommandEnd::completed());
        Ok(())
    }

    pub(super) fn fail_operation(&mut self, command: &SubmissionId, message: String) -> Result<(), Refused> {
        self.end_checkpoint(command, CommandEnd::because(CommandReason::CheckpointFailed, message))
    }

    pub(super) fn defer_operation(&mut self, command: &SubmissionId, message: String) -> Result<(), Refused> {
        self.end_checkpoint(command, CommandEnd::because(CommandReason::CheckpointDeferred, message))
    }

    fn end_checkpoint(&mut self, command: &SubmissionId, end: CommandEnd) -> Result<(), Refused> {
        let Some(operation) = self.owned_by(command).cloned() else { return Err(NOT_THE_OWNER) };
        self.end_operation(operation, end);
        Ok(())
    }

    /// Ends an operation that a restart interrupted. Tells whether there was one.
    pub(super) fn recover_operation(&mut self) -> bool {
        let Some(operation) = self.state().operation.clone() else { return false };
        self.end_operation(operation, CommandEnd::because(CommandReason::ControllerRestarted, String::new()));
        true
    }

    /// Ends a command, which may be the one that owns the operation.
    pub(super) fn end_command(
        &mut self,
        command: SubmissionId,
        kind: CommandKind,
        end: CommandEnd,
    ) -> Result<(), Refused> {
        if kind == CommandKind::Other || end.reason == Some(CommandReason::Other) {
            return Err(Refusal::Unsupported { what: "a command of this kind or reason".to_owned() }.into());
        }
        let owned = self.owned_by(&command).cloned();
        let kind = owned.as_ref().map_or(kind, |operation| operation.kind);
        match owned {
            _ if kind == CommandKind::Checkpoint && end.reason.is_none() => {
                Err(Refusal::ArchiveMissing { command }.into())
            }
            Some(operation) => {
                self.end_operation(operation, end);
                Ok(())
            }
            None if self.state().ended.has(&command) => Err(Refused::Stale("the command has ended already")),
            None if kind == CommandKind::Checkpoint => Err(NOT_THE_OWNER),
            None => {
                self.record_end(command, kind, end, None, Vec::new());
                Ok(())
            }
        }
    }

    fn owned_by(&self, command: &SubmissionId) -> Option<&OperationBegun> {
        self.state().operation.as_ref().filter(|operation| operation.command == *command)
    }

    fn end_operation(&mut self, operation: OperationBegun, end: CommandEnd) {
        let OperationBegun { command, kind, owner, related } = operation;
        self.record_end(command, kind, end, Some(owner), related);
    }

    /// The one record of a command's end. People read of it in the transcript when it is a real failure.
    fn record_end(
        &mut self,
        command: SubmissionId,
        kind: CommandKind,
        end: CommandEnd,
        owner: Option<OperationOwner>,
        related: Vec<SubmissionId>,
    ) {
        let CommandEnd { reason, message } = end;
        let mut message = clip(message);
        if reason == Some(CommandReason::CheckpointFailed) && message.is_empty() {
            FAILED.clone_into(&mut message);
        }
        let real = reason.filter(|reason| !reason.is_expected());
        let notice = real.map(|reason| self.notice(code(reason), failure(kind, &message)));
        self.push(RecordBody::CommandEnded(CommandEnded {
            command,
            kind,
            outcome: reason.map_or(CommandOutcome::Completed, CommandReason::outcome),
            reason,
            message,
            owner,
            related,
            notice,
        }));
    }

    /// Adds a line for people, which models never see.
    fn notice(&mut self, code: &str, text: String) -> mainstay_protocol::ItemId {
        let code = code.to_owned();
        let item = self.add_item(Place::of_session(), ItemBody::Notice(Notice { code: code.clone(), text }));
        self.push(RecordBody::NoticeAdded(NoticeAdded { item, code }));
        item
    }
}

/// What a report is worth that comes late, twice, or from a command that never owned the operation: nothing.
const NOT_THE_OWNER: Refused = Refused::Stale("the command does not own the session's operation");

fn too_many_related() -> Refused {
    invalid(format!("at most {MAX_RELATED} other commands may belong to it"))
}

fn invalid(reason: String) -> Refused {
    Refusal::InvalidOp { reason }.into()
}

fn code(reason: CommandReason) -> &'static str {
    match reason {
        CommandReason::CheckpointFailed => "checkpoint_failed",
        _ => "command_failed",
    }
}

fn failure(kind: CommandKind, message: &str) -> String {
    let what = match kind {
        CommandKind::Checkpoint => "the checkpoint",
        CommandKind::BeginCheckpoint => "the beginning of a checkpoint",
        CommandKind::CompleteCheckpoint => "the completion of a checkpoint",
        CommandKind::PluginCommand | CommandKind::Other => "a command",
    };
    if message.is_empty() { format!("{what} failed") } else { format!("{what} failed: {message}") }
}
