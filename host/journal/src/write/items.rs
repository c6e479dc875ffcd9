//! Appending to the transcript. What is large of an item goes into a row of its own; the rest is cut into pieces.

use mainstay_protocol::{
    Digest, ItemId, Timestamp, TurnId,
    content::{Item, PrivatePart},
};
use rusqlite::{Connection, params};

use super::{blobs, integrity, sessions::SessionKey};
use crate::{
    CommitError,
    codec::{Checksum, PackedId, checksum, int},
    payload::{self, Payload},
};

/// An item, encoded.
pub(super) struct PreparedItem {
    pub(super) id: ItemId,
    at: Timestamp,
    turn: Option<TurnId>,
    step: Option<u32>,
    call: Option<u32>,
    checksum: Checksum,
    context_group: Option<String>,
    private: Vec<u8>,
    extras: Option<String>,
    encoded: String,
    payload: Option<Payload>,
    private_payload: Option<Payload>,
}

impl PreparedItem {
    pub(super) fn new(mut item: Item) -> Result<Self, CommitError> {
        let private_payload = item.private_part.as_mut().and_then(take_if_large);
        let body = std::mem::replace(&mut item.body, mainstay_protocol::content::ItemBody::Reasoning(String::new()));
        let (encoded, payload) = payload::split(body).map_err(|_| integrity("content is JSON"))?;
        let large = Large {
            payload: payload.as_ref().map(|payload| payload.digest),
            private: private_payload.as_ref().map(|payload| payload.digest),
        };
        Ok(Self {
            checksum: item_checksum(&item, encoded.as_bytes(), large),
            encoded,
            payload,
            private_payload,
            id: item.id,
            at: item.at,
            turn: item.turn,
            step: item.step.map(|step| step.0),
            call: item.call.map(|call| call.0),
            context_group: item.private_part.as_ref().map(|part| part.context_group.clone()),
            private: item.private_part.map(|part| part.bytes).unwrap_or_default(),
            extras: item.extras,
        })
    }
}

fn take_if_large(part: &mut PrivatePart) -> Option<Payload> {
    Payload::if_large(std::mem::take(&mut part.bytes)).map_err(|small| part.bytes = small).ok()
}

/// The digests of what is large of an item, and therefore not in its row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Large {
    pub(crate) payload: Option<Digest>,
    pub(crate) private: Option<Digest>,
}

/// Covers all of an item as its row has it: each field and whether it is there, and the digests of what is elsewhere.
pub(crate) fn item_checksum(item: &Item, body: &[u8], large: Large) -> Checksum {
    let numbers =
        [Some(item.id.0), Some(item.at.0), item.step.map(|step| step.0.into()), item.call.map(|call| call.0.into())];
    let numbers = numbers.map(|number| number.map_or_else(Vec::new, |number: u64| number.to_le_bytes().to_vec()));
    let private = item.private_part.as_ref();
    let mut fields: Vec<&[u8]> = vec![
        &numbers[0],
        &numbers[1],
        &numbers[2],
        &numbers[3],
        item.turn.as_ref().map_or(&[], |turn| turn.as_str().as_bytes()),
        private.map_or(&[], |part| part.context_group.as_bytes()),
        private.map_or(&[], |part| &part.bytes),
        item.extras.as_deref().unwrap_or_default().as_bytes(),
        body,
    ];
    // Rows without anything large are as format 1 had them.
    if large.payload.is_some() || large.private.is_some() {
        fields.extend(
            [&large.payload, &large.private].map(|digest| digest.as_ref().map_or(&[][..], |digest| digest.as_bytes())),
        );
    }
    checksum("mainstay/item/1", &fields)
}

/// Their ids were held against the session's last item: see `rules.rs`.
pub(super) fn append(connection: &Connection, key: SessionKey, items: &[PreparedItem]) -> rusqlite::Result<()> {
    items.iter().try_for_each(|item| insert(connection, key, item))
}

fn insert(connection: &Connection, key: SessionKey, item: &PreparedItem) -> rusqlite::Result<()> {
    let mut pieces = cut(&item.encoded, &item.private).into_iter().enumerate();
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
    let hold =
        |payload: &Option<Payload>| payload.as_ref().map(|payload| blobs::hold(connection, key, payload)).transpose();
    connection
        .prepare_cached(
            "INSERT INTO items (tenant, session, item, piece, at, turn, step, call, checksum, context_group, extras, private, body,
                                blob, private_blob)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
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
            item.context_group,
            item.extras,
            piece.private(),
            piece.body,
            hold(&item.payload)?,
            hold(&item.private_payload)?
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
