//! Payloads that are stored once: their bytes, who uses them, and that nothing is left over.

use mainstay_protocol::Digest;
use rusqlite::{Connection, Row, types::ValueRef};
use sha2::{Digest as _, Sha256};

use super::{items::BlobRefs, ledger::Ledger, report::Location};
use crate::{
    Damage,
    codec::{Columns, int},
    write::{PIECE, SessionKey, kept_checksum, piece_checksum, pieces},
};

/// A session uses exactly the payloads that its items and messages refer to, and those that it keeps beside them, which have a
/// media type.
pub(super) fn check_uses(
    connection: &Connection,
    key: SessionKey,
    mut refs: BlobRefs,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT u.blob, u.uses, u.media_type, b.digest, b.tenant, u.checksum FROM blob_uses u
         LEFT JOIN blobs b ON b.blob = u.blob WHERE u.tenant = ?1 AND u.session = ?2",
    )?;
    let mut rows = statement.query([key.tenant, key.session])?;
    while let Some(row) = rows.next()? {
        ledger.row(0);
        let place = Location::Blob { digest: row.digest(3).ok() };
        let referred = refs.take(row.get(0)?);
        if row.get::<_, Option<i64>>(4)? != Some(key.tenant) {
            ledger.find(place, Damage::Missing, "the session uses it, and it is not there");
            continue;
        }
        let (uses, kept): (i64, bool) = (row.get(1)?, row.get_ref(2)? != ValueRef::Null);
        if !has_media_type_as_kept(row) {
            ledger.find(place.clone(), Damage::Digest, "its media type does not have its checksum");
        }
        // Bytes that are kept are one use more.
        let referred = referred + u64::from(kept);
        if refs.is_whole() && (uses != int(referred) || uses == 0) {
            let message = format!("the session counts {uses} uses of it, and has {referred}");
            ledger.find(place, Damage::Count, message);
        }
    }
    for referred in refs.left() {
        let message = format!("the session refers to it {referred} times, and is not counted among its users");
        ledger.find(Location::Blob { digest: None }, Damage::Count, message);
    }
    Ok(())
}

/// Whether bytes that a session keeps have the media type that they were kept with, and others have none.
fn has_media_type_as_kept(row: &Row<'_>) -> bool {
    match (row.get_ref(2), row.get_ref(5)) {
        (Ok(ValueRef::Null), Ok(ValueRef::Null)) => true,
        (Ok(ValueRef::Text(_)), Ok(ValueRef::Blob(stored))) => {
            let kept = row.text(2).ok().zip(row.digest(3).ok());
            kept.is_some_and(|(media_type, digest)| stored == kept_checksum(digest, media_type))
        }
        _ => false,
    }
}

/// The next payload after a number: its number, and what was found is in the ledger. None when there are no more.
pub(super) fn check_next(
    connection: &Connection,
    after: i64,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT blob, digest, size, uses FROM blobs WHERE blob > ?1 ORDER BY blob LIMIT 1")?;
    let mut rows = statement.query([after])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let blob = row.get(0)?;
    ledger.counts().blobs += 1;
    let digest = row.digest(1).ok();
    let place = Location::Blob { digest };
    match (digest, row.number(2), row.number(3)) {
        (Some(digest), Ok(size), Ok(uses)) => {
            check_bytes(connection, blob, digest, size, &place, ledger)?;
            if uses == 0 {
                ledger.find(place, Damage::Orphan, "no session uses it");
            }
        }
        _ => ledger.find(place, Damage::Shape, "a column has an impossible value"),
    }
    Ok(Some(blob))
}

