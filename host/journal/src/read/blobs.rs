//! Large payloads: whole ones for the items and messages that refer to them, and parts of those that a session keeps, by reference.

use mainstay_protocol::{
    Digest,
    blob::{BlobInfo, BlobReference},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::find_session;
use crate::{
    Damage, ReadError,
    codec::{Columns, int},
    write::{Lane, PIECE, SessionKey, piece_checksum, pieces},
};

/// Bytes that one read gives at most.
const MOST_READ: usize = 1 << 20;

/// A payload that an item or a message refers to.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    blob: i64,
    size: u64,
    pub(super) digest: Digest,
}

/// Finds a payload by its number.
pub(super) fn find(connection: &Connection, blob: i64) -> rusqlite::Result<Result<Stored, Damage>> {
    let mut statement = connection.prepare_cached("SELECT digest, size FROM blobs WHERE blob = ?1")?;
    let mut rows = statement.query([blob])?;
    Ok(match rows.next()? {
        Some(row) => stored(blob, row).map_err(|_| Damage::Shape),
        None => Err(Damage::Missing),
    })
}

fn stored(blob: i64, row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored { blob, digest: row.digest(0)?, size: row.number(1)? })
}

/// All of a payload, checked against its digest. It ends where the next payload begins, so that a size that is damaged brings no others
/// into memory.
pub(super) fn whole(connection: &Connection, stored: Stored) -> rusqlite::Result<Result<Vec<u8>, Damage>> {
    let mut statement = connection.prepare_cached(
        "SELECT bytes FROM blob_pieces WHERE piece >= ?1
         AND piece < min(?2, ifnull((SELECT min(blob) FROM blobs WHERE blob > ?1), ?2)) ORDER BY piece",
    )?;
    let mut rows = statement.query([stored.blob, stored.blob.saturating_add(int(pieces(stored.size)))])?;
    let mut bytes = Vec::new();
    while let Some(row) = rows.next()? {
        match row.bytes(0) {
            Ok(piece) if (bytes.len() + piece.len()) as u64 <= stored.size => bytes.extend_from_slice(piece),
            Ok(_) => return Ok(Err(Damage::Digest)),
            Err(_) => return Ok(Err(Damage::Shape)),
        }
    }
    Ok(if Digest::of(&bytes) == stored.digest { Ok(bytes) } else { Err(Damage::Digest) })
}

/// What is known of a blob that a session keeps; none when it keeps none by this reference.
pub(crate) fn blob_info(
    connection: &Connection,
    lane: &Lane,
    reference: &BlobReference,
) -> Result<Option<BlobInfo>, ReadError> {
    let Some(key) = find_session(connection, lane)? else { return Ok(None) };
    let kept = find_kept(connection, key, reference)?;
    Ok(kept.map(|kept| BlobInfo { media_type: kept.media_type, size: kept.size }))
}

/// Bytes of a blob that a session keeps, from `offset`: at most `max` of them and at most 1 MiB; none when it keeps none by this
/// reference.
pub(crate) fn blob_read(
    connection: &Connection,
    lane: &Lane,
    reference: &BlobReference,
    offset: u64,
    max: usize,
) -> Result<Option<Vec<u8>>, ReadError> {
    let Some(key) = find_session(connection, lane)? else { return Ok(None) };
    let Some(kept) = find_kept(connection, key, reference)? else { return Ok(None) };
    let end = offset.saturating_add(max.min(MOST_READ) as u64).min(kept.size);
    let mut bytes = Vec::new();
    let mut at = offset;
    while at < end {
        let (position, skip) = (at / PIECE as u64, at % PIECE as u64);
        let wanted = end - at;
        let piece = piece(connection, &kept, reference.digest(), position)?;
        let rest = piece.get(usize::try_from(skip).unwrap_or(usize::MAX)..).filter(|rest| !rest.is_empty());
        let rest = rest.ok_or(DAMAGED)?;
        let taken = rest.len().min(usize::try_from(wanted).unwrap_or(usize::MAX));
        bytes.extend_from_slice(&rest[..taken]);
        at += taken as u64;
    }
    Ok(Some(bytes))
}

const DAMAGED: ReadError = ReadError::Damaged { what: "blob" };

struct Kept {
    blob: i64,
    size: u64,
    media_type: String,
}

/// A blob is found through the session that keeps it: who knows the digest of another session's bytes gets nothing.
fn find_kept(connection: &Connection, key: SessionKey, reference: &BlobReference) -> Result<Option<Kept>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT b.blob, b.size, u.media_type FROM blobs b
         JOIN blob_uses u ON u.tenant = b.tenant AND u.session = ?2 AND u.blob = b.blob
         WHERE b.tenant = ?1 AND b.digest = ?3 AND u.media_type IS NOT NULL",
    )?;
    let found = statement.query_row(params![key.tenant, key.session, reference.digest().as_bytes()], |row| {
        Ok(Kept { blob: row.get(0)?, size: row.number(1)?, media_type: row.get(2)? })
    });
    Ok(found.optional()?)
}

fn piece(connection: &Connection, kept: &Kept, digest: Digest, position: u64) -> Result<Vec<u8>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT checksum, bytes FROM blob_pieces WHERE piece = ?1")?;
    let found = statement.query_row([kept.blob.saturating_add(int(position))], |row| {
        let bytes = row.bytes(1).unwrap_or_default();
        let sound = row.bytes(0).is_ok_and(|checksum| checksum == piece_checksum(digest, position, bytes));
        Ok(sound.then(|| bytes.to_vec()))
    });
    found.optional()?.flatten().ok_or(DAMAGED)
}
