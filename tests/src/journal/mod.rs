//! The journal through its public API: what is acknowledged is there after a reopen, and what is not is not.

mod backup;
mod blobs;
mod committing;
mod damage;
mod events;
mod executions;
mod faults;
mod feed;
mod forgetting;
mod golden;
mod groups;
mod host;
mod integrity;
mod migrating;
mod opening;
mod properties;
mod reading;
mod replay;
mod room;
mod script;
mod subscribers;
mod talk;
mod verify;
mod writer;
