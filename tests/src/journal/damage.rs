//! Damaged rows: reported, passed, and never served.

use mainstay_journal::{Damage, Damaged, Journal, Place, Range, ReadError, SqliteJournal, testing};
use mainstay_protocol::{ItemId, Ordinal, record::RecordBody};

use super::script::{Script, commit_all, open};

/// A session of one turn, its journal closed, damaged, and open again.
async fn damaged(folder: &std::path::Path, sql: &str) -> (SqliteJournal, Script) {
    let mut script = Script::new("notes");
    let journal = open(folder);
    commit_all(&journal, [script.create()]).await;
    commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
    drop(journal);
    testing::execute_sql(folder, sql).unwrap();
    (open(folder), script)
}

const fn record(ordinal: u64, damage: Damage) -> Damaged {
    Damaged { at: Place::Record(Ordinal(ordinal)), damage }
}

#[tokio::test]
async fn a_page_goes_on_past_a_damaged_row() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "UPDATE records SET body = substr(body, 2) WHERE ordinal = 3;
               UPDATE items SET body = '{' WHERE item = 1";
    let (journal, script) = damaged(folder.path(), sql).await;
    let (tenant, session) = (&script.tenant, &script.session);
    let page = journal.records(tenant, session, Range::forward(100)).await.unwrap();
    assert_eq!(page.rows.iter().map(|record| record.ordinal.0).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    assert_eq!(page.damaged, [record(3, Damage::Digest)]);
    let page = journal.records(tenant, session, Range::forward(1).after(Ordinal(2))).await.unwrap();
    assert_eq!((page.rows.len(), page.damaged.len(), page.more), (0, 1, true), "a page of damage alone ends too");
    let items = journal.items(tenant, session, Range::forward(100)).await.unwrap();
    assert_eq!(items.rows.len(), 1);
    assert_eq!(items.damaged, [Damaged { at: Place::Item(ItemId(1)), damage: Damage::Digest }]);
}

#[tokio::test]
async fn a_kind_of_a_newer_build_is_served_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let digest = mainstay_protocol::record::record_digest("telepathy", mainstay_protocol::Timestamp(5), b"{\"a\":[1]}");
    let sql = format!(
        "INSERT INTO kinds (name) VALUES ('telepathy');
         UPDATE records SET kind = (SELECT kind FROM kinds WHERE name = 'telepathy'), at = 5, body = '{{\"a\":[1]}}', digest = x'{digest}'
         WHERE ordinal = 2"
    );
    let (journal, script) = damaged(folder.path(), &sql).await;
    let page = journal.records(&script.tenant, &script.session, Range::forward(100)).await.unwrap();
    assert!(page.damaged.is_empty());
    let RecordBody::Unknown(unknown) = &*page.rows[1].body else { panic!("{:?}", page.rows[1].body) };
    assert_eq!((unknown.kind.as_str(), unknown.body.get()), ("telepathy", "{\"a\":[1]}"));
}

#[tokio::test]
async fn a_damaged_state_or_message_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = damaged(folder.path(), "UPDATE heads SET checksum = x'00'").await;
    let error = journal.open_session(&script.tenant, &script.session).await.unwrap_err();
    assert_eq!(error, ReadError::Damaged { what: "state of the session" });

    commit_all(&journal, [script.submit("more")]).await;
    assert!(
        journal.open_session(&script.tenant, &script.session).await.unwrap().is_some(),
        "the next commit rewrites it"
    );
    testing::execute_sql(folder.path(), "UPDATE queue SET content = replace(content, 'more', 'less')").unwrap();
    let accepted = mainstay_protocol::AcceptedOrdinal(2);
    let error = journal.queued(&script.tenant, &script.session, accepted).await.unwrap_err();
    assert_eq!(error, ReadError::Damaged { what: "queue of the session" });
}
