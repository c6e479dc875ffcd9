//! What is asked of the feed.

use std::collections::BTreeSet;

use mainstay_protocol::{PluginName, SessionId, TenantId, TurnId, cursor::Cursor, feed::FeedKind, record::RecordBody};

use crate::{host_session, host_tenant};

/// The label of a session that the filter `workspace` is about.
pub(crate) const WORKSPACE: &str = "workspace";

/// Which events. Each part that is set narrows the choice; the default is all events of all tenants, and the host's own: what an
/// operator wants to see.
///
/// A tenant's own view sets `tenant` and `host`. The host's events (plugin lifecycle) belong to the tenant `.host`, so a filter by
/// tenant alone leaves them out, and filters by session, workspace and turn do too. The reasons in them are the host's own words and may
/// name its files: whoever shows them to a tenant takes the messages out first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedFilter {
    /// Only of sessions of this tenant.
    pub tenant: Option<TenantId>,
    /// Beside those of `tenant`, the host's own events too.
    pub host: bool,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of sessions with this label `workspace`.
    pub workspace: Option<String>,
    /// Only of these kinds; none in it means all. An event counts as what its kind is told as, also when this build can't read
    /// its body: it then comes as unknown, and is not lost.
    pub kinds: BTreeSet<FeedKind>,
    /// Only of this turn.
    pub turn: Option<TurnId>,
    /// Only about this plugin, or with a part of it.
    pub plugin: Option<PluginName>,
}

impl FeedFilter {
    /// What is decided without the record.
    pub(crate) fn admits_place(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        workspace: Option<&str>,
        kind: FeedKind,
    ) -> bool {
        self.admits_tenant(tenant, session)
            && self.session.as_ref().is_none_or(|wanted| wanted == session)
            && self.workspace.as_deref().is_none_or(|wanted| Some(wanted) == workspace)
            && self.admits_kind(kind)
    }

    pub(crate) fn admits_kind(&self, kind: FeedKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    fn admits_tenant(&self, tenant: &TenantId, session: &SessionId) -> bool {
        let Some(wanted) = &self.tenant else { return true };
        wanted == tenant || self.host && *tenant == host_tenant() && *session == host_session()
    }

    /// What is decided on the record.
    pub(crate) fn admits_record(&self, body: &RecordBody) -> bool {
        self.turn.as_ref().is_none_or(|wanted| body.turn() == Some(wanted))
            && self.plugin.as_ref().is_none_or(|wanted| body.plugin() == Some(wanted))
    }
}

/// A page of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedQuery {
    /// Which events.
    pub filter: FeedFilter,
    /// Only what comes after this place. None is from now: such a page has no event, and its `next` is the place to go on from.
    /// [`Journal::feed_start`](crate::Journal::feed_start) is the place before the first event.
    pub after: Option<Cursor>,
    /// How many; more than [`MAX_PAGE`](crate::MAX_PAGE) is cut to it, and 0 is an error.
    pub limit: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(filter: &FeedFilter, tenant: &str, session: &str, workspace: Option<&str>, expected: bool) {
        let (tenant, session) = (tenant.parse().unwrap(), session.parse().unwrap());
        assert_eq!(filter.admits_place(&tenant, &session, workspace, FeedKind::TurnEnded), expected);
    }

    #[test]
    fn a_tenant_sees_its_own_and_on_request_the_hosts() {
        let all = FeedFilter::default();
        let own = FeedFilter { tenant: Some("a".parse().unwrap()), ..all.clone() };
        let both = FeedFilter { host: true, ..own.clone() };
        for (filter, seen) in [(&all, [true; 3]), (&own, [true, false, false]), (&both, [true, false, true])] {
            for ((tenant, session), seen) in [("a", "s"), ("b", "s"), (".host", ".host")].into_iter().zip(seen) {
                check(filter, tenant, session, None, seen);
            }
        }
    }

    #[test]
    fn each_part_narrows() {
        let session = FeedFilter { session: Some("s".parse().unwrap()), ..FeedFilter::default() };
        check(&session, "a", "s", None, true);
        check(&session, "a", "t", None, false);
        let workspace = FeedFilter { workspace: Some("w".to_owned()), ..FeedFilter::default() };
        check(&workspace, "a", "s", Some("w"), true);
        check(&workspace, "a", "s", None, false);
        let kinds = FeedFilter { kinds: [FeedKind::TurnStarted].into(), ..FeedFilter::default() };
        check(&kinds, "a", "s", None, false);
    }
}
