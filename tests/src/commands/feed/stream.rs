//! Server-sent events as any HTTP client sees them: ids that are cursors, and `Last-Event-ID`.

use std::time::Duration;

use mainstay_driver::feed::FeedRequest;
use mainstay_server::Limits;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::UnixStream,
};

use super::Served;

/// So long takes nothing that works, on any machine.
const HANGS: Duration = Duration::from_secs(120);

/// A request as HTTP/1.0, whose answer comes as it is.
async fn get(served: &Served, target: &str, header: &str) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(served.client().socket()).await.expect("connected");
    let request = format!("GET {target} HTTP/1.0\r\nhost: x\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    BufReader::new(stream)
}

/// Status and JSON of an answer.
async fn answer(served: &Served, target: &str, header: &str) -> (u16, serde_json::Value) {
    let mut text = String::new();
    get(served, target, header).await.read_to_string(&mut text).await.expect("an answer");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(text.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON"))
}

struct Events(Lines<BufReader<UnixStream>>);

/// A block of lines: its id, and its data if it has any.
#[derive(Debug, PartialEq)]
struct Block {
    id: String,
    data: Option<serde_json::Value>,
}

impl Events {
    async fn begin(served: &Served, target: &str, header: &str) -> Self {
        let mut lines = get(served, target, header).await.lines();
        let status = lines.next_line().await.expect("a line").expect("a status");
        assert!(status.contains(" 200 "), "{status}");
        while !lines.next_line().await.expect("a line").expect("a head").is_empty() {}
        Self(lines)
    }

    async fn next(&mut self) -> Block {
        let mut block = Block { id: String::new(), data: None };
        loop {
            let line = tokio::time::timeout(HANGS, self.0.next_line()).await.expect("a line comes");
            let line = line.expect("a line").expect("the stream goes on");
            match line.split_once(':') {
                Some(("id", id)) => id.trim().clone_into(&mut block.id),
                Some(("data", data)) => block.data = Some(serde_json::from_str(data).expect("JSON")),
                None if line.is_empty() => return block,
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_connects_again_says_where_it_was_and_misses_nothing() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 2).await;
    let page = served.page(FeedRequest::default()).await;
    let address = "/v1/feed/follow?after=start";
    let mut events = Events::begin(&served, address, "").await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(events.next().await);
    }
    drop(events);
    served.turns("s", 1).await;
    let last = format!("Last-Event-ID: {}\r\n", seen[1].id);
    let mut events = Events::begin(&served, address, &last).await;
    let all = served.page(FeedRequest::default()).await;
    assert!(all.events.len() > page.events.len());
    while seen.len() < all.events.len() {
        seen.push(events.next().await);
    }
    for (block, expected) in seen.into_iter().zip(&all.events) {
        assert_eq!(block.id, expected.cursor.to_string());
        assert_eq!(block.data, Some(serde_json::to_value(expected).expect("JSON")));
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_says_where_it_is() {
    let limits = Limits { keep_alive: Duration::from_millis(20), ..Limits::default() };
    let served = Served::start(limits).await;
    let mut events = Events::begin(&served, "/v1/feed/follow?kind=session_fault&after=start", "").await;
    served.turns("s", 1).await;
    let latest = served.page(FeedRequest::default()).await.latest.to_string();
    loop {
        let block = events.next().await;
        assert_eq!(block.data, None, "nothing of what happened was asked for");
        if block.id == latest {
            break;
        }
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_has_a_status_a_word_and_a_field() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 1).await;
    let cases = [
        ("?after=yesterday", "", 400, "invalid_cursor", "after"),
        ("?after=", "", 400, "invalid_cursor", "after"),
        ("?kind=weather", "", 400, "bad_request", "kind"),
        ("?session=a/b", "", 400, "bad_request", "session"),
        ("?plugin=", "", 400, "bad_request", "plugin"),
        ("?scope=world", "", 400, "bad_request", "scope"),
        ("?since=1", "", 400, "bad_request", "since"),
    ];
    for (query, header, status, word, field) in cases {
        for path in ["/v1/feed", "/v1/feed/follow"] {
            let (answered, problem) = answer(&served, &format!("{path}{query}"), header).await;
            assert_eq!(answered, status, "{path}{query}: {problem}");
            assert_eq!((&problem["error"], &problem["field"]), (&word.into(), &field.into()), "{problem}");
        }
    }
    let (status, problem) = answer(&served, "/v1/feed/follow", "Last-Event-ID: 17\r\n").await;
    assert_eq!(
        (status, &problem["error"], &problem["field"]),
        (400, &"invalid_cursor".into(), &"last-event-id".into())
    );
    let (status, problem) = answer(&served, "/v1/feed?limit=0", "").await;
    assert_eq!((status, &problem["error"]), (400, &"bad_request".into()));
    let latest = served.page(FeedRequest::default()).await.latest;
    let beyond = mainstay_protocol::cursor::Cursor { seq: latest.seq.next(), ..latest };
    let (status, problem) = answer(&served, &format!("/v1/feed?after={beyond}"), "").await;
    let epoch = latest.epoch.to_string();
    assert_eq!((status, &problem["error"], &problem["epoch"]), (410, &"epoch_changed".into(), &epoch.into()));
    let (status, problem) = answer(&served, "/v1/sessions/s/follow?after=1&replay=1", "").await;
    assert_eq!((status, &problem["error"]), (400, &"bad_request".into()));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_slows_no_commit_and_loses_nothing() {
    const TURNS: usize = 150;
    let served = Served::start(Limits::default()).await;
    served.turns("s", 1).await;
    let barriers = async |turns| {
        let before = served.host.journal_metrics().groups;
        served.turns("s", turns).await;
        served.host.journal_metrics().groups - before
    };
    let alone = barriers(10).await;
    let mut asleep = Events::begin(&served, "/v1/feed/follow?after=start", "").await;
    assert_eq!(barriers(TURNS).await, alone * TURNS as u64 / 10, "each turn takes what it took without a follower");
    let page = served.page(FeedRequest::default()).await;
    assert!(page.events.len() > 2 * TURNS);
    for expected in &page.events {
        assert_eq!(asleep.next().await.id, expected.cursor.to_string());
    }
    served.stop().await;
}
