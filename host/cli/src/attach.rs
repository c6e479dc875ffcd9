//! Finding the host of a data folder, or starting one in this process. Either way the command is a client on the control
//! socket, so there is one path through the product and it is always tested.

use std::{path::Path, time::Duration};

use mainstay_driver::{Host, HostError};
use mainstay_server::{Client, Limits, Server, client::ClientError, find_socket};
use tokio::time::{Instant, sleep};

use crate::{
    exit::{Exit, Failure},
    manifest::Place,
};

/// How long that is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is tried again meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// A host that can be talked to.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) client: Client,
    /// The process of the host, when it is another one.
    pub(crate) other: Option<u32>,
    own: Option<Own>,
}

/// A host in this process.
#[derive(Debug)]
struct Own {
    host: Host,
    server: Server,
}

/// The host that answers on the folder's socket; none when none does.
pub(crate) async fn running_host(data_dir: &Path) -> Result<Option<(Client, u32)>, Failure> {
    let Some(socket) = find_socket(data_dir) else { return Ok(None) };
    let client = Client::new(socket);
    match client.host().await {
        Ok(info) if info.api.iter().any(|version| version == "v1") => Ok(Some((client, info.pid))),
        Ok(info) => {
            let message = format!("the running host (mainstay {}) speaks another version of the API", info.version);
            Err(Failure::new(Exit::Unavailable, message).hint("use the `mainstay` that started it, or stop it first"))
        }
        // Nobody is there, or a host is just ending.
        Err(error) if error.is_gone() => Ok(None),
        Err(error) => Err(Failure::from(error).context("talk to the host of this data folder")),
    }
}

/// The running host, or a clear error that says how to get one.
pub(crate) async fn require_host(place: &Place, for_what: &str) -> Result<Client, Failure> {
    let found = running_host(&place.data_dir).await?;
    found.map(|(client, _)| client).ok_or_else(|| {
        let data_dir = place.data_dir.display();
        Failure::new(Exit::Unavailable, format!("{for_what} needs a running host, and none has `{data_dir}`"))
            .hint(format!("start one in another terminal: {}", place.command("run")))
    })
}

/// The running host, or one in this process.
///
/// Another host may hold the folder without answering, for `wait` seconds at most: it may be compiling its plugins.
pub(crate) async fn attach(place: &Place, wait: u32, mut tell: impl FnMut(&str)) -> Result<Attached, Failure> {
    let (started, mut told) = (Instant::now(), false);
    loop {
        if let Some((client, pid)) = running_host(&place.data_dir).await? {
            return Ok(Attached { client, other: Some(pid), own: None });
        }
        let error = match Host::open(place.host_options()?).await {
            Ok(host) => return serve(host, place),
            Err(HostError::Locked(error)) => error,
            Err(error) => return Err(error.into()),
        };
        // The lock is held and nobody answers: a host that is starting, ending, or hanging.
        let waited = started.elapsed();
        if waited > Duration::from_secs(wait.into()) {
            let message = format!("{error}. It does not answer on its control socket");
            return Err(Failure::new(Exit::Unavailable, message).hint("end that process if it hangs, and try again"));
        }
        if waited > PATIENCE && !told {
            told = true;
            tell("another host has this data folder and does not answer yet; waiting for it");
        }
        sleep(PAUSE).await;
    }
}

fn serve(host: Host, place: &Place) -> Result<Attached, Failure> {
    let server = Server::start(host.clone(), &place.data_dir, Limits::default())
        .map_err(|error| Failure::new(Exit::Unavailable, error))?;
    Ok(Attached { client: server.client().clone(), other: None, own: Some(Own { host, server }) })
}

impl Attached {
    /// Leaves. A host in this process ends; `unhurried`, it first lets sessions finish what they are doing, so that no turn is
    /// aborted only because this command is done.
    pub(crate) async fn leave(self, unhurried: bool, tell: impl FnMut(&str)) {
        let Some(Own { host, server }) = self.own else { return };
        if unhurried {
            finish_work(&host, tell).await;
        }
        // The socket goes first: nobody finds a host that is ending.
        server.stop().await;
        host.shutdown().await;
    }
}

async fn finish_work(host: &Host, mut tell: impl FnMut(&str)) {
    let sessions = match host.sessions(1_000, None).await {
        Ok((sessions, _)) => sessions,
        Err(error) => {
            tracing::warn!(%error, "could not look for sessions that are still at work");
            return;
        }
    };
    let busy: Vec<_> = sessions.into_iter().filter(|row| matches!(row.phase.as_str(), "running" | "queued")).collect();
    if busy.is_empty() {
        return;
    }
    let names: Vec<_> = busy.iter().map(|row| row.session.as_str()).collect();
    tell(&format!("waiting for other work of this host to finish ({}); Ctrl-C leaves now", names.join(", ")));
    for row in &busy {
        host.quiesced(&row.session).await;
    }
}

/// Whether an error means that the host went away under us.
pub(crate) fn host_gone(place: &Place, session: &str, error: Option<ClientError>) -> Failure {
    let why = error.map_or_else(|| "it ended".to_owned(), |error| error.to_string());
    Failure::new(Exit::Unavailable, format!("lost the host: {why}")).hint(format!(
        "nothing that was accepted is lost; go on with: {}",
        place.command(&format!("run --session {session}"))
    ))
}
