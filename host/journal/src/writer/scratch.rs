use std::time::Instant;
use futures::future::join_all;
use mainstay_protocol::{*, content::Part, op::*, record::{NewRecord, RecordBody, v1::*}};
use mainstay_session::{QueuedMessage, State, evolve};
use crate::*;
use rusqlite::params;

struct S { session: SessionId, state: State, n: u64 }
impl S {
    fn t(&mut self, body: RecordBody) -> Transition {
        let expected = self.state.head();
        evolve(&mut self.state, &body);
        Transition { tenant: TenantId::default_tenant(), session: self.session.clone(), expected,
            records: vec![NewRecord { at: Timestamp(1_700_000_000_000 + self.n), body }], items: vec![], queued: vec![], unqueued: vec![],
            submission: None, plugin_state: vec![], state: self.state.clone(), priority: Priority::Normal }
    }
    fn create(&mut self) -> Transition {
        self.t(serde_json::from_value::<Cfg>(serde_json::json!({})).map(|_| RecordBody::SessionConfigured(SessionConfigured { opening: Opening::Created, route: RouteName::new("default").unwrap(), labels: Labels(Default::default()), metadata: None, requires: Default::default() })).unwrap())
    }
    fn submit(&mut self, text: &str) -> Transition {
        self.n += 1;
        let d = Digest::of_fields("t", &[self.session.as_str().as_bytes(), &self.n.to_le_bytes()]).to_string();
        let submission = SubmissionId::new(&format!("{}-{}-7{}-8{}-{}", &d[..8], &d[8..12], &d[12..15], &d[15..18], &d[18..30])).unwrap();
        let digest = Digest::of(text.as_bytes());
        let accepted = AcceptedOrdinal(self.n);
        let mut t = self.t(RecordBody::MessageAccepted(MessageAccepted { submission: submission.clone(), accepted, delivery: Delivery::Queue, bytes: text.len() as u64, digest }));
        t.queued.push(QueuedMessage { submission: submission.clone(), accepted, delivery: Delivery::Queue, at: Timestamp(1), content: vec![Part::Text(text.to_owned())] });
        t.submission = Some(NewSubmission { submission, digest, accepted: Some(accepted), record: 0 });
        t.unqueued = if self.n > 8 { vec![] } else { vec![] };
        t
    }
}
#[derive(serde::Deserialize)] struct Cfg {}

fn rounds() -> usize { 300 }

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn perf() {
    let base = std::path::PathBuf::from(std::env::var("BASE").unwrap_or("/tmp/w".into())); let base = base.as_path();
    for n in [64usize, 8, 1] {
        let folder = tempfile::tempdir_in(base).unwrap();
        let journal = std::sync::Arc::new(SqliteJournal::open(folder.path(), Options::default()).unwrap());
        let text = "x".repeat(512);
        let mut ss: Vec<S> = (0..n).map(|i| S { session: SessionId::new(&format!("s{i}")).unwrap(), state: State::default(), n: 0 }).collect();
        join_all(ss.iter_mut().map(|s| { let t = s.create(); journal.commit(t) })).await.into_iter().for_each(|r| drop(r.unwrap()));
        let all: Vec<Vec<Transition>> = ss.iter_mut().map(|s| (0..rounds()).map(|_| s.submit(&text)).collect()).collect();
        let g0 = journal.metrics().groups;
        let began = Instant::now();
        let cpu0 = thread_cpu();
        let tasks: Vec<_> = all.into_iter().map(|ts| { let j = journal.clone(); tokio::spawn(async move { for t in ts { j.commit(t).await.unwrap(); } }) }).collect();
        for t in tasks { t.await.unwrap(); }
        let took = began.elapsed();
        let cpu = thread_cpu() - cpu0;
        let m = journal.metrics();
        let jobs = n * rounds();
        println!("journal n={n}: {:.0}/s groups {} size {:.1} writer cpu/job {:.1} us  avg commit {:?} sync {:?}", jobs as f64 / took.as_secs_f64(), m.groups - g0, jobs as f64 / (m.groups - g0) as f64, cpu as f64 / jobs as f64 / 1e3, m.average_commit, m.average_sync);
        floor(base, n, (jobs as f64 / (m.groups - g0) as f64).round() as usize);
    }
}

