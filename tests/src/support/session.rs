//! A session of a test, driven through the public API.

use mainstay_driver::{Host, OpenSession};
use mainstay_protocol::{
    ApprovalId, ItemId, Ordinal, SessionId, TurnId,
    content::{CallResult, Item, ItemBody, Part},
    news::News,
    op::{Accepted, ApprovalAnswer, Delivery, Op, Refusal},
    record::{
        RecordBody, StoredRecord,
        v1::{CallEnded, TurnEnded},
    },
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// So long takes nothing that works, on any machine.
const HANGS: std::time::Duration = std::time::Duration::from_secs(120);

/// A session and the host that runs it.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) host: Host,
    pub(crate) id: SessionId,
}

impl Session {
    /// Opens `id`, and creates it when it does not exist.
    pub(crate) async fn open(host: &Host, id: &str) -> Self {
        let id = SessionId::new(id).expect("a legal id");
        let request = OpenSession { session: Some(id.clone()), create: true, ..OpenSession::default() };
        host.open_session(request).await.unwrap_or_else(|error| panic!("{error}"));
        Self { host: host.clone(), id }
    }

    pub(crate) async fn op(&self, op: Op) -> Result<Accepted, Refusal> {
        self.host.op(&self.id, None, op).await
    }

    pub(crate) fn message(text: &str) -> Op {
        Op::Submit { content: vec![Part::Text(text.to_owned())], delivery: Delivery::Queue }
    }

    pub(crate) async fn submit(&self, text: &str) -> Accepted {
        self.op(Self::message(text)).await.unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Submits a message and waits until nothing is owed; gives the records since then.
    pub(crate) async fn turn(&self, text: &str) -> Vec<StoredRecord> {
        let accepted = self.submit(text).await;
        self.host.quiesced(&self.id).await;
        self.records_after(accepted.ordinal).await
    }

    pub(crate) async fn records_after(&self, after: Ordinal) -> Vec<StoredRecord> {
        self.host.records(&self.id, after, 1_000).await.expect("records")
    }

    pub(crate) async fn records(&self) -> Vec<StoredRecord> {
        self.records_after(Ordinal(0)).await
    }

    pub(crate) async fn items(&self) -> Vec<Item> {
        self.host.items(&self.id, ItemId(0), 1_000).await.expect("items")
    }

    /// The results of calls, in the order of the history.
    pub(crate) async fn results(&self) -> Vec<CallResult> {
        let result = |item: Item| match item.body {
            ItemBody::ToolResult(result) => Some(result),
            _ => None,
        };
        self.items().await.into_iter().filter_map(result).collect()
    }

    /// The text of the last message of the history.
    pub(crate) async fn last_message(&self) -> String {
        let message = |item: &Item| match &item.body {
            ItemBody::Message(message) => Some(mainstay_protocol::content::plain_text(&message.content)),
            _ => None,
        };
        self.items().await.iter().rev().find_map(message).unwrap_or_default()
    }

    /// The calls that ended, in order.
    pub(crate) async fn calls(&self) -> Vec<CallEnded> {
        let ended = |record: StoredRecord| match &*record.body {
            RecordBody::CallEnded(ended) => Some(ended.clone()),
            _ => None,
        };
        self.records().await.into_iter().filter_map(ended).collect()
    }

    pub(crate) async fn view(&self) -> mainstay_driver::view::SessionView {
        self.host.session(&self.id).await.expect("a view").expect("the session exists")
    }

    pub(crate) async fn approvals(&self) -> Vec<ApprovalId> {
        self.view().await.approvals.into_iter().map(|view| view.approval).collect()
    }

    pub(crate) async fn answer(&self, approval: &ApprovalId, answer: ApprovalAnswer) -> Result<Accepted, Refusal> {
        self.op(Op::Approve { approval: approval.clone(), answer, comment: None }).await
    }

    pub(crate) async fn interrupt(&self) -> Result<Accepted, Refusal> {
        let turn = self.view().await.turn.map_or_else(|| TurnId::new("none").expect("legal"), |turn| turn.turn);
        self.op(Op::Interrupt { turn }).await
    }

    /// Waits for a piece of news. What never comes fails the test instead of hanging it.
    pub(crate) async fn wait_for(news: &mut Receiver<News>, wanted: impl FnMut(&News) -> bool) {
        let comes = tokio::time::timeout(HANGS, Self::wait_for_ever(news, wanted)).await;
        assert!(comes.is_ok(), "the news that the test waits for does not come");
    }

    async fn wait_for_ever(news: &mut Receiver<News>, mut wanted: impl FnMut(&News) -> bool) {
        loop {
            match news.recv().await {
                Ok(news) if wanted(&news) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => panic!("the news ended"),
            }
        }
    }

    /// Waits for a record of a kind.
    pub(crate) async fn wait_for_record(news: &mut Receiver<News>, kind: &str) {
        Self::wait_for(news, |news| matches!(news, News::Record(record) if record.body.kind() == kind)).await;
    }
}

/// The kinds of records, in order.
pub(crate) fn kinds(records: &[StoredRecord]) -> Vec<&str> {
    records.iter().map(|record| record.body.kind()).collect()
}

/// The terminal record of a turn: its kind and its body.
pub(crate) fn turn_ended(records: &[StoredRecord]) -> (String, TurnEnded) {
    let mut ended =
        records.iter().filter_map(|record| Some((record.body.kind().to_owned(), record.body.turn_ended()?)));
    let (kind, body) = ended.next().expect("a terminal record");
    (kind, body.clone())
}
