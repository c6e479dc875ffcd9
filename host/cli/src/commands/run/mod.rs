//! `mainstay run`: finds a host or starts one, opens the session, and talks to it.

mod approvals;
mod conversation;
mod face;
mod input;
mod signals;

use std::io::{IsTerminal, Read, Write};

use mainstay_protocol::{Ordinal, SessionId, op::MAX_MESSAGE_BYTES, record::RecordBody};
use mainstay_server::{
    Client,
    client::ClientError,
    wire::v1::{OpenRequest, SessionView},
};

use crate::{
    args::RunArgs,
    attach::{self, Attached},
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        escape,
        style::{QUIET, paint},
    },
};
use approvals::Asker;
use conversation::{Conversation, Ended, Mode};
use face::Face;
use input::Input;
use signals::Signals;

/// Records that are looked through for the beginning of the last turn.
const PAGE: usize = 200;

pub(super) async fn run(place: &Place, args: RunArgs) -> Result<Exit, Failure> {
    let mut face = if args.json { Face::json() } else { Face::human() };
    let said = what_is_said(&args)?;
    let mut signals = Signals::start()?;
    let starting = attach::attach(place, |text| face.note_or_log(text));
    let attached = tokio::select! {
        attached = starting => attached?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    if let Some(pid) = attached.other {
        face.note(&format!("attached to the running host (process {pid})"))?;
    }
    let talked = talk(place, &args, said, &attached, face, &mut signals).await;
    // Even when our own output is gone: what the session was asked to do is still to be done.
    let unhurried = talked.as_ref().map_or(true, |ended| ended.unhurried);
    // A second Ctrl-C while the host ends: at once, and what is durable is taken up by the next host.
    tokio::select! {
        () = attached.leave(unhurried, say) => {}
        () = signals.next() => return Ok(Exit::Interrupted),
    }
    talked.map(|ended| ended.exit)
}

/// A note after everything else; there is nobody to tell when it fails.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", paint(QUIET, escape::block(text)));
}

/// What the person wants to say.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// This message.
    Prompt(String),
    /// Nothing: what the session owes is to be finished.
    Nothing,
    /// That comes line by line.
    Conversation,
    /// Standard input says it, unless the session has work: then its lines are answers.
    Later,
}

fn what_is_said(args: &RunArgs) -> Result<Said, Failure> {
    if let Some(prompt) = &args.prompt {
        return check_prompt(prompt.clone()).map(Said::Prompt);
    }
    if std::io::stdin().is_terminal() {
        return if args.json { Err(no_prompt()) } else { Ok(Said::Conversation) };
    }
    if args.json && args.session.is_some() {
        return Ok(Said::Later);
    }
    let prompt = read_prompt()?;
    if !prompt.trim().is_empty() {
        return Ok(Said::Prompt(prompt));
    }
    if args.session.is_some() { Ok(Said::Nothing) } else { Err(no_prompt()) }
}

fn no_prompt() -> Failure {
    Failure::new(Exit::Usage, "there is nothing to say: no prompt was given, and standard input is empty")
        .hint("give a prompt, as in: mainstay run \"What is in this folder?\"")
}

/// All of standard input, up to what a message may have.
fn read_prompt() -> Result<String, Failure> {
    let mut prompt = String::new();
    let read = std::io::stdin().lock().take(MAX_MESSAGE_BYTES as u64 + 1).read_to_string(&mut prompt);
    read.map_err(|error| Failure::new(Exit::Usage, format!("could not read the prompt from standard input: {error}")))?;
    check_prompt(prompt)
}

fn check_prompt(prompt: String) -> Result<String, Failure> {
    if prompt.len() <= MAX_MESSAGE_BYTES {
        return Ok(prompt);
    }
    Err(Failure::new(Exit::Usage, format!("the prompt has more than {MAX_MESSAGE_BYTES} bytes"))
        .hint("put the text into a file of the workspace, and name the file in the prompt"))
}

async fn talk(
    place: &Place,
    args: &RunArgs,
    said: Said,
    attached: &Attached,
    mut face: Face,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    let client = &attached.client;
    let request = OpenRequest {
        session: args.session.clone(),
        create: said != Said::Nothing,
        route: args.route.clone(),
        ..OpenRequest::default()
    };
    let opened =
        client.open_session(&request).await.map_err(|error| Failure::from(error).context("open the session"))?;
    let session = &opened.session;
    let again = place.command(&format!("run --session {session}"));
    let what = if opened.created { "new session" } else { "session" };
    face.note(&format!("{what} {session}; go on with it by: {again}"))?;

    let view = client.session(session).await?;
    let (mode, prompt) = settle(said, &view, signals).await?;
    let after = first_record(client, &view, mode).await?;
    let replaying = Some(view.row.head).filter(|head| after < *head);
    let events = client.follow(session, Some(after)).await?;
    let asker = Asker::choose(args.approve, args.json, std::io::stdin().is_terminal());
    let input = Input::new();
    let conversation =
        Conversation::new(client.clone(), session.clone(), mode, asker, face, events, input, again, replaying);
    conversation.run(prompt, signals).await.map_err(|end| end.into_failure(place, session))
}

/// What the command is for, now that the session is known.
async fn settle(said: Said, view: &SessionView, signals: &mut Signals) -> Result<(Mode, Option<String>), Failure> {
    let has_work = view.turn.is_some() || !view.queue.is_empty();
    let said = match said {
        Said::Later if has_work => Said::Nothing,
        Said::Later => match read_prompt_unless_interrupted(signals).await? {
            prompt if prompt.trim().is_empty() => Said::Nothing,
            prompt => Said::Prompt(prompt),
        },
        said => said,
    };
    match said {
        Said::Prompt(prompt) => Ok((Mode::OneShot, Some(prompt))),
        Said::Conversation => Ok((Mode::Chat, None)),
        _ if !has_work && view.row.turns == 0 => Err(no_prompt()),
        _ => Ok((Mode::Resume, None)),
    }
}

async fn read_prompt_unless_interrupted(signals: &mut Signals) -> Result<String, Failure> {
    tokio::select! {
        read = tokio::task::spawn_blocking(read_prompt) => {
            read.unwrap_or_else(|error| Err(Failure::new(Exit::Unavailable, format!("could not read the prompt: {error}"))))
        }
        () = signals.next() => Err(Failure::new(Exit::Interrupted, "interrupted before anything was said")),
    }
}

/// The record to follow from: the turn that is taken up is shown from its beginning, so that its questions have their context.
async fn first_record(client: &Client, view: &SessionView, mode: Mode) -> Result<Ordinal, Failure> {
    let head = view.row.head;
    if view.turn.is_none() && mode != Mode::Resume {
        return Ok(head);
    }
    let started = last_turn(client, &view.row.session, head).await?;
    Ok(started.map_or(head, |started| Ordinal(started.0 - 1)))
}

/// The beginning of the last turn up to a record.
async fn last_turn(client: &Client, session: &SessionId, head: Ordinal) -> Result<Option<Ordinal>, ClientError> {
    let mut before = head.next();
    loop {
        let page = client.records_before(session, Some(before), PAGE).await?.records;
        let started = page.iter().find(|record| matches!(record.decode(), Some(RecordBody::TurnStarted(_))));
        if let Some(started) = started {
            return Ok(Some(started.ordinal));
        }
        match page.last() {
            Some(oldest) if oldest.ordinal > Ordinal(1) => before = oldest.ordinal,
            _ => return Ok(None),
        }
    }
}
