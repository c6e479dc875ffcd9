//! `make bench`: figures beside floors measured in the same run, printed and written to `target/bench/summary.json`, one object
//! a line. Counts of fsync barriers are asserted; timings never pass or fail.

mod cold_start;
mod compare;
mod fresh_call;
mod journal;
mod submit_ack;
mod summary;
mod turns;
mod world;

use anyhow::Result;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("compare", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return runtime.block_on(compare::run(rest));
    }
    let mut summary = summary::Summary::create()?;
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let wants = |name: &str| name.contains(&wanted);
    runtime.block_on(async {
        if wants("fresh_call_1k_json") {
            fresh_call::run(&mut summary).await?;
        }
        if wants("submit_ack") {
            submit_ack::run(&mut summary).await?;
        }
        if wants("turn_no_tools") {
            turns::no_tools(&mut summary).await?;
        }
        if wants("turn_one_tool") {
            turns::one_tool(&mut summary).await?;
        }
        if wants("cold_start_cached") {
            cold_start::run(&mut summary).await?;
        }
        journal::run(&mut summary, wants).await?;
        Ok(())
    })
}
