//! The feed as the floors above see it: whose events, from where, and what of them.

use std::{collections::BTreeSet, sync::Arc};

pub use mainstay_journal::{Damage, DamagedEvent, FeedDelivery, FeedPage};
use mainstay_journal::{FeedFilter, FeedQuery, FeedSubscription, ReadError, host_tenant};
use mainstay_protocol::{
    Ordinal, PluginName, SessionId, TurnId,
    cursor::Cursor,
    feed::{FeedBody, FeedEvent, FeedKind},
};

use crate::{errors::HostError, host::Host, reader::Reader};

/// Whose events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedScope {
    /// Those of the tenant's sessions, and what becomes of plugins, for they serve them. Why a build was refused comes as its code
    /// only: the words beside it are the host's own and may name its files.
    #[default]
    Tenant,
    /// All that the store holds: those of every tenant, and the host's own with all their words. What an operator sees.
    All,
}

/// Which events. Each part that is set narrows the choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedRequest {
    /// Whose.
    pub scope: FeedScope,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of sessions with this label `workspace`.
    pub workspace: Option<String>,
    /// Only of these kinds; none in it means all.
    pub kinds: BTreeSet<FeedKind>,
    /// Only of this turn.
    pub turn: Option<TurnId>,
    /// Only about this plugin, or with a part of it.
    pub plugin: Option<PluginName>,
}

/// Where in the feed to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeedFrom {
    /// After all that there is.
    #[default]
    Now,
    /// At the first event.
    Start,
    /// After this place.
    After(Cursor),
}

/// One follower of the feed.
#[derive(Debug)]
pub struct FeedFollower {
    subscription: FeedSubscription,
    scope: FeedScope,
}

impl FeedFollower {
    /// The next event; waits for it. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// The journal can't be read, or the host ends.
    pub async fn next(&mut self) -> Result<FeedDelivery, HostError> {
        Ok(match self.subscription.next().await? {
            FeedDelivery::Event { cursor, event } => FeedDelivery::Event { cursor, event: self.scope.shared(event) },
            damaged => damaged,
        })
    }

    /// Where it stands: past all that was delivered, and past what was left out since.
    pub const fn cursor(&self) -> Cursor {
        self.subscription.cursor()
    }
}

impl FeedScope {
    fn hides(self, event: &FeedEvent) -> bool {
        let has_words =
            |body: &FeedBody| matches!(body, FeedBody::PluginLifecycle(of) if of.lifecycle.reason.is_some());
        self == Self::Tenant && event.tenant == host_tenant() && has_words(&event.body)
    }

    fn shown(self, mut event: FeedEvent) -> FeedEvent {
        if self.hides(&event)
            && let FeedBody::PluginLifecycle(of) = &mut event.body
            && let Some(reason) = &mut of.lifecycle.reason
        {
            reason.message.clear();
        }
        event
    }

    fn shared(self, event: Arc<FeedEvent>) -> Arc<FeedEvent> {
        if self.hides(&event) { Arc::new(self.shown(FeedEvent::clone(&event))) } else { event }
    }
}

impl Reader {
    /// A page of the feed, oldest first. From now it has no event, and says where to go on.
    ///
    /// # Errors
    /// The place is of another life of the store, the limit is zero, or the journal can't be read.
    pub async fn feed(&self, request: FeedRequest, from: FeedFrom, limit: usize) -> Result<FeedPage, HostError> {
        let (scope, limit) = (request.scope, u32::try_from(limit).unwrap_or(u32::MAX));
        let query = FeedQuery { filter: self.filter(request), after: self.place(from), limit };
        let mut page = self.journal.feed(query).await?;
        page.events = page.events.into_iter().map(|event| scope.shown(event)).collect();
        Ok(page)
    }

    /// Follows the feed.
    ///
    /// # Errors
    /// The place is of another life of the store, or the journal can't be read.
    pub async fn follow_feed(&self, request: FeedRequest, from: FeedFrom) -> Result<FeedFollower, HostError> {
        let scope = request.scope;
        let mut subscription = self.journal.subscribe(self.filter(request), self.place(from));
        subscription.begin().await?;
        Ok(FeedFollower { subscription, scope })
    }

    /// The record before the last `batches` batches of a session. A batch is what became durable at once.
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn replay_after(&self, session: &SessionId, batches: u32) -> Result<Ordinal, HostError> {
        Ok(self.journal.replay(&self.tenant, session, batches).await?.after())
    }

    fn place(&self, from: FeedFrom) -> Option<Cursor> {
        match from {
            FeedFrom::Now => None,
            FeedFrom::Start => Some(self.journal.feed_start()),
            FeedFrom::After(cursor) => Some(cursor),
        }
    }

    fn filter(&self, request: FeedRequest) -> FeedFilter {
        let FeedRequest { scope, session, workspace, kinds, turn, plugin } = request;
        let tenant = Some(self.tenant.clone()).filter(|_| scope == FeedScope::Tenant);
        FeedFilter { tenant, host: true, session, workspace, kinds, turn, plugin }
    }
}

impl Host {
    /// As [`Reader::feed`].
    ///
    /// # Errors
    /// As there.
    pub async fn feed(&self, request: FeedRequest, from: FeedFrom, limit: usize) -> Result<FeedPage, HostError> {
        self.reader().feed(request, from, limit).await
    }

    /// As [`Reader::follow_feed`].
    ///
    /// # Errors
    /// As there.
    pub async fn follow_feed(&self, request: FeedRequest, from: FeedFrom) -> Result<FeedFollower, HostError> {
        self.reader().follow_feed(request, from).await
    }

    /// As [`Reader::replay_after`].
    ///
    /// # Errors
    /// As there.
    pub async fn replay_after(&self, session: &SessionId, batches: u32) -> Result<Ordinal, HostError> {
        self.reader().replay_after(session, batches).await
    }
}

impl HostError {
    /// The life that the store has now, when the error is that a place in the feed is of another one.
    pub fn current_epoch(&self) -> Option<mainstay_protocol::cursor::StoreEpoch> {
        match self {
            Self::Read(ReadError::EpochChanged { current }) => Some(*current),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        Digest, Seq, TenantId, Timestamp,
        feed::{PluginChange, PluginLifecycleEvent},
        record::v1::{PluginLifecycle, Reason},
    };

    use super::*;

    #[test]
    fn a_tenant_is_not_told_the_hosts_words() {
        let lifecycle = PluginLifecycle {
            plugin: "files".parse().expect("legal"),
            sha256: Digest::ZERO,
            version: "0.1.0".to_owned(),
            replaces: None,
            reason: Some(Reason::new("refused", "no such file: /srv/secret.wasm")),
        };
        let event = |tenant: TenantId| FeedEvent {
            seq: Seq(1),
            tenant,
            session: ".host".parse().expect("legal"),
            ordinal: Ordinal(1),
            at: Timestamp(1),
            digest: Digest::ZERO,
            body: FeedBody::PluginLifecycle(PluginLifecycleEvent {
                change: PluginChange::Refused,
                lifecycle: lifecycle.clone(),
            }),
        };
        let words = |event: &FeedEvent| match &event.body {
            FeedBody::PluginLifecycle(of) => of.lifecycle.reason.clone().expect("a reason"),
            body => panic!("{body:?}"),
        };
        let hosts = event(host_tenant());
        assert_eq!(words(&FeedScope::Tenant.shown(hosts.clone())), Reason::new("refused", ""));
        assert_eq!(words(&FeedScope::Tenant.shared(Arc::new(hosts.clone()))), Reason::new("refused", ""));
        assert_eq!(FeedScope::All.shown(hosts.clone()), hosts);
    }
}
