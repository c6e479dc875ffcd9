//! `mainstay run`: finds a host or starts one, opens the session, and talks to it.

mod approvals;
mod conversation;
mod face;
mod input;
mod signals;

use std::io::{IsTerminal, Read, Write};

use mainstay_protocol::{Ordinal, SessionId, SubmissionId, op::MAX_MESSAGE_BYTES, record::RecordBody};
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
use conversation::{Conversation, Ended, Mode, Trouble};
use face::Face;
use input::Input;
use signals::Signals;

/// Records that are looked through for the beginning of the last turn.
const PAGE: usize = 200;

/// How often a command goes on by itself when the host that it is attached to ends.
const TAKE_OVERS: usize = 3;

pub(super) async fn run(place: &Place, mut args: RunArgs) -> Result<Exit, Failure> {
    let mut said = what_is_said(&args)?;
    let mut signals = Signals::start()?;
    for _ in 0..TAKE_OVERS {
        match run_once(place, &args, &said, &mut signals).await {
            Err(Parted::Lost { session, .. }) if said != Said::Conversation => {
                say("the host that had this session ended; going on without it");
                args.session = session.or(args.session);
                said = said.again();
            }
            ended => return ended.map_err(Parted::into_failure),
        }
    }
    run_once(place, &args, &said, &mut signals).await.map_err(Parted::into_failure)
}

async fn run_once(place: &Place, args: &RunArgs, said: &Said, signals: &mut Signals) -> Result<Exit, Parted> {
    let mut face = if args.json { Face::json() } else { Face::human() };
    let starting = attach::attach(place, args.wait, |text| face.note_or_log(text));
    let attached = tokio::select! {
        attached = starting => attached?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    if let Some(pid) = attached.other {
        face.note(&format!("attached to the running host (process {pid})"))?;
    }
    let talked = talk(place, args, said.clone(), &attached, face, signals).await;
    // Even when our own output is gone: what the session was asked to do is still to be done.
    let unhurried = talked.as_ref().map_or(true, |ended| ended.unhurried);
    // A second Ctrl-C while the host ends: at once, and what is durable is taken up by the next host.
    tokio::select! {
        () = attached.leave(unhurried, say) => {}
        () = signals.next() => return Ok(Exit::Interrupted),
    }
    talked.map(|ended| ended.exit)
}

/// Why a run ended without an end.
enum Parted {
    /// The host went away: another one can go on.
    Lost { failure: Failure, session: Option<SessionId> },
    /// Anything else.
    Failed(Failure),
}

impl Parted {
    fn into_failure(self) -> Failure {
        match self {
            Self::Lost { failure, .. } | Self::Failed(failure) => failure,
        }
    }
}

impl From<Failure> for Parted {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<std::io::Error> for Parted {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<ClientError> for Parted {
    fn from(error: ClientError) -> Self {
        if error.is_gone() {
            return Self::Lost { failure: error.into(), session: None };
        }
        Self::Failed(error.into())
    }
}

/// A note after everything else; there is nobody to tell when it fails.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", paint(QUIET, escape::block(text)));
}

/// What the person wants to say.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// This message, under this id: sent twice, it is accepted once.
    Prompt(SubmissionId, String),
    /// The same, after the host to which it was sent went away.
    Again(SubmissionId, String),
    /// Nothing: what the session owes is to be finished.
    Nothing,
    /// That comes line by line.
    Conversation,
    /// Standard input says it, unless the session has work: then its lines are answers.
    Later,
}

impl Said {
    fn prompt(text: String) -> Self {
        Self::Prompt(SubmissionId::from_uuid(uuid::Uuid::now_v7()), text)
    }

    /// What is left to be said to the next host.
    fn again(self) -> Self {
        match self {
            Self::Prompt(submission, text) | Self::Again(submission, text) => Self::Again(submission, text),
            Self::Nothing | Self::Later => Self::Nothing,
            Self::Conversation => Self::Conversation,
        }
    }
}

fn what_is_said(args: &RunArgs) -> Result<Said, Failure> {
    if let Some(prompt) = &args.prompt {
        return check_prompt(prompt.clone()).map(Said::prompt);
    }
    if std::io::stdin().is_terminal() {
        return if args.json { Err(no_prompt()) } else { Ok(Said::Conversation) };
    }
    if args.json && args.session.is_some() {
        return Ok(Said::Later);
    }
    let prompt = read_prompt()?;
    if !prompt.trim().is_empty() {
        return Ok(Said::prompt(prompt));
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
) -> Result<Ended, Parted> {
    let client = &attached.client;
    let request = OpenRequest {
        session: args.session.clone(),
        create: said != Said::Nothing,
        route: args.route.clone(),
        requires: (!args.require.is_empty()).then(|| args.require.iter().cloned().collect()),
        ..OpenRequest::default()
    };
    let opened = client.open_session(&request).await.map_err(|error| match Parted::from(error) {
        Parted::Failed(failure) => Parted::Failed(failure.context("open the session")),
        lost @ Parted::Lost { .. } => lost,
    })?;
    let session = &opened.session;
    let again = place.command(&format!("run --session {session}"));
    let what = if opened.created { "new session" } else { "session" };
    face.note(&format!("{what} {session}; go on with it by: {again}"))?;

    let said = send_again(client, session, said).await?;
    let view = client.session(session).await?;
    let (mode, prompt) = settle(said, &view, signals).await?;
    let after = first_record(client, &view, mode).await?;
    let replaying = Some(view.row.head).filter(|head| after < *head);
    let events = client.follow(session, Some(after)).await?;
    let asker = Asker::choose(args.approve, args.json, std::io::stdin().is_terminal());
    let input = Input::new();
    let conversation =
        Conversation::new(client.clone(), session.clone(), mode, asker, face, events, input, again, replaying);
    conversation.run(prompt, signals).await.map_err(|trouble| match trouble {
        Trouble::Gone(error) => {
            let failure = attach::host_gone(place, session.as_str(), error);
            Parted::Lost { failure, session: Some(session.clone()) }
        }
        Trouble::Failed(failure) => Parted::Failed(failure),
    })
}

/// After the host went away: sends the message again, which is accepted once. What is left is to see its turn to the end.
async fn send_again(client: &Client, session: &SessionId, said: Said) -> Result<Said, Parted> {
    let Said::Again(submission, text) = said else { return Ok(said) };
    client.op(session, Some(submission), conversation::message(text)).await?;
    Ok(Said::Nothing)
}

/// What the command is for, now that the session is known.
async fn settle(
    said: Said,
    view: &SessionView,
    signals: &mut Signals,
) -> Result<(Mode, Option<(SubmissionId, String)>), Failure> {
    let has_work = view.turn.is_some() || !view.queue.is_empty();
    let said = match said {
        Said::Later if has_work => Said::Nothing,
        Said::Later => match read_prompt_unless_interrupted(signals).await? {
            prompt if prompt.trim().is_empty() => Said::Nothing,
            prompt => Said::prompt(prompt),
        },
        said => said,
    };
    match said {
        Said::Prompt(submission, prompt) => Ok((Mode::OneShot, Some((submission, prompt)))),
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
