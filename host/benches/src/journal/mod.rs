//! The journal alone, beside what SQLite itself takes for the same rows.

mod durable;
mod floor;
mod growth;
mod pages;
pub(crate) mod script;
mod tail;

use anyhow::Result;

use crate::summary::Summary;

/// Runs what is wanted.
pub(crate) async fn run(summary: &mut Summary, wants: impl Fn(&str) -> bool) -> Result<()> {
    for sessions in [1, 8, 64] {
        if wants(&format!("durable_records_{sessions}")) || (sessions == 1 && wants("append_latency")) {
            durable::run(summary, sessions).await?;
        }
    }
    if wants("tail_latency") {
        tail::run(summary).await?;
    }
    if wants("page_read") {
        pages::run(summary).await?;
    }
    if wants("journal_growth") || wants("open_session") || wants("verify") {
        growth::run(summary).await?;
    }
    Ok(())
}