/// Reads the pieces one by one: a payload may have 64 MiB.
fn check_bytes(
    connection: &Connection,
    blob: i64,
    digest: Digest,
    size: u64,
    place: &Location,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<()> {
    let count = pieces(size);
    let mut statement = connection.prepare_cached(
        "SELECT piece - ?1, checksum, bytes FROM blob_pieces WHERE piece >= ?1 AND piece < ?1 + ?2 ORDER BY piece",
    )?;
    let mut rows = statement.query([blob, int(count)])?;
    let (mut hasher, mut next, mut length) = (Sha256::new(), 0, 0);
    while let Some(row) = rows.next()? {
        let Some(bytes) = sound_piece(row, digest, next) else {
            ledger.find(place.clone(), Damage::Digest, format!("part {next} of its {count} is damaged or missing"));
            return Ok(());
        };
        hasher.update(bytes);
        ledger.row(bytes.len());
        next += 1;
        length += bytes.len() as u64;
    }
    if next != count || length != size {
        ledger.find(place.clone(), Damage::Missing, format!("{length} of its {size} bytes are there"));
    } else if Digest::from_bytes(hasher.finalize().into()) != digest {
        ledger.find(place.clone(), Damage::Digest, "its bytes don't have its digest");
    }
    Ok(())
}

fn sound_piece<'r>(row: &'r Row<'_>, digest: Digest, position: u64) -> Option<&'r [u8]> {
    let bytes = row.bytes(2).ok().filter(|bytes| bytes.len() <= PIECE)?;
    let sound = row.get::<_, i64>(0) == Ok(int(position))
        && row.bytes(1).is_ok_and(|checksum| checksum == piece_checksum(digest, position, bytes));
    sound.then_some(bytes)
}

/// Payloads that one look at their users counts: what it remembers of each is small.
const USES_AT_ONCE: i64 = 100_000;

/// Each payload counts the sessions that use it. Looks at those after a number, and gives the last; none when there are no more. All
/// users are read for each look, so that they are first summed up: there is nothing to look at where the sum is right.
pub(super) fn check_users(
    connection: &Connection,
    after: i64,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<Option<i64>> {
    if after == i64::MIN && adds_up(connection)? {
        return Ok(None);
    }
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(blob) FROM (SELECT blob FROM blobs WHERE blob > ?1 ORDER BY blob LIMIT ?2)")?
        .query_row([after, USES_AT_ONCE], |row| row.get(0))?;
    let Some(last) = last else { return Ok(None) };
    let mut statement = connection.prepare_cached(
        "SELECT b.digest, b.uses, ifnull(u.users, 0) FROM blobs b
         LEFT JOIN (SELECT blob, count(*) AS users FROM blob_uses WHERE blob > ?1 AND blob <= ?2 GROUP BY blob) u
         ON u.blob = b.blob WHERE b.blob > ?1 AND b.blob <= ?2 AND b.uses IS NOT ifnull(u.users, 0)",
    )?;
    let mut rows = statement.query([after, last])?;
    while let Some(row) = rows.next()? {
        let (uses, users): (i64, i64) = (row.get(1)?, row.get(2)?);
        let message = format!("it counts {uses} sessions that use it, and {users} do");
        ledger.find(Location::Blob { digest: row.digest(0).ok() }, Damage::Count, message);
    }
    Ok(Some(last))
}

/// Whether all payloads count their users, as far as a sum tells: each payload has a weight of its own, by which its count adds to
/// the sum and each of its users takes from it. Weights are odd, so that no single count that is wrong vanishes in the sum.
fn adds_up(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT blob, uses FROM blobs UNION ALL SELECT blob, -1 FROM blob_uses";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut sum: i128 = 0;
    while let Some(row) = rows.next()? {
        let count: i64 = row.get(1)?;
        sum = sum.wrapping_add(i128::from(count).wrapping_mul(weight(row.get(0)?)));
    }
    Ok(sum == 0)
}

/// The finaliser of SplitMix64: neighbours get weights that have nothing to do with each other.
fn weight(blob: i64) -> i128 {
    let mut bits = blob.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    i128::from((bits ^ (bits >> 31)) | 1)
}

/// Pieces that belong to no payload.
pub(super) fn check_left_over(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let sql = "SELECT count(*) FROM blob_pieces p
         WHERE NOT EXISTS (SELECT 1 FROM (SELECT blob, size FROM blobs WHERE blob <= p.piece ORDER BY blob DESC LIMIT 1)
                           WHERE p.piece - blob < max(1, (size + ?1 - 1) / ?1))";
    let count: i64 = connection.query_row(sql, [PIECE as i64], |row| row.get(0))?;
    if count > 0 {
        let place = Location::Table { name: "blob_pieces" };
        ledger.find(place, Damage::Orphan, format!("{count} parts of payloads belong to none"));
    }
    Ok(())
}
