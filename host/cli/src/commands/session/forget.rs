//! `mainstay session forget`: removes a session for good, after asking.

use std::io::{self, BufRead, IsTerminal, Write};

use mainstay_protocol::SessionId;
use mainstay_server::{client::ClientError, wire::v1::SessionView};
use serde_json::json;

use super::Source;
use crate::{
    commands::print_json,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::style::{GOOD, WARNING, paint},
};

pub(super) async fn run(
    place: &Place,
    source: &Source,
    session: &SessionId,
    yes: bool,
    json: bool,
) -> Result<Exit, Failure> {
    if !yes && !confirmed(place, source, session).await? {
        writeln!(anstream::stderr(), "nothing was forgotten")?;
        return Ok(Exit::Failed);
    }
    match source {
        Source::Host(client) => {
            client.forget_session(session).await.map_err(|error| refused(place, session, error))?;
        }
        Source::Journal(journal) => journal.forget(session).await.map_err(|error| Failure::new(Exit::Failed, error))?,
        Source::Nothing => drop(source.session(session).await?),
    }
    let mut out = anstream::stdout();
    if json {
        print_json(&mut out, &json!({"session": session}))?;
    } else {
        writeln!(out, "{} {session}", paint(GOOD, "forgotten:"))?;
    }
    Ok(Exit::Done)
}

/// Asks the person at the terminal. Without one, only `--yes` will do.
async fn confirmed(place: &Place, source: &Source, session: &SessionId) -> Result<bool, Failure> {
    let view = source.session(session).await?;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let message = format!("forgetting `{session}` can't be undone, and nobody is here to ask");
        let command = place.command(&format!("session forget {session} --yes"));
        return Err(Failure::new(Exit::Usage, message).hint(format!("if it is meant: {command}")));
    }
    let mut out = anstream::stderr();
    writeln!(out, "{}", what_is_lost(&view))?;
    write!(out, "{} ", paint(WARNING, "This can't be undone. Forget it? [y/N]"))?;
    out.flush()?;
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let answer = answer.await.map_err(|error| Failure::new(Exit::Failed, error))??;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn what_is_lost(view: &SessionView) -> String {
    let row = &view.row;
    let waiting =
        if view.queue.is_empty() { String::new() } else { format!(", {} messages that wait", view.queue.len()) };
    format!("{}: {} turns, {} records{waiting}, and all that plugins keep with it", row.session, row.turns, row.head)
}

fn refused(place: &Place, session: &SessionId, error: ClientError) -> Failure {
    let running = matches!(&error, ClientError::Answered { error, .. } if error == "turn_running");
    let failure = Failure::from(error);
    if running {
        failure.hint(format!("Ctrl-C in `{}` interrupts it", place.command(&format!("run --session {session}"))))
    } else {
        failure
    }
}
