//! The one place with `unsafe`: mapping compiled code that this program wrote itself.
//!
//! `Component::deserialize_file` trusts the file: other bytes than the compiler's would run as native code. That is sound
//! here because of what `CompileCache` makes sure of before it hands a `Sealed` path over:
//! - the folder belongs to this user and nobody else can write into it;
//! - the file was written by this program from the compiler's output, under a temporary name, and renamed when complete;
//! - no file is ever rewritten, only unlinked, so what is mapped can not change under a running guest;
//! - the SHA-256 of the file's bytes is part of its name and was computed again just now, so a torn write or a rotten disk
//!   is a miss and not code.

use wasmtime::{Engine, component::Component};

use crate::cache::Sealed;

/// Maps a compiled component.
#[allow(unsafe_code, reason = "deserialising is unsafe by nature; the module's comment says why it is sound here")]
pub(crate) fn map(engine: &Engine, file: &Sealed) -> wasmtime::Result<Component> {
    // SAFETY: a `Sealed` path exists only for a file of our own whose digest was verified; see the module's comment.
    unsafe { Component::deserialize_file(engine, file.path()) }
}
