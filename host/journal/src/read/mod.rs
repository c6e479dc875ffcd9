//! Reads, by subject. Each runs in a read transaction of its own on a connection that can't write, so that all its rows are of
//! one moment.

mod blobs;
mod executions;
mod feed;
mod host;
mod items;
mod plugin_state;
mod pool;
mod queue;
mod records;
mod replay;
mod sessions;
mod submissions;

use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

pub(crate) use blobs::{blob_info, blob_read};
pub(crate) use executions::executions;
pub(crate) use feed::{feed, latest};
pub(crate) use host::{check_global, generation_history, generations, global};
pub(crate) use items::{items, read_item};
pub(crate) use plugin_state::{check_state_value, state_keys, state_value};
pub(crate) use pool::Pool;
pub(crate) use queue::{queue, queued, queued_of};
pub(crate) use records::records;
pub use replay::{Batch, Replay};
pub(crate) use sessions::{open_session, sessions, sessions_with_operations, sessions_with_work};
pub(crate) use submissions::{check_op, find_submission, submission};

use crate::{
    Damaged, Direction, Page, Range, ReadError,
    codec::{PackedId, int},
    query::{MAX_PAGE, MAX_PAGE_BYTES},
    write::{Lane, SessionKey, is_forgotten},
};

/// A session's numbers; none when there never was such a session.
///
/// # Errors
/// The session was forgotten, or the store can't be read.
pub(crate) fn find_session(connection: &Connection, lane: &Lane) -> Result<Option<SessionKey>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT s.tenant, s.session FROM tenants t JOIN sessions s ON s.tenant = t.tenant AND s.id = ?2 WHERE t.id = ?1",
    )?;
    let found = statement.query_row(params![lane.tenant.as_str(), PackedId(lane.session.as_str())], |row| {
        Ok(SessionKey { tenant: row.get(0)?, session: row.get(1)? })
    });
    let found = found.optional()?;
    if found.is_none() {
        refuse_forgotten(connection, lane)?;
    }
    Ok(found)
}

/// Asked only where no session was found.
fn refuse_forgotten(connection: &Connection, lane: &Lane) -> Result<(), ReadError> {
    if is_forgotten(connection, lane)? { Err(ReadError::Gone) } else { Ok(()) }
}

/// The limit of a page, cut to what a page may hold.
fn page_limit(limit: u32) -> Result<usize, ReadError> {
    if limit == 0 { Err(ReadError::ZeroLimit) } else { Ok(limit.min(MAX_PAGE) as usize) }
}

/// A range in SQLite's numbers, both ends exclusive, with one row more than the page holds: it tells whether there are more.
struct Bounds {
    after: i64,
    before: i64,
    direction: Direction,
    limit: usize,
}

impl Bounds {
    fn new<K>(range: &Range<K>, number: fn(&K) -> u64) -> Result<Self, ReadError> {
        Ok(Self {
            after: range.after.as_ref().map_or(-1, |key| int(number(key))),
            before: range.before.as_ref().map_or(i64::MAX, |key| int(number(key))),
            direction: range.direction,
            limit: page_limit(range.limit)?,
        })
    }

    /// One of two texts: the order of a query can't be a parameter.
    fn choose<'a>(&self, forward: &'a str, backward: &'a str) -> &'a str {
        match self.direction {
            Direction::Forward => forward,
            Direction::Backward => backward,
        }
    }

    fn page<T>(&self, read: Vec<Result<T, Damaged>>) -> Page<T> {
        page(read, self.limit)
    }

    /// A page of rows that may be large: it ends at the limit, or when it holds enough bytes.
    fn fill<T>(
        &self,
        mut rows: Rows<'_>,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<(Result<T, Damaged>, usize)>,
    ) -> rusqlite::Result<Page<T>> {
        let mut page = Page { rows: Vec::new(), damaged: Vec::new(), more: false };
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next()? {
            if count == self.limit || bytes >= MAX_PAGE_BYTES {
                page.more = true;
                break;
            }
            let (row, size) = read(row)?;
            count += 1;
            bytes += size;
            match row {
                Ok(row) => page.rows.push(row),
                Err(damaged) => page.damaged.push(damaged),
            }
        }
        Ok(page)
    }

    fn lookahead(&self) -> i64 {
        int(self.limit as u64 + 1)
    }
}

/// A page of at most `limit`, from rows of which one more was asked for.
fn page<T>(mut read: Vec<Result<T, Damaged>>, limit: usize) -> Page<T> {
    let more = read.len() > limit;
    read.truncate(limit);
    let mut page = Page { rows: Vec::with_capacity(read.len()), damaged: Vec::new(), more };
    for row in read {
        match row {
            Ok(row) => page.rows.push(row),
            Err(damaged) => page.damaged.push(damaged),
        }
    }
    page
}
