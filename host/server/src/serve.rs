//! The server: accepts connections on the control socket, bounds them, and ends them when it stops.

use std::{path::Path, sync::Arc};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use mainstay_driver::Host;
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    sync::{Semaphore, watch},
    task::{JoinHandle, JoinSet},
    time,
};

use crate::{Client, Limits, SocketError, routes, socket};

/// What is said to one connection too many, before anything of it is read.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
    content-length: 92\r\n\r\n{\"error\":\"too_many_connections\",\"message\":\"the host has no connection left; try again soon\"}";

/// A running server. Dropping it leaves connections to their fate; [`Server::stop`] ends them in order.
#[derive(Debug)]
pub struct Server {
    client: Client,
    stopping: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts to serve a host on its control socket. The host holds the folder's lock, so a socket that is there is stale.
    ///
    /// # Errors
    /// No socket can be made.
    pub fn start(host: Host, data_dir: &Path, limits: Limits) -> Result<Self, SocketError> {
        let bound = socket::bind(data_dir)?;
        let client = Client::new(bound.path.clone());
        let (stopping, stopped) = watch::channel(false);
        let router = routes::router(host, limits, stopped.clone());
        let accepting = tokio::spawn(accept(bound, router, limits, stopped));
        Ok(Self { client, stopping, accepting })
    }

    /// A client of this server, through the socket like any other.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Takes no more requests, ends followers with an `end` event, waits a moment for what runs, and removes the socket.
    pub async fn stop(self) {
        // An error means that the accept loop is gone already.
        let _ = self.stopping.send(true);
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the control socket ended badly");
        }
    }
}

/// Waits until the server is told to stop, or is gone.
pub(crate) async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    // An error means that nobody is left to say so.
    let _ = stopped.wait_for(|stop| *stop).await;
}

async fn accept(bound: socket::Bound, router: Router, limits: Limits, mut stopped: watch::Receiver<bool>) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop_requested(&mut stopped) => break,
            accepted = bound.listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: a loop without a pause would only burn the processor.
                tracing::warn!(%error, "could not accept a connection");
                time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        match permits.clone().try_acquire_owned() {
            Ok(permit) => {
                let serving = serve(stream, router.clone(), limits, stopped.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
            Err(_) => drop(connections.spawn(refuse(stream))),
        }
    }
    drop(bound);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if time::timeout(limits.stop, all_ended).await.is_err() {
        tracing::debug!("some connections did not end in time");
    }
}

async fn refuse(mut stream: UnixStream) {
    let _ = time::timeout(std::time::Duration::from_secs(1), stream.write_all(FULL)).await;
}

async fn serve(stream: UnixStream, router: Router, limits: Limits, mut stopped: watch::Receiver<bool>) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.head)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop_requested(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_refusal_is_whole() {
        let text = std::str::from_utf8(super::FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<crate::wire::v1::Problem>(body).unwrap();
    }
}
