//! `mainstay journal feed` on a folder that no host has, and with a running host.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use mainstay_server::Limits;

use super::{
    super::{lines, mainstay, stderr, stdout},
    ECHO, Served,
};
use crate::support::{World, binary};

fn world() -> World {
    let world = World::new(ECHO);
    for session in ["s", "t"] {
        let output = mainstay(&world, &["run", "--session", session, "hello"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    world
}

fn feed(world: &World, arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = mainstay(world, &[&["journal", "feed", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    lines(&stdout(&output))
}

#[test]
fn without_a_host_all_is_printed_and_the_last_line_says_where_to_go_on() {
    let world = world();
    let all = feed(&world, &[]);
    let (end, events) = all.split_last().expect("lines");
    assert!(events.iter().all(|event| event["cursor"].is_string() && event["seq"].is_number()), "{events:?}");
    let ended = |event: &&serde_json::Value| event["event"] == "turn_ended";
    assert_eq!(events.iter().filter(ended).count(), 2);
    assert_eq!(
        (&end["event"], &end["reason"], &end["cursor"]),
        (&"end".into(), &"latest".into(), &events.last().expect("one")["cursor"])
    );

    let middle = events[2]["cursor"].as_str().expect("a cursor");
    assert_eq!(feed(&world, &["--after", middle])[..events.len() - 3], events[3..]);
    let two = feed(&world, &["--after", middle, "--limit", "2"]);
    assert_eq!((&two[..2], &two[2]["reason"]), (&events[3..5], &"limit".into()));
    let ends = feed(&world, &["--kind", "turn_ended", "--session", "t"]);
    assert_eq!((ends.len(), &ends[0]["session"], &ends[1]), (2, &"t".into(), end));
    let lifecycle = feed(&world, &["--kind", "plugin_lifecycle", "--plugin", "rehearsal"]);
    assert_eq!(lifecycle[0]["tenant"], ".host", "the operator sees the host's own events");
}

#[test]
fn people_get_a_line_an_event_and_a_hint() {
    let world = world();
    let output = mainstay(&world, &["journal", "feed", "--session", "s"]);
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(text.lines().any(|line| line.contains("turn_ended") && line.contains("completed")), "{text}");
    assert!(text.lines().all(|line| line.contains("  s  ")), "{text}");
    assert!(said.contains("--after "), "{said}");
}

#[test]
fn what_is_wrong_is_said() {
    let world = world();
    for (arguments, code, says) in [
        (["--after", "yesterday"], 2, "no cursor"),
        (["--kind", "weather"], 2, "turn_started"),
        (["--limit", "0"], 2, "0 is not in"),
    ] {
        let output = mainstay(&world, &[&["journal", "feed"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    let cursor = feed(&world, &[]).pop().expect("an end")["cursor"].as_str().expect("a cursor").to_owned();
    let other = self::world();
    let output = mainstay(&other, &["journal", "feed", "--after", &cursor]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("restored or replaced") && stderr(&output).contains("--after"),
        "{}",
        stderr(&output)
    );
}

/// A command that follows, and what it prints.
fn following(world: &World, arguments: &[&str]) -> (Child, std::io::Lines<BufReader<ChildStdout>>) {
    let mut command = binary::command(world);
    command
        .args(["journal", "feed", "--follow", "--json"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_host_it_follows_until_somebody_ends_it() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 1).await;
    let (mut child, mut printed) = following(&served.world, &["--from-start", "--kind", "turn_ended"]);
    let mut next =
        move || tokio::task::block_in_place(|| printed.next()).map(|line| lines(&line.expect("a line")).remove(0));
    let first = next().expect("an event");
    served.turns("t", 1).await;
    let second = next().expect("an event");
    assert_eq!((&first["session"], &second["session"]), (&"s".into(), &"t".into()));

    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    assert_eq!(next(), None);
    let status = tokio::task::block_in_place(|| child.wait()).expect("it ends");
    assert_eq!(status.code(), Some(0), "Ctrl-C ends it cleanly");

    let cursor = first["cursor"].as_str().expect("a cursor");
    let (child, mut printed) = following(&served.world, &["--after", cursor, "--kind", "turn_ended"]);
    let line = tokio::task::block_in_place(|| printed.next()).expect("an event").expect("a line");
    assert_eq!(lines(&line)[0], second);
    served.stop().await;
    let output = tokio::task::block_in_place(|| child.wait_with_output()).expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    assert!(said.contains("the host ended") && said.contains("--after"), "{said}");
}
