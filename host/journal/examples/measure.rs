//! Measures space and time of the journal on this machine.
#![allow(missing_docs, unreachable_pub, dead_code)]
#[path = "../../../tests/src/journal/script.rs"]
mod script;

use std::{fs::OpenOptions, io::Write, os::unix::fs::FileExt, path::Path, time::{Duration, Instant}};
use mainstay_journal::{Journal, testing};
use script::{Script, commit_all, open};

fn percentile(times: &mut [Duration], p: usize) -> Duration { times.sort(); times[(times.len() - 1) * p / 100] }

fn fdatasync(folder: &Path, bytes: usize) -> (Duration, Duration) {
    let path = folder.join("floor");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path).unwrap();
    // preallocated like a WAL that has been round once
    for _ in 0..1000 { file.write_all(&vec![1; 4096]).unwrap(); }
    file.sync_all().unwrap();
    let data = vec![2u8; bytes];
    let mut times = Vec::new();
    let mut at = 0u64;
    for _ in 0..1000 {
        let started = Instant::now();
        file.write_all_at(&data, at).unwrap();
        file.sync_data().unwrap();
        times.push(started.elapsed());
        at = (at + bytes as u64) % (1000 * 4096 - bytes as u64);
    }
    (percentile(&mut times, 50), percentile(&mut times, 95))
}

fn size(folder: &Path) -> u64 { std::fs::metadata(folder.join("journal.sqlite")).unwrap().len() }

async fn growth(turns: usize, sessions: usize, payload: usize) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let journal = open(folder.path());
    let mut scripts: Vec<_> = (0..sessions).map(|n| Script::new(&format!("0189{n:04}-ac96-774b-bcce-b302099a8057"))).collect();
    for script in &mut scripts { commit_all(&journal, [script.create()]).await; }
    let text = "x".repeat(payload / 2);
    let started = Instant::now();
    for _ in 0..turns / sessions {
        let mut lists: Vec<_> = scripts.iter_mut().map(|s| s.turn_without_tools(&text, &text).into_iter().collect::<std::collections::VecDeque<_>>()).collect();
        for _ in 0..3 {
            let commits = lists.iter_mut().map(|l| journal.commit(l.pop_front().unwrap()));
            futures::future::join_all(commits).await.into_iter().for_each(|c| drop(c.unwrap()));
        }
    }
    let took = started.elapsed();
    let metrics = journal.metrics();
    let state = scripts[0].state.snapshot().len();
    drop(journal);
    let bytes = size(folder.path());
    let per = bytes as f64 / turns as f64;
    println!("{turns} turns, {sessions} sessions, payload {payload}: {bytes} bytes, {per:.0} a turn, {:.0} over payload (budget {:.0}), {:.0} turns/s, groups {} avg {:?} sync {:?} state {state} checkpoints {}",
        per - payload as f64, 0.3 * payload as f64 + 2048.0, turns as f64 / took.as_secs_f64(), metrics.groups, metrics.average_commit, metrics.average_sync, metrics.checkpoints);
    if sessions == 1 {
        for table in ["records", "items", "feed", "submissions", "heads", "queue", "sqlite_sequence"] {
            let n = testing::query_number(folder.path(), &format!("SELECT ifnull(sum(pgsize),0) FROM dbstat WHERE name = '{table}'")).unwrap();
            let used = testing::query_number(folder.path(), &format!("SELECT ifnull(sum(payload),0) FROM dbstat WHERE name = '{table}'")).unwrap();
            print!("  {table} {:.0} ({:.0})", n as f64 / turns as f64, used as f64 / turns as f64);
        }
        let body = testing::query_number(folder.path(), "SELECT sum(length(body)) FROM records").unwrap();
        println!("  record bodies {:.0}", body as f64 / turns as f64);
    }
}

async fn latency() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let journal = open(folder.path());
    let mut script = Script::new("0189ffff-ac96-774b-bcce-b302099a8057");
    commit_all(&journal, [script.create()]).await;
    let text = "x".repeat(512);
    let mut by = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..1000 {
        for (n, t) in script.turn_without_tools(&text, &text).into_iter().enumerate() {
            let started = Instant::now();
            journal.commit(t).await.unwrap();
            by[n].push(started.elapsed());
        }
    }
    let m = journal.metrics();
    let wal = std::fs::metadata(folder.path().join("journal.sqlite-wal")).unwrap().len();
    println!("commit alone: avg {:?} sync {:?} checkpoints {} wal {wal}", m.average_commit, m.average_sync, m.checkpoints);
    for (name, times) in ["submit", "start", "finish"].iter().zip(&mut by) {
        println!("{name}: p50 {:?} p95 {:?} p99 {:?}", percentile(times, 50), percentile(times, 95), percentile(times, 99));
    }
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap();
        times.push(started.elapsed());
    }
    println!("open_session: p50 {:?}", percentile(&mut times, 50));
    for bytes in [512, 4096, 24576, 32768] { println!("fdatasync {bytes}: {:?}", fdatasync(folder.path(), bytes)); }
}

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        None => latency().await,
        Some("growth") => {
            growth(2000, 1, 1024).await;
            growth(2000, 1, 4300).await;
            growth(400, 1, 2048).await;
            growth(6400, 64, 1024).await;
        }
        _ => { growth(100_000, 1, 1024).await; growth(100_000, 64, 1024).await; }
    }
}
