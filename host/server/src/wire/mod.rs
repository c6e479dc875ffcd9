//! What goes over the wire, by version of the API. Fields may be added; nothing is renamed or removed.

pub mod v1;
