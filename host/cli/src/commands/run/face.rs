//! What `run` shows: a view for people, or lines of JSON for programs.

use std::io::{self, Stderr, Stdout, Write};

use anstream::AutoStream;
use mainstay_protocol::SubmissionId;
use mainstay_server::wire::v1::{ApprovalView, Event};

use crate::{
    commands::print_json,
    terminal::{
        escape,
        render::Renderer,
        style::{QUIET, WARNING, paint},
    },
};

#[derive(Debug)]
pub(super) enum Face {
    /// Text on standard output, the rest on standard error.
    Human(Box<Renderer<AutoStream<Stdout>, AutoStream<Stderr>>>),
    /// Every event on standard output; what Mainstay says itself on standard error.
    Json(Stdout),
}

impl Face {
    pub(super) fn human() -> Self {
        Self::Human(Box::new(Renderer::new(anstream::stdout(), anstream::stderr())))
    }

    pub(super) fn json() -> Self {
        Self::Json(io::stdout())
    }

    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        match self {
            Self::Human(renderer) => renderer.event(event),
            Self::Json(out) => {
                let mut out = out.lock();
                print_json(&mut out, event)?;
                out.flush()
            }
        }
    }

    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Human(renderer) => renderer.note(text),
            Self::Json(_) => writeln!(anstream::stderr(), "{}", paint(QUIET, escape::block(text))),
        }
    }

    pub(super) fn warn(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Human(renderer) => renderer.warn(text),
            Self::Json(_) => writeln!(anstream::stderr(), "{}", paint(WARNING, escape::block(text))),
        }
    }

    /// A note where an error has nowhere to go.
    pub(super) fn note_or_log(&mut self, text: &str) {
        if let Err(error) = self.note(text) {
            tracing::debug!(%error, "could not write to standard error");
        }
    }

    pub(super) fn ask(&mut self, view: &ApprovalView, question: Option<&str>) -> io::Result<()> {
        self.renderer(|renderer| renderer.ask(view, question))
    }

    pub(super) fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.renderer(|renderer| renderer.prompt(text))
    }

    pub(super) fn close(&mut self) -> io::Result<()> {
        self.renderer(Renderer::close)
    }

    /// The person ended a line.
    pub(super) fn entered(&mut self) {
        if let Self::Human(renderer) = self {
            renderer.entered();
        }
    }

    pub(super) fn sent(&mut self, submission: SubmissionId) {
        if let Self::Human(renderer) = self {
            renderer.sent(submission);
        }
    }

    /// What only people need: a program has the events.
    fn renderer(
        &mut self,
        show: impl FnOnce(&mut Renderer<AutoStream<Stdout>, AutoStream<Stderr>>) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Human(renderer) => show(renderer),
            Self::Json(_) => Ok(()),
        }
    }
}
