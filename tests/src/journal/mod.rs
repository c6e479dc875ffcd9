//! The journal through its public API: what is acknowledged is there after a reopen, and what is not is not.

mod committing;
mod damage;
mod golden;
mod groups;
mod host;
mod opening;
mod properties;
mod reading;
mod script;
