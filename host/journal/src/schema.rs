//! The tables. Each migration's text is frozen once released; what comes later is a new one.
//!
//! Tenants and sessions are interned: a tenant has a number, and a session has a number within its tenant. Nothing is found
//! by a session's number alone; the tenant leads every key. A text id that is a UUID in its usual form is stored as its 16
//! bytes (columns of type ANY), any other as text.

/// Tells our files from other SQLite files: "MSTY".
pub(crate) const APPLICATION_ID: i32 = 0x4d53_5459;

/// Format 1.
///
/// Tables that are read in key order are WITHOUT ROWID: the key is the tree. SQLite moves a row of such a table that is larger
/// than a quarter page to pages of its own, so a table whose rows are often larger keeps its rowid.
pub(crate) const V1: &str = "
-- Facts of the store: store_epoch (16 random bytes; a restored copy gets others), minimum_compatible_version.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may write. A host that opens the folder takes the next epoch; each transaction checks that it is still its own.
CREATE TABLE lease (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    holder BLOB    NOT NULL,
    epoch  INTEGER NOT NULL
) STRICT;

-- `sessions` counts the numbers given out: a number is never used twice.
CREATE TABLE tenants (
    tenant   INTEGER NOT NULL PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE,
    sessions INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What a session is: written when it is created, and when its metadata is replaced.
CREATE TABLE sessions (
    tenant     INTEGER NOT NULL REFERENCES tenants (tenant),
    id         ANY     NOT NULL,
    session    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    labels     TEXT    NOT NULL,
    metadata   TEXT,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
-- Query: the id of a session that a list or the feed found by number; also what the tables below refer to.
CREATE UNIQUE INDEX sessions_by_number ON sessions (tenant, session);

-- Where a session stands: the one row that every commit rewrites. `minute` is active_at in whole minutes and `busy` tells whether
-- phase is not idle: they are apart so that most commits change no index. The host's own session has no phase and no state.
CREATE TABLE heads (
    tenant    INTEGER NOT NULL,
    session   INTEGER NOT NULL,
    head      INTEGER NOT NULL,
    chain     BLOB    NOT NULL,
    active_at INTEGER NOT NULL,
    minute    INTEGER NOT NULL,
    busy      INTEGER NOT NULL DEFAULT 0,
    phase     TEXT,
    route     TEXT,
    turns     INTEGER NOT NULL DEFAULT 0,
    state     BLOB,
    checksum  BLOB,
    PRIMARY KEY (tenant, session),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, session)
) STRICT;
-- Query: `sessions`, the list of a tenant, newest activity first; those of one minute are sorted when they are read.
CREATE INDEX heads_by_activity ON heads (tenant, minute);
-- Query: `sessions_with_work`, at start. A second index, and a small one: it holds only sessions that are not idle.
CREATE INDEX heads_with_work ON heads (tenant, session) WHERE busy;

-- The names of record kinds, known and unknown.
CREATE TABLE kinds (
    kind INTEGER NOT NULL PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

-- Immutable facts. `seq` is set for feed events; `chain` is kept at the last record of each transition, which is often enough
-- to go on after damage.
CREATE TABLE records (
    tenant  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    seq     INTEGER,
    at      INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    chain   BLOB,
    body    TEXT    NOT NULL,
    PRIMARY KEY (tenant, session, ordinal),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- The global order of feed events. AUTOINCREMENT: a position is never used twice, whatever is deleted.
CREATE TABLE feed (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL
) STRICT;

-- The transcript: appended, never rewritten. Body and private part of an item are cut into pieces that pack well into pages; piece 0
-- has the other columns. A body that is stored once elsewhere will be a reference in a column of its own.
CREATE TABLE items (
    tenant        INTEGER NOT NULL,
    session       INTEGER NOT NULL,
    item          INTEGER NOT NULL,
    piece         INTEGER NOT NULL,
    at            INTEGER,
    turn          ANY,
    step          INTEGER,
    call          INTEGER,
    checksum      BLOB,
    context_group TEXT,
    extras        TEXT,
    private       BLOB,
    body          TEXT    NOT NULL,
    PRIMARY KEY (tenant, session, item, piece),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- Messages that wait, with their content.
CREATE TABLE queue (
    tenant     INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    accepted   INTEGER NOT NULL,
    submission ANY     NOT NULL,
    delivery   TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    checksum   BLOB    NOT NULL,
    content    TEXT    NOT NULL,
    PRIMARY KEY (tenant, session, accepted),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- Ops that were accepted: by these a repetition is recognised.
CREATE TABLE submissions (
    tenant     INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    submission ANY     NOT NULL,
    ordinal    INTEGER NOT NULL,
    accepted   INTEGER,
    digest     BLOB    NOT NULL,
    PRIMARY KEY (tenant, session, submission),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- What plugins keep with a session, by the ordinal that wrote it; no value means deleted. Only the newest row of a key is
-- kept until something (a fork, a generation that may be rolled back to) needs an older one.
CREATE TABLE plugin_state (
    tenant  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    plugin  TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    value   BLOB,
    PRIMARY KEY (tenant, session, plugin, key, ordinal),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT;

-- Builds that are (retired_at is null) or were active. `package` is the digest of the whole package: the component with what its
-- author says of it. `override_entry` is set when a person chose the build over the manifest:
-- the digest of the manifest's entry at that time.
CREATE TABLE generations (
    plugin         TEXT    NOT NULL,
    generation     INTEGER NOT NULL,
    sha256         BLOB    NOT NULL,
    package        BLOB    NOT NULL,
    version        TEXT    NOT NULL,
    activated_at   INTEGER NOT NULL,
    retired_at     INTEGER,
    override_entry BLOB,
    PRIMARY KEY (plugin, generation)
) STRICT, WITHOUT ROWID;

-- Small values of the host outside any session.
CREATE TABLE globals (
    key   TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

INSERT INTO meta VALUES ('store_epoch', randomblob(16)), ('minimum_compatible_version', 1);
INSERT INTO lease VALUES (1, x'', 0);
";

/// Format 2: the feed can be filtered, turns have a summary of their own, sessions can be forgotten, and large payloads lie once in a
/// table of their own. A build of format 1 would leave columns of this one empty, so it must not write here.
///
/// Foreign keys are off while this runs: `heads` is made anew. `migrations/format_2.rs` then fills `executions`.
pub(crate) const V2: &str = "
-- The kind of an event, so that a filter finds it without its record.
ALTER TABLE feed ADD COLUMN kind INTEGER;
UPDATE feed SET kind = (SELECT kind FROM records r
    WHERE r.tenant = feed.tenant AND r.session = feed.session AND r.ordinal = feed.ordinal);

-- `heads` without the reference to `sessions`: the name of a forgotten session goes at once, its rows follow piece by piece.
-- `operating` tells whether an owned operation runs. `turns`, `aborted`, `accepted`, `item` and `context_epoch` are in the state too,
-- and only ever rise: a commit is held against them. `ops` counts the session's rows of `submissions`: records don't name every op,
-- so that nothing else would miss one.
CREATE TABLE heads_2 (
    tenant        INTEGER NOT NULL,
    session       INTEGER NOT NULL,
    head          INTEGER NOT NULL,
    chain         BLOB    NOT NULL,
    active_at     INTEGER NOT NULL,
    minute        INTEGER NOT NULL,
    busy          INTEGER NOT NULL DEFAULT 0,
    operating     INTEGER NOT NULL DEFAULT 0,
    phase         TEXT,
    route         TEXT,
    turns         INTEGER NOT NULL DEFAULT 0,
    aborted       INTEGER NOT NULL DEFAULT 0,
    accepted      INTEGER NOT NULL DEFAULT 0,
    item          INTEGER NOT NULL DEFAULT 0,
    context_epoch INTEGER NOT NULL DEFAULT 0,
    ops           INTEGER NOT NULL DEFAULT 0,
    state         BLOB,
    checksum      BLOB,
    PRIMARY KEY (tenant, session)
) STRICT;
INSERT INTO heads_2 (tenant, session, head, chain, active_at, minute, busy, phase, route, turns, aborted, accepted, item,
                     context_epoch, ops, state, checksum)
    SELECT tenant, session, head, chain, active_at, minute, busy, phase, route, turns,
           ifnull(CAST(json ->> '$.aborted_runs' AS INTEGER), 0), ifnull(CAST(json ->> '$.accepted' AS INTEGER), 0),
           ifnull(CAST(json ->> '$.last_item' AS INTEGER), 0), ifnull(CAST(json ->> '$.context_epoch' AS INTEGER), 0),
           (SELECT count(*) FROM submissions s WHERE s.tenant = old.tenant AND s.session = old.session), state, checksum
    FROM (SELECT *, CASE WHEN json_valid(CAST(state AS TEXT)) THEN CAST(state AS TEXT) END AS json FROM heads) AS old;
DROP TABLE heads;
ALTER TABLE heads_2 RENAME TO heads;
-- Query: `sessions`, the list of a tenant, newest activity first; those of one minute are sorted when they are read.
CREATE INDEX heads_by_activity ON heads (tenant, minute);
-- Query: `sessions_with_work`, at start. A second index, and a small one: it holds only sessions that are not idle.
CREATE INDEX heads_with_work ON heads (tenant, session) WHERE busy;
-- Query: `sessions_with_operations`, at start. As small.
CREATE INDEX heads_with_operations ON heads (tenant, session) WHERE operating;

-- Turns: where each began and ended. All else that is told of a turn is in the two records.
CREATE TABLE executions (
    tenant  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    turn    ANY     NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER,
    PRIMARY KEY (tenant, session, number),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- Sessions that were forgotten: nothing revives them. `session` is set until the last of their rows is gone.
CREATE TABLE forgotten (
    tenant   INTEGER NOT NULL REFERENCES tenants (tenant),
    id       ANY     NOT NULL,
    session  INTEGER,
    at       INTEGER NOT NULL,
    checksum BLOB,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
-- Query: what is still to be removed, at start and after each group. It holds only sessions of which rows are left.
CREATE INDEX forgotten_with_rows ON forgotten (session) WHERE session IS NOT NULL;

-- Large payloads, once a tenant. Its number is that of its first piece. `uses` counts the sessions that refer to it; at none it is
-- removed.
CREATE TABLE blobs (
    blob   INTEGER NOT NULL PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants (tenant),
    digest BLOB    NOT NULL,
    size   INTEGER NOT NULL,
    uses   INTEGER NOT NULL
) STRICT;
-- Query: a payload by its digest, when one is stored or fetched.
CREATE UNIQUE INDEX blobs_by_digest ON blobs (tenant, digest);

-- The bytes of payloads, 256 KiB a row: apart, so that counting uses rewrites none of them, and in pieces with checksums, so that a
-- part is read and checked without the rest. The pieces of a payload have numbers in a row; a payload of no bytes has one.
CREATE TABLE blob_pieces (
    piece    INTEGER NOT NULL PRIMARY KEY,
    checksum BLOB    NOT NULL,
    bytes    BLOB    NOT NULL
) STRICT;

-- Which sessions refer to which payloads, and how often: a payload is fetched through its session and never by digest alone. One
-- that a session keeps beside its items has a media type, with its checksum, and counts one use more: only these are fetched by a
-- reference.
CREATE TABLE blob_uses (
    tenant     INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    blob       INTEGER NOT NULL,
    uses       INTEGER NOT NULL,
    media_type TEXT,
    checksum   BLOB,
    PRIMARY KEY (tenant, session, blob),
    FOREIGN KEY (tenant, session) REFERENCES heads (tenant, session)
) STRICT, WITHOUT ROWID;

-- The payload of an item or of a queued message, where it is large: the body then lacks it. No foreign keys: to remove a payload
-- SQLite would search all items; `verify` looks at these instead.
ALTER TABLE items ADD COLUMN blob INTEGER;
ALTER TABLE items ADD COLUMN private_blob INTEGER;
ALTER TABLE queue ADD COLUMN blob INTEGER;

-- Eight bytes over what nothing else in the store tells of; none in rows that format 1 wrote. Those of `tenants`, `sessions` and
-- `forgotten` cover the names.
ALTER TABLE plugin_state ADD COLUMN checksum BLOB;
ALTER TABLE submissions ADD COLUMN checksum BLOB;
ALTER TABLE generations ADD COLUMN checksum BLOB;
ALTER TABLE globals ADD COLUMN checksum BLOB;
ALTER TABLE tenants ADD COLUMN checksum BLOB;
ALTER TABLE sessions ADD COLUMN checksum BLOB;

UPDATE meta SET value = 2 WHERE key = 'minimum_compatible_version';
";
