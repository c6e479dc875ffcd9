//! `mainstay journal feed`: prints the feed, through the running host when there is one, else from the journal itself.

use std::io::Write;

use futures::StreamExt;
use mainstay_driver::feed::{FeedFrom, FeedRequest, FeedScope};
use mainstay_protocol::cursor::Cursor;
use mainstay_server::{
    Client,
    client::ClientError,
    wire::v1::{FeedNews, FeedPage},
};
use serde_json::json;

use crate::{
    args::FeedArgs,
    commands::{print_json, session::Source},
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        feed,
        style::{QUIET, paint},
    },
};

/// Events of a page.
const PAGE: u64 = 500;

pub(super) async fn run(place: &Place, args: FeedArgs) -> Result<Exit, Failure> {
    let source = Source::find(place).await?;
    let FeedArgs { follow, after, from_start, kind, session, workspace, turn, plugin, limit, json } = args;
    let kinds = kind.into_iter().collect();
    // Who can read the data folder sees all of it.
    let request = FeedRequest { scope: FeedScope::All, session, workspace, kinds, turn, plugin };
    let from = match after {
        Some(cursor) => FeedFrom::After(cursor),
        None if follow && !from_start => FeedFrom::Now,
        None => FeedFrom::Start,
    };
    let printed = Printed { json, left: limit, cursor: after };
    let listening = Listening { place, request, printed };
    match source {
        Source::Host(client) if follow => listening.follow(&client, from).await,
        source => listening.print(&source, from, follow).await,
    }
}

struct Listening<'a> {
    place: &'a Place,
    request: FeedRequest,
    printed: Printed,
}

/// What has been printed.
struct Printed {
    json: bool,
    /// Events that may still be printed.
    left: Option<u64>,
    /// The place that was reached.
    cursor: Option<Cursor>,
}

impl Listening<'_> {
    /// Prints all that there is.
    async fn print(mut self, source: &Source, mut from: FeedFrom, follow: bool) -> Result<Exit, Failure> {
        while let Some(page) = page(source, &self.request, from, self.printed.page()).await? {
            let (next, more) = (page.next, page.more);
            in_order(page).into_iter().try_for_each(|news| self.printed.print(&news))?;
            self.printed.cursor = Some(next);
            from = FeedFrom::After(next);
            if !more || self.printed.is_full() {
                self.printed.end(more)?;
                break;
            }
        }
        if follow {
            note("no host runs, so nothing more can happen: there is nothing to follow")?;
        }
        Ok(Exit::Done)
    }

    /// Prints what comes, until the host or a person ends it.
    async fn follow(mut self, client: &Client, from: FeedFrom) -> Result<Exit, Failure> {
        let mut events = client.follow_feed(&self.request, from).await.map_err(failed)?;
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        while !self.printed.is_full() {
            let news = tokio::select! {
                _ = &mut interrupted => return self.go_on("interrupted"),
                news = events.next() => news,
            };
            match news {
                Some(Ok(FeedNews::End { .. })) | None => return self.go_on("the host ended"),
                Some(Err(error)) if error.is_gone() => return self.go_on("the host ended"),
                Some(news) => self.printed.print(&news.map_err(failed)?)?,
            }
        }
        Ok(Exit::Done)
    }

    /// Says why it ends, and how to go on.
    fn go_on(&self, why: &str) -> Result<Exit, Failure> {
        let again = match self.printed.cursor {
            Some(cursor) => self.place.command(&format!("journal feed --follow --after {cursor}")),
            None => self.place.command("journal feed --follow"),
        };
        note(&format!("{why}; go on from here by: {again}"))?;
        Ok(Exit::Done)
    }
}

impl Printed {
    fn page(&self) -> usize {
        usize::try_from(self.left.unwrap_or(PAGE).min(PAGE)).unwrap_or(usize::MAX)
    }

    fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    fn print(&mut self, news: &FeedNews) -> Result<(), Failure> {
        let mut out = anstream::stdout();
        if self.json {
            print_json(&mut out, news)?;
        } else {
            writeln!(out, "{}", feed::line(news))?;
        }
        self.cursor = news.cursor().or(self.cursor);
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }

    /// Where to go on. The place may be past the last event: what was passed over need not be looked at again.
    fn end(&self, more: bool) -> Result<(), Failure> {
        let Some(cursor) = self.cursor else { return Ok(()) };
        if self.json {
            let end = json!({"event": "end", "reason": if more { "limit" } else { "latest" }, "cursor": cursor});
            return Ok(print_json(&mut anstream::stdout(), &end)?);
        }
        let more = if more { "there is more; " } else { "" };
        note(&format!("{more}go on from here with --after {cursor}"))
    }
}

fn note(text: &str) -> Result<(), Failure> {
    Ok(writeln!(anstream::stderr(), "{}", paint(QUIET, text))?)
}

/// A page; none when nothing ever ran here.
async fn page(
    source: &Source,
    request: &FeedRequest,
    from: FeedFrom,
    limit: usize,
) -> Result<Option<FeedPage>, Failure> {
    match source {
        Source::Host(client) => client.feed(request, from, limit).await.map(Some).map_err(failed),
        Source::Journal(reader) => match reader.feed(request.clone(), from, limit).await {
            Ok(page) => Ok(Some(page.into())),
            Err(error) if error.current_epoch().is_some() => Err(epoch_changed(&error)),
            Err(error) => Err(error.into()),
        },
        Source::Nothing => Ok(None),
    }
}

/// Events and those that could not be read, as they lie in the feed.
fn in_order(page: FeedPage) -> Vec<FeedNews> {
    let events = page.events.into_iter().map(|event| (event.seq, FeedNews::Event(event)));
    let damaged = page.damaged.into_iter().map(|damaged| (damaged.seq, FeedNews::Damaged(damaged)));
    let mut all: Vec<_> = events.chain(damaged).collect();
    all.sort_by_key(|(seq, _)| *seq);
    all.into_iter().map(|(_, news)| news).collect()
}

fn failed(error: ClientError) -> Failure {
    match error {
        ClientError::EpochChanged { message, .. } => epoch_changed(&message),
        error => Failure::from(error).context("read the feed"),
    }
}

fn epoch_changed(why: &impl std::fmt::Display) -> Failure {
    let hint = "without --after the command begins anew: at the first event, or with --follow at now";
    Failure::new(Exit::Failed, why).context("read the feed").hint(hint)
}
