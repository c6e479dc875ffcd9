//! Large payloads: stored once a tenant, counted by session, and removed in the transaction that lets go of them last.

use mainstay_protocol::{Digest, blob::NewBlob};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SessionKey, integrity};
use crate::{
    CommitError,
    codec::{Checksum, Columns, checksum, int},
    payload::Payload,
};

/// Bytes of a payload in one row.
pub(crate) const PIECE: usize = 256 << 10;

/// How many rows a payload takes.
pub(crate) const fn pieces(size: u64) -> u64 {
    let pieces = size.div_ceil(PIECE as u64);
    if pieces == 0 { 1 } else { pieces }
}

/// Covers a piece: the payload that it is of, its position there from 0, and its bytes.
pub(crate) fn piece_checksum(payload: Digest, position: u64, bytes: &[u8]) -> Checksum {
    checksum("mainstay/blob-piece/1", &[payload.as_bytes(), &position.to_le_bytes(), bytes])
}

/// Refuses what is too large to keep.
pub(super) fn check(kept: &[NewBlob]) -> Result<(), CommitError> {
    if kept.iter().any(|blob| blob.bytes().len() > mainstay_protocol::blob::MAX_BLOB) {
        return Err(integrity("a blob has at most 64 MiB"));
    }
    Ok(())
}

/// Covers the media type of a payload that a session keeps.
pub(crate) fn kept_checksum(payload: Digest, media_type: &str) -> Checksum {
    checksum("mainstay/kept-blob/1", &[payload.as_bytes(), media_type.as_bytes()])
}

/// Keeps bytes for a session beside its items: it can fetch them by their reference. However often it keeps them, that is one use,
/// and the first media type that it gave stays.
pub(super) fn keep(connection: &Connection, key: SessionKey, kept: &[NewBlob]) -> rusqlite::Result<()> {
    for blob in kept {
        let digest = blob.reference().digest();
        let number = find_or_store(connection, key, digest, blob.bytes())?;
        let uses: Option<i64> = connection
            .prepare_cached(
                "INSERT INTO blob_uses (tenant, session, blob, uses, media_type, checksum) VALUES (?1, ?2, ?3, 1, ?4, ?5)
                 ON CONFLICT (tenant, session, blob)
                 DO UPDATE SET uses = uses + 1, media_type = excluded.media_type, checksum = excluded.checksum
                 WHERE media_type IS NULL RETURNING uses",
            )?
            .query_row(
                params![
                    key.tenant,
                    key.session,
                    number,
                    blob.media_type(),
                    kept_checksum(digest, blob.media_type())
                ],
                |row| row.get(0),
            )
            .optional()?;
        if uses == Some(1) {
            join(connection, key.tenant, number)?;
        }
    }
    Ok(())
}

/// Stores a payload of an item or a message, or finds it, and counts one more use of it. Gives its number.
pub(super) fn hold(connection: &Connection, key: SessionKey, payload: &Payload) -> rusqlite::Result<i64> {
    let number = find_or_store(connection, key, payload.digest, &payload.bytes)?;
    let uses: i64 = connection
        .prepare_cached(
            "INSERT INTO blob_uses (tenant, session, blob, uses) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT (tenant, session, blob) DO UPDATE SET uses = uses + 1 RETURNING uses",
        )?
        .query_row([key.tenant, key.session, number], |row| row.get(0))?;
    if uses == 1 {
        join(connection, key.tenant, number)?;
    }
    Ok(number)
}

fn find_or_store(connection: &Connection, key: SessionKey, digest: Digest, bytes: &[u8]) -> rusqlite::Result<i64> {
    let found = connection
        .prepare_cached(
            "SELECT blob, size, (SELECT min(next.blob) FROM blobs next WHERE next.blob > blobs.blob) FROM blobs
             WHERE tenant = ?1 AND digest = ?2",
        )?
        .query_row(params![key.tenant, digest.as_bytes()], |row| {
            Ok(Found { blob: row.get(0)?, size: row.get(1).ok(), next: row.get(2)? })
        })
        .optional()?;
    let Some(found) = found else { return store(connection, key.tenant, digest, bytes) };
    found.mend(connection, digest, bytes)?;
    Ok(found.blob)
}

/// A payload that the store has.
struct Found {
    blob: i64,
    /// As its row has it.
    size: Option<i64>,
    /// The payload behind it: its pieces end before that.
    next: Option<i64>,
}

