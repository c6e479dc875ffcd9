//! Damaged events are reported and passed; unknown ones are served.

use mainstay_journal::{Damage, DamagedEvent, FeedDelivery, FeedFilter, Journal, SqliteJournal, testing};
use mainstay_protocol::{
    Ordinal, Seq, Timestamp,
    feed::{FeedBody, FeedKind},
    record::record_digest,
};

use super::{
    super::script::{Script, open},
    all, filtered, kinds, one_turn, page, seqs,
};

/// Two sessions of one turn each (events 1-2 and 3-4; the records are 3 and 6), damaged while no host has them.
async fn damaged(folder: &std::path::Path, sql: &str) -> (SqliteJournal, Script) {
    let journal = open(folder);
    let script = one_turn(&journal, "one").await;
    one_turn(&journal, "two").await;
    drop(journal);
    testing::execute_sql(folder, sql).unwrap();
    (open(folder), script)
}

async fn check(sql: &str, expected: &[(u64, u64, Damage)]) {
    let folder = tempfile::tempdir().unwrap();
    let (journal, script) = damaged(folder.path(), sql).await;
    let page = page(&journal, journal.feed_start(), 10).await;
    let damaged: Vec<_> = expected
        .iter()
        .map(|(seq, ordinal, damage)| DamagedEvent {
            seq: Seq(*seq),
            tenant: Some(script.tenant.clone()),
            session: Some(script.session.clone()),
            ordinal: Ordinal(*ordinal),
            damage: *damage,
        })
        .collect();
    assert_eq!(page.damaged, damaged, "{sql}");
    assert_eq!(page.events.len() + page.damaged.len(), 4, "{sql}");
    assert_eq!((page.next, page.more), (page.latest, false));
}

#[tokio::test]
async fn a_page_goes_on_past_what_is_damaged_and_reports_it() {
    check("SELECT 1", &[]).await;
    let of_one = "tenant = 1 AND session = 1 AND ordinal = 3";
    check(
        &format!("UPDATE records SET body = replace(body, 'turn', 'tern') WHERE {of_one}"),
        &[(1, 3, Damage::Digest)],
    )
    .await;
    check(&format!("UPDATE records SET body = '{{' WHERE {of_one}"), &[(1, 3, Damage::Digest)]).await;
    check(&format!("UPDATE records SET digest = x'00' WHERE {of_one}"), &[(1, 3, Damage::Shape)]).await;
    check(&format!("UPDATE records SET seq = 17 WHERE {of_one}"), &[(1, 3, Damage::Reference)]).await;
    check(&format!("DELETE FROM records WHERE {of_one}"), &[(1, 3, Damage::Missing)]).await;
    check("UPDATE feed SET ordinal = 70 WHERE seq = 2", &[(2, 70, Damage::Missing)]).await;
}

#[tokio::test]
async fn a_follower_gets_the_rest_and_its_places_stay_good() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "UPDATE records SET body = '{}' WHERE session = 1 AND ordinal = 3";
    let (journal, script) = damaged(folder.path(), sql).await;
    let mut follower = journal.subscribe(FeedFilter::default(), Some(journal.feed_start()));
    let FeedDelivery::Damaged { cursor, damaged } = follower.next().await.unwrap() else { panic!("an event") };
    assert_eq!((damaged.seq, damaged.session, cursor.seq), (Seq(1), Some(script.session.clone()), Seq(1)));
    for expected in 2..=4 {
        assert_eq!(follower.next().await.unwrap().cursor().seq, Seq(expected));
    }
    assert_eq!(seqs(&page(&journal, cursor, 10).await.events), [2, 3, 4]);
    let one = page(&journal, journal.feed_start(), 1).await;
    assert_eq!((one.events.len(), one.damaged.len(), one.next.seq, one.more), (0, 1, Seq(1), true), "damage counts");
    assert_eq!(
        seqs(&page(&journal, one.next, 10).await.events),
        [2, 3, 4],
        "the check at a damaged event tells nothing"
    );
}

#[tokio::test]
async fn damage_passes_filters_that_only_its_record_could_decide() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "UPDATE records SET body = '{}' WHERE session = 1 AND ordinal = 3";
    let (journal, _) = damaged(folder.path(), sql).await;
    let start = journal.feed_start();
    let turn = FeedFilter { turn: "t".parse().ok(), ..FeedFilter::default() };
    assert_eq!(filtered(&journal, turn, start, 10).await.damaged.len(), 1);
    let two = FeedFilter { session: "two".parse().ok(), ..FeedFilter::default() };
    assert_eq!(filtered(&journal, two, start, 10).await.damaged.len(), 0);
    let ends = FeedFilter { kinds: [FeedKind::TurnEnded].into(), ..FeedFilter::default() };
    assert_eq!(filtered(&journal, ends, start, 10).await.damaged.len(), 0);
}

#[tokio::test]
async fn damaged_labels_hide_their_session_from_the_workspace_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = damaged(folder.path(), "UPDATE sessions SET labels = '{' WHERE session = 1").await;
    for (workspace, expected) in [("one", vec![]), ("two", vec![3, 4])] {
        let filter = FeedFilter { workspace: Some(workspace.to_owned()), ..FeedFilter::default() };
        assert_eq!(seqs(&all(&journal, &filter).await), expected);
    }
    assert_eq!(seqs(&all(&journal, &FeedFilter::default()).await), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_kind_of_a_newer_build_is_served_with_its_body() {
    let folder = tempfile::tempdir().unwrap();
    let record = |kind: &str, body: &str, ordinal| {
        let digest = record_digest(kind, Timestamp(5), body.as_bytes());
        format!(
            "INSERT OR IGNORE INTO kinds (name) VALUES ('{kind}');
             UPDATE records SET kind = (SELECT kind FROM kinds WHERE name = '{kind}'), at = 5, body = '{body}',
                 digest = x'{digest}' WHERE session = 1 AND ordinal = {ordinal};
             UPDATE feed SET kind = (SELECT kind FROM kinds WHERE name = '{kind}') WHERE session = 1 AND ordinal = {ordinal};"
        )
    };
    // A kind that this build does not know, and one that it knows and would not tell.
    let sql = record("telepathy", "{\"a\": [1]}", 3) + &record("model_changed", "{\"route\":\"r\",\"new\":1}", 6);
    let (journal, _) = damaged(folder.path(), &sql).await;
    let events = all(&journal, &FeedFilter::default()).await;
    assert_eq!((seqs(&events), kinds(&events)[2]), (vec![1, 2, 3, 4], FeedKind::TurnStarted));
    for (event, kind, body) in [(0, "telepathy", "{\"a\": [1]}"), (1, "model_changed", "{\"route\":\"r\",\"new\":1}")] {
        let FeedBody::Unknown(unknown) = &events[event].body else { panic!("{events:?}") };
        assert_eq!((unknown.original_kind.as_str(), unknown.body.get()), (kind, body));
    }
    let unknown = FeedFilter { kinds: [FeedKind::Unknown].into(), ..FeedFilter::default() };
    assert_eq!(seqs(&all(&journal, &unknown).await), [1, 2]);
    let known = FeedFilter { kinds: [FeedKind::TurnStarted, FeedKind::TurnEnded].into(), ..FeedFilter::default() };
    assert_eq!(seqs(&all(&journal, &known).await), [3, 4]);
}
