//! The walk over a session's records: digests, the chain, the feed, turns, and the state that they give. One bad row is one
//! finding: the walk goes on behind it.

use mainstay_protocol::{
    Digest, Ordinal, Timestamp,
    record::{RecordBody, chain_digest, record_digest, v1::Span},
};
use mainstay_session::{State, evolve};
use rusqlite::{Connection, Row};

use super::{ledger::Ledger, ranges::Ranges, report::Location, turns::Turns};
use crate::{Damage, codec::Columns, write::SessionKey};

/// What the records of a session say.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The last record.
    pub(super) last: Ordinal,
    /// The chain there; none where it can't be known.
    pub(super) chain: Option<Digest>,
    /// Whether a record is damaged or missing: then what would follow from all of them is not known.
    pub(super) broken: bool,
    /// Kinds that this build does not know: what they change is not known either.
    pub(super) unknown: u64,
    /// The items that records name.
    pub(super) named: Ranges,
    pub(super) turns: Turns,
    /// The state that they give.
    pub(super) state: State,
    pub(super) first_at: Option<Timestamp>,
    pub(super) last_at: Timestamp,
    /// The labels that were set, and the metadata that was given last, as text.
    pub(super) labels: Option<String>,
    pub(super) metadata: Option<String>,
    seq: u64,
}

/// The last column tells whether the feed has the event where the record says, as what it is.
const RECORDS: &str = "
    SELECT r.ordinal, r.at, k.name, r.body, r.digest, r.chain, r.seq,
           EXISTS (SELECT 1 FROM feed f WHERE f.seq = r.seq AND f.tenant = r.tenant AND f.session = r.session
                   AND f.ordinal = r.ordinal AND f.kind = r.kind)
    FROM records r LEFT JOIN kinds k ON k.kind = r.kind
    WHERE r.tenant = ?1 AND r.session = ?2 ORDER BY r.ordinal";

impl Walk {
    pub(super) fn new() -> Self {
        Self { chain: Some(Digest::ZERO), ..Self::default() }
    }

    /// The rest of the records can't be read.
    pub(super) fn cut_short(&mut self) {
        self.broken = true;
        self.turns.lose();
    }

    /// Whether all that follows from the records can be known.
    pub(super) fn is_whole(&self) -> bool {
        !self.broken && self.unknown == 0
    }

    /// Goes over all records; `each` sees those that are sound.
    pub(super) fn run(
        &mut self,
        connection: &Connection,
        key: SessionKey,
        ledger: &mut Ledger<'_>,
        mut each: impl FnMut(&mut Self, &mut Ledger<'_>, &RecordBody) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(RECORDS)?;
        let mut rows = statement.query([key.tenant, key.session])?;
        while let Some(row) = rows.next()? {
            let body = self.step(row, ledger)?;
            if let Some(body) = body {
                each(self, ledger, &body)?;
            }
        }
        Ok(())
    }

    /// Looks at the next row. The chain goes on from what is stored; where a row is gone, from the next place where there is one.
    fn step(&mut self, row: &Row<'_>, ledger: &mut Ledger<'_>) -> rusqlite::Result<Option<RecordBody>> {
        ledger.counts().records += 1;
        ledger.row(row.bytes(3).map_or(0, <[u8]>::len));
        let Ok(ordinal) = row.number(0).map(Ordinal) else {
            self.lose(ledger, Location::Table { name: "records" }, Damage::Shape, "a record's ordinal can't be");
            return Ok(None);
        };
        self.skip_to(ordinal, ledger);
        let place = Location::Record { ordinal };
        let digest = row.digest(4).ok();
        self.chain = self.chain.zip(digest).map(|(chain, digest)| chain_digest(chain, ordinal, digest));
        self.follow_chain(row, &place, ledger);
        let body = digest.ok_or((Damage::Shape, "its digest can't be")).and_then(|digest| body(row, digest));
        match body {
            Ok((at, stored_as, body)) => {
                self.take(row, at, stored_as, &body, ledger)?;
                Ok(Some(body))
            }
            Err((damage, why)) => {
                self.lose(ledger, place, damage, why);
                Ok(None)
            }
        }
    }

    fn lose(&mut self, ledger: &mut Ledger<'_>, place: Location, damage: Damage, why: &str) {
        self.broken = true;
        self.turns.lose();
        ledger.find(place, damage, why);
    }

    /// Reports ordinals that were passed over; the chain can't be followed across them.
    fn skip_to(&mut self, ordinal: Ordinal, ledger: &mut Ledger<'_>) {
        let expected = self.last.0.saturating_add(1);
        if ordinal.0 > expected {
            let place = Location::records(expected, ordinal.0 - 1);
            self.lose(ledger, place, Damage::Missing, "not there; those after it are");
            self.chain = None;
        }
        self.last = ordinal;
    }

    fn follow_chain(&mut self, row: &Row<'_>, place: &Location, ledger: &mut Ledger<'_>) {
        if matches!(row.get_ref(5), Ok(rusqlite::types::ValueRef::Null)) {
            return;
        }
        let stored = row.digest(5).ok();
        if self.chain.is_some_and(|chain| stored != Some(chain)) || stored.is_none() {
            ledger.find(place.clone(), Damage::Chain, "the chain of records does not go through here");
        }
        self.chain = stored;
    }

    fn take(
        &mut self,
        row: &Row<'_>,
        at: Timestamp,
        stored_as: &str,
        body: &RecordBody,
        ledger: &mut Ledger<'_>,
    ) -> rusqlite::Result<()> {
        self.check_feed(row, body, ledger)?;
        self.first_at.get_or_insert(at);
        self.last_at = self.last_at.max(at);
        self.unknown += u64::from(matches!(body, RecordBody::Unknown(_)));
        if let Some(span) = named(body) {
            self.named.add(span);
        }
        if let RecordBody::SessionConfigured(configured) = body {
            if self.labels.is_none() && !configured.labels.is_empty() {
                self.labels = serde_json::to_string(&configured.labels).ok();
            }
            if configured.metadata.is_some() {
                self.metadata.clone_from(&configured.metadata);
            }
        }
        // What old kinds read as says less than it seems: it need not have a beginning.
        if stored_as == body.kind()
            && let Some(wrong) = self.turns.take(body)
        {
            ledger.find(Location::Record { ordinal: self.last }, Damage::Pair, wrong);
        }
        evolve(&mut self.state, body);
        Ok(())
    }

    /// A record of a feed kind is in the feed, after those before it.
    fn check_feed(&mut self, row: &Row<'_>, body: &RecordBody, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
        let place = Location::Record { ordinal: self.last };
        let Ok(seq) = row.optional_number(6) else {
            ledger.find(place, Damage::Shape, "its place in the feed can't be");
            return Ok(());
        };
        match seq {
            Some(_) if !row.get::<_, bool>(7)? => {
                ledger.find(place, Damage::Reference, "the feed does not have it where it says");
            }
            Some(seq) if seq <= self.seq => {
                ledger.find(place, Damage::Reference, "the feed has it before an earlier record");
            }
            Some(seq) => self.seq = seq,
            None if body.is_feed() => ledger.find(place, Damage::Missing, "it is a feed event, and the feed lacks it"),
            None => {}
        }
        Ok(())
    }
}

pub(super) type Decoded<'r> = (Timestamp, &'r str, RecordBody);

