//! Transcript items by id, with their payloads and private parts.

use mainstay_protocol::{
    CallIndex, ItemId, StepIndex,
    content::{Item, ItemBody, PrivatePart},
};
use rusqlite::{Connection, Row, params, types::ValueRef};

use super::{Bounds, blobs, find_session};
use crate::{
    Damage, Damaged, Page, Place, Range, ReadError,
    codec::{Columns, int},
    payload,
    write::{Lane, Large, SessionKey, item_checksum},
};

const FORWARD: &str = "
    SELECT item FROM items
    WHERE tenant = ?1 AND session = ?2 AND item > ?3 AND item < ?4 AND piece = 0 ORDER BY item LIMIT ?5";
const BACKWARD: &str = "
    SELECT item FROM items
    WHERE tenant = ?1 AND session = ?2 AND item > ?3 AND item < ?4 AND piece = 0 ORDER BY item DESC LIMIT ?5";

pub(crate) fn items(connection: &Connection, lane: &Lane, range: &Range<ItemId>) -> Result<Page<Item>, ReadError> {
    let bounds = Bounds::new(range, |item| item.0)?;
    let Some(key) = find_session(connection, lane)? else {
        return Ok(bounds.page(Vec::new()));
    };
    let mut statement = connection.prepare_cached(bounds.choose(FORWARD, BACKWARD))?;
    let rows = statement.query(params![key.tenant, key.session, bounds.after, bounds.before, bounds.lookahead()])?;
    let page = bounds.fill(rows, |row| {
        let id = ItemId(row.number(0)?);
        let item = read_item(connection, key, id)?;
        let bytes = item.as_ref().map_or(0, Item::bytes);
        Ok((item.map_err(|damage| Damaged { at: Place::Item(id), damage }), bytes))
    })?;
    Ok(page)
}

const PIECES: &str = "
    SELECT at, turn, step, call, checksum, context_group, extras, private, body, blob, private_blob FROM items
    WHERE tenant = ?1 AND session = ?2 AND item = ?3 ORDER BY piece";

/// Puts an item together from its pieces and from what is large of it.
pub(crate) fn read_item(
    connection: &Connection,
    key: SessionKey,
    id: ItemId,
) -> rusqlite::Result<Result<Item, Damage>> {
    let mut statement = connection.prepare_cached(PIECES)?;
    let mut rows = statement.query([key.tenant, key.session, int(id.0)])?;
    let mut parts = match rows.next()?.map(|row| first_piece(row, id)) {
        None => return Ok(Err(Damage::Missing)),
        Some(Err(_)) => return Ok(Err(Damage::Shape)),
        Some(Ok(parts)) => parts,
    };
    while let Some(row) = rows.next()? {
        if parts.extend(row).is_err() {
            return Ok(Err(Damage::Shape));
        }
    }
    parts.assemble(connection)
}

/// An item on its way out of its pieces.
struct Parts {
    item: Item,
    checksum: Vec<u8>,
    body: Vec<u8>,
    payload: Option<i64>,
    private_payload: Option<i64>,
}

fn first_piece(row: &Row<'_>, id: ItemId) -> rusqlite::Result<Parts> {
    let turn = if row.get_ref(1)? == ValueRef::Null { None } else { Some(row.id(1)?) };
    let private_part =
        row.get::<_, Option<String>>(5)?.map(|context_group| PrivatePart { context_group, bytes: Vec::new() });
    let item = Item {
        id,
        at: row.time(0)?,
        turn,
        step: row.get::<_, Option<u32>>(2)?.map(StepIndex),
        call: row.get::<_, Option<u32>>(3)?.map(CallIndex),
        body: ItemBody::Reasoning(String::new()),
        private_part,
        extras: row.get(6)?,
    };
    let mut parts = Parts {
        item,
        checksum: row.bytes(4)?.to_vec(),
        body: Vec::new(),
        payload: row.get(9)?,
        private_payload: row.get(10)?,
    };
    parts.extend(row)?;
    Ok(parts)
}

impl Parts {
    fn extend(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        self.body.extend_from_slice(row.bytes(8)?);
        if let Some(private_part) = &mut self.item.private_part
            && row.get_ref(7)? != ValueRef::Null
        {
            private_part.bytes.extend_from_slice(row.bytes(7)?);
        }
        Ok(())
    }

    fn assemble(self, connection: &Connection) -> rusqlite::Result<Result<Item, Damage>> {
        // Errors of the store outside, damage of the item inside.
        let find =
            |blob: Option<i64>| blob.map(|blob| blobs::find(connection, blob)).transpose().map(Option::transpose);
        let whole = |stored| Option::map(stored, |stored| blobs::whole(connection, stored)).transpose();
        let (payload, private) = match (find(self.payload)?, find(self.private_payload)?) {
            (Ok(payload), Ok(private)) => (payload, private),
            (Err(damage), _) | (_, Err(damage)) => return Ok(Err(damage)),
        };
        let large = Large { payload: payload.map(|found| found.digest), private: private.map(|found| found.digest) };
        if item_checksum(&self.item, &self.body, large) != self.checksum.as_slice() {
            return Ok(Err(Damage::Digest));
        }
        Ok(match (whole(payload)?.transpose(), whole(private)?.transpose()) {
            (Ok(payload), Ok(private)) => self.finish(payload, private),
            (Err(damage), _) | (_, Err(damage)) => Err(damage),
        })
    }

    fn finish(mut self, payload: Option<Vec<u8>>, private: Option<Vec<u8>>) -> Result<Item, Damage> {
        self.item.body = serde_json::from_slice(&self.body).map_err(|_| Damage::Shape)?;
        if let Some(payload) = payload {
            payload::join(&mut self.item.body, payload).ok_or(Damage::Shape)?;
        }
        if let (Some(bytes), Some(part)) = (private, &mut self.item.private_part) {
            part.bytes = bytes;
        }
        Ok(self.item)
    }
}
