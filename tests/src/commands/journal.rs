//! `mainstay journal verify|backup|restore|stats` and `mainstay session forget`, as people and scripts use them: beside a running
//! host and without one.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Output,
};

use mainstay_journal::testing::{execute_sql, query_number};
use mainstay_server::{Limits, Server};
use serde_json::{Value, json};

use super::{mainstay, stderr, stdout};
use crate::support::{Session, World};

const HI: &str = "[[rule]]\noutput = [{ text = \"hi\" }]";

/// A world in which the session `s` had a turn.
fn world() -> World {
    let world = World::new(HI);
    succeeds(&world, &["run", "--session", "s", "hello"]);
    world
}

fn succeeds(world: &World, arguments: &[&str]) -> Output {
    ends(world, arguments, 0)
}

fn ends(world: &World, arguments: &[&str], code: i32) -> Output {
    let output = mainstay(world, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {:?} {}", output.status.signal(), stderr(&output));
    output
}

/// One document and nothing else on standard output.
fn document(output: &Output) -> Value {
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn path(world: &World, name: &str) -> (PathBuf, String) {
    let path = world.path().join(name);
    let text = path.to_str().expect("UTF-8").to_owned();
    (path, text)
}

#[test]
fn a_sound_journal_is_exit_code_zero() {
    let world = world();
    let output = succeeds(&world, &["journal", "verify"]);
    assert!(stdout(&output).starts_with("sound:"), "{}", stdout(&output));
    assert_eq!(stderr(&output), "", "no progress where nobody watches");
    for arguments in [&["journal", "verify", "--json"][..], &["journal", "verify", "--quick", "--json"]] {
        let report = document(&succeeds(&world, arguments));
        assert_eq!((&report["sound"], &report["damaged"]), (&json!(true), &json!(0)), "{report}");
        assert!(
            report["counts"]["sessions"].as_u64() == Some(2) && report["megabytes_per_second"].is_number(),
            "{report}"
        );
    }
    let one = document(&succeeds(&world, &["journal", "verify", "--session", "s", "--json"]));
    assert_eq!(one["counts"]["sessions"], 1);
    ends(&world, &["journal", "verify", "--session", "nobody"], 1);
    assert!(stderr(&ends(&world, &["journal", "verify", "--depth", "7"], 2)).contains("--depth"));
}

#[test]
fn damage_has_an_exit_code_of_its_own_and_is_named() {
    let world = world();
    execute_sql(&world.data_dir(), "UPDATE records SET body = substr(body, 2) WHERE tenant = 2 AND ordinal = 3")
        .expect("SQL");
    let output = ends(&world, &["journal", "verify"], 6);
    assert!(stdout(&output).contains("default/s: record 3:") && stdout(&output).contains("not sound:"), "{output:?}");
    let report = document(&ends(&world, &["journal", "verify", "--json"], 6));
    assert_eq!(report["sound"], false);
    let finding = &report["findings"][0];
    assert_eq!((&finding["session"], &finding["damage"]), (&json!("s"), &json!("digest")), "{report}");
    assert_eq!(finding["place"], json!({"kind": "record", "ordinal": 3}));
    fs::write(world.data_dir().join("journal.sqlite"), "no journal at all ".repeat(1_000)).expect("written");
    assert!(stderr(&ends(&world, &["journal", "verify"], 6)).contains("no journal of Mainstay"));
}

#[test]
fn a_folder_without_a_journal_is_told_apart_and_nothing_is_made() {
    let world = World::new(HI);
    let (_, to) = path(&world, "b");
    for arguments in [&["journal", "verify"][..], &["journal", "stats"], &["journal", "backup", &to]] {
        let said = stderr(&ends(&world, arguments, 4));
        assert!(said.contains("the folder has no journal"), "{said}");
    }
    assert!(!world.data_dir().exists() && !Path::new(&to).exists());
    assert!(stderr(&ends(&world, &["journal", "backup"], 2)).contains("FOLDER"));
    assert!(stderr(&ends(&world, &["journal", "restore", &to], 1)).contains("no backup of a journal"));
}

#[test]
fn a_backup_is_made_once_and_put_back_elsewhere() {
    let world = world();
    let (to, name) = path(&world, "backups/monday");
    let output = succeeds(&world, &["journal", "backup", &name]);
    assert!(stdout(&output).contains("backed up: 1 sessions") && stderr(&output).is_empty(), "{output:?}");
    assert!(to.join("components").is_dir(), "the builds of plugins are in it");
    assert!(stderr(&ends(&world, &["journal", "backup", &name], 1)).contains("not empty"));
    succeeds(&world, &["journal", "verify", "--backup", &name]);
    let (_, tuesday) = path(&world, "backups/tuesday");
    let manifest = document(&succeeds(&world, &["journal", "backup", &tuesday, "--json"]));
    assert_eq!((&manifest["backup"], &manifest["sessions"]), (&json!(1), &json!(1)));

    let (elsewhere, data) = path(&world, "elsewhere");
    let output = succeeds(&world, &["journal", "restore", &name, "--data-dir", &data]);
    assert!(stdout(&output).contains("restored: 1 sessions"), "{output:?}");
    assert!(elsewhere.join("journal.sqlite").is_file());
    let shown = document(&succeeds(&world, &["session", "show", "s", "--json", "--data-dir", &data]));
    assert_eq!(shown["turns"], 1);
    // The host goes on there with what the backup had, its plugins included.
    succeeds(&world, &["run", "--session", "s", "--data-dir", &data, "again"]);
    succeeds(&world, &["journal", "verify", "--data-dir", &data]);
}

/// A backup onto a small disk in memory, which only the command sees.
const SMALL_DISK: &str =
    "mount -t tmpfs -o size=$1 none disk && \"$2\" journal backup disk/b; code=$?; ls -A disk; exit $code";

#[test]
fn a_disk_that_is_full_leaves_no_half_of_a_backup() {
    let world = world();
    fs::create_dir(world.path().join("disk")).expect("a folder");
    let in_namespaces = |arguments: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--map-root-user", "--mount"]).args(arguments).current_dir(world.path());
        command.env("MAINSTAY_MANIFEST", world.manifest_file()).output()
    };
    if !in_namespaces(&["true"]).is_ok_and(|output| output.status.success()) {
        println!("no namespaces here: nothing can be mounted");
        return;
    }
    let binary = crate::support::binary::path();
    let binary = binary.to_str().expect("UTF-8");
    // The first has no room for the journal, the second none for the builds beside it.
    for size in ["64k", "300k"] {
        let output = in_namespaces(&["sh", "-c", SMALL_DISK, "sh", size, binary]).expect("it runs");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(stderr(&output).contains("the disk is full"), "{output:?}");
        assert_eq!(stdout(&output), "", "nothing is left on the disk");
    }
}

#[test]
fn a_restore_in_place_of_a_journal_has_to_be_asked_for() {
    let world = world();
    let (_, name) = path(&world, "b");
    succeeds(&world, &["journal", "backup", &name]);
    succeeds(&world, &["run", "--session", "s", "again"]);
    let said = stderr(&ends(&world, &["journal", "restore", &name], 1));
    assert!(said.contains("--replace"), "{said}");
    let turns = |world: &World| document(&succeeds(world, &["session", "show", "s", "--json"]))["turns"].clone();
    assert_eq!(turns(&world), 2, "nothing has changed");
    let restored = document(&succeeds(&world, &["journal", "restore", &name, "--replace", "--json"]));
    let aside = world.data_dir().join(restored["aside"].as_str().expect("a name"));
    assert!(aside.join("journal.sqlite").is_file());
    assert_eq!(turns(&world), 1);
    fs::write(Path::new(&name).join("journal.sqlite"), "altered").expect("written");
    let said = stderr(&ends(&world, &["journal", "restore", &name, "--replace"], 6));
    assert!(said.contains("is not what was backed up"), "{said}");
    assert_eq!(turns(&world), 1, "nothing has changed");
}

#[test]
fn stats_count_what_is_there() {
    let world = world();
    let stats = document(&succeeds(&world, &["journal", "stats", "--tables", "--json"]));
    assert_eq!((&stats["sessions"], &stats["phases"], &stats["turns"]), (&json!(1), &json!({"idle": 1}), &json!(1)));
    let records = query_number(&world.data_dir(), "SELECT count(*) FROM records").expect("a number");
    assert_eq!(stats["records"], records);
    assert!(stats["tables"].as_array().is_some_and(|tables| tables.iter().any(|table| table["name"] == "records")));
    assert!(stats["writer"].is_null(), "no host runs");
    let plain = document(&succeeds(&world, &["journal", "stats", "--json"]));
    assert!(plain["tables"].is_null(), "that takes reading the whole file");
    let text = stdout(&succeeds(&world, &["journal", "stats"]));
    assert!(text.contains("sessions    1 (1 idle)") && text.contains("no host runs"), "{text}");
}

/// Runs commands beside a host of this process that answers on its control socket.
async fn beside<T: Send + 'static>(world: World, work: impl FnOnce(&World) -> T + Send + 'static) -> (World, T) {
    tokio::task::spawn_blocking(move || {
        let done = work(&world);
        (world, done)
    })
    .await
    .expect("the commands run")
}

