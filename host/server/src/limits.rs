//! What the server holds at most. Everything that a client can make grow has a bound here.

use std::time::Duration;

/// Bounds of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time; more are answered 503 and closed.
    pub connections: usize,
    /// Followers at one time, so that some connections are always left for ops; more are answered 429.
    pub followers: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of a request's line and headers, and of what is buffered of a connection.
    pub head: usize,
    /// How long a client may take to send the head of a request, idle time between requests included.
    pub head_time: Duration,
    /// How often a silent follower gets a comment, so that both ends notice when the other is gone.
    pub keep_alive: Duration,
    /// How long connections get to end when the server stops.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            followers: 192,
            body: 2 << 20,
            headers: 64,
            head: 64 << 10,
            head_time: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            stop: Duration::from_secs(2),
        }
    }
}
