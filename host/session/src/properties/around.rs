//! What happens around the steps of a turn, in random histories: forms, commands and the operation that they own, what the session
//! is about; with late and stale reports among them.

use mainstay_protocol::{
    Digest, ElicitationId, Ordinal, SubmissionId,
    record::{
        RecordBody,
        v1::{Activity, Archive, CommandKind, CommandReason, OperationOwner, StopReason},
    },
};
use proptest::prelude::*;

use super::World;
use crate::{Command, CommandEnd, ElicitationAnswer, Question, Refused, decide, pending};

/// The numbers choose among what is possible then.
#[derive(Clone, Debug)]
pub(super) enum Around {
    /// A form is asked, by the turn or by a call that runs.
    Ask,
    /// The oldest form is answered, twice.
    AnswerForm(bool),
    /// What is owed but for the forms that wait comes all the same: it was under way when they were asked.
    Late(u8, u8),
    Activity(u8),
    Begin,
    Correlate(bool),
    /// The owner, or another command, saves.
    Save(bool),
    /// The owner, or another command, fails or defers.
    Report(bool, bool),
    /// A command ends: a new one, or one that has ended, or the owner.
    End(u8, u8),
    Recover,
    /// The runtime calls the turn off.
    Stop,
}

pub(super) fn around() -> impl Strategy<Value = Around> {
    prop_oneof![
        3 => Just(Around::Ask),
        3 => any::<bool>().prop_map(Around::AnswerForm),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(one, two)| Around::Late(one, two)),
        1 => any::<u8>().prop_map(Around::Activity),
        3 => Just(Around::Begin),
        1 => any::<bool>().prop_map(Around::Correlate),
        2 => any::<bool>().prop_map(Around::Save),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(owner, deferred)| Around::Report(owner, deferred)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(one, two)| Around::End(one, two)),
        1 => Just(Around::Recover),
        1 => Just(Around::Stop),
    ]
}

impl World {
    pub(super) fn around(&mut self, around: &Around) {
        match around {
            Around::Ask => self.ask(),
            Around::AnswerForm(accept) => self.answer_form(*accept),
            Around::Late(one, two) => self.late(*one, *two),
            Around::Activity(choice) => self.activity(*choice),
            Around::Begin => self.begin(),
            Around::Correlate(owner) => {
                let (command, related) = (self.commander(*owner), self.id(SubmissionId::new));
                let accepted = self.apply(Command::CorrelateOperation { command: command.clone(), related });
                assert!(!accepted || self.owns(&command), "a_stale_owner_changes_nothing");
            }
            Around::Save(owner) => self.save(*owner),
            Around::Report(owner, deferred) => self.report(*owner, *deferred),
            Around::End(one, two) => self.end(*one, *two),
            Around::Recover => {
                let runs = self.state.operation().is_some();
                assert_eq!(self.apply(Command::RecoverOperation), runs, "recovered once");
                assert!(!self.apply(Command::RecoverOperation), "recovered once");
            }
            Around::Stop => {
                let Some(turn) = self.state.turn().map(|turn| turn.id.clone()) else { return };
                let stop = StopReason::HostStopped;
                assert!(self.apply(Command::StopTurn { turn, stop, message: String::new() }));
            }
        }
    }

    fn ask(&mut self) {
        let Some(turn) = self.state.turn().cloned() else { return };
        let call = turn.numbered_calls().find(|(_, call)| call.is_intended()).map(|(index, _)| index);
        let elicitation = self.id(ElicitationId::new);
        let question = Question {
            turn: turn.id,
            elicitation,
            step: call.map(|_| turn.step),
            call,
            request: "{}".to_owned(),
            build: None,
        };
        assert!(self.apply(Command::AskInput(question.clone())), "a running turn can ask");
        assert!(!self.apply(Command::AskInput(question)), "the same question is asked once");
        assert_eq!(pending(&self.state), None, "a turn that asks owes nothing");
    }

    pub(super) fn answer_form(&mut self, accept: bool) {
        let Some(asked) = self.state.pending_elicitations().first().cloned() else { return };
        let submission = self.id(SubmissionId::new);
        let answer = || if accept { ElicitationAnswer::Accept("{}".to_owned()) } else { ElicitationAnswer::Decline };
        let elicitation = asked.elicitation;
        let command = || {
            let (submission, elicitation) = (submission.clone(), elicitation.clone());
            Command::AnswerInput { submission, elicitation, answer: answer() }
        };
        assert!(self.apply(command()), "a form that waits can be answered");
        assert!(!self.apply(command()), "one_resolution_a_question");
    }

    fn late(&mut self, one: u8, two: u8) {
        let mut without = self.state.clone();
        let Some(turn) = &mut without.turn else { return };
        turn.elicitations.clear();
        if let Some(command) = pending(&without).map(|effect| self.outcome(effect, one, two)) {
            self.apply(command);
        }
    }

    fn activity(&mut self, choice: u8) {
        let all = [Activity::Idle, Activity::Working, Activity::WaitingForInput, Activity::Disconnected];
        let activity = all[usize::from(choice) % all.len()];
        let report = || Command::RecordActivity { activity, details: None };
        assert!(self.apply(report()));
        let again = decide(&self.state, report(), mainstay_protocol::Timestamp(1)).expect("accepted");
        assert!(again.records.is_empty(), "the same activity is no record");
    }

