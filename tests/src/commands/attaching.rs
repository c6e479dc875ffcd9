//! A second command on the same folder is a client of the host that runs there: it sees the same approval, swaps a plugin at a
//! step boundary, and answers.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use super::{lines, mainstay, stderr, stdout};
use crate::support::{World, binary, world::plugin};

const SCRIPT: &str = r#"
[[rule]]
when = { tool = "write_file" }
output = [{ call = { name = "read_file", arguments = { path = "a.txt" } } }]
[[rule]]
when = { tool = "read_file", step = 1 }
output = [{ call = { name = "write_file", arguments = { path = "b.txt", content = "x\n" } } }]
[[rule]]
when = { step = 0 }
output = [{ call = { name = "read_file", arguments = { path = "a.txt" } } }]
[[rule]]
output = [{ text = "done" }]
"#;

#[test]
fn two_commands_share_a_host_and_one_swaps_a_plugin_under_the_other() {
    let world = World::new(SCRIPT).files();
    std::fs::write(world.path().join("workspace/a.txt"), "hello\n").expect("a file");
    let mut first = binary::command(&world);
    let first = first.args(["run", "--session", "s", "--json", "go"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut first = first.spawn().expect("it runs");
    let mut news = BufReader::new(first.stdout.take().expect("a pipe")).lines();
    let asked = news.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"approval_requested\"")));
    assert!(asked.is_some(), "the first command waits for an answer");

    let next = plugin("files-next");
    let swapped = mainstay(&world, &["plugin", "swap", "files", next.to_str().expect("UTF-8")]);
    assert_eq!(swapped.status.code(), Some(0), "{}", stderr(&swapped));
    let second = mainstay(&world, &["run", "--session", "s", "--approve", "all"]);
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    let rest: Vec<_> = news.map_while(Result::ok).collect();
    let status = first.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{rest:?}");
    assert!(
        rest.last().is_some_and(|line| line.contains("turn_completed")),
        "the first command saw the turn to its end"
    );

    let events = lines(&stdout(&mainstay(&world, &["session", "events", "s", "--json"])));
    let served: Vec<_> = events
        .iter()
        .filter(|event| event["kind"] == "call_ended")
        .map(|event| event["body"]["build"]["sha256"].to_string())
        .collect();
    assert_eq!(served.len(), 3);
    assert!(served[0] != served[1] && served[1] == served[2], "two digests in one turn: {served:?}");
}
