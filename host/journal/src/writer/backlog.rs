//! What waits for the writer, and the choice of the next group: each session gets its turn before any gets a second one.

use std::collections::{HashMap, VecDeque};

use super::{lanes::Pass, transaction::Entry};
use crate::write::{Job, Lane};

/// A job in the queue, with its place there; the writer's own jobs take none.
pub(super) struct Waiting {
    pub(super) job: Box<dyn Job>,
    pub(super) pass: Option<Pass>,
}

#[derive(Default)]
pub(super) struct Backlog(VecDeque<Waiting>);

impl Backlog {
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Up to `most` jobs, in rounds: the first of each session, then the second of each, and so on. A session's jobs keep
    /// their order. Their places are free from here on, so that the next group gathers while this one is written.
    pub(super) fn take_group(&mut self, most: usize) -> Vec<Entry> {
        if self.0.len() <= most {
            return self.0.drain(..).map(enter).collect();
        }
        let chosen = choose(self.0.iter().map(|waiting| waiting.job.lane()), most);
        let (mut group, mut rest) = (Vec::with_capacity(most), VecDeque::with_capacity(self.0.len() - most));
        for (waiting, chosen) in self.0.drain(..).zip(chosen) {
            if chosen { group.push(enter(waiting)) } else { rest.push_back(waiting) }
        }
        self.0 = rest;
        group
    }
}

fn enter(Waiting { job, pass }: Waiting) -> Entry {
    drop(pass);
    Entry::new(job)
}

/// Which jobs make up the next group of `most`, given the lane of each.
fn choose<'a>(lanes: impl Iterator<Item = Option<&'a Lane>>, most: usize) -> Vec<bool> {
    let mut counts: HashMap<Option<&Lane>, usize> = HashMap::new();
    let rounds: Vec<usize> = lanes
        .map(|lane| {
            let count = counts.entry(lane).or_default();
            *count += 1;
            *count
        })
        .collect();
    let mut order: Vec<usize> = (0..rounds.len()).collect();
    order.sort_by_key(|index| rounds[*index]);
    let mut chosen = vec![false; rounds.len()];
    order.into_iter().take(most).for_each(|index| chosen[index] = true);
    chosen
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{SessionId, TenantId};

    use super::*;

    fn check(sessions: &str, most: usize, expected: &str) {
        let lane = |name: char| Lane {
            tenant: TenantId::default_tenant(),
            session: SessionId::new(&name.to_string()).unwrap(),
        };
        let lanes: Vec<_> = sessions.chars().map(lane).collect();
        let chosen = choose(lanes.iter().map(Some), most);
        let taken: String =
            sessions.chars().zip(chosen).map(|(name, chosen)| if chosen { name } else { '.' }).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn a_chatty_session_does_not_crowd_out_others() {
        check("aaaaab", 2, "a....b");
        check("aaabbc", 4, "aa.b.c");
        check("aaaa", 2, "aa..");
        check("abc", 5, "abc");
    }
}
