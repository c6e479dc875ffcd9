//! Random histories: whatever is committed, forgotten and asked for, pages give exactly what a list in memory gives.

use mainstay_journal::{FeedFilter, Journal, SqliteJournal};
use mainstay_protocol::{Seq, SessionId, TenantId, Timestamp, TurnId, feed::FeedKind, record::StoredRecord};
use proptest::prelude::*;

use super::{
    super::script::{Script, commit_all, open},
    create_in, filtered,
};

const SESSIONS: usize = 4;

#[derive(Clone, Debug)]
enum Move {
    /// The session goes on by a turn; it begins if need be.
    Turn(usize),
    Forget(usize),
    /// A page of at most so many.
    Page(u32),
    /// The host stops and starts.
    Reopen,
}

/// Which filter, by what it is made of.
#[derive(Clone, Debug)]
struct Wanted {
    tenant: Option<usize>,
    session: Option<usize>,
    workspace: Option<usize>,
    ends_only: bool,
    /// The turn of one of the events, if there are so many.
    turn: Option<usize>,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => (0..SESSIONS).prop_map(Move::Turn),
        1 => (0..SESSIONS).prop_map(Move::Forget),
        4 => (1..5u32).prop_map(Move::Page),
        1 => Just(Move::Reopen),
    ];
    prop::collection::vec(one, 1..24)
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let rarely = |most| prop::option::weighted(0.3, 0..most);
    (rarely(2), rarely(SESSIONS), rarely(2), prop::bool::weighted(0.3), prop::option::weighted(0.15, 0..6_usize))
        .prop_map(|(tenant, session, workspace, ends_only, turn)| Wanted {
            tenant,
            session,
            workspace,
            ends_only,
            turn,
        })
}

fn tenant(number: usize) -> TenantId {
    TenantId::new(["default", "other"][number % 2]).unwrap()
}

fn workspace(number: usize) -> String {
    ["v", "w"][number / 2 % 2].to_owned()
}

fn session(number: usize) -> SessionId {
    SessionId::new(&format!("s{number}")).unwrap()
}

/// An event as the model has it.
struct Known {
    number: usize,
    record: StoredRecord,
}

impl Known {
    fn is_wanted(&self, filter: &FeedFilter) -> bool {
        let kind = self.record.body.feed_kind().unwrap();
        filter.tenant.as_ref().is_none_or(|wanted| *wanted == tenant(self.number))
            && filter.session.as_ref().is_none_or(|wanted| *wanted == session(self.number))
            && filter.workspace.as_ref().is_none_or(|wanted| *wanted == workspace(self.number))
            && (filter.kinds.is_empty() || filter.kinds.contains(&kind))
            && filter.turn.as_ref().is_none_or(|wanted| self.record.body.turn() == Some(wanted))
    }
}

struct Model {
    folder: tempfile::TempDir,
    journal: Option<SqliteJournal>,
    scripts: Vec<Script>,
    forgotten: [bool; SESSIONS],
    events: Vec<Known>,
    last: Seq,
}

impl Model {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Some(open(folder.path()));
        let script = |number| {
            let mut script = Script::new(session(number).as_str());
            script.tenant = tenant(number);
            script
        };
        let scripts = (0..SESSIONS).map(script).collect();
        Self { folder, journal, scripts, forgotten: [false; SESSIONS], events: Vec::new(), last: Seq(0) }
    }

    fn journal(&self) -> &SqliteJournal {
        self.journal.as_ref().unwrap()
    }

    async fn turn(&mut self, number: usize) {
        if self.forgotten[number] {
            return;
        }
        let script = &mut self.scripts[number];
        let create = (script.state.head().0 == 0).then(|| create_in(script, &workspace(number)));
        let transitions: Vec<_> = create.into_iter().chain(script.turn_without_tools("x", "y")).collect();
        for commit in commit_all(self.journal(), transitions).await {
            for record in commit.into_inner().records.into_iter().filter(|record| record.seq.is_some()) {
                self.last = record.seq.unwrap();
                self.events.push(Known { number, record });
            }
        }
    }

    async fn forget(&mut self, number: usize) {
        if self.scripts[number].state.head().0 == 0 {
            return;
        }
        self.journal().forget(&tenant(number), &session(number), Timestamp(1)).await.unwrap();
        self.forgotten[number] = true;
        self.events.retain(|known| known.number != number);
    }

    fn reopen(&mut self) {
        self.journal = None;
        self.journal = Some(open(self.folder.path()));
    }
}

fn filter(wanted: &Wanted, turns: &[TurnId]) -> FeedFilter {
    FeedFilter {
        tenant: wanted.tenant.map(tenant),
        host: false,
        session: wanted.session.map(session),
        workspace: wanted.workspace.map(|number| workspace(2 * number)),
        kinds: wanted.ends_only.then_some(FeedKind::TurnEnded).into_iter().collect(),
        turn: wanted.turn.and_then(|number| turns.get(number).cloned()),
        plugin: None,
    }
}

async fn run(moves: Vec<Move>, wanted: Wanted) {
    let mut model = Model::new();
    let mut place = model.journal().feed_start();
    let ending = std::iter::repeat_n(Move::Page(7), 12);
    for step in moves.into_iter().chain(ending) {
        match step {
            Move::Turn(number) => model.turn(number).await,
            Move::Forget(number) => model.forget(number).await,
            Move::Reopen => model.reopen(),
            Move::Page(limit) => {
                let turns: Vec<_> = model.events.iter().filter_map(|known| known.record.body.turn().cloned()).collect();
                let filter = filter(&wanted, &turns);
                let exact = filter.turn.is_none();
                let rest = model.events.iter().filter(|known| known.record.seq > Some(place.seq));
                let rest: Vec<_> =
                    rest.filter(|known| known.is_wanted(&filter)).map(|known| known.record.seq).collect();
                let page = filtered(model.journal(), filter, place, limit).await;
                let got: Vec<_> = page.events.iter().map(|event| Some(event.seq)).collect();
                assert_eq!(got, rest[..rest.len().min(limit as usize)], "in order, none lost, none twice");
                assert_eq!((page.damaged.len(), page.latest.seq), (0, model.last));
                // Whether what is left is of the turn only its records could tell.
                assert!(page.more >= (rest.len() > limit as usize));
                assert!(!exact || page.more == (rest.len() > limit as usize));
                let reached = if page.more { *got.last().unwrap() } else { Some(model.last) };
                assert_eq!(Some(page.next.seq), reached);
                place = page.next.to_string().parse().unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_lose_and_repeat_nothing(moves in moves(), wanted in wanted()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(run(moves, wanted));
    }
}
