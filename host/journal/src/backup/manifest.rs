//! `backup.json`, the page of a backup that says what it holds.

use mainstay_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::folder_copy::BackupFile;

/// The version of that page.
pub(super) const VERSION: u32 = 1;

/// `backup.json`: what a backup holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// The version of this page: 1.
    pub backup: u32,
    /// The version of the product that made it.
    pub mainstay: String,
    /// When it was made, in milliseconds since 1970.
    pub made_at: Timestamp,
    /// The format of the store.
    pub format: u32,
    /// Which life of the store it was made from, in hexadecimal.
    pub store_epoch: String,
    /// The last position that the feed had given out.
    pub latest: Seq,
    /// Sessions in it, without the host's own.
    pub sessions: u64,
    /// Records in it.
    pub records: u64,
    /// All files of the backup but this one.
    pub files: Vec<BackupFile>,
}

impl BackupManifest {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
