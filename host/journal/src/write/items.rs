//! Appending to the transcript.

use rusqlite::{Connection, params};

use super::{Failure, integrity, prepare::PreparedItem, sessions::SessionKey};
use crate::codec::{PackedId, int};

pub(super) fn append(connection: &Connection, key: SessionKey, items: &[PreparedItem]) -> Result<(), Failure> {
    let Some(first) = items.first() else {
        return Ok(());
    };
    if int(first.id.0) <= last(connection, key)? {
        return Err(integrity("items are appended").into());
    }
    items.iter().try_for_each(|item| insert(connection, key, item)).map_err(Failure::from)
}

fn last(connection: &Connection, key: SessionKey) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT ifnull(max(item), 0) FROM items WHERE tenant = ?1 AND session = ?2")?
        .query_row([key.tenant, key.session], |row| row.get(0))
}

fn insert(connection: &Connection, key: SessionKey, item: &PreparedItem) -> rusqlite::Result<()> {
    let private = item.private_part.as_ref().map_or(&[][..], |part| &part.bytes);
    let mut pieces = cut(&item.encoded, private).into_iter().enumerate();
    if let Some((_, first)) = pieces.next() {
        insert_first(connection, key, item, first)?;
    }
    pieces.try_for_each(|(number, piece)| insert_next(connection, key, item, number, piece))
}

fn insert_first(
    connection: &Connection,
    key: SessionKey,
    item: &PreparedItem,
    piece: Piece<'_>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO items (tenant, session, item, piece, at, turn, step, call, checksum, context_group, extras, private, body)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            key.tenant,
            key.session,
            int(item.id.0),
            int(item.at.0),
            item.turn.as_ref().map(|turn| PackedId(turn.as_str())),
            item.step,
            item.call,
            item.checksum,
            item.private_part.as_ref().map(|part| &part.context_group),
            item.extras,
            piece.private(),
            piece.body
        ])?;
    Ok(())
}

fn insert_next(
    connection: &Connection,
    key: SessionKey,
    item: &PreparedItem,
    number: usize,
    piece: Piece<'_>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO items (tenant, session, item, piece, private, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key.tenant, key.session, int(item.id.0), int(number as u64), piece.private(), piece.body])?;
    Ok(())
}

/// Bytes of a piece: with the other columns, a row of less than a quarter page, so that four fill a page. Whole rows of one to
/// four kilobytes would leave up to half of each page empty.
const PIECE: usize = 890;
/// More than this fills pages of its own well enough, in one row.
const LARGEST_CUT: usize = 16 << 10;

/// What one row holds of an item's body and private part.
#[derive(Clone, Copy)]
struct Piece<'a> {
    body: &'a str,
    private: &'a [u8],
}

impl Piece<'_> {
    fn private(&self) -> Option<&[u8]> {
        Some(self.private).filter(|private| !private.is_empty())
    }
}

/// Cuts the body at character boundaries, and after it the private part.
fn cut<'a>(mut body: &'a str, mut private: &'a [u8]) -> Vec<Piece<'a>> {
    if body.len() + private.len() > LARGEST_CUT {
        return vec![Piece { body, private }];
    }
    let mut pieces = Vec::new();
    while pieces.is_empty() || !body.is_empty() || !private.is_empty() {
        let (piece, rest) = body.split_at(body.floor_char_boundary(PIECE));
        let room = if rest.is_empty() { PIECE - piece.len() } else { 0 };
        let (private_piece, private_rest) = private.split_at(private.len().min(room));
        pieces.push(Piece { body: piece, private: private_piece });
        (body, private) = (rest, private_rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, private: &[u8], expected: &[(usize, usize)]) {
        let pieces = cut(body, private);
        let sizes: Vec<_> = pieces.iter().map(|piece| (piece.body.len(), piece.private.len())).collect();
        assert_eq!(sizes, expected);
        assert_eq!(pieces.iter().map(|piece| piece.body).collect::<String>(), body);
        assert_eq!(pieces.iter().flat_map(|piece| piece.private).copied().collect::<Vec<_>>(), private);
    }

    #[test]
    fn pieces_are_even_and_lose_nothing() {
        check("", b"", &[(0, 0)]);
        check("abc", b"xy", &[(3, 2)]);
        check(&"x".repeat(PIECE), b"", &[(PIECE, 0)]);
        check(&"x".repeat(PIECE + 1), &[7; PIECE], &[(PIECE, 0), (1, PIECE - 1), (0, 1)]);
        // A character of three bytes does not fit the last two bytes of a piece.
        check(&"\u{20ac}".repeat(300), b"", &[(888, 0), (12, 0)]);
        let huge = "x".repeat(LARGEST_CUT);
        check(&huge, b"x", &[(LARGEST_CUT, 1)]);
    }
}
