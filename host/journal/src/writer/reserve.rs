//! The disk reserve: a file of allocated room beside the journal. On a full disk it is given up, so that what must end can be
//! written to its end: turns, and the host's own records. It is made again when there is room for it.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{FallocateFlags, fallocate};

use crate::{lock::private_file, metrics::ReserveState};

const FILE: &str = "reserve";

/// How long after a try to make the reserve the next one may follow: on a full disk each is in vain.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    /// In bytes.
    size: u64,
    state: ReserveState,
    tried: Option<Instant>,
    pub(super) pause: Duration,
}

impl Reserve {
    /// Looks whether a folder has one, and makes none: that waits until the journal is open.
    pub(crate) fn find(folder: &Path, size: u64) -> Self {
        let path = folder.join(FILE);
        let held = path.metadata().is_ok_and(|file| file.is_file() && allocated(&file) >= size);
        let state = if held { ReserveState::Held } else { ReserveState::Missing };
        Self { path, size, state, tried: None, pause: PAUSE }
    }

    pub(crate) fn state(&self) -> ReserveState {
        self.state
    }

    /// Gives its room back to the disk; false when there is none to give. The file stays, for its name needs no room later.
    pub(crate) fn give_up(&mut self) -> bool {
        if self.state != ReserveState::Held {
            return false;
        }
        tracing::warn!("the disk is full: the journal uses its reserve to end what must end");
        self.state = ReserveState::Spent;
        self.tried = Some(Instant::now());
        if let Err(error) = self.empty() {
            tracing::error!(%error, "the journal's reserve could not be given up");
        }
        true
    }

    fn empty(&self) -> io::Result<()> {
        let file = private_file(&self.path)?;
        file.set_len(0)?;
        // The sync matters: some file systems hand out blocks that were freed only after it.
        file.sync_all()
    }

    /// Makes the reserve when it is not there, unless that was tried just now.
    pub(crate) fn restore(&mut self) {
        if self.state == ReserveState::Held || self.tried.is_some_and(|tried| tried.elapsed() < self.pause) {
            return;
        }
        self.tried = Some(Instant::now());
        match self.make() {
            Ok(()) => {
                self.state = ReserveState::Held;
                tracing::info!(bytes = self.size, "the journal has its disk reserve");
            }
            Err(error) => {
                tracing::warn!(%error, bytes = self.size, "the journal's disk reserve could not be made");
                let _ = self.empty();
                self.state = match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ReserveState::Spent,
                    _ => ReserveState::Missing,
                };
            }
        }
    }

    fn make(&self) -> io::Result<()> {
        let mut file = private_file(&self.path)?;
        // What is longer was made with another setting; what is shorter or has holes holds no room.
        file.set_len(0)?;
        match fallocate(&file, FallocateFlags::empty(), 0, self.size) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fill(&mut file, self.size)?;
            }
            Err(error) => return Err(error.into()),
        }
        file.sync_all()
    }
}

/// The bytes of the disk that a file has.
fn allocated(file: &std::fs::Metadata) -> u64 {
    // The unit is 512 bytes on every system.
    (file.blocks() * 512).min(file.len())
}

/// Writes bytes that no file system stores in less room than they take.
fn fill(file: &mut File, size: u64) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut left = size;
    while left > 0 {
        let block: Vec<u8> = (0..(left.min(1 << 16)).div_ceil(8)).flat_map(|_| next()).collect();
        let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        ReserveState::{Held, Missing, Spent},
        *,
    };

    const SIZE: u64 = 100_000;

    fn size_on_disk(folder: &Path) -> u64 {
        allocated(&folder.join(FILE).metadata().unwrap())
    }

    #[test]
    fn it_is_room_that_is_taken_and_is_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::find(folder.path(), SIZE);
        assert!(!reserve.give_up());
        reserve.restore();
        assert_eq!(reserve.state(), Held);
        assert_eq!(size_on_disk(folder.path()), SIZE);
        assert_eq!(Reserve::find(folder.path(), SIZE).state(), Held);
        assert_eq!(Reserve::find(folder.path(), SIZE + 1).state(), Missing, "it is too small");
        reserve.pause = Duration::MAX;
        assert!(reserve.give_up() && !reserve.give_up());
        assert_eq!(size_on_disk(folder.path()), 0);
        reserve.restore();
        assert_eq!(reserve.state(), Spent, "it was given up just now");
        reserve.pause = Duration::ZERO;
        reserve.restore();
        assert_eq!(reserve.state(), Held);
    }

    #[test]
    fn a_file_with_holes_is_no_reserve() {
        let folder = tempfile::tempdir().unwrap();
        private_file(&folder.path().join(FILE)).unwrap().set_len(SIZE).unwrap();
        let mut reserve = Reserve::find(folder.path(), SIZE);
        assert_eq!(reserve.state(), Missing);
        reserve.restore();
        assert_eq!(size_on_disk(folder.path()), SIZE);
    }

    #[test]
    fn without_preallocation_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = private_file(&folder.path().join(FILE)).unwrap();
        fill(&mut file, SIZE).unwrap();
        assert_eq!(file.metadata().unwrap().len(), SIZE);
        assert_eq!(size_on_disk(folder.path()), SIZE);
    }

    #[test]
    fn where_it_cannot_be_made_for_another_reason_than_room_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(FILE)).unwrap();
        let mut reserve = Reserve::find(folder.path(), SIZE);
        reserve.restore();
        assert_eq!(reserve.state(), Missing);
    }
}
