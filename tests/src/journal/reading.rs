//! Pages and lists.

use mainstay_journal::{Journal, Range, ReadError, SessionsQuery};
use mainstay_protocol::{Ordinal, SessionId, TenantId};

use super::script::{Script, commit_all, open};

#[tokio::test]
async fn pages_run_both_ways_and_tell_whether_there_is_more() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
    let page = async |range: Range<Ordinal>| {
        let page = journal.records(&script.tenant, &script.session, range).await.unwrap();
        (page.rows.iter().map(|record| record.ordinal.0).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(page(Range::forward(3)).await, (vec![1, 2, 3], true));
    assert_eq!(page(Range::forward(10).after(Ordinal(3)).before(Ordinal(6))).await, (vec![4, 5], false));
    assert_eq!(page(Range::backward(2)).await, (vec![6, 5], true));
    assert_eq!(page(Range::backward(5).before(Ordinal(6))).await, (vec![5, 4, 3, 2, 1], false));
    assert_eq!(page(Range::forward(u32::MAX).after(Ordinal(6))).await, (vec![], false));
    let zero = journal.records(&script.tenant, &script.session, Range::forward(0)).await.unwrap_err();
    assert_eq!(zero, ReadError::ZeroLimit);
}

#[tokio::test]
async fn a_tenant_sees_its_own_sessions_only() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let stranger = TenantId::new("stranger").unwrap();
    assert!(journal.open_session(&stranger, &script.session).await.unwrap().is_none());
    assert!(journal.records(&stranger, &script.session, Range::forward(10)).await.unwrap().rows.is_empty());

    let mut theirs = Script::new("notes");
    theirs.tenant = stranger.clone();
    commit_all(&journal, [theirs.create(), theirs.submit("x")]).await;
    assert_eq!(journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap().head, Ordinal(1));
    assert_eq!(journal.open_session(&stranger, &script.session).await.unwrap().unwrap().head, Ordinal(2));
    let list = journal.sessions(&stranger, SessionsQuery { limit: 10, before: None }).await.unwrap();
    assert_eq!(list.rows.len(), 1);
}

#[tokio::test]
async fn lists_are_newest_first_and_page_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut scripts: Vec<_> = (0..5).map(|number| Script::new(&format!("s{number}"))).collect();
    for (number, script) in scripts.iter_mut().enumerate() {
        // The first two at one instant.
        script.now.0 += 10 * number.saturating_sub(1) as u64;
        commit_all(&journal, [script.create()]).await;
    }
    scripts[1].now.0 += 1_000;
    commit_all(&journal, [scripts[1].submit("x")]).await;

    let mut query = SessionsQuery { limit: 2, before: None };
    let mut seen = Vec::new();
    loop {
        let page = journal.sessions(&scripts[0].tenant, query).await.unwrap();
        seen.extend(page.rows.iter().map(|row| row.session.as_str().to_owned()));
        query.before = page.rows.last().map(|row| row.cursor);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, ["s1", "s4", "s3", "s2", "s0"]);

    let work = journal.sessions_with_work().await.unwrap();
    let work: Vec<_> = work.iter().map(|row| (row.session.clone(), row.phase.as_str())).collect();
    assert_eq!(work, [(SessionId::new("s1").unwrap(), "queued")]);
}
