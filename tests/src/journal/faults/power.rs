//! C06: the power goes at each barrier and in between. Whatever part of the unsynced writes made it to the disk, a fresh host
//! finds each acknowledged step whole, no step in part, and nothing that was never submitted.

use mainstay_faults::{Class, Disk, Effect, Fault, Faults, Image, Log, Numbers, Role, Variant, code};
use mainstay_journal::Journal;

use super::{
    LONG_LOG,
    check::{self, Complaint},
    ledger::{Ledger, Stage, Work, long_story},
    open_on,
    play::{Player, known, play},
    quick, rounds, scratch,
};

/// Opens images, as a fresh process would.
struct Inspector<'a> {
    ledger: &'a Ledger,
    faults: Faults,
    images: u64,
}

impl<'a> Inspector<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        Self { ledger, faults: quick(), images: 0 }
    }

    /// What is wrong with an image, given what was submitted and acknowledged before it.
    async fn inspect(&mut self, image: &Image, (submitted, acknowledged): &Known) -> Result<(), Complaint> {
        self.images += 1;
        let folder = scratch();
        image.write_to(folder.path()).expect("the image fits");
        let journal = open_on(&self.faults, folder.path()).map_err(|error| format!("it does not open: {error:?}"))?;
        let found = check::progress(&journal, self.ledger).await?;
        check::between(&found, acknowledged, submitted)?;
        // And it goes on from there.
        let next = self.ledger.sessions.iter().zip(&found).find_map(|(steps, found)| steps.get(*found));
        if let Some(transition) = next {
            journal.commit(transition.clone()).await.map_err(|error| format!("it does not go on: {error:?}"))?;
        }
        Ok(())
    }

    /// Looks at a disk in many variants; the first complaint of each, with its variant.
    async fn inspect_all(&mut self, disk: &Disk<'_>, log: &Log, variants: &[Variant]) -> Vec<String> {
        let known = known(log, disk.position(), self.ledger.lanes());
        let (mut seen, mut complaints): (Vec<Image>, _) = (Vec::new(), Vec::new());
        for variant in variants {
            let image = disk.crash(*variant);
            if seen.contains(&image) {
                continue;
            }
            if let Err(complaint) = self.inspect(&image, &known).await {
                complaints.push(format!("position {}, {variant:?}: {complaint}", disk.position()));
            }
            seen.push(image);
        }
        complaints
    }
}

type Known = (Vec<usize>, Vec<usize>);

fn variants(seed: u64, rounds: u64) -> Vec<Variant> {
    let fixed = [Variant::NothingUnsynced, Variant::AllUnsynced, Variant::LastWriteOnly, Variant::Reversed];
    let torn = (0..rounds).flat_map(|round| {
        let seed = seed.wrapping_add(round << 32);
        [Variant::Sectors(seed), Variant::Pages(seed + 1), Variant::Sectors(seed + 2)]
    });
    fixed.into_iter().chain(torn).collect()
}

/// A long story, played and recorded on a disk that works.
async fn recorded(ledger: &Ledger, stages: &[Stage], faults: &Faults) -> Log {
    let folder = scratch();
    faults.record();
    play(faults, folder.path(), ledger, stages).await;
    faults.take_log()
}

/// The barriers of a log, the places just after acknowledgements, and some in between, in order.
fn positions(log: &Log, between: u64) -> Vec<usize> {
    let mut numbers = Numbers::new(log.len() as u64);
    let mut positions = log.barriers();
    positions.extend((0..between).map(|_| numbers.below(log.len() as u64) as usize));
    positions.push(log.len());
    positions.sort_unstable();
    positions.dedup();
    positions
}

