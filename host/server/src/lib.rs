//! The control socket: HTTP over a Unix socket in the data folder, for other processes of the same user, and the client that
//! speaks it. The HTTP server of a later part extends the same routes.
//!
//! This crate knows the driver's API and nothing below it: no SQL, no WebAssembly, no terminal.

pub mod client;
mod errors;
mod limits;
mod routes;
mod serve;
mod socket;
pub mod wire;

pub use client::Client;
pub use limits::Limits;
pub use serve::Server;
pub use socket::{SocketError, find_socket};
