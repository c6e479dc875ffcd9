//! A client that leaves in the middle of a request: the server drops the request's future, wherever it stands, and the session must
//! not be left half started.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake},
};

use mainstay_driver::{Host, OpenSession};
use mainstay_protocol::SessionId;
use mainstay_server::{Limits, Server, find_socket};
use tokio::{io::AsyncWriteExt as _, net::UnixStream, sync::Notify};

use crate::support::{Session, World};

const ECHO: &str = "[[rule]]\noutput = [{ text = \"ok\" }]";

/// Wakes the one who polls by hand.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Polls a future `polls` times, each time when it asks for it, then drops it.
async fn leave_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let woken = Arc::new(Woken(Notify::new()));
    let waker = Arc::clone(&woken).into();
    let mut future: Pin<Box<F>> = Box::pin(future);
    for poll in 1..=polls {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(done);
        }
        if poll < polls {
            woken.0.notified().await;
        }
    }
    None
}

async fn still_works(host: &Host, id: &str, polls: usize) {
    let session = Session { host: host.clone(), id: SessionId::new(id).expect("legal") };
    let again = session.op(Session::message("again")).await;
    assert!(again.is_ok(), "after a client left at poll {polls}: {again:?}");
    host.quiesced(&session.id).await;
    assert_eq!(session.last_message().await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_op_whose_client_leaves_does_not_wedge_its_session() {
    let world = World::new(ECHO);
    let host = world.host().await;
    for polls in 1..6 {
        let id = format!("s{polls}");
        let session = Session::open(&host, &id).await;
        drop(leave_after(polls, session.op(Session::message("hello"))).await);
        still_works(&host, &id, polls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_up_a_session_whose_client_leaves_does_not_wedge_it() {
    let world = World::new(ECHO);
    let host = world.host().await;
    for polls in 1..6 {
        Session::open(&host, &format!("s{polls}")).await;
    }
    host.shutdown().await;
    drop(host);
    let host = world.host().await;
    for polls in 1..6 {
        let id = format!("s{polls}");
        let request = OpenSession { session: Some(SessionId::new(&id).expect("legal")), ..OpenSession::default() };
        drop(leave_after(polls, host.open_session(request)).await);
        still_works(&host, &id, polls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_hang_up_leave_their_sessions_usable() {
    const SESSIONS: usize = 60;
    let world = World::new(ECHO);
    let host = world.host().await;
    for number in 0..SESSIONS {
        Session::open(&host, &format!("s{number}")).await;
    }
    host.shutdown().await;
    drop(host);
    let host = world.host().await;
    let server = Server::start(host.clone(), &world.data_dir(), Limits::default()).expect("a server");
    let socket = find_socket(&world.data_dir()).expect("a socket");
    for number in 0..SESSIONS {
        let body = r#"{"op":"retry"}"#;
        let request = format!(
            "POST /v1/sessions/s{number}/ops HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = UnixStream::connect(&socket).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("sent");
    }
    for number in 0..SESSIONS {
        still_works(&host, &format!("s{number}"), 0).await;
    }
    server.stop().await;
}
