//! Payloads that are stored once: their bytes, who uses them, and that nothing is left over.

use mainstay_protocol::Digest;
use rusqlite::{Connection, Row};
use sha2::{Digest as _, Sha256};

use super::{items::BlobRefs, ledger::Ledger, report::Location};
use crate::{
    Damage,
    codec::{Columns, int},
    write::{PIECE, SessionKey, piece_checksum, pieces},
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
        "SELECT u.blob, u.uses, u.media_type IS NOT NULL, b.digest, b.tenant FROM blob_uses u
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
        let (uses, kept): (i64, bool) = (row.get(1)?, row.get(2)?);
        let fits = if kept { uses > int(referred) } else { uses == int(referred) && uses > 0 };
        if refs.is_whole() && !fits {
            let message = format!("the session counts {uses} uses of it, and refers to it {referred} times");
            ledger.find(place, Damage::Count, message);
        }
    }
    for referred in refs.left() {
        let message = format!("the session refers to it {referred} times, and is not counted among its users");
        ledger.find(Location::Blob { digest: None }, Damage::Count, message);
    }
    Ok(())
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

/// Each payload counts the sessions that use it. Looks at those after a number, and gives the last; none when there are no more.
pub(super) fn check_users(
    connection: &Connection,
    after: i64,
    ledger: &mut Ledger<'_>,
) -> rusqlite::Result<Option<i64>> {
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
