//! Plugins of a host: packages on disk, what the manifest makes of them, the active generations, and hot swap.

pub(crate) mod assemble;
pub(crate) mod check;
pub(crate) mod components;
pub(crate) mod entry;
pub(crate) mod package;
pub(crate) mod startup;
pub(crate) mod swap;