    fn begin(&mut self) {
        let (command, free) = (self.id(SubmissionId::new), self.state.operation().is_none());
        let (kind, owner) = (CommandKind::Checkpoint, OperationOwner::Client);
        let begin = Command::BeginOperation { command, kind, owner, related: Vec::new() };
        assert_eq!(self.apply(begin), free, "one operation at a time");
    }

    /// The command that owns the operation, or one that does not: a new one, or one that has ended.
    fn commander(&mut self, owner: bool) -> SubmissionId {
        let stale = self.state.ended.0.back().cloned();
        match self.state.operation().map(|operation| operation.command.clone()) {
            Some(command) if owner => command,
            _ => stale.unwrap_or_else(|| self.id(SubmissionId::new)),
        }
    }

    fn owns(&self, command: &SubmissionId) -> bool {
        self.state.operation().is_some_and(|operation| operation.command == *command)
    }

    fn save(&mut self, owner: bool) {
        let command = self.commander(owner);
        let owns = self.owns(&command);
        let archive =
            Archive { name: command.to_string(), sha256: Digest::ZERO, bytes: 1, head: Ordinal(self.state.head().0) };
        let saved = self.apply(Command::SaveCheckpoint { command, archive: archive.clone() });
        assert_eq!(saved, owns, "a_stale_owner_changes_nothing");
        assert!(!saved || self.state.archive() == Some(&archive) && self.state.checkpoint_warning().is_none());
    }

    fn report(&mut self, owner: bool, deferred: bool) {
        let command = self.commander(owner);
        let (owns, before) = (self.owns(&command), self.state.clone());
        let message = "why".to_owned();
        let report = if deferred {
            Command::DeferOperation { command, message }
        } else {
            Command::FailOperation { command, message }
        };
        if !owns {
            let refused = decide(&self.state, report, mainstay_protocol::Timestamp(1));
            assert!(matches!(refused, Err(Refused::Stale(_))), "a_stale_owner_changes_nothing");
            return;
        }
        assert!(self.apply(report.clone()));
        assert!(!self.apply(report), "one_end_a_command");
        assert_eq!(self.state.archive(), before.archive(), "the archive before is kept");
        if deferred {
            assert_eq!(self.state.checkpoint_warning(), before.checkpoint_warning());
        } else {
            assert!(self.state.checkpoint_warning().is_some());
        }
    }

    fn end(&mut self, one: u8, two: u8) {
        let command = match one % 3 {
            0 => self.id(SubmissionId::new),
            1 => self.commander(false),
            _ => self.commander(true),
        };
        let reasons = [
            None,
            Some(CommandReason::ControllerDisconnected),
            Some(CommandReason::CommandFailed),
            Some(CommandReason::CheckpointFailed),
        ];
        let kinds = [CommandKind::Checkpoint, CommandKind::BeginCheckpoint, CommandKind::CompleteCheckpoint];
        let (kind, reason) = (kinds[usize::from(two) % 3], reasons[usize::from(two / 3) % 4]);
        let before = self.state.clone();
        let owns = self.owns(&command);
        let end = || {
            let end = CommandEnd { reason, message: String::new() };
            Command::EndCommand { command: command.clone(), kind, end }
        };
        let accepted = self.apply(end());
        assert!(!self.apply(end()), "one_end_a_command");
        if !owns {
            assert_eq!(self.state.operation(), before.operation(), "a_stale_owner_changes_nothing");
            assert_eq!(self.state.checkpoint_warning(), before.checkpoint_warning(), "a_stale_owner_changes_nothing");
        } else if accepted {
            assert!(self.state.operation().is_none() && reason.is_some(), "success takes an archive");
        }
        assert_eq!(self.state.archive(), before.archive());
    }

    pub(super) fn check_around(&self) {
        let (mut begun, mut ended, mut asked, mut resolved) = (0, Vec::new(), Vec::new(), Vec::new());
        let mut outcome = None;
        for record in &self.records {
            match record {
                RecordBody::OperationBegun(_) => begun += 1,
                RecordBody::CommandEnded(end) => ended.push((&end.command, end.owner.is_some())),
                RecordBody::ElicitationRequested(one) => asked.push(&one.elicitation),
                RecordBody::ElicitationResolved(one) => resolved.push(&one.elicitation),
                record => outcome = record.turn_outcome().or(outcome),
            }
        }
        let owned = ended.iter().filter(|(_, owned)| *owned).count();
        assert_eq!(begun, owned + usize::from(self.state.operation().is_some()), "one_end_a_command");
        let mut commands: Vec<_> = ended.iter().map(|(command, _)| command).collect();
        commands.sort();
        commands.dedup();
        assert_eq!(commands.len(), ended.len(), "one_end_a_command");
        let waiting = self.state.pending_elicitations().iter().map(|pending| &pending.elicitation);
        let mut all: Vec<_> = resolved.iter().copied().chain(waiting).collect();
        all.sort();
        asked.sort();
        assert_eq!(all, asked, "one_resolution_a_question");
        assert_eq!(self.state.last_outcome(), outcome, "the last outcome is that of the last end");
    }
}
