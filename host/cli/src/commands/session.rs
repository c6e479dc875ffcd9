//! `mainstay session`: looks at sessions, through the running host when there is one, else in the journal itself.

mod blob;
mod forget;

use std::io::Write;

use futures::StreamExt;
use mainstay_driver::{HostError, Reader};
use mainstay_protocol::{ItemId, Ordinal, SessionId, content::Item};
use mainstay_server::{
    Client,
    wire::v1::{Event, Record, SessionRow, SessionView},
};

use super::print_json;
use crate::{
    args::SessionCommand,
    attach,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        ask, escape, records,
        render::Renderer,
        style::{NAME, QUIET, WARNING, paint},
        time,
    },
};

/// Records of a page.
const PAGE: usize = 256;
/// Sessions that the host lists at a time.
const MAX_LIST: usize = 1_000;

pub(super) async fn run(place: &Place, command: SessionCommand) -> Result<Exit, Failure> {
    let source = Source::find(place).await?;
    match command {
        SessionCommand::List { json, limit } => list(place, &source, json, limit).await,
        SessionCommand::Show { session, json, transcript } => show(place, &source, &session, json, transcript).await,
        SessionCommand::Blob { session, reference, output } => {
            blob::fetch(&source, &session, &reference, output.as_deref()).await
        }
        SessionCommand::Forget { session, yes, json } => forget::run(place, &source, &session, yes, json).await,
        SessionCommand::Events { session, json, follow, after } => {
            events(&source, &session, after, &EventsArgs { json, follow }).await
        }
    }
}

/// Where sessions are read.
pub(super) enum Source {
    Host(Client),
    Journal(Reader),
    /// Nothing ever ran in this folder.
    Nothing,
}

impl Source {
    pub(super) async fn find(place: &Place) -> Result<Self, Failure> {
        if let Some((client, _)) = attach::running_host(&place.data_dir).await? {
            return Ok(Self::Host(client));
        }
        let opened = Reader::open(&place.data_dir, place.tenant()?).map_err(|error| match error {
            HostError::Locked(_) => Failure::from(error)
                .hint("that host does not answer on its control socket; it may be starting: try again"),
            error => error.into(),
        })?;
        Ok(opened.map_or(Self::Nothing, Self::Journal))
    }

    async fn sessions(&self, limit: u32) -> Result<Vec<SessionRow>, Failure> {
        match self {
            Self::Host(client) => sessions_of(client, limit as usize).await,
            Self::Journal(journal) => Ok(journal.sessions(limit as usize, None).await?.0),
            Self::Nothing => Ok(Vec::new()),
        }
    }

    async fn session(&self, session: &SessionId) -> Result<SessionView, Failure> {
        let view = match self {
            Self::Host(client) => return Ok(client.session(session).await?),
            Self::Journal(journal) => journal.session(session).await?,
            Self::Nothing => None,
        };
        view.ok_or_else(|| {
            Failure::new(Exit::Failed, format!("there is no session `{session}`"))
                .hint("`mainstay session list` shows those that exist; is it the right data folder?")
        })
    }

    async fn records(&self, session: &SessionId, after: Ordinal) -> Result<Vec<Record>, Failure> {
        match self {
            Self::Host(client) => Ok(client.records(session, after, PAGE).await?.records),
            Self::Journal(journal) => {
                Ok(journal.records(session, after, PAGE).await?.iter().map(Record::from).collect())
            }
            Self::Nothing => Ok(Vec::new()),
        }
    }

    async fn items(&self, session: &SessionId, after: ItemId) -> Result<Vec<Item>, Failure> {
        match self {
            Self::Host(client) => Ok(client.items(session, after, PAGE).await?.items),
            Self::Journal(journal) => Ok(journal.items(session, after, PAGE).await?),
            Self::Nothing => Ok(Vec::new()),
        }
    }
}