impl Found {
    /// Writes what of it is damaged anew, now that its bytes are at hand: whoever stored them again is promised that they are there.
    fn mend(&self, connection: &Connection, digest: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
        let mut select = connection.prepare_cached("SELECT checksum, bytes FROM blob_pieces WHERE piece = ?1")?;
        for (position, piece) in cut(bytes) {
            let (number, expected) = (self.blob + int(position), piece_checksum(digest, position, piece));
            // Its place is another payload's: its own size and pieces are damaged both, and a read says so.
            if self.next.is_some_and(|next| number >= next) {
                break;
            }
            let same = |row: &Row<'_>| {
                Ok(row.bytes(0).is_ok_and(|checksum| checksum == expected)
                    && row.bytes(1).is_ok_and(|bytes| bytes == piece))
            };
            if !select.query_row([number], same).optional()?.unwrap_or(false) {
                tracing::warn!(blob = self.blob, position, "a piece of a payload was damaged, and is written anew");
                put(connection, number, &expected, piece)?;
            }
        }
        let size = int(bytes.len() as u64);
        if self.size != Some(size) {
            connection.prepare_cached("UPDATE blobs SET size = ?2 WHERE blob = ?1")?.execute([self.blob, size])?;
        }
        Ok(())
    }
}

fn store(connection: &Connection, tenant: i64, digest: Digest, bytes: &[u8]) -> rusqlite::Result<i64> {
    // Behind all pieces that are there, and those that the last payload should have.
    let number: i64 = connection
        .prepare_cached(
            "SELECT max(ifnull((SELECT max(piece) FROM blob_pieces), 0) + 1,
                        ifnull((SELECT blob + (max(size, 1) - 1) / ?1 + 1 FROM blobs ORDER BY blob DESC LIMIT 1), 1))",
        )?
        .query_row([PIECE as i64], |row| row.get(0))?;
    connection
        .prepare_cached("INSERT INTO blobs (blob, tenant, digest, size, uses) VALUES (?1, ?2, ?3, ?4, 0)")?
        .execute(params![number, tenant, digest.as_bytes(), int(bytes.len() as u64)])?;
    for (position, piece) in cut(bytes) {
        put(connection, number + int(position), &piece_checksum(digest, position, piece), piece)?;
    }
    Ok(number)
}

/// The pieces of a payload, with their positions from 0.
fn cut(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (0..pieces(bytes.len() as u64)).map(|position| {
        let rest = &bytes[usize::try_from(position).unwrap_or(usize::MAX) * PIECE..];
        (position, &rest[..rest.len().min(PIECE)])
    })
}

fn put(connection: &Connection, number: i64, checksum: &Checksum, piece: &[u8]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO blob_pieces (piece, checksum, bytes) VALUES (?1, ?2, ?3)")?
        .execute(params![number, checksum, piece])?;
    Ok(())
}

/// One more session uses a payload.
fn join(connection: &Connection, tenant: i64, blob: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE blobs SET uses = uses + 1 WHERE tenant = ?1 AND blob = ?2")?
        .execute([tenant, blob])?;
    Ok(())
}

/// One use less by a session; the last one takes the payload with it.
pub(super) fn release(connection: &Connection, key: SessionKey, blob: i64) -> rusqlite::Result<()> {
    let uses: Option<i64> = connection
        .prepare_cached(
            "UPDATE blob_uses SET uses = uses - 1 WHERE tenant = ?1 AND session = ?2 AND blob = ?3 RETURNING uses",
        )?
        .query_row([key.tenant, key.session, blob], |row| row.get(0))
        .optional()?;
    // Where the count is missing, `verify` says so: a turn must not fail over it.
    if uses == Some(0) { leave(connection, key, blob) } else { Ok(()) }
}

/// Lets go of at most `most` payloads of a session that is forgotten, whatever refers to them, and tells how many these were:
/// none when there are no more.
pub(crate) fn release_all(connection: &Connection, key: SessionKey, most: u32) -> rusqlite::Result<usize> {
    let mut select =
        connection.prepare_cached("SELECT blob FROM blob_uses WHERE tenant = ?1 AND session = ?2 LIMIT ?3")?;
    let blobs: Vec<i64> =
        select.query_map(params![key.tenant, key.session, most], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    blobs.iter().try_for_each(|blob| leave(connection, key, *blob))?;
    Ok(blobs.len())
}

fn leave(connection: &Connection, key: SessionKey, blob: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM blob_uses WHERE tenant = ?1 AND session = ?2 AND blob = ?3")?.execute([
        key.tenant,
        key.session,
        blob,
    ])?;
    let left: Option<i64> = connection
        .prepare_cached("UPDATE blobs SET uses = uses - 1 WHERE tenant = ?1 AND blob = ?2 RETURNING uses")?
        .query_row([key.tenant, blob], |row| row.get(0))
        .optional()?;
    // Below zero the count is damaged, and others may use it: `verify` says so.
    if left == Some(0) { remove(connection, key.tenant, blob) } else { Ok(()) }
}

