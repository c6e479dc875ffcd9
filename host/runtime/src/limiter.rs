//! Counts what a store holds. A limit that was hit is remembered, so that the outcome names it even when the guest turns
//! it into a panic.

use mainstay_protocol::failure::Limit;
use wasmtime::ResourceLimiter;

use crate::limits::{Limits, to_usize};

/// A limit that a call ran into. As an error it ends the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the limit of {allowed} ({}) is used up", limit.setting())]
pub(crate) struct LimitHit {
    pub(crate) limit: Limit,
    pub(crate) allowed: u64,
}

/// The memory and tables of one store.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Meter,
    table: Meter,
    pieces: usize,
    hit: Option<LimitHit>,
}

/// One quantity that grows.
#[derive(Debug)]
struct Meter {
    limit: Limit,
    most: usize,
    used: usize,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let table = usize::try_from(limits.table_elements.get()).unwrap_or(usize::MAX);
        Self {
            memory: Meter { limit: Limit::Memory, most: to_usize(limits.memory), used: 0 },
            table: Meter { limit: Limit::TableElements, most: table, used: 0 },
            pieces: usize::try_from(limits.instances.get()).unwrap_or(usize::MAX),
            hit: None,
        }
    }

    /// The first limit that was hit, if any.
    pub(crate) const fn hit(&self) -> Option<LimitHit> {
        self.hit
    }

    /// Remembers a limit that something else counts.
    pub(crate) fn note(&mut self, hit: LimitHit) {
        self.hit.get_or_insert(hit);
    }
}

impl Meter {
    /// Takes what a growth needs. A growth past the guest's own maximum is the guest's business and just fails. What was
    /// taken is never given back, not even when the system then refuses: the engine reports failures of growths that it
    /// did not announce, and a guest could turn them into credit.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimitHit> {
        let more = desired.saturating_sub(current);
        if self.used.saturating_add(more) > self.most {
            return Err(LimitHit { limit: self.limit, allowed: self.most as u64 });
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.used += more;
        Ok(true)
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.memory.grow(current, desired, maximum);
        grown.inspect_err(|hit| self.hit = self.hit.or(Some(*hit))).map_err(Into::into)
    }

    /// Comes for more than 4 GiB, which no limit allows, and when the system has no memory left.
    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        let hit = LimitHit { limit: Limit::Memory, allowed: self.memory.most as u64 };
        self.note(hit);
        Err(hit.into())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.table.grow(current, desired, maximum);
        grown.inspect_err(|hit| self.hit = self.hit.or(Some(*hit))).map_err(Into::into)
    }

    fn instances(&self) -> usize {
        self.pieces
    }

    fn tables(&self) -> usize {
        self.pieces
    }

    fn memories(&self) -> usize {
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(memory: u64) -> Limiter {
        let limits = Limits { memory: memory.try_into().unwrap(), ..Limits::default() };
        Limiter::new(&limits)
    }

    #[test]
    fn all_memories_of_a_store_count_together() {
        let mut limiter = limiter(300);
        assert!(limiter.memory_growing(0, 100, None).unwrap());
        assert!(limiter.memory_growing(0, 200, None).unwrap());
        let error = limiter.memory_growing(100, 101, None).unwrap_err();
        let hit = LimitHit { limit: Limit::Memory, allowed: 300 };
        assert_eq!(error.downcast_ref(), Some(&hit));
        assert_eq!(limiter.hit(), Some(hit));
    }

    #[test]
    fn a_growth_past_the_guests_own_maximum_just_fails() {
        let mut limiter = limiter(300);
        assert!(!limiter.memory_growing(0, 100, Some(50)).unwrap());
        assert!(limiter.memory_growing(0, 300, None).unwrap());
        assert_eq!(limiter.hit(), None);
    }

    #[test]
    fn failed_growths_are_no_credit() {
        let mut limiter = limiter(300);
        assert!(limiter.memory_growing(0, 300, None).unwrap());
        assert!(limiter.memory_grow_failed(wasmtime::Error::msg("4 GiB")).is_err());
        assert!(limiter.memory_growing(300, 301, None).is_err());
    }
}
