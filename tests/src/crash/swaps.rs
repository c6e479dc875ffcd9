//! A kill between each two arrows of a swap: before its transaction the old build is active after the restart, after it the new
//! one, and the turn that was waiting goes on either way.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use mainstay_protocol::{Digest, op::ApprovalAnswer};

use crate::support::{Session, World, binary, turn_ended, world::plugin};

const SCRIPT: &str = r#"
[[rule]]
when = { tool = "write_file" }
output = [{ text = "done" }]
[[rule]]
output = [{ call = { name = "write_file", arguments = { path = "b.txt", content = "x\n" } } }]
"#;

/// Swaps the tools of a session that waits for a person, and dies at a point of it; gives the build that is active after the
/// restart.
async fn kill_at(point: &str) -> Digest {
    let world = World::new(SCRIPT).files();
    let mut running = binary::command(&world);
    running.env("MAINSTAY_FAILPOINT", point).args(["run", "--session", "s", "--json", "go"]);
    let mut running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut news = BufReader::new(running.stdout.take().expect("a pipe")).lines();
    let asked = news.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"approval_requested\"")));
    assert!(asked.is_some(), "the session waits for a person");
    let swap = binary::command(&world).arg("plugin").arg("swap").arg("files").arg(plugin("files-next")).output();
    assert!(!swap.expect("it runs").status.success(), "{point}: nobody is told that the swap happened");
    let output = running.wait_with_output().expect("it ends");
    assert!(binary::was_killed(&output), "{point}: {:?}", output.status);

    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let approval = session.approvals().await.remove(0);
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    assert_eq!(turn_ended(&session.records().await).0, "turn_completed", "{point}");
    let active = host.plugins().into_iter().find(|view| view.plugin.as_str() == "files").expect("files").sha256;
    assert_eq!(session.calls().await[0].build.as_ref().expect("a build").sha256, active, "{point}");
    active
}

fn digest(package: &str) -> Digest {
    Digest::of(&std::fs::read(plugin(package).join("files.wasm")).expect("the component"))
}

#[tokio::test(flavor = "multi_thread")]
async fn before_its_transaction_a_swap_has_not_happened() {
    for point in ["swap.verified", "swap.loaded"] {
        assert_eq!(kill_at(point).await, digest("files"), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_its_transaction_a_swap_has_happened() {
    for point in ["swap.recorded", "swap.done"] {
        assert_eq!(kill_at(point).await, digest("files-next"), "{point}");
    }
}
