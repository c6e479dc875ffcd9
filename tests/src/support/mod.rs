//! What the tests share: a world of folders, a manifest and a script on disk, hosts on it, and sessions in them.

pub(crate) mod binary;
mod session;
pub(crate) mod world;

pub(crate) use session::{Session, kinds, turn_ended};
pub(crate) use world::World;
