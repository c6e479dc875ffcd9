//! A story that several sessions play, written down before it happens: what is submitted, in which order and what together, and
//! by that what a journal must hold after each step.

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow, StateWrite, Transition};
use mainstay_protocol::{
    Digest, PluginName, Timestamp,
    record::{NewRecord, RecordBody, v1::PluginLifecycle},
};

use super::super::script::Script;

/// What is submitted, by lane. The lanes are the sessions, then the host's own records, then a value outside any session.
#[derive(Clone, Default)]
pub(super) struct Ledger {
    pub(super) sessions: Vec<Vec<Transition>>,
    pub(super) host: Vec<HostStep>,
    pub(super) values: Vec<Vec<u8>>,
    /// Submissions that come again, by session and the step that they repeat.
    repetitions: Vec<((usize, usize), Transition)>,
}

#[derive(Clone)]
pub(super) struct HostStep {
    pub(super) records: Vec<NewRecord>,
    pub(super) row: GenerationRow,
}

impl HostStep {
    pub(super) fn changes(&self) -> Vec<GenerationChange> {
        vec![GenerationChange::Activate(self.row.clone())]
    }
}

/// The step of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) lane: usize,
    pub(super) step: usize,
}

/// Something that a host does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Commit(Step),
    /// A client sends a submission again that was answered.
    Repeat(Step),
}

/// Something that happens before anything after it.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// Different lanes at once, so that they share a group.
    Together(Vec<Work>),
    /// The log is moved into the database.
    Checkpoint,
    /// The host stops and starts.
    Reopen,
}

impl Ledger {
    pub(super) fn lanes(&self) -> usize {
        self.sessions.len() + 2
    }

    pub(super) fn host_lane(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn value_lane(&self) -> usize {
        self.sessions.len() + 1
    }

    /// How many steps each lane has.
    pub(super) fn complete(&self) -> Vec<usize> {
        let sessions = self.sessions.iter().map(Vec::len);
        sessions.chain([self.host.len(), self.values.len()]).collect()
    }

    pub(super) fn repetition(&self, of: Step) -> &Transition {
        let found = self.repetitions.iter().find(|((lane, step), _)| (*lane, *step) == (of.lane, of.step));
        &found.expect("it was written down").1
    }
}

/// Writes a story.
pub(super) struct Author {
    scripts: Vec<Script>,
    pub(super) ledger: Ledger,
    pub(super) stages: Vec<Stage>,
}

impl Author {
    pub(super) fn new(sessions: usize) -> Self {
        let scripts = (0..sessions).map(|number| Script::new(&format!("s{number}"))).collect();
        let ledger = Ledger { sessions: vec![Vec::new(); sessions], ..Ledger::default() };
        Self { scripts, ledger, stages: Vec::new() }
    }

    /// A session's next step: it is created, then each turn takes three.
    pub(super) fn session(&mut self, lane: usize) -> Work {
        let (script, steps) = (&mut self.scripts[lane], &mut self.ledger.sessions[lane]);
        let step = steps.len();
        // From a few bytes to a few pages.
        let text = format!("{lane}/{step} ").repeat(1 + (step * 7 + lane * 3) % 5 * 300);
        let mut transition = match step {
            0 => script.create(),
            _ if step % 3 == 1 => script.submit(&text),
            _ if step % 3 == 2 => script.start(&text),
            _ => script.finish(&text),
        };
        let value = (step % 5 != 4).then(|| text.into_bytes());
        transition.plugin_state.push(StateWrite { plugin: plugin(), key: format!("k{}", step % 2), value });
        steps.push(transition);
        Work::Commit(Step { lane, step })
    }

    /// The session's last submission comes again.
    pub(super) fn repeat(&mut self, lane: usize) -> Work {
        let steps = &self.ledger.sessions[lane];
        let step = steps.iter().rposition(|step| step.submission.is_some()).expect("it has submitted something");
        let mut again = self.scripts[lane].clone().submit("again");
        let (fresh, known) = (again.submission.as_mut().expect("a submission"), steps[step].submission.as_ref());
        fresh.submission = known.expect("a submission").submission.clone();
        self.ledger.repetitions.push(((lane, step), again));
        Work::Repeat(Step { lane, step })
    }

    /// A build becomes active.
    pub(super) fn host(&mut self) -> Work {
        let step = self.ledger.host.len();
        let row = GenerationRow {
            plugin: plugin(),
            sha256: Digest::of(format!("build {step}").as_bytes()),
            package: Digest::of(format!("package {step}").as_bytes()),
            version: format!("0.1.{step}"),
            activated_at: Timestamp(1_700_000_000_000 + step as u64),
            origin: GenerationOrigin::Manifest,
        };
        let body = PluginLifecycle {
            plugin: row.plugin.clone(),
            sha256: row.sha256,
            version: row.version.clone(),
            replaces: None,
            reason: None,
        };
        let records = vec![NewRecord { at: row.activated_at, body: RecordBody::PluginActivated(body) }];
        self.ledger.host.push(HostStep { records, row });
        Work::Commit(Step { lane: self.ledger.host_lane(), step })
    }

    /// A value of the host is replaced.
    pub(super) fn value(&mut self) -> Work {
        let step = self.ledger.values.len();
        self.ledger.values.push(format!("value {step}").into_bytes());
        Work::Commit(Step { lane: self.ledger.value_lane(), step })
    }

    pub(super) fn alone(&mut self, work: Work) {
        self.stages.push(Stage::Together(vec![work]));
    }

    /// A step of each session, and something of the host, in one group.
    pub(super) fn all_together(&mut self) {
        let mut works: Vec<_> = (0..self.scripts.len()).map(|lane| self.session(lane)).collect();
        works.extend([self.host(), self.value()]);
        self.stages.push(Stage::Together(works));
    }
}

pub(super) fn plugin() -> PluginName {
    PluginName::new("files").expect("a legal name")
}

pub(super) const VALUE: &str = "progress";

/// A story of whole turns, alone and in groups, with checkpoints and restarts in between; it ends with messages in the queue.
pub(super) fn long_story(rounds: u64) -> (Ledger, Vec<Stage>) {
    let mut author = Author::new(4);
    for round in 0..rounds {
        for _ in 0..4 {
            author.all_together();
        }
        author.stages.push(Stage::Checkpoint);
        for _ in 0..3 {
            let work = author.session(0);
            author.alone(work);
        }
        let work = author.repeat(0);
        author.alone(work);
        if round % 2 == 0 {
            author.stages.push(Stage::Reopen);
        }
        author.all_together();
        author.stages.push(Stage::Checkpoint);
        author.all_together();
        for lane in 1..4 {
            let work = author.session(lane);
            author.alone(work);
        }
    }
    (author.ledger, author.stages)
}

/// A story that is short enough to be played once for each operation of it.
pub(super) fn short_story() -> (Ledger, Vec<Stage>) {
    let mut author = Author::new(2);
    author.all_together();
    for _ in 0..3 {
        let work = author.session(0);
        author.alone(work);
    }
    author.stages.push(Stage::Checkpoint);
    author.all_together();
    let works = [author.repeat(0), author.host(), author.value()];
    author.stages.push(Stage::Together(works.into()));
    (author.ledger, author.stages)
}