async fn sessions_of(client: &Client, limit: usize) -> Result<Vec<SessionRow>, Failure> {
    let (mut rows, mut next) = (Vec::new(), None);
    while rows.len() < limit {
        let page = client.sessions(MAX_LIST.min(limit - rows.len()), next.as_deref()).await?;
        rows.extend(page.sessions);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    Ok(rows)
}

async fn list(place: &Place, source: &Source, json: bool, limit: u32) -> Result<Exit, Failure> {
    let rows = source.sessions(limit).await?;
    let mut out = anstream::stdout();
    if json {
        rows.iter().try_for_each(|row| print_json(&mut out, row))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        let start = place.command("run \"...\"");
        writeln!(anstream::stderr(), "no sessions in `{}`; start one: {start}", place.data_dir.display())?;
        return Ok(Exit::Done);
    }
    let width = rows.iter().map(|row| row.session.as_str().len()).max().unwrap_or(0).max("SESSION".len());
    let head = format!("{:width$}  {:8}  {:>5}  {:12}  {}", "SESSION", "PHASE", "TURNS", "ROUTE", "LAST ACTIVITY");
    writeln!(out, "{}", paint(QUIET, head))?;
    for row in &rows {
        let (session, phase, turns) = (row.session.as_str(), &row.phase, row.turns);
        let route = row.route.as_ref().map_or("-", |route| route.as_str());
        writeln!(out, "{session:width$}  {phase:8}  {turns:>5}  {route:12}  {}", time::utc(row.updated_at))?;
    }
    Ok(Exit::Done)
}

async fn show(
    place: &Place,
    source: &Source,
    session: &SessionId,
    json: bool,
    transcript: bool,
) -> Result<Exit, Failure> {
    let view = source.session(session).await?;
    let items = if transcript { Some(all_items(source, session).await?) } else { None };
    let mut out = anstream::stdout();
    if json {
        let mut document = serde_json::to_value(&view).unwrap_or_default();
        if let Some(items) = items {
            document["transcript"] = serde_json::to_value(items).unwrap_or_default();
        }
        print_json(&mut out, &document)?;
        return Ok(Exit::Done);
    }
    write!(out, "{}", describe(&view))?;
    if !view.approvals.is_empty() {
        let answer = place.command(&format!("run --session {session}"));
        writeln!(out, "{}", paint(WARNING, format!("Answer it with: {answer}")))?;
    }
    if let Some(items) = items {
        writeln!(out, "\n{}", paint(NAME, "Transcript"))?;
        out.flush()?;
        let mut renderer = Renderer::new(anstream::stdout(), anstream::stdout());
        items.iter().try_for_each(|item| renderer.transcript(item))?;
    }
    Ok(Exit::Done)
}

async fn all_items(source: &Source, session: &SessionId) -> Result<Vec<Item>, Failure> {
    let (mut items, mut after) = (Vec::new(), ItemId(0));
    loop {
        let page = source.items(session, after).await?;
        let Some(last) = page.last() else { return Ok(items) };
        after = last.id;
        items.extend(page);
    }
}

fn describe(view: &SessionView) -> String {
    let row = &view.row;
    let route = row.route.as_ref().map_or("-", |route| route.as_str());
    let mut out = format!("{} {}\n", paint(NAME, &row.session), row.phase);
    out += &format!("  created   {}\n  activity  {}\n", time::utc(row.created_at), time::utc(row.updated_at));
    out += &format!("  route     {route}\n");
    if let Some(owner) = &view.context_owner {
        let group = escape::line(&owner.context_group);
        out += &format!("  context   {} (group {group}), epoch {}\n", owner.route, view.context_epoch);
    }
    out +=
        &format!("  turns     {} ended, {} of them aborted\n  records   {}\n", row.turns, view.aborted_turns, row.head);
    for (name, value) in &view.labels.0 {
        out += &format!("  label     {} = {}\n", escape::line(name), escape::line(value));
    }
    if let Some(turn) = &view.turn {
        out += &format!("  turn      {} at step {}, {}\n", turn.turn, turn.step, turn.phase);
    }
    for queued in &view.queue {
        out += &format!("  queued    message {} of {} bytes ({})\n", queued.accepted, queued.bytes, queued.submission);
    }
    out += &standing(view);
    if let Some(stopped) = &view.stopped {
        out += &format!("  {}\n", paint(WARNING, format!("stopped   {}", escape::line(stopped))));
    }
    view.approvals.iter().for_each(|approval| out += &ask::approval(approval));
    out
}

/// What is around the turns: how the last one ended, what the session is about, its checkpoint, what it requires and asks.
fn standing(view: &SessionView) -> String {
    let mut out = String::new();
    if let Some(outcome) = &view.last_outcome {
        out += &format!("  last turn {}\n", records::word(outcome));
    }
    if let Some(about) = &view.activity {
        let details = about.details.iter().map(|details| format!(": {}", escape::line(details))).collect::<String>();
        out += &format!("  about     {}{details}\n", records::word(&about.activity));
    }
    if let Some(operation) = &view.operation {
        let (kind, owner) = (records::word(&operation.kind), records::word(&operation.owner));
        out += &format!("  operation {kind} of command {} for the {owner}\n", operation.command);
    }
    if let Some(archive) = &view.archive {
        let (name, sha256) = (escape::line(&archive.name), archive.sha256.short());
        out += &format!("  archive   {name} ({sha256}, {} bytes, up to record {})\n", archive.bytes, archive.head);
    }
    if let Some(warning) = &view.checkpoint_warning {
        out += &format!("  {}\n", paint(WARNING, format!("warning   {}", escape::line(warning))));
    }
    for (plugin, sha256) in &view.requires {
        out += &format!("  requires  {plugin}@{}\n", sha256.short());
    }
    for form in &view.elicitations {
        let what = format!("form      {}: {}", form.elicitation, escape::clipped(&form.request, 160));
        out += &format!("  {}\n", paint(WARNING, what));
    }
    out
}

struct EventsArgs {
    json: bool,
    follow: bool,
}

async fn events(source: &Source, session: &SessionId, after: Ordinal, args: &EventsArgs) -> Result<Exit, Failure> {
    source.session(session).await?;
    let mut last = after;
    loop {
        let page = source.records(session, last).await?;
        let Some(record) = page.last() else { break };
        last = record.ordinal;
        page.iter().try_for_each(|record| print_record(record, args.json))?;
    }
    match source {
        Source::Host(client) if args.follow => follow(client, session, last, args.json).await,
        _ if args.follow => {
            let note = "no host runs, so nothing more can happen: there is nothing to follow";
            writeln!(anstream::stderr(), "{}", paint(QUIET, note))?;
            Ok(Exit::Done)
        }
        _ => Ok(Exit::Done),
    }
}

async fn follow(client: &Client, session: &SessionId, after: Ordinal, json: bool) -> Result<Exit, Failure> {
    let mut events = client.follow(session, Some(after)).await?;
    while let Some(event) = events.next().await {
        match event? {
            Event::Record(record) => print_record(&record, json)?,
            Event::End { .. } => break,
            _ => {}
        }
    }
    writeln!(anstream::stderr(), "{}", paint(QUIET, "the host ended"))?;
    Ok(Exit::Done)
}

fn print_record(record: &Record, json: bool) -> std::io::Result<()> {
    let mut out = anstream::stdout();
    if json { print_json(&mut out, record) } else { writeln!(out, "{}", records::line(record)) }
}
