//! The host's own session: lifecycle records, and with them which builds are active.

use mainstay_protocol::{
    Digest, PluginName, Timestamp,
    record::{NewRecord, StoredRecord},
};
use rusqlite::{Connection, Row, params, types::ValueRef};
use tokio::sync::oneshot;

use super::{Failure, Job, Lane, integrity, landed::Mark, prepare::PreparedRecord, records, sessions};
use crate::{
    CommitError, Committed, GenerationChange, GenerationOrigin, GenerationRow, Priority,
    codec::{Checksum, Columns, checksum, impossible, int},
    feed::Gathering,
    host_session, host_tenant,
};

type Answer = Result<Committed<Vec<StoredRecord>>, CommitError>;

pub(crate) struct AppendHostRecords {
    lane: Lane,
    records: Vec<PreparedRecord>,
    changes: Vec<GenerationChange>,
    applied: Option<(Vec<StoredRecord>, Mark)>,
    reply: oneshot::Sender<Answer>,
}

impl AppendHostRecords {
    pub(crate) fn new(
        records: Vec<NewRecord>,
        changes: Vec<GenerationChange>,
        reply: oneshot::Sender<Answer>,
    ) -> Result<Self, CommitError> {
        if records.is_empty() {
            return Err(integrity("a change of the host has at least one record"));
        }
        let records = records.into_iter().map(PreparedRecord::new).collect::<Result<_, _>>()?;
        let lane = Lane { tenant: host_tenant(), session: host_session() };
        Ok(Self { lane, records, changes, applied: None, reply })
    }
}

impl Job for AppendHostRecords {
    fn lane(&self) -> Option<&Lane> {
        Some(&self.lane)
    }

    fn priority(&self) -> Priority {
        Priority::Terminal
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        let mut head = match sessions::find(connection, &self.lane)? {
            Some(head) => head,
            None => sessions::create(connection, &self.lane, self.records[0].at)?,
        };
        let records = records::append(connection, &self.lane, &mut head, &self.records)?;
        self.changes.iter().try_for_each(|change| change_generation(connection, change))?;
        sessions::advance(connection, &head)?;
        self.applied = Some((records, Mark::of(&head)));
        Ok(())
    }

    fn landed(&self, connection: &Connection) -> rusqlite::Result<Option<bool>> {
        self.applied.as_ref().map_or(Ok(None), |(_, mark)| mark.is_in(connection, &self.lane))
    }

    fn tell(&self, feed: &mut Gathering) {
        if let Some((records, _)) = &self.applied {
            feed.take(records::sizes(records, &self.records), None);
        }
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        let Self { applied, reply, .. } = *self;
        let _ = reply.send(outcome.map(|()| {
            let (records, _) = applied.expect("what is committed was applied");
            Committed::new(records)
        }));
    }
}

fn change_generation(connection: &Connection, change: &GenerationChange) -> rusqlite::Result<()> {
    match change {
        GenerationChange::Activate(row) => {
            retire(connection, &row.plugin, row.activated_at)?;
            activate(connection, row)
        }
        GenerationChange::Retire { plugin, at } => retire(connection, plugin, *at),
    }
}

fn retire(connection: &Connection, plugin: &PluginName, at: Timestamp) -> rusqlite::Result<()> {
    let sql = format!("SELECT {GENERATION} FROM generations WHERE plugin = ?1 AND retired_at IS NULL");
    let active: Vec<(i64, bool)> = connection
        .prepare_cached(&sql)?
        .query_map([plugin.as_str()], |row| Ok((row.get(1)?, is_sound_generation(row))))?
        .collect::<rusqlite::Result<_>>()?;
    for (generation, sound) in active {
        connection
            .prepare_cached("UPDATE generations SET retired_at = ?3 WHERE plugin = ?1 AND generation = ?2")?
            .execute(params![plugin.as_str(), generation, int(at.0)])?;
        // One that is damaged is replaced like any other, and must not look sound afterwards.
        if sound {
            seal(connection, plugin, generation)?;
        }
    }
    Ok(())
}

fn activate(connection: &Connection, row: &GenerationRow) -> rusqlite::Result<()> {
    let entry = match &row.origin {
        GenerationOrigin::Manifest => None,
        GenerationOrigin::Override { entry } => Some(entry),
    };
    let generation = connection
        .prepare_cached(
            "INSERT INTO generations (plugin, generation, sha256, package, version, activated_at, override_entry)
             SELECT ?1, ifnull(max(generation), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM generations WHERE plugin = ?1
             RETURNING generation",
        )?
        .query_row(
            params![
                row.plugin.as_str(),
                row.sha256.as_bytes(),
                row.package.as_bytes(),
                row.version,
                int(row.activated_at.0),
                entry.map(Digest::as_bytes)
            ],
            |row| row.get(0),
        )?;
    seal(connection, &row.plugin, generation)
}

/// What a build's checksum covers, and the checksum.
pub(crate) const GENERATION: &str =
    "plugin, generation, sha256, package, version, activated_at, retired_at, override_entry, checksum";

/// Covers a row with the columns of [`GENERATION`].
fn generation_checksum(row: &Row<'_>) -> rusqlite::Result<Checksum> {
    let bytes = |column| match row.get_ref(column)? {
        ValueRef::Integer(number) => Ok(number.to_le_bytes().to_vec()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
        ValueRef::Null => Ok(Vec::new()),
        ValueRef::Real(_) => Err(impossible(column)),
    };
    let fields = (0..8).map(bytes).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(checksum("mainstay/generation/1", &fields.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Whether a row with the columns of [`GENERATION`] is what was written. Format 1 wrote no checksum.
pub(crate) fn is_sound_generation(row: &Row<'_>) -> bool {
    match row.get_ref(8) {
        Ok(ValueRef::Null) => true,
        _ => row.bytes(8).ok().zip(generation_checksum(row).ok()).is_some_and(|(stored, given)| stored == given),
    }
}

/// Gives a row the checksum of what it holds.
fn seal(connection: &Connection, plugin: &PluginName, generation: i64) -> rusqlite::Result<()> {
    let key = params![plugin.as_str(), generation];
    let sql = format!("SELECT {GENERATION} FROM generations WHERE plugin = ?1 AND generation = ?2");
    let checksum = connection.prepare_cached(&sql)?.query_row(key, generation_checksum)?;
    connection
        .prepare_cached("UPDATE generations SET checksum = ?3 WHERE plugin = ?1 AND generation = ?2")?
        .execute(params![plugin.as_str(), generation, checksum])?;
    Ok(())
}
