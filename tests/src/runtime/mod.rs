//! The runtime as the driver sees it, with real guests: every way in which a call can end, every limit, every grant, every
//! component that must be refused. After each failure the next call works.

mod cache;
mod components;
mod grants;
mod hooks;
mod limits;
mod models;
mod outcomes;
mod state;
mod support;
mod swap;
