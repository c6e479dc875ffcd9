//! Hot swap: a step keeps the code that it began with, the next one runs on the new code, and a refused build changes nothing.

use std::time::Duration;

use futures::FutureExt as _;
use mainstay_driver::Host;
use mainstay_protocol::{
    PluginName, SessionId, TenantId,
    op::ApprovalAnswer,
    record::{RecordBody, v1::CallOutcome},
};

use crate::support::{
    Session, World, turn_ended,
    world::{guest, plugin},
};

const READS: &str = r#"
[[rule]]
when = { message = "go" }
output = [{ call = { name = "read_file", arguments = { path = "a.txt" } } }]
[[rule]]
when = { tool = "read_file", step = 1 }
output = [{ call = { name = "write_file", arguments = { path = "b.txt", content = "x\n" } } }]
[[rule]]
when = { tool = "write_file" }
output = [{ call = { name = "read_file", arguments = { path = "a.txt" } } }]
[[rule]]
output = [{ text = "done" }]
"#;

fn world() -> World {
    let world = World::new(READS).files();
    std::fs::write(world.path().join("workspace/a.txt"), "hello\n").expect("a file");
    world
}

fn files() -> PluginName {
    PluginName::new("files").expect("legal")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_builds_serve_one_turn() {
    let world = world();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let approval = session.approvals().await.remove(0);
    let old = host.plugins().into_iter().find(|view| view.plugin == files()).expect("files");
    let swapped = host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(swapped.replaced, Some(old.sha256));
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    let calls = session.calls().await;
    let served: Vec<_> =
        calls.iter().map(|call| (call.tool.as_str(), call.build.clone().expect("a build").sha256)).collect();
    // The definition of `write_file` is the same in both builds, so the answer counts, and the call runs on the code that is
    // active when it was answered.
    assert_eq!(served, [("read_file", old.sha256), ("write_file", swapped.sha256), ("read_file", swapped.sha256)]);
    assert!(calls.iter().all(|call| call.outcome == CallOutcome::Returned));
    let records = session.records().await;
    let receipt = records.iter().position(
        |record| matches!(&*record.body, RecordBody::ReceiptRecorded(receipt) if receipt.sha256 == swapped.sha256),
    );
    let served = records.iter().position(
        |record| matches!(&*record.body, RecordBody::CallEnded(call) if call.build.as_ref().is_some_and(|build| build.sha256 == swapped.sha256)),
    );
    assert!(receipt.is_some() && receipt < served, "a receipt comes before what it is for");
    assert_eq!(turn_ended(&session.records().await).0, "turn_completed");
    let now = host.plugins().into_iter().find(|view| view.plugin == files()).expect("files");
    assert_eq!((now.sha256, now.overridden, now.version.as_str()), (swapped.sha256, true, "0.1.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_survives_a_restart_until_the_manifests_entry_changes() {
    let world = world();
    let (old, new) = {
        let host = world.host().await;
        let old = host.plugins().into_iter().find(|view| view.plugin == files()).expect("files").sha256;
        let new = host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}")).sha256;
        host.shutdown().await;
        (old, new)
    };
    {
        let host = world.host().await;
        let now = host.plugins().into_iter().find(|view| view.plugin == files()).expect("files");
        assert_eq!((now.sha256, now.overridden), (new, true));
        host.shutdown().await;
    }
    let text = std::fs::read_to_string(world.manifest_file()).expect("the manifest");
    let changed = text.replace("[plugin.files]", "[plugin.files]\norder = 3");
    let mut options = world.options();
    options.manifest = mainstay_manifest::HostManifest::parse(&changed, "mainstay.toml").expect("a manifest");
    let host = Host::open(options).await.expect("a host");
    let now = host.plugins().into_iter().find(|view| view.plugin == files()).expect("files");
    assert_eq!((now.sha256, now.overridden), (old, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_build_leaves_the_old_one_and_is_recorded() {
    let world = world();
    let host = world.host().await;
    let before = host.plugins();
    // Another plugin's package: its tools are other ones, but it exports hooks that nobody granted.
    let error = host.swap(&files(), &guest("ungranted")).await.expect_err("refused").to_string();
    assert!(error.contains("the old one serves on") && error.contains("prepare"), "{error}");
    let unknown = PluginName::new("nobody").expect("legal");
    let error = host.swap(&unknown, &plugin("files-next")).await.expect_err("refused").to_string();
    assert!(error.starts_with("the manifest enables no plugin `nobody`; it has: "), "{error}");
    let rehearsal = PluginName::new("rehearsal").expect("legal");
    let error = host.swap(&rehearsal, &guest("echo-json")).await.expect_err("refused").to_string();
    assert!(error.contains("exports no `model`, and route `default` needs one"), "{error}");
    assert_eq!(host.plugins(), before);
    host.shutdown().await;
    drop(host);
    let records = host_records(&world).await;
    assert_eq!(records.iter().filter(|body| matches!(body, RecordBody::PluginRefused(_))).count(), 3);
    assert!(!records.iter().any(|body| matches!(body, RecordBody::PluginSwapped(_))));
}

/// The server drops a request's future when its client leaves.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_whose_client_leaves_goes_on() {
    let world = world();
    let host = world.host().await;
    let sha256 = |host: &Host| host.plugins().into_iter().find(|view| view.plugin == files()).expect("files").sha256;
    let old = sha256(&host);
    assert!(host.swap(&files(), &plugin("files-next")).now_or_never().is_none(), "it takes longer than one poll");
    let swapped = async {
        while sha256(&host) == old {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), swapped).await.expect("the swap happens");
    let new = sha256(&host);
    host.shutdown().await;
    drop(host);
    assert_eq!(sha256(&world.host().await), new, "what was active is what is active after a restart");
    let records = host_records(&world).await;
    assert_eq!(records.iter().filter(|body| matches!(body, RecordBody::PluginSwapped(_))).count(), 1);
}

/// The host's own records: plugin lifecycle.
pub(super) async fn host_records(world: &World) -> Vec<RecordBody> {
    use mainstay_journal::{Journal as _, Options, Range, SqliteJournal, host_session, host_tenant};
    let journal = SqliteJournal::open(&world.data_dir(), Options::default()).expect("the journal");
    let (tenant, session): (TenantId, SessionId) = (host_tenant(), host_session());
    let page = journal.records(&tenant, &session, Range::forward(100)).await.expect("records");
    page.rows.into_iter().map(|record| (*record.body).clone()).collect()
}
