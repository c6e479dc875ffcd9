//! How many jobs one session may have in the queue. Past that its callers wait for their own session's turn, outside: so a
//! session with thousands of waiting commits leaves the queue to the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::{CommitError, write::Lane};

/// The gates of the lanes that are in use. A lane that nobody uses has none, so this grows with the queue and not with the
/// sessions.
#[derive(Debug)]
pub(super) struct Lanes {
    most: usize,
    gates: Mutex<HashMap<Option<Lane>, Places>>,
}

/// The places of a lane.
#[derive(Debug)]
struct Places {
    /// Gates that refer to these.
    users: usize,
    turn: Arc<tokio::sync::Mutex<()>>,
    places: Arc<Semaphore>,
}

/// Whoever has this is the next of its lane to go into the queue. Without it one that comes when a place is free would overtake one
/// that was promised the place before and has not noticed yet.
pub(super) type Turn = OwnedMutexGuard<()>;

/// A place in the queue for one job of a lane, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Pass {
    // In the order in which they are dropped: the place is free before the gate may go.
    _place: OwnedSemaphorePermit,
    _gate: Gate,
}

/// Someone who uses a lane's gate, inside or in front of it.
#[derive(Debug)]
struct Gate {
    lanes: Arc<Lanes>,
    lane: Option<Lane>,
}

impl Lanes {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, gates: Mutex::default() })
    }

    /// Waits until the lane has a place, behind those of the same lane that came before. Their order is that of the first polls.
    pub(super) async fn enter(self: &Arc<Self>, lane: Option<&Lane>) -> Result<(Turn, Pass), CommitError> {
        let (gate, turn, places) = self.gate(lane);
        let turn = turn.lock_owned().await;
        let place = places.acquire_owned().await.map_err(|_| CommitError::Closed)?;
        Ok((turn, Pass { _place: place, _gate: gate }))
    }

    fn gate(self: &Arc<Self>, lane: Option<&Lane>) -> (Gate, Arc<tokio::sync::Mutex<()>>, Arc<Semaphore>) {
        let lane = lane.cloned();
        let mut gates = self.lock();
        let fresh = || Places { users: 0, turn: Arc::default(), places: Arc::new(Semaphore::new(self.most)) };
        let entry = gates.entry(lane.clone()).or_insert_with(fresh);
        entry.users += 1;
        let (turn, places) = (entry.turn.clone(), entry.places.clone());
        (Gate { lanes: self.clone(), lane }, turn, places)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<Lane>, Places>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let mut gates = self.lanes.lock();
        if let Some(entry) = gates.get_mut(&self.lane) {
            entry.users -= 1;
            if entry.users == 0 {
                gates.remove(&self.lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use mainstay_protocol::{SessionId, TenantId};

    use super::*;

    fn lane(session: &str) -> Lane {
        Lane { tenant: TenantId::default_tenant(), session: SessionId::new(session).unwrap() }
    }

    /// The pass, if there is one without waiting.
    fn try_enter(lanes: &Arc<Lanes>, lane: &Lane) -> Option<Pass> {
        match pin!(lanes.enter(Some(lane))).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(entered) => Some(entered.unwrap().1),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_lane_has_its_places_and_no_more_and_others_have_theirs() {
        let (lanes, chatty, quiet) = (Lanes::new(2), lane("chatty"), lane("quiet"));
        let passes = [try_enter(&lanes, &chatty).unwrap(), try_enter(&lanes, &chatty).unwrap()];
        assert!(try_enter(&lanes, &chatty).is_none());
        assert!(try_enter(&lanes, &quiet).is_some());
        drop(passes);
        assert!(try_enter(&lanes, &chatty).is_some());
    }

    #[test]
    fn those_of_a_lane_enter_in_their_order() {
        let (lanes, chatty) = (Lanes::new(2), lane("chatty"));
        let inside = [try_enter(&lanes, &chatty).unwrap(), try_enter(&lanes, &chatty).unwrap()];
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, mut second) = (pin!(lanes.enter(Some(&chatty))), pin!(lanes.enter(Some(&chatty))));
        assert!(first.as_mut().poll(&mut context).is_pending());
        drop(inside);
        assert!(second.as_mut().poll(&mut context).is_pending(), "both places are free, and one was promised");
        let Poll::Ready(entered) = first.as_mut().poll(&mut context) else { panic!("it has a place") };
        assert!(second.as_mut().poll(&mut context).is_pending(), "the first one is not in the queue yet");
        drop(entered.unwrap().0);
        assert!(second.as_mut().poll(&mut context).is_ready());
    }

    #[test]
    fn nothing_is_left_of_a_lane_that_nobody_uses() {
        let (lanes, chatty) = (Lanes::new(1), lane("chatty"));
        let pass = try_enter(&lanes, &chatty).unwrap();
        {
            // Someone who waits, and gives up after the one inside has left.
            let mut waiting = Box::pin(lanes.enter(Some(&chatty)));
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(pass);
            assert_eq!(lanes.lock().len(), 1);
        }
        assert_eq!(lanes.lock().len(), 0);
    }
}