#[tokio::test(flavor = "multi_thread")]
async fn all_but_a_restore_work_beside_a_running_host() {
    let world = World::new(HI);
    let host = world.host().await;
    let server = Server::start(host.clone(), &world.data_dir(), Limits::default()).expect("a server");
    let session = Session::open(&host, "s").await;
    session.turn("hello").await;
    let (world, ()) = beside(world, |world| {
        let (_, name) = path(world, "b");
        succeeds(world, &["journal", "verify"]);
        succeeds(world, &["journal", "backup", &name]);
        succeeds(world, &["journal", "verify", "--backup", &name]);
        let stats = document(&succeeds(world, &["journal", "stats", "--json"]));
        assert_eq!((&stats["sessions"], &stats["writer"]["reserve"]), (&json!(1), &json!("held")), "{stats}");
        assert!(stats["writer"]["jobs"].as_u64().is_some_and(|jobs| jobs > 0));
        let said = stderr(&ends(world, &["journal", "restore", &name, "--replace"], 4));
        assert!(said.contains("stop it first"), "{said}");
    })
    .await;
    session.turn("and again").await;
    server.stop().await;
    host.shutdown().await;
    drop(world);
}

#[test]
fn a_session_is_forgotten_only_when_it_is_meant() {
    let world = world();
    let said = stderr(&ends(&world, &["session", "forget", "s"], 2));
    assert!(said.contains("can't be undone") && said.contains("--yes"), "{said}");
    succeeds(&world, &["session", "show", "s"]);
    ends(&world, &["session", "forget", "nobody", "--yes"], 1);
    let forgotten = document(&succeeds(&world, &["session", "forget", "s", "--yes", "--json"]));
    assert_eq!(forgotten, json!({"session": "s"}));
    for arguments in [
        &["session", "show", "s"][..],
        &["session", "events", "s"],
        &["session", "forget", "s", "--yes"],
        &["run", "--session", "s", "hello"],
    ] {
        let said = stderr(&ends(&world, arguments, 1));
        assert!(said.contains("forgotten"), "{arguments:?}: {said}");
    }
    assert_eq!(stdout(&succeeds(&world, &["session", "list"])), "");
    succeeds(&world, &["journal", "verify"]);
    let stats = document(&succeeds(&world, &["journal", "stats", "--json"]));
    assert_eq!((&stats["sessions"], &stats["forgotten"]), (&json!(0), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_forgets_a_session_between_its_turns() {
    let world = World::new(HI);
    let host = world.host().await;
    let server = Server::start(host.clone(), &world.data_dir(), Limits::default()).expect("a server");
    let session = Session::open(&host, "s").await;
    session.turn("hello").await;
    let mut news = host.follow(&session.id);
    let (world, ()) = beside(world, |world| {
        succeeds(world, &["session", "forget", "s", "--yes"]);
        let said = stderr(&ends(world, &["session", "show", "s"], 1));
        assert!(said.contains("forgotten"), "{said}");
        let said = stderr(&ends(world, &["run", "--session", "s", "hello"], 1));
        assert!(said.contains("forgotten"), "{said}");
        assert_eq!(stdout(&succeeds(world, &["session", "list"])), "");
        let said = stderr(&ends(world, &["session", "forget", "s", "--yes"], 1));
        assert!(said.contains("forgotten"), "{said}");
        succeeds(world, &["journal", "verify"]);
    })
    .await;
    while news.try_recv().is_ok() {}
    assert!(matches!(news.try_recv(), Err(tokio::sync::broadcast::error::TryRecvError::Closed)), "who follows is told");
    server.stop().await;
    host.shutdown().await;
    drop(world);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_turn_runs_is_not_forgotten() {
    let script = "[[rule]]\nwhen = { step = 0 }\noutput = [{ call = { name = \"effect_pure\", arguments = { note = \"held\", hold = true } } }]\n\
                  [[rule]]\noutput = [{ text = \"done\" }]";
    let world = World::new(script).effects();
    let host = world.host().await;
    let server = Server::start(host.clone(), &world.data_dir(), Limits::default()).expect("a server");
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("go").await;
    Session::wait_for_record(&mut news, "run_started").await;
    let (world, ()) = beside(world, |world| {
        let said = stderr(&ends(world, &["session", "forget", "s", "--yes"], 1));
        assert!(said.contains("is running") && said.contains("interrupt"), "{said}");
    })
    .await;
    world.release();
    host.quiesced(&session.id).await;
    assert_eq!(session.last_message().await, "done", "the turn went on");
    host.forget_session(&session.id).await.expect("it has ended");
    server.stop().await;
    host.shutdown().await;
}
