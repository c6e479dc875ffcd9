//! The queue in front of the pool: a call waits for a place for a bounded time and is then told that the host is busy. The
//! pool itself never waits; without this it would refuse at once.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use mainstay_protocol::failure::CallFailure;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use wasmtime::ResourcesRequired;

use crate::allocation::{MEMORIES_PER_PLACE, TABLES_PER_PLACE};

/// The places of the pool.
#[derive(Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    all: NonZeroU32,
    wait: Duration,
}

/// A place that is taken, until it is dropped. Drop the store first.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(crate) fn new(all: NonZeroU32, wait: Duration) -> Self {
        let permits = usize::try_from(all.get()).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(permits)), all, wait }
    }

    /// How many there are.
    pub(crate) const fn all(&self) -> NonZeroU32 {
        self.all
    }

    /// Waits for `count` places. They are handed out in order, so that a large component is not starved by small ones.
    pub(crate) async fn take(&self, count: NonZeroU32) -> Result<Place, CallFailure> {
        let began = Instant::now();
        match timeout(self.wait, Arc::clone(&self.free).acquire_many_owned(count.get())).await {
            Ok(Ok(permit)) => Ok(Place { _permit: permit }),
            Ok(Err(_closed)) => Err(CallFailure::Host { message: "the pool is closed".to_owned() }),
            Err(_elapsed) => {
                let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                Err(CallFailure::Busy { waited_ms })
            }
        }
    }
}

/// How many places one call of a component takes.
pub(crate) fn needed(required: &ResourcesRequired) -> NonZeroU32 {
    let memories = required.num_memories.div_ceil(MEMORIES_PER_PLACE);
    let tables = required.num_tables.div_ceil(TABLES_PER_PLACE);
    NonZeroU32::new(memories.max(tables)).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_take_places_by_their_memories_and_tables() {
        let required = |num_memories, num_tables| ResourcesRequired {
            num_memories,
            max_initial_memory_size: None,
            num_tables,
            max_initial_table_size: None,
        };
        for (memories, tables, places) in [(0, 0, 1), (1, 2, 1), (1, 4, 1), (1, 5, 2), (3, 3, 3)] {
            assert_eq!(needed(&required(memories, tables)).get(), places, "{memories} {tables}");
        }
    }

    #[tokio::test]
    async fn a_full_pool_is_busy_after_a_bounded_wait_and_frees_places_on_drop() {
        let places = Places::new(NonZeroU32::MIN, Duration::from_millis(10));
        let place = places.take(NonZeroU32::MIN).await.unwrap();
        assert!(matches!(places.take(NonZeroU32::MIN).await, Err(CallFailure::Busy { waited_ms }) if waited_ms >= 10));
        drop(place);
        assert!(places.take(NonZeroU32::MIN).await.is_ok());
    }
}
