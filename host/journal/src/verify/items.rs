//! The transcript: each item's checksum and pieces, that records name it, and that calls have their results.

use std::collections::BTreeMap;

use mainstay_protocol::ItemId;
use rusqlite::Connection;

use super::{calls::Calls, ledger::Ledger, records::Walk, report::Location};
use crate::{Damage, codec::Columns, read, write::SessionKey};

/// How often a session refers to each payload that is stored once.
#[derive(Debug, Default)]
pub(super) struct BlobRefs {
    counts: BTreeMap<i64, u64>,
    /// Rows that may refer to payloads are missing, or can't be read.
    lost: bool,
}

impl BlobRefs {
    pub(super) fn add(&mut self, blob: i64) {
        *self.counts.entry(blob).or_default() += 1;
    }

    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    pub(super) fn is_whole(&self) -> bool {
        !self.lost
    }

    /// Takes out how often one is referred to.
    pub(super) fn take(&mut self, blob: i64) -> u64 {
        self.counts.remove(&blob).unwrap_or(0)
    }

    /// How often those that are left are referred to.
    pub(super) fn left(self) -> impl Iterator<Item = u64> {
        self.counts.into_values()
    }
}

const ITEMS: &str = "
    SELECT item, count(*), max(piece), sum(octet_length(body) + ifnull(octet_length(private), 0)),
           max(blob), max(private_blob)
    FROM items WHERE tenant = ?1 AND session = ?2 GROUP BY item ORDER BY item";

/// Goes over all items. Gives how often they refer to payloads.
pub(super) fn check(
    connection: &Connection,
    key: SessionKey,
    walk: &Walk,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<BlobRefs> {
    let mut statement = connection.prepare_cached(ITEMS)?;
    let mut rows = statement.query([key.tenant, key.session])?;
    let (mut last, mut calls, mut refs) = (0, Calls::default(), BlobRefs::default());
    while let Some(row) = rows.next()? {
        let Ok(id) = row.number(0) else {
            ledger.find(Location::Table { name: "items" }, Damage::Shape, "an item's id can't be");
            calls.lose();
            refs.lose();
            continue;
        };
        if missing(walk, last, id, ledger) {
            calls.lose();
            refs.lose();
        }
        last = id;
        ledger.counts().items += 1;
        ledger.row(row.number(3).map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)));
        for blob in [4, 5] {
            if let Some(blob) = row.get(blob)? {
                refs.add(blob);
            }
        }
        let pieces_are_whole = row.get::<_, i64>(2)? == row.get::<_, i64>(1)? - 1;
        check_item(connection, key, ItemId(id), pieces_are_whole, &mut calls, ledger)?;
        if !walk.named.contains(id) && walk.is_whole() {
            ledger.find(Location::Item { item: ItemId(id) }, Damage::Orphan, "no record names it");
        }
    }
    if missing(walk, last, u64::MAX, ledger) {
        calls.lose();
        refs.lose();
    }
    for item in calls.alone(&walk.turns) {
        ledger.find(Location::Item { item }, Damage::Pair, "a call without its result, in a turn that has ended");
    }
    Ok(refs)
}

/// Whether items are missing between two others.
fn missing(walk: &Walk, after: u64, before: u64, ledger: &mut Ledger<'_>) -> bool {
    let mut any = false;
    for (first, last) in walk.named.between(after, before) {
        any = true;
        ledger.find(Location::items(first, last), Damage::Missing, "not there, and records name it");
    }
    any
}

fn check_item(
    connection: &Connection,
    key: SessionKey,
    id: ItemId,
    pieces_are_whole: bool,
    calls: &mut Calls,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let place = Location::Item { item: id };
    let read = if pieces_are_whole { read::read_item(connection, key, id)? } else { Err(Damage::Missing) };
    match read {
        Ok(item) => {
            if let Some(wrong) = calls.take(&item) {
                ledger.find(place, Damage::Pair, wrong);
            }
        }
        Err(damage) => {
            calls.lose();
            ledger.find(place, damage, what(damage));
        }
    }
    Ok(())
}

/// What damage of a row that has a checksum is, in words.
pub(super) const fn what(damage: Damage) -> &'static str {
    match damage {
        Damage::Digest => "it does not have its checksum",
        Damage::Missing => "a part of it is missing",
        _ => "a column has an impossible value",
    }
}
