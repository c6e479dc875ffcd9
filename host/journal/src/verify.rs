//! Verification of a session: every digest is computed again, the chain is followed, and the rows that refer to each other are
//! compared. All that is wrong is reported, not the first of it. Digests and chain detect damage; they don't stop someone who can
//! write to the file.

use mainstay_protocol::{
    Digest, ItemId, Ordinal,
    record::{RecordBody, chain_digest, record_digest, v1::Span},
};
use rusqlite::{Connection, Row, params};

use crate::{
    Damage, Damaged, Direction, MAX_PAGE, Place, Range, ReadError,
    codec::{Columns, int},
    read,
    write::{Lane, SessionKey, state_checksum},
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Records that were looked at.
    pub records: u64,
    /// Items that were looked at.
    pub items: u64,
    /// All that is wrong.
    pub damaged: Vec<Damaged>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty()
    }

    fn report(&mut self, at: Place, damage: Damage) {
        self.damaged.push(Damaged { at, damage });
    }
}

pub(crate) fn session(connection: &Connection, lane: &Lane) -> Result<Option<Verdict>, ReadError> {
    let Some(key) = read::find_session(connection, lane)? else {
        return Ok(None);
    };
    let mut verdict = Verdict::default();
    let walk = walk_records(connection, key, &mut verdict)?;
    check_head(connection, key, &walk, &mut verdict)?;
    check_items(connection, lane, &mut verdict)?;
    check_spans(connection, key, &walk.spans, &mut verdict)?;
    Ok(Some(verdict))
}

/// Where a walk over the records stands.
struct Walk {
    ordinal: Ordinal,
    /// None where it can't be known.
    chain: Option<Digest>,
    spans: Vec<Span>,
}

const RECORDS: &str = "
    SELECT r.ordinal, r.at, k.name, r.body, r.digest, r.chain, r.seq,
           r.seq IS NULL OR EXISTS (SELECT 1 FROM feed f WHERE f.seq = r.seq AND f.tenant = r.tenant
                                    AND f.session = r.session AND f.ordinal = r.ordinal)
    FROM records r LEFT JOIN kinds k ON k.kind = r.kind
    WHERE r.tenant = ?1 AND r.session = ?2 ORDER BY r.ordinal";

fn walk_records(connection: &Connection, key: SessionKey, verdict: &mut Verdict) -> Result<Walk, ReadError> {
    let mut walk = Walk { ordinal: Ordinal(0), chain: Some(Digest::ZERO), spans: Vec::new() };
    let mut statement = connection.prepare_cached(RECORDS)?;
    let mut rows = statement.query([key.tenant, key.session])?;
    while let Some(row) = rows.next()? {
        walk.step(row, verdict)?;
    }
    Ok(walk)
}

impl Walk {
    /// Looks at the next row. One bad row is one report: the chain goes on from the digest that is stored, and where a row is
    /// gone, from the next place where the chain is.
    fn step(&mut self, row: &Row<'_>, verdict: &mut Verdict) -> Result<(), ReadError> {
        let ordinal = Ordinal(row.number(0)?);
        verdict.records += 1;
        self.skip_to(ordinal, verdict);
        let place = Place::Record(ordinal);
        match row.digest(4) {
            Ok(digest) => {
                self.chain = self.chain.map(|chain| chain_digest(chain, ordinal, digest));
                match body(row, digest) {
                    Ok(body) => self.spans.extend(span(&body)),
                    Err(damage) => verdict.report(place, damage),
                }
            }
            Err(_) => {
                self.chain = None;
                verdict.report(place, Damage::Shape);
            }
        }
        if let Ok(stored) = row.digest(5) {
            if self.chain.is_some_and(|chain| chain != stored) {
                verdict.report(place, Damage::Chain);
            }
            self.chain = Some(stored);
        }
        if !row.get::<_, bool>(7)? {
            verdict.report(place, Damage::Reference);
        }
        Ok(())
    }

    /// Reports ordinals that were passed over; the chain can't be followed across them.
    fn skip_to(&mut self, ordinal: Ordinal, verdict: &mut Verdict) {
        for missing in self.ordinal.0 + 1..ordinal.0 {
            verdict.report(Place::Record(Ordinal(missing)), Damage::Missing);
            self.chain = None;
        }
        self.ordinal = ordinal;
    }
}

fn body(row: &Row<'_>, digest: Digest) -> Result<RecordBody, Damage> {
    let shape = |_| Damage::Shape;
    let (at, kind, body) = (row.time(1).map_err(shape)?, row.text(2).map_err(shape)?, row.bytes(3).map_err(shape)?);
    if record_digest(kind, at, body) != digest {
        return Err(Damage::Digest);
    }
    RecordBody::decode(kind, body).ok_or(Damage::Shape)
}

/// The items that a record names.
fn span(body: &RecordBody) -> Option<Span> {
    match body {
        RecordBody::TurnStarted(started) => started.items,
        RecordBody::StepCompleted(completed) => completed.items,
        RecordBody::CallEnded(ended) => Some(Span { first: ended.item, count: 1 }),
        _ => None,
    }
}

fn check_head(connection: &Connection, key: SessionKey, walk: &Walk, verdict: &mut Verdict) -> Result<(), ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT head, chain, state, checksum FROM heads WHERE tenant = ?1 AND session = ?2")?;
    let mut rows = statement.query([key.tenant, key.session])?;
    let Some(row) = rows.next()? else {
        verdict.report(Place::Session, Damage::Missing);
        return Ok(());
    };
    let head = Ordinal(row.number(0)?);
    (walk.ordinal.0 + 1..=head.0).for_each(|missing| verdict.report(Place::Record(Ordinal(missing)), Damage::Missing));
    if head == walk.ordinal && walk.chain.is_some_and(|chain| row.digest(1).ok() != Some(chain)) {
        verdict.report(Place::Session, Damage::Chain);
    }
    if head < walk.ordinal {
        verdict.report(Place::Session, Damage::Reference);
    }
    if let Ok(state) = row.bytes(2)
        && row.bytes(3).ok() != Some(&state_checksum(state))
    {
        verdict.report(Place::State, Damage::Digest);
    }
    Ok(())
}

fn check_items(connection: &Connection, lane: &Lane, verdict: &mut Verdict) -> Result<(), ReadError> {
    let mut after = None;
    loop {
        let range = Range { after, before: None, direction: Direction::Forward, limit: MAX_PAGE };
        let page = read::items(connection, lane, &range)?;
        verdict.items += (page.rows.len() + page.damaged.len()) as u64;
        let places = page.damaged.iter().filter_map(|damaged| match damaged.at {
            Place::Item(item) => Some(item),
            _ => None,
        });
        after = page.rows.iter().map(|item| item.id).chain(places).max();
        verdict.damaged.extend(page.damaged);
        if !page.more {
            return Ok(());
        }
    }
}

/// Each item that a record names is there.
fn check_spans(
    connection: &Connection,
    key: SessionKey,
    spans: &[Span],
    verdict: &mut Verdict,
) -> Result<(), ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM items WHERE tenant = ?1 AND session = ?2 AND item = ?3)")?;
    for span in spans {
        for item in (span.first.0..).take(span.count as usize) {
            if !statement.query_row(params![key.tenant, key.session, int(item)], |row| row.get::<_, bool>(0))? {
                verdict.report(Place::Item(ItemId(item)), Damage::Missing);
            }
        }
    }
    Ok(())
}
