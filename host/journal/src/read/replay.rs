//! The last batches of a session. A batch is what one commit wrote: its records end at the one with a stored chain. Where the
//! batches are is read at once; what is in them is read one by one, so that never more than a commit is held.

use std::collections::VecDeque;

use mainstay_protocol::{ItemId, Ordinal, content::Item, record::StoredRecord};
use rusqlite::{Connection, OptionalExtension};

use super::{Pool, find_session, items, records};
use crate::{
    Damaged, MAX_PAGE, Range, ReadError,
    codec::{Columns, int},
    write::{Lane, SessionKey},
};

/// The last batches of a session, oldest first. What is committed after they were asked for is not among them: who goes on from
/// [`head`](Self::head) gets that.
#[derive(Debug)]
pub struct Replay {
    pool: Pool,
    lane: Lane,
    marks: Marks,
}

/// What one commit wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Its records, in order.
    pub records: Vec<StoredRecord>,
    /// The items that came with them, in order, with their private parts.
    pub items: Vec<Item>,
    /// Its records and items that can't be read.
    pub damaged: Vec<Damaged>,
}

impl Replay {
    pub(crate) async fn find(pool: Pool, lane: Lane, batches: u32) -> Result<Self, ReadError> {
        let of = lane.clone();
        let marks = pool.run(move |connection| marks(connection, &of, batches.min(MAX_PAGE))).await?;
        Ok(Self { pool, lane, marks })
    }

    /// The record before the first of the batches that are left.
    pub const fn after(&self) -> Ordinal {
        self.marks.after
    }

    /// The last record of the last batch, and of the session when this was asked for; 0 when there is no such session.
    pub const fn head(&self) -> Ordinal {
        self.marks.head
    }

    /// How many batches are left.
    pub fn len(&self) -> usize {
        self.marks.ends.len()
    }

    /// Whether no batch is left.
    pub fn is_empty(&self) -> bool {
        self.marks.ends.is_empty()
    }

    /// The next batch; none after the last. After an error, and when the future is dropped, it can be asked for again.
    ///
    /// # Errors
    /// The journal can't be read, or it is closed.
    pub async fn next(&mut self) -> Result<Option<Batch>, ReadError> {
        let Some(end) = self.marks.ends.front().copied() else { return Ok(None) };
        let (lane, after) = (self.lane.clone(), self.marks.after);
        let batch = self.pool.run(move |connection| batch(connection, &lane, after, end)).await?;
        self.marks.after = end;
        self.marks.ends.pop_front();
        Ok(Some(batch))
    }
}

/// Where batches end.
#[derive(Debug, Default)]
struct Marks {
    after: Ordinal,
    head: Ordinal,
    ends: VecDeque<Ordinal>,
}

const HEAD: &str = "SELECT head FROM heads WHERE tenant = ?1 AND session = ?2";
const ENDS: &str = "
    SELECT ordinal FROM records WHERE tenant = ?1 AND session = ?2 AND ordinal < ?3 AND chain IS NOT NULL
    ORDER BY ordinal DESC LIMIT ?4";

/// Walks back from the head over no more records than the batches have.
fn marks(connection: &Connection, lane: &Lane, batches: u32) -> Result<Marks, ReadError> {
    let Some(SessionKey { tenant, session }) = find_session(connection, lane)? else {
        return Ok(Marks::default());
    };
    let mut statement = connection.prepare_cached(HEAD)?;
    let head = statement.query_row([tenant, session], |row| row.number(0)).optional()?.map(Ordinal);
    // The head ends a batch whether its mark can be read or not.
    let Some(head) = head.filter(|head| head.0 > 0) else { return Ok(Marks::default()) };
    let mut statement = connection.prepare_cached(ENDS)?;
    let before = statement
        .query_map([tenant, session, int(head.0), batches.into()], |row| row.number(0).map(Ordinal))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut ends: VecDeque<_> = std::iter::once(head).chain(before).collect();
    let after = if ends.len() > batches as usize { ends.pop_back().unwrap_or_default() } else { Ordinal(0) };
    ends.make_contiguous().reverse();
    Ok(Marks { after, head, ends })
}

fn batch(connection: &Connection, lane: &Lane, mut after: Ordinal, end: Ordinal) -> Result<Batch, ReadError> {
    let mut batch = Batch::default();
    loop {
        let page = records(connection, lane, &Range::forward(MAX_PAGE).after(after).before(end.next()))?;
        let reached = page.reached();
        batch.records.extend(page.rows);
        batch.damaged.extend(page.damaged);
        match reached.filter(|_| page.more) {
            Some(reached) => after = reached,
            None => break,
        }
    }
    let mut spans: Vec<_> = batch.records.iter().filter_map(|record| record.body.items()).collect();
    spans.sort_unstable_by_key(|span| span.first);
    let mut reached = ItemId(0);
    for span in spans {
        let past = ItemId(span.first.0.saturating_add(span.count.into()));
        reached = reached.max(ItemId(span.first.0.saturating_sub(1)));
        loop {
            let page = items(connection, lane, &Range::forward(MAX_PAGE).after(reached).before(past))?;
            let last = page.reached();
            batch.items.extend(page.rows);
            batch.damaged.extend(page.damaged);
            match last.filter(|_| page.more) {
                Some(last) => reached = last,
                None => break,
            }
        }
        reached = reached.max(ItemId(past.0.saturating_sub(1)));
    }
    Ok(batch)
}
