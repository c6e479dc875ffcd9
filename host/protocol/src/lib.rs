//! The words that every floor of Mainstay shares: ids, content, records, ops, digests and time.
//!
//! This crate knows nothing of the others, does no I/O and reads no clock. Types that are written to disk or to a wire
//! derive serde and live in versioned modules (`record::v1`); everything else is free to change.

pub mod blob;
pub mod content;
pub mod cursor;
mod digest;
mod encoding;
pub mod failure;
pub mod feed;
mod ids;
pub mod model;
pub mod news;
pub mod op;
pub mod receipt;
pub mod record;
mod time;
pub mod tool;

pub use digest::{Digest, InvalidDigest};
pub use ids::{
    AcceptedOrdinal, ApprovalId, CallIndex, CallKey, ElicitationId, InvalidId, ItemId, Ordinal, PluginName, RouteName,
    Seq, Sequence, SessionId, StepIndex, SubmissionId, TenantId, TurnId,
};
pub use time::Timestamp;