/// ns of cpu of the thread called mainstay-journal.
fn thread_cpu() -> u64 {
    let mut all = 0;
    for e in std::fs::read_dir("/proc/self/task").unwrap() {
        let p = e.unwrap().path();
        if std::fs::read_to_string(p.join("comm")).unwrap_or_default().trim() == "mainstay-journa" {
            all += std::fs::read_to_string(p.join("schedstat")).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
        }
    }
    all
}

fn floor(base: &std::path::Path, n: usize, group: usize) {
    let folder = tempfile::tempdir_in(base).unwrap();
    drop(SqliteJournal::open(folder.path(), Options::default()).unwrap());
    let c = crate::connection::open_writer(&crate::connection::StoreFile::of(folder.path(), None)).unwrap();
    c.execute("INSERT INTO tenants (tenant, id, sessions) VALUES (1, 'default', 1)", []).unwrap();
    c.execute("INSERT OR IGNORE INTO kinds VALUES (1, 'a')", []).unwrap();
    let mut states = vec![];
    for i in 0..n {
        let mut s = S { session: SessionId::new(&format!("s{i}")).unwrap(), state: State::default(), n: 0 };
        s.create();
        c.execute("INSERT INTO sessions (tenant, id, session, created_at, labels) VALUES (1, ?1, ?2, 1, '{}')", params![format!("s{i}"), i as i64]).unwrap();
        c.execute("INSERT INTO heads (tenant, session, head, chain, active_at, minute) VALUES (1, ?1, 0, ?2, 1, 1)", params![i as i64, [0u8; 32]]).unwrap();
        states.push(s);
    }
    let text = "x".repeat(512);
    let content = format!("[{{\"type\":\"text\",\"text\":\"{text}\"}}]");
    let jobs = n * rounds();
    let rows: Vec<_> = (0..jobs).map(|j| { let s = &mut states[j % n]; let t = s.submit(&text); (j % n, s.n as i64, String::from_utf8(t.records[0].body.encode()).unwrap(), Digest::of(&j.to_le_bytes()), t.state.snapshot()) }).collect();
    let began = Instant::now();
    let mut done = 0;
    while done < jobs {
        c.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        for (s, o, body, d, state) in &rows[done..jobs.min(done + group.max(1))] {
            let s = *s as i64;
            c.prepare_cached("INSERT INTO records (tenant, session, ordinal, seq, at, kind, digest, chain, body) VALUES (1, ?1, ?2, NULL, 1700000000000, 1, ?3, ?4, ?5)").unwrap().execute(params![s, o, d.as_bytes(), d.as_bytes(), body]).unwrap();
            c.prepare_cached("INSERT INTO queue (tenant, session, accepted, submission, delivery, at, bytes, checksum, content) VALUES (1, ?1, ?2, ?3, 'queue', 1700000000000, 512, ?4, ?5)").unwrap().execute(params![s, o, &d.as_bytes()[..16], &d.as_bytes()[..8], content]).unwrap();
            c.prepare_cached("INSERT INTO submissions (tenant, session, submission, ordinal, accepted, digest) VALUES (1, ?1, ?2, ?3, ?3, ?4)").unwrap().execute(params![s, &d.as_bytes()[..16], o, d.as_bytes()]).unwrap();
            c.prepare_cached("UPDATE heads SET head = ?2, chain = ?3, active_at = 1700000000000, phase = 'idle', route = 'default', turns = 0, state = ?4, checksum = ?5 WHERE tenant = 1 AND session = ?1").unwrap().execute(params![s, o, d.as_bytes(), state, &d.as_bytes()[..8]]).unwrap();
            done += 1;
        }
        c.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
    println!("floor   n={n} group {group}: {:.0}/s, state {} bytes", jobs as f64 / began.elapsed().as_secs_f64(), rows.last().unwrap().4.len());
}
