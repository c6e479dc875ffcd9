//! What one power loss leaves: the durable content of each file, and of the rest whatever the variant says.

use std::{collections::BTreeMap, fs, io, path::Path, sync::Arc};

use crate::{
    FileId, Numbers,
    disk::{File, Name},
};

/// What becomes of all that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Nothing of it is there.
    NothingUnsynced,
    /// All of it is there.
    AllUnsynced,
    /// Of each file, only the last write is there.
    LastWriteOnly,
    /// All of it, written in the reverse of its order.
    Reversed,
    /// Any part, torn at sectors of 512 bytes, in any order.
    Sectors(u64),
    /// Any part, torn at pages of 4 KiB, in any order.
    Pages(u64),
}

/// The files of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Their contents, by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Image {
    /// Writes the files into a folder that exists.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|(name, content)| fs::write(folder.join(name), content))
    }
}

/// A change of a file's content, with its position in the log.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { at: usize, offset: u64, bytes: Arc<[u8]> },
    Truncate { at: usize, size: u64 },
}

impl Change {
    pub(crate) const fn at(&self) -> usize {
        match self {
            Self::Write { at, .. } | Self::Truncate { at, .. } => *at,
        }
    }

    pub(crate) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes, .. } => put(content, *offset as usize, bytes),
            Self::Truncate { size, .. } => content.resize(*size as usize, 0),
        }
    }

    /// What is left of this when `other` came after it and counts.
    pub(crate) fn without(self, other: &Self) -> Vec<Self> {
        let Self::Write { at, offset, bytes } = &self else {
            return vec![self];
        };
        let end = offset + bytes.len() as u64;
        let (from, to) = match other {
            Self::Write { offset, bytes, .. } => (*offset, offset + bytes.len() as u64),
            Self::Truncate { size, .. } => (*size, u64::MAX),
        };
        if to <= *offset || from >= end {
            return vec![self];
        }
        let part = |from: u64, to: u64| {
            let bytes = bytes.get((from - offset) as usize..(to - offset) as usize)?;
            (!bytes.is_empty()).then(|| Self::Write { at: *at, offset: from, bytes: bytes.into() })
        };
        let (before, after) = (part(*offset, from.clamp(*offset, end)), part(to.clamp(*offset, end), end));
        before.into_iter().chain(after).collect()
    }

    /// The parts that can be there or not: a write ends at each border of a unit within it.
    fn tear(&self, unit: u64) -> Vec<Self> {
        let Self::Write { at, offset, bytes } = self else {
            return vec![self.clone()];
        };
        let (mut from, end) = (*offset, offset + bytes.len() as u64);
        let mut parts = Vec::new();
        while from < end {
            let to = end.min((from / unit + 1) * unit);
            let part = &bytes[(from - offset) as usize..(to - offset) as usize];
            parts.push(Self::Write { at: *at, offset: from, bytes: part.into() });
            from = to;
        }
        parts
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// An image of a folder.
pub(crate) fn crash(files: &BTreeMap<FileId, File>, names: &BTreeMap<&str, Name>, variant: Variant) -> Image {
    let mut chooser = Chooser::new(variant);
    let mut image = BTreeMap::new();
    for (name, states) in names {
        if let Some(file) = chooser.name(states).and_then(|file| files.get(&file)) {
            image.insert((*name).to_owned(), chooser.content(file));
        }
    }
    Image { files: image }
}

struct Chooser {
    variant: Variant,
    numbers: Numbers,
    /// Of a hundred parts, how many are kept: few, half or most of them, so that images differ.
    keep: u64,
}

impl Chooser {
    fn new(variant: Variant) -> Self {
        let mut numbers = Numbers::new(match variant {
            Variant::Sectors(seed) | Variant::Pages(seed) => seed,
            _ => 0,
        });
        let keep = [10, 50, 90, 98][numbers.below(4) as usize];
        Self { variant, numbers, keep }
    }

    /// What a name stands for.
    fn name(&mut self, name: &Name) -> Option<FileId> {
        let last = name.pending.len();
        let taken = match self.variant {
            Variant::NothingUnsynced => 0,
            Variant::AllUnsynced | Variant::LastWriteOnly | Variant::Reversed => last,
            Variant::Sectors(_) | Variant::Pages(_) => self.numbers.below(last as u64 + 1) as usize,
        };
        if taken == 0 { name.durable } else { name.pending[taken - 1] }
    }

    fn content(&mut self, file: &File) -> Vec<u8> {
        let mut content = file.durable.clone();
        let changes = file.doubtful.iter().chain(&file.pending);
        match self.variant {
            Variant::NothingUnsynced => {}
            Variant::AllUnsynced => changes.for_each(|change| change.apply(&mut content)),
            Variant::LastWriteOnly => changes.last().into_iter().for_each(|change| change.apply(&mut content)),
            Variant::Reversed => changes.rev().for_each(|change| change.apply(&mut content)),
            Variant::Sectors(_) => self.torn(changes, 512, &mut content),
            Variant::Pages(_) => self.torn(changes, 4096, &mut content),
        }
        content
    }

    /// Some parts of some changes, half of the time out of order.
    fn torn<'a>(&mut self, changes: impl Iterator<Item = &'a Change>, unit: u64, content: &mut Vec<u8>) {
        let mut parts: Vec<_> = changes.flat_map(|change| change.tear(unit)).collect();
        if self.numbers.chance(50) {
            self.numbers.shuffle(&mut parts);
        }
        let before = content.len();
        let (kept, lost): (Vec<_>, Vec<_>) = parts.into_iter().partition(|_| self.numbers.chance(self.keep));
        kept.iter().for_each(|part| part.apply(content));
        if self.numbers.chance(50) {
            self.junk(&lost, before, content);
        }
        // What was kept goes on top of the junk.
        kept.iter().filter(|part| matches!(part, Change::Write { .. })).for_each(|part| {
            let end = content.len();
            part.apply(content);
            content.truncate(end);
        });
    }

    /// Where a file grew and a part was lost, its sectors hold what was on the disk before.
    fn junk(&mut self, lost: &[Change], before: usize, content: &mut [u8]) {
        for part in lost {
            if let Change::Write { offset, bytes, .. } = part {
                let from = (*offset as usize).max(before).min(content.len());
                let to = (*offset as usize + bytes.len()).min(content.len()).max(from);
                content[from..to].iter_mut().for_each(|byte| *byte = self.numbers.next() as u8);
            }
        }
    }
}