/// The record of a row, if it has its digest. The row has the columns of [`RECORDS`] up to the body.
pub(super) fn body<'r>(row: &'r Row<'_>, digest: Digest) -> Result<Decoded<'r>, (Damage, &'static str)> {
    let shape = |_| (Damage::Shape, "a column has an impossible value");
    let (at, kind, body) = (row.time(1).map_err(shape)?, row.text(2).map_err(shape)?, row.bytes(3).map_err(shape)?);
    if record_digest(kind, at, body) != digest {
        return Err((Damage::Digest, "kind, time or body are not those that were stored"));
    }
    let body = RecordBody::decode(kind, body).ok_or((Damage::Shape, "its body is not JSON"))?;
    Ok((at, kind, body))
}

/// The items that came with a record. Each kind is named here, so that a new one can't be forgotten.
fn named(body: &RecordBody) -> Option<Span> {
    let one = |item| Span { first: item, count: 1 };
    match body {
        RecordBody::TurnStarted(started) => started.items,
        RecordBody::StepCompleted(completed) => completed.items,
        RecordBody::CallEnded(ended) => Some(one(ended.item)),
        RecordBody::TurnContinued(continued) => Some(one(continued.item)),
        RecordBody::NoticeAdded(notice) => Some(one(notice.item)),
        RecordBody::CommandEnded(ended) => ended.notice.map(one),
        RecordBody::ContextCompacted(compacted) => compacted.summary.map(one),
        RecordBody::SessionConfigured(_)
        | RecordBody::MessageAccepted(_)
        | RecordBody::ModelChanged(_)
        | RecordBody::StepOpened(_)
        | RecordBody::CallsDecided(_)
        | RecordBody::ApprovalRequested(_)
        | RecordBody::ApprovalResolved(_)
        | RecordBody::RunStarted(_)
        | RecordBody::RunInterrupted(_)
        | RecordBody::TurnCompleted(_)
        | RecordBody::TurnAborted(_)
        | RecordBody::TurnFailed(_)
        | RecordBody::TurnRejected(_)
        | RecordBody::SessionFault(_)
        | RecordBody::SessionRetried(_)
        | RecordBody::ReceiptRecorded(_)
        | RecordBody::PluginActivated(_)
        | RecordBody::PluginSwapped(_)
        | RecordBody::PluginRefused(_)
        | RecordBody::PluginDrained(_)
        | RecordBody::ElicitationRequested(_)
        | RecordBody::ElicitationResolved(_)
        | RecordBody::ActivityChanged(_)
        | RecordBody::OperationBegun(_)
        | RecordBody::OperationCorrelated(_)
        | RecordBody::CheckpointSaved(_)
        | RecordBody::UsageRecorded(_)
        | RecordBody::LegacyNotice(_)
        | RecordBody::Unknown(_) => None,
    }
}