/// Its pieces are all up to the next payload's. How many it should have is no guide: the column is covered by nothing, and what is
/// behind belongs to others.
fn remove(connection: &Connection, tenant: i64, blob: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM blob_pieces WHERE piece >= ?1
             AND piece < ifnull((SELECT min(blob) FROM blobs WHERE blob > ?1), 9223372036854775807)",
        )?
        .execute([blob])?;
    connection.prepare_cached("DELETE FROM blobs WHERE tenant = ?1 AND blob = ?2")?.execute([tenant, blob])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SessionKey = SessionKey { tenant: 1, session: 1 };
    const OTHER: SessionKey = SessionKey { tenant: 1, session: 2 };

    fn store() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(crate::schema::V1).unwrap();
        connection.execute_batch(crate::schema::V2).unwrap();
        connection.execute("INSERT INTO tenants (tenant, id) VALUES (1, 't')", []).unwrap();
        for session in [1, 2] {
            let sql =
                "INSERT INTO heads (tenant, session, head, chain, active_at, minute) VALUES (1, ?1, 0, x'', 0, 0)";
            connection.execute(sql, [session]).unwrap();
        }
        connection
    }

    fn number(connection: &Connection, sql: &str) -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn payload(size: usize) -> Payload {
        Payload { digest: Digest::of(&size.to_le_bytes()), bytes: vec![1; size] }
    }

    #[test]
    fn pieces_follow_each_other_and_none_is_left_behind() {
        let connection = store();
        let blobs = [PIECE + 1, 0, 2 * PIECE, 1].map(|size| hold(&connection, ONE, &payload(size)).unwrap());
        assert_eq!(blobs, [1, 3, 4, 6]);
        assert_eq!(number(&connection, "SELECT count(*) FROM blob_pieces"), 6);
        for blob in [blobs[2], blobs[0], blobs[3]] {
            release(&connection, ONE, blob).unwrap();
        }
        assert_eq!(number(&connection, "SELECT 10 * count(*) + sum(piece) FROM blob_pieces"), 13);
        release(&connection, ONE, blobs[1]).unwrap();
        assert_eq!(number(&connection, "SELECT (SELECT count(*) FROM blob_pieces) + (SELECT count(*) FROM blobs)"), 0);
    }

    #[test]
    fn a_session_that_is_forgotten_lets_go_piece_by_piece_of_what_is_its_own() {
        let connection = store();
        for size in 1..=5 {
            hold(&connection, ONE, &payload(size)).unwrap();
        }
        keep(&connection, ONE, &[NewBlob::new("text/plain", b"kept".to_vec())]).unwrap();
        for _ in 0..3 {
            hold(&connection, OTHER, &payload(5)).unwrap();
        }
        let left = || number(&connection, "SELECT count(*) FROM blobs");
        assert_eq!(left(), 6);
        assert_eq!(release_all(&connection, ONE, 4).unwrap(), 4);
        assert_eq!(release_all(&connection, ONE, 4).unwrap(), 2);
        assert_eq!(release_all(&connection, ONE, 4).unwrap(), 0);
        assert_eq!(left(), 1, "the other session uses it");
        assert_eq!(number(&connection, "SELECT uses FROM blobs"), 1);
        assert_eq!(release_all(&connection, OTHER, 4).unwrap(), 1);
        assert_eq!(left(), 0);
    }

    #[test]
    fn a_count_that_is_damaged_removes_nothing() {
        let connection = store();
        let blob = hold(&connection, ONE, &payload(7)).unwrap();
        hold(&connection, OTHER, &payload(7)).unwrap();
        connection.execute("UPDATE blobs SET uses = uses | (1 << 63)", []).unwrap();
        release(&connection, ONE, blob).unwrap();
        assert_eq!(number(&connection, "SELECT count(*) FROM blob_pieces"), 1);
    }
}
