//! `mainstay journal stats`: what the journal holds, what it takes, and how the running host's writer does.

use std::io::Write;

use mainstay_driver::WriterView;
use mainstay_journal::stats::{Stats, TableBytes};
use serde::Serialize;

use super::open::{blocking, read_failure, read_only};
use crate::{
    args::StatsArgs,
    attach,
    commands::print_json,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        escape,
        progress::bytes,
        style::{NAME, QUIET, WARNING, paint},
    },
};

/// Both, as programs get it.
#[derive(Serialize)]
struct Both {
    #[serde(flatten)]
    stats: Stats,
    /// The writer of the running host; none when no host runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    writer: Option<WriterView>,
}

pub(super) async fn run(place: &Place, args: StatsArgs) -> Result<Exit, Failure> {
    let (asked, tables) = (place.clone(), args.tables);
    let stats = blocking(move || read_only(&asked)?.stats(tables).map_err(read_failure)).await?;
    let writer = match attach::running_host(&place.data_dir).await? {
        Some((client, _)) => Some(client.journal_stats().await?.writer),
        None => None,
    };
    let both = Both { stats, writer };
    let mut out = anstream::stdout();
    if args.json {
        print_json(&mut out, &both)?;
    } else {
        print(&mut out, &both)?;
    }
    Ok(Exit::Done)
}

fn print(out: &mut impl Write, both: &Both) -> std::io::Result<()> {
    let Stats { format, minimum_compatible, store_epoch, latest, .. } = &both.stats;
    writeln!(out, "{}", paint(NAME, "Journal"))?;
    writeln!(out, "  format      {format}, for builds that know {minimum_compatible}")?;
    writeln!(out, "  epoch       {store_epoch}, feed at {latest}")?;
    print_contents(out, &both.stats)?;
    print_sizes(out, &both.stats)?;
    if let Some(tables) = &both.stats.tables {
        print_tables(out, tables)?;
    }
    match &both.writer {
        Some(writer) => print_writer(out, writer),
        None => writeln!(out, "\n{}", paint(QUIET, "no host runs: there is no writer to tell of")),
    }
}

fn print_contents(out: &mut impl Write, stats: &Stats) -> std::io::Result<()> {
    let phases: Vec<_> = stats.phases.iter().map(|(phase, count)| format!("{count} {}", escape::line(phase))).collect();
    let phases = if phases.is_empty() { String::new() } else { format!(" ({})", phases.join(", ")) };
    writeln!(out, "  sessions    {}{phases}", stats.sessions)?;
    if stats.forgotten > 0 {
        let still = if stats.forgetting == 0 { String::new() } else { format!(", {} being removed", stats.forgetting) };
        writeln!(out, "  forgotten   {}{still}", stats.forgotten)?;
    }
    writeln!(out, "  records     {}", stats.records)?;
    writeln!(out, "  items       {}", stats.items)?;
    writeln!(out, "  turns       {} ended, {} of them aborted", stats.turns, stats.aborted_turns)?;
    writeln!(out, "  queue       {} messages, {}", stats.queued, bytes(stats.queued_bytes))?;
    let shared = bytes(stats.blob_bytes_shared);
    writeln!(out, "  payloads    {}, {}, {shared} saved by sharing", stats.blobs, bytes(stats.blob_bytes))?;
    writeln!(
        out,
        "  plugins     {} active, {} values of {}",
        stats.generations,
        stats.plugin_values,
        bytes(stats.plugin_bytes)
    )
}

fn print_sizes(out: &mut impl Write, stats: &Stats) -> std::io::Result<()> {
    let (file, log, free) = (bytes(stats.file_bytes), bytes(stats.log_bytes), bytes(stats.free_bytes));
    writeln!(out, "  file        {file}, {free} of it free, and a log of {log}")
}

fn print_tables(out: &mut impl Write, tables: &[TableBytes]) -> std::io::Result<()> {
    writeln!(out, "\n{}", paint(NAME, "Bytes by table and index"))?;
    let width = tables.iter().map(|table| table.name.len()).max().unwrap_or(0);
    for TableBytes { name, bytes: size, payload } in tables {
        let full = if *size == 0 { 0 } else { payload * 100 / size };
        writeln!(out, "  {:width$}  {:>8}  {full:>3} % full", escape::line(name), bytes(*size))?;
    }
    Ok(())
}

fn print_writer(out: &mut impl Write, writer: &WriterView) -> std::io::Result<()> {
    let WriterView { groups, jobs, failed_jobs, largest_group, group_size_p50, group_size_p99, .. } = writer;
    writeln!(out, "\n{}", paint(NAME, "Writer of the running host"))?;
    writeln!(out, "  jobs        {jobs} in {groups} groups, {failed_jobs} refused or failed")?;
    writeln!(
        out,
        "  groups      half up to {group_size_p50} jobs, 99 % up to {group_size_p99}, {largest_group} at most"
    )?;
    let (half, most) = (writer.sync_p50_micros, writer.sync_p99_micros);
    writeln!(out, "  sync        {} us on average, half up to {half}, 99 % up to {most}", writer.average_sync_micros)?;
    let rate = bytes(writer.bytes_per_second as u64);
    writeln!(out, "  last minute {:.1} jobs/s, {rate}/s to the log", writer.jobs_per_second)?;
    writeln!(
        out,
        "  now         {} queued, {} waiting, a log of {}",
        writer.queued,
        writer.waiting,
        bytes(writer.log_bytes)
    )?;
    writeln!(
        out,
        "  checkpoints {}, {} groups retried, {} times reopened",
        writer.checkpoints, writer.retried_groups, writer.reopened
    )?;
    if writer.reserve != "held" {
        let reserve = format!("the disk reserve is {}", escape::line(&writer.reserve));
        writeln!(out, "  {}", paint(WARNING, reserve))?;
    }
    Ok(())
}