#[tokio::test]
async fn c06_power_loss_at_each_barrier_loses_nothing_acknowledged() {
    let (ledger, stages) = long_story(rounds());
    let log = recorded(&ledger, &stages, &quick()).await;
    let (submitted, acknowledged) = known(&log, log.len(), ledger.lanes());
    assert_eq!((&submitted, &acknowledged), (&ledger.complete(), &ledger.complete()), "all of the story was played");
    let (mut inspector, mut disk) = (Inspector::new(&ledger), Disk::new(&log));
    for position in positions(&log, 40 * rounds()) {
        disk.advance(position);
        let complaints = inspector.inspect_all(&disk, &log, &variants(position as u64, rounds())).await;
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
    println!("{} images of {} events", inspector.images, log.len());
}

#[tokio::test]
async fn c06_power_loss_while_a_journal_is_made_leaves_one_that_can_be_made() {
    let (ledger, stages) = long_story(1);
    let (faults, folder) = (quick(), scratch());
    faults.record();
    drop(open_on(&faults, folder.path()).expect("it opens"));
    let log = faults.take_log();
    let mut disk = Disk::new(&log);
    let mut empty = 0;
    for position in 0..=log.len() {
        disk.advance(position);
        for variant in variants(position as u64, rounds()) {
            let (image, folder) = (disk.crash(variant), scratch());
            image.write_to(folder.path()).expect("the image fits");
            empty += u64::from(image.files.get("journal.sqlite").is_some_and(Vec::is_empty));
            if let Err(error) = open_on(&quick(), folder.path()) {
                panic!("position {position}, {variant:?}: {error:?}");
            }
        }
    }
    assert!(empty > 0, "a file that is still empty is one of them");
    play(&faults, folder.path(), &ledger, &stages[..1]).await;
}

/// What is found wrong with a story that was played while `fault` was in the file system.
async fn caught(fault: Fault) -> Vec<String> {
    let (ledger, stages) = long_story(1);
    let faults = quick();
    faults.inject(fault);
    let log = recorded(&ledger, &stages, &faults).await;
    assert!(faults.struck() > 0);
    let (mut inspector, mut disk) = (Inspector::new(&ledger), Disk::new(&log));
    let mut complaints = Vec::new();
    for position in log.barriers() {
        disk.advance(position);
        complaints.extend(inspector.inspect_all(&disk, &log, &[Variant::NothingUnsynced]).await);
    }
    complaints
}

#[tokio::test]
async fn c06_a_barrier_whose_fsync_is_taken_out_is_caught() {
    for role in [Role::Wal, Role::Database] {
        let complaints = caught(Fault::each(Class::Sync, Effect::Swallow).of(role)).await;
        // Without those of the database, there is nothing but a log.
        let lost = |complaint: &String| complaint.contains("were acknowledged") || complaint.contains("Emptied");
        assert!(complaints.iter().any(lost), "without syncs of the {role:?}: {complaints:#?}");
    }
}

#[tokio::test]
async fn c06_a_single_barrier_whose_fsync_is_taken_out_is_caught() {
    let (ledger, stages) = long_story(1);
    let (faults, folder) = (quick(), scratch());
    faults.record();
    let mut player = Player::new(&faults, folder.path(), &ledger);
    // No checkpoint may come to the rescue.
    player.log = LONG_LOG;
    let mut caught = 0;
    let mut inspector = Inspector::new(&ledger);
    for stage in &stages {
        // The only barrier of a commit that is alone; the next one would cover it too.
        let alone = matches!(&stage, Stage::Together(works) if matches!(works[..], [Work::Commit(_)]));
        if alone {
            faults.inject(Fault::each(Class::Sync, Effect::Swallow).of(Role::Wal));
        }
        player.stage(stage).await;
        faults.heal();
        if alone {
            let log = faults.log();
            let mut disk = Disk::new(&log);
            disk.advance(log.len());
            let complaints = inspector.inspect_all(&disk, &log, &[Variant::NothingUnsynced]).await;
            assert!(complaints.len() == 1 && complaints[0].contains("were acknowledged"), "{complaints:#?}");
            caught += 1;
        }
    }
    assert_eq!(caught, 6);
}

/// Starts a host on what a kill at `position` leaves, in which syncs may have failed, and looks at it after a loss of power
/// at each barrier from then on: what the fresh host could read is what its clients know.
async fn kill_and_crash(inspector: &mut Inspector<'_>, faults: &Faults, log: &Log, position: usize) -> Vec<String> {
    let (folder, before) = (scratch(), log.until(position));
    let mut disk = Disk::new(&before);
    disk.advance(position);
    disk.kill().write_to(folder.path()).expect("the image fits");
    faults.record_after(before.clone());
    let journal = open_on(faults, folder.path()).expect("a journal of a killed host opens");
    let found = check::progress(&journal, inspector.ledger).await.expect("a journal of a killed host is whole");
    for (lane, found) in found.iter().enumerate().filter(|(_, found)| **found > 0) {
        faults.mark(format!("acknowledged {lane} {}", found - 1));
        faults.mark(format!("submitted {lane} {}", found - 1));
    }
    let next = inspector.ledger.sessions.iter().zip(&found).enumerate();
    for (lane, (steps, found)) in next {
        if let Some(step) = steps.get(*found) {
            faults.mark(format!("submitted {lane} {found}"));
            journal.commit(step.clone()).await.expect("a journal of a killed host goes on");
            faults.mark(format!("acknowledged {lane} {found}"));
            break;
        }
    }
    drop(journal);
    let after = faults.take_log();
    let mut disk = Disk::new(&after);
    let mut complaints = Vec::new();
    let seed = after.len() as u64;
    for at in after.barriers().into_iter().filter(|at| *at > position).chain([after.len()]) {
        disk.advance(at);
        let variants = [Variant::NothingUnsynced, Variant::LastWriteOnly, Variant::Pages(seed)];
        complaints.extend(inspector.inspect_all(&disk, &after, &variants).await);
    }
    complaints
}

#[tokio::test]
async fn c06_what_a_fresh_host_reads_after_a_kill_survives_a_power_loss() {
    let (ledger, stages) = long_story(1);
    let faults = quick();
    let log = recorded(&ledger, &stages, &faults).await;
    let mut inspector = Inspector::new(&ledger);
    // Just before each sync there is the most to lose.
    let barriers = log.barriers();
    let stride = (barriers.len() as u64 / (6 * rounds())).max(1) as usize;
    for position in barriers.into_iter().step_by(stride) {
        let complaints = kill_and_crash(&mut inspector, &faults, &log, position).await;
        assert!(complaints.is_empty(), "killed at {position}: {complaints:#?}");
    }
}

#[tokio::test]
async fn c06_a_failed_sync_loses_nothing_even_when_power_follows() {
    let (ledger, stages) = long_story(1);
    let faults = quick();
    let syncs = {
        let before = faults.count(Class::Sync, None);
        recorded(&ledger, &stages, &faults).await;
        faults.count(Class::Sync, None) - before
    };
    let mut inspector = Inspector::new(&ledger);
    let stride = (syncs / (10 * rounds())).max(1) as usize;
    for nth in (1..=syncs).step_by(stride) {
        let folder = scratch();
        faults.record();
        faults.inject(Fault::nth(Class::Sync, nth, Effect::Fail(code::SQLITE_IOERR_FSYNC)));
        let player = Player::new(&faults, folder.path(), &ledger);
        for stage in &stages {
            player.stage(stage).await;
        }
        player.stop();
        faults.heal();
        let log = faults.take_log();
        let mut disk = Disk::new(&log);
        let failed = log.events().iter().position(|event| matches!(event, mainstay_faults::Event::SyncFailed { .. }));
        let Some(failed) = failed else { continue };
        for position in log.barriers().into_iter().filter(|position| *position >= failed).step_by(3) {
            disk.advance(position);
            let variants = [Variant::NothingUnsynced, Variant::Pages(position as u64)];
            let complaints = inspector.inspect_all(&disk, &log, &variants).await;
            assert!(complaints.is_empty(), "sync {nth} failed at {failed}: {complaints:#?}");
        }
        // And where the host was killed after it, the next one starts on what only looks written.
        let complaints = kill_and_crash(&mut inspector, &faults, &log, failed + 1).await;
        assert!(complaints.is_empty(), "sync {nth} failed, and the host was killed: {complaints:#?}");
    }
}
