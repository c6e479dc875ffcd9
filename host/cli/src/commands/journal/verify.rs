//! `mainstay journal verify`: is everything as it was written?

use std::io::Write;

use mainstay_journal::verify::{Counts, Depth, Finding, Phase, Progress, Report};

use super::open::{blocking, open_failure, read_failure};
use crate::{
    args::VerifyArgs,
    commands::print_json,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        escape,
        progress::{ProgressLine, bytes, percent},
        style::{BAD, GOOD, QUIET, paint},
    },
};

/// Findings that people are shown; programs get more.
const MOST_SHOWN: usize = 100;

pub(super) async fn run(place: &Place, args: VerifyArgs) -> Result<Exit, Failure> {
    let depth = if args.quick { Depth::Quick } else { Depth::Full };
    let (asked, tenant, session, json) = (place.clone(), place.tenant()?, args.session.clone(), args.json);
    let report = blocking(move || {
        let journal = match &args.backup {
            Some(folder) => mainstay_journal::ReadOnlyJournal::open(folder),
            None => mainstay_journal::ReadOnlyJournal::open(&asked.data_dir),
        };
        let journal = journal.map_err(|error| open_failure(&asked, error))?;
        let mut line = ProgressLine::new(json);
        let tell = |progress: Progress| line.show(|| shown(&progress));
        match &session {
            None => journal.verify(depth, tell).map(Some).map_err(read_failure),
            Some(session) => journal.verify_session(&tenant, session, depth, tell).map_err(read_failure),
        }
    });
    let report = report.await?.ok_or_else(|| {
        let session = args.session.iter().map(ToString::to_string).collect::<String>();
        Failure::new(Exit::Failed, format!("there is no session `{session}`"))
            .hint("`mainstay session list` shows those that exist; is it the right data folder?")
    })?;
    let exit = if report.is_sound() { Exit::Done } else { Exit::Damaged };
    let mut out = anstream::stdout();
    if json {
        print_json(&mut out, &WithSpeed::of(&report))?;
    } else {
        print(&mut out, &report)?;
    }
    Ok(exit)
}

/// The report with what people would compute from it.
#[derive(serde::Serialize)]
struct WithSpeed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Payload that was checked, in 10^6 bytes a second.
    megabytes_per_second: f64,
}

impl<'a> WithSpeed<'a> {
    fn of(report: &'a Report) -> Self {
        Self { report, megabytes_per_second: (report.bytes_per_second() / 1e4).round() / 1e2 }
    }
}

fn shown(progress: &Progress) -> String {
    let Progress { phase, counts, records, damaged, .. } = progress;
    let found = if *damaged == 0 { String::new() } else { format!(", {damaged} damaged") };
    match phase {
        Phase::Pages => "checking the structure of the file".to_owned(),
        Phase::Sessions => {
            let (part, read) = (percent(counts.records, *records), bytes(counts.bytes));
            format!("checking sessions: {part} %, {} records, {read}{found}", counts.records)
        }
        Phase::Store => {
            format!("checking the feed and payloads: {} events, {}{found}", counts.events, bytes(counts.bytes))
        }
    }
}

fn print(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    for finding in report.findings.iter().take(MOST_SHOWN) {
        writeln!(out, "{} {}", paint(BAD, "damaged:"), line(finding))?;
    }
    if report.damaged > MOST_SHOWN as u64 {
        writeln!(out, "... and {} more; --json lists them", report.damaged - MOST_SHOWN as u64)?;
    }
    for note in &report.notes {
        let whose = note.session.as_ref().map_or_else(String::new, |session| format!("{session}: "));
        writeln!(out, "{} {whose}{}", paint(QUIET, "note:"), escape::line(&note.message))?;
    }
    let Counts { sessions, records, items, events, blobs, .. } = report.counts;
    let verdict = if report.is_sound() { paint(GOOD, "sound:") } else { paint(BAD, "not sound:") };
    let speed = bytes(report.bytes_per_second() as u64);
    writeln!(
        out,
        "{verdict} {sessions} sessions with the host's own, {records} records, {items} items, {events} events, {blobs} payloads; {} in {:.1} s ({speed}/s)",
        bytes(report.counts.bytes),
        report.elapsed.as_secs_f64(),
    )?;
    if !report.is_sound() {
        writeln!(
            out,
            "What is not named is as it was written, and can be read. A backup from before has the rest: mainstay journal restore"
        )?;
    }
    Ok(())
}

fn line(finding: &Finding) -> String {
    escape::line(&finding.to_string())
}
