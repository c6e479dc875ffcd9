//! What people see and type: escaping, styles, the live view of a session, approvals, and one-line forms of records.

pub(crate) mod ask;
pub(crate) mod escape;
pub(crate) mod feed;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod records;
pub(crate) mod render;
pub(crate) mod style;
pub(crate) mod time;
