//! `compare`: Mainstay's side of `host/benches/compare`, which measures the same session on another store. One process
//! writes the turns, another one takes the session up again; each prints a line of JSON. `journal` is the store alone,
//! written through the session core as the driver does; `host` is the whole host, with a model in the sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use mainstay_driver::{DEFAULT_LINGER, Host, HostOptions, OpenSession};
use mainstay_journal::{Journal as _, MAX_PAGE, Options, Page, Range, SqliteJournal};
use mainstay_manifest::HostManifest;
use mainstay_protocol::{
    ItemId, SessionId, TenantId,
    content::{Item, ItemBody, plain_text},
    op::Op,
};
use serde_json::{Value, json};

use crate::{
    journal::script::{Session, text},
    world::{message, package},
};

const SESSION: &str = "compare";
const USAGE: &str = "usage: compare journal|host write|resume FOLDER TURNS BYTES";

/// What is measured.
struct Work {
    folder: PathBuf,
    turns: u64,
    /// Bytes of a message; a turn has two.
    bytes: usize,
}

pub(crate) async fn run(arguments: &[String]) -> Result<()> {
    let [side, what, folder, turns, bytes] = arguments else { bail!(USAGE) };
    let work =
        Work { folder: folder.into(), turns: turns.parse().context(USAGE)?, bytes: bytes.parse().context(USAGE)? };
    let report = match (side.as_str(), what.as_str()) {
        ("journal", "write") => write_journal(&work).await?,
        ("journal", "resume") => resume_journal(&work).await?,
        ("host", "write") => write_host(&work).await?,
        ("host", "resume") => resume_host(&work).await?,
        _ => bail!(USAGE),
    };
    println!("{report}");
    Ok(())
}

async fn write_journal(work: &Work) -> Result<Value> {
    let journal = Arc::new(SqliteJournal::open(&work.folder, Options::default())?);
    let mut session = Session::create(&journal, SESSION).await?;
    let (mut seconds, before) = (Vec::new(), (journal.metrics().groups, written()));
    for turn in 0..work.turns {
        let (question, answer) = (text("question", turn, work.bytes), text("answer", turn, work.bytes));
        let began = Instant::now();
        session.turn(question, answer).await?;
        seconds.push(began.elapsed());
    }
    Ok(report(work, &seconds, before, journal.metrics().groups))
}

async fn resume_journal(work: &Work) -> Result<Value> {
    let began = Instant::now();
    let journal = SqliteJournal::open(&work.folder, Options::default())?;
    let (tenant, session) = (TenantId::default_tenant(), SessionId::new(SESSION)?);
    let opened = journal.open_session(&tenant, &session).await?;
    opened.context("the session is not there: write it first")?;
    let (mut items, mut range) = (Vec::new(), Range::forward(MAX_PAGE));
    loop {
        let Page { rows, damaged, more, .. } = journal.items(&tenant, &session, range).await?;
        ensure!(damaged.is_empty(), "damaged items: {damaged:?}");
        items.extend(rows);
        let Some(last) = items.last().filter(|_| more) else { break };
        range = Range::forward(MAX_PAGE).after(last.id);
    }
    resumed(work, began.elapsed(), &items)
}

async fn write_host(work: &Work) -> Result<Value> {
    let host = host(work).await?;
    let session = SessionId::new(SESSION)?;
    host.open_session(OpenSession { session: Some(session.clone()), create: true, ..OpenSession::default() }).await?;
    let (mut seconds, before) = (Vec::new(), (host.journal_metrics().groups, written()));
    for turn in 0..work.turns {
        let op: Op = message(&text("question", turn, work.bytes));
        let began = Instant::now();
        host.op(&session, None, op).await?;
        host.quiesced(&session).await;
        seconds.push(began.elapsed());
    }
    let report = report(work, &seconds, before, host.journal_metrics().groups);
    host.shutdown().await;
    Ok(report)
}

async fn resume_host(work: &Work) -> Result<Value> {
    let began = Instant::now();
    let host = host(work).await?;
    let session = SessionId::new(SESSION)?;
    host.open_session(OpenSession { session: Some(session.clone()), ..OpenSession::default() }).await?;
    let mut items: Vec<Item> = Vec::new();
    loop {
        let after = items.last().map_or(ItemId(0), |item| item.id);
        let page = host.items(&session, after, MAX_PAGE as usize).await?;
        if page.is_empty() {
            break;
        }
        items.extend(page);
    }
    let report = resumed(work, began.elapsed(), &items);
    host.shutdown().await;
    report
}

/// A host whose model gives the answers of this comparison, from inside its sandbox.
async fn host(work: &Work) -> Result<Host> {
    let answer = text("answer", 0, work.bytes).replace("000000", "{turn}");
    let manifest = format!(
        r#"
        [host]
        allow_unpinned = true
        [route.default]
        adapter = "rehearsal"
        model = "rehearsal"
        settings = {{ script = '''
            [[rule]]
            when = {{ message = '^question (?<turn>\d+)' }}
            output = [{{ text = "{answer}" }}]
        ''' }}
        [plugin.rehearsal]
        path = {:?}
        grant.imports = ["transcript"]
        "#,
        package("plugins", "rehearsal")?
    );
    let options = HostOptions {
        data_dir: work.folder.clone(),
        manifest: HostManifest::parse(&manifest, "mainstay.toml")?,
        manifest_dir: work.folder.clone(),
        bundled_plugins: None,
        linger: DEFAULT_LINGER,
        failpoint: None,
    };
    Host::open(options).await.context("opening a host")
}

/// What the turns took. `before` is how many groups were committed, and what this process had written, when they began.
fn report(work: &Work, turns: &[Duration], before: (u64, Option<u64>), commits: u64) -> Value {
    let (commits_before, written_before) = before;
    json!({
        "turn_seconds": turns.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
        "commits": commits - commits_before,
        "written": written().zip(written_before).map(|(after, before)| after - before),
        "disk_open": on_disk(&work.folder).ok(),
    })
}

/// What taking the session up took, if all of it was there.
fn resumed(work: &Work, took: Duration, items: &[Item]) -> Result<Value> {
    let found = items.iter().map(|item| match &item.body {
        ItemBody::Message(message) => plain_text(&message.content),
        _ => String::new(),
    });
    let expected = (0..work.turns)
        .flat_map(|turn| [text("question", turn, work.bytes), text("answer", turn, work.bytes)])
        .collect::<Vec<_>>();
    ensure!(found.eq(expected), "the {} items are not the {} turns that were written", items.len(), work.turns);
    Ok(json!({ "resume_seconds": took.as_secs_f64(), "messages": items.len() }))
}

/// Bytes that this process had the kernel write to disk; none where it does not say.
fn written() -> Option<u64> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

/// Database and log; the shared index of the log is left out: it is memory.
fn on_disk(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("journal.sqlite") && !name.ends_with("-shm") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}
