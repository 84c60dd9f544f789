//! Small chunks between their place and their extent: those that are never linked, and those that find no room
//! and wait in the backlog. Whatever looks at them meanwhile sees them whole, and nothing keeps what nobody wants any more.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use bytes::Bytes;
use store::{PendingChunk, Read, Scope, StoreError, conformance::support::key, content, manifest::read_exactly};
use store_embedded::{
    EmbeddedEngine, Options, ScrubCursor,
    disk::{Fault, FaultyDisk, SimulatedDisk},
};
use support::{Opened, Visible, block_on, chunk_name, index_directory, pattern};
use tempfile::TempDir;
use types::ContentId;

/// What is waited for comes at once, or not at all.
const LONG: Duration = Duration::from_secs(20);

struct Subject {
    power: SimulatedDisk,
    faulty: FaultyDisk,
    index: TempDir,
    opened: Opened,
}

fn subject() -> Subject {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(power.clone());
    let opened = Opened::on(faulty.clone(), index.path()).unwrap();
    Subject { power, faulty, index, opened }
}

impl Subject {
    /// What is visible now is there after a power failure, and clean.
    async fn must_survive(&self) {
        let before = self.opened.visible().await.unwrap();
        for seed in 0..5 {
            let index = support::copy_index(self.index.path());
            let opened = Opened::on(SimulatedDisk::from_image(self.power.crash(seed)), index.path()).unwrap();
            assert_eq!(opened.visible().await.unwrap(), before, "seed {seed}");
            opened.must_be_clean(&format!("seed {seed}")).await;
        }
    }
}

async fn finish(opened: &Opened, bytes: Vec<u8>) -> PendingChunk {
    let mut writer = opened.store.write_chunk(None).unwrap();
    writer.write(Bytes::from(bytes)).await.unwrap();
    writer.finish().await.unwrap()
}

/// Links chunks in one transaction, so that they are written at once.
async fn link(opened: &Opened, chunks: &[PendingChunk]) -> Result<(), StoreError> {
    opened
        .store
        .transact(Scope::new(), |txn| async move {
            for chunk in chunks {
                content::link(&txn, chunk, ContentId::new(7));
            }
            Ok(())
        })
        .await
}

#[test]
fn a_chunk_that_is_never_linked_harms_no_neighbour_and_keeps_no_extent() {
    let subject = subject();
    let opened = &subject.opened;
    block_on(async {
        let mut chunks = Vec::new();
        for number in 0..5 {
            chunks.push(finish(opened, pattern(number, 1_000)).await);
        }
        let unlinked = chunks.remove(2);
        link(opened, &chunks).await.unwrap();
        let linked: Vec<_> = chunks.iter().map(PendingChunk::reference).collect();
        drop(chunks);
        for (chunk, number) in linked.iter().zip([0, 1, 3, 4]) {
            let source = opened.store.open_chunk(*chunk).await.unwrap();
            assert_eq!(*read_exactly(&*source, 0, 1_000).await.unwrap(), *pattern(number, 1_000), "{number}");
        }
        opened.engine.checkpoint().unwrap();
        subject.must_survive().await;
        let free = async || {
            opened
                .store
                .transact(Scope::new(), |txn| {
                    let linked = &linked;
                    async move {
                        for chunk in linked {
                            assert!(content::free(&txn, *chunk, ContentId::new(7)).await?);
                        }
                        Ok::<_, StoreError>(())
                    }
                })
                .await
        };
        free().await.unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 0, "somebody may still link a chunk in it");
        drop(unlinked);
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 1);
        assert_eq!(opened.engine.metrics().extents, 0);
        opened.must_be_clean("after all").await;
    });
}

#[test]
fn a_transaction_that_is_run_again_or_refused_lets_go_of_its_chunks() {
    let subject = subject();
    let opened = &subject.opened;
    block_on(async {
        let chunk = [finish(opened, pattern(1, 1_000)).await];
        let refused = opened
            .store
            .transact(Scope::new(), |txn| {
                let chunk = &chunk[0];
                async move {
                    content::link(&txn, chunk, ContentId::new(7));
                    Err::<(), _>(StoreError::Closed)
                }
            })
            .await;
        assert!(matches!(refused, Err(StoreError::Closed)));
        drop(chunk);
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 1);
        assert_eq!(opened.engine.metrics().extents, 0);
    });
}

/// Bytes that tell whether anybody still has them.
struct Watched(Vec<u8>, #[expect(dead_code, reason = "counted, not used")] Arc<()>);

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[test]
fn nobody_keeps_the_bytes_of_a_small_chunk_that_is_written_or_given_up() {
    let subject = subject();
    let opened = &subject.opened;
    let watch = Arc::new(());
    let watched = async || {
        let mut writer = opened.store.write_chunk(None).unwrap();
        writer.write(Bytes::from_owner(Watched(pattern(1, 1_000), Arc::clone(&watch)))).await.unwrap();
        writer.finish().await.unwrap()
    };
    block_on(async {
        // The answer to the next commit comes when the log's thread is done with the one before.
        for waiting in [false, true] {
            if waiting {
                subject.faulty.inject(Fault::NoSpace, "extents/", 0);
            }
            opened.link("linked", &watched().await).await.unwrap();
            opened.put("next", "value").await.unwrap();
            assert_eq!(Arc::strong_count(&watch) > 1, waiting, "written, or waiting");
        }
        subject.faulty.heal();
        opened.engine.checkpoint().unwrap();
        assert_eq!(Arc::strong_count(&watch), 1, "written");
        drop(watched().await);
        assert_eq!(Arc::strong_count(&watch), 1, "given up");
    });
}

/// Everything that looks at chunks finds one that has no room in its extent yet.
#[test]
fn a_chunk_without_room_is_read_scrubbed_checked_replaced_and_deleted() {
    let subject = subject();
    let opened = &subject.opened;
    block_on(async {
        opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
        subject.faulty.inject(Fault::NoSpace, "extents/", 0);
        opened.put_chunk("kept", pattern(2, 1_000)).await.unwrap();
        opened.put_chunk("replaced", pattern(3, 1_000)).await.unwrap();
        opened.put_chunk("replaced", pattern(4, 1_000)).await.unwrap();
        opened.put_chunk("deleted", pattern(5, 1_000)).await.unwrap();
        opened.put("spilled", pattern(6, 200_000)).await.unwrap();
        opened.put("spilled", pattern(7, 200_000)).await.unwrap();
        assert!(subject.faulty.hits() >= 6, "none of them found room");
        opened.release("deleted").await.unwrap();
        opened.sweep().await.unwrap();
        let expected: Visible = [
            (chunk_name("before"), pattern(1, 1_000)),
            (chunk_name("kept"), pattern(2, 1_000)),
            (chunk_name("replaced"), pattern(4, 1_000)),
            ("spilled".to_owned(), pattern(7, 200_000)),
        ]
        .into_iter()
        .map(|(name, bytes)| (name, Bytes::from(bytes)))
        .collect();
        assert_eq!(opened.visible().await.unwrap(), expected);
        let scrubbed = opened.engine.scrub(ScrubCursor::default(), u64::MAX).await.unwrap();
        assert_eq!((scrubbed.chunks, scrubbed.problems), (4, vec![]));
        opened.must_be_clean("while it waits").await;
        opened.engine.collect().await.unwrap();
        subject.must_survive().await;

        opened.put("spilled", "short").await.unwrap();
        for name in ["before", "kept", "replaced"] {
            opened.release(name).await.unwrap();
        }
        opened.sweep().await.unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 0, "something waits for it");
        subject.must_survive().await;
        subject.faulty.heal();
        opened.engine.checkpoint().unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 1);
        opened.put_chunk("after", pattern(8, 1_000)).await.unwrap();
        opened.must_be_clean("after there was room").await;
    });
    block_on(subject.must_survive());
}

#[test]
fn a_backup_has_what_waits_for_room() {
    for paid_meanwhile in [false, true] {
        let subject = subject();
        let opened = &subject.opened;
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("backup");
        block_on(async {
            opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
            subject.faulty.inject(Fault::NoSpace, "extents/", 0);
            opened.put_chunk("waiting", pattern(2, 1_000)).await.unwrap();
            opened.put("spilled", pattern(3, 200_000)).await.unwrap();
            assert!(subject.faulty.hits() >= 2, "they found no room");
            subject.faulty.heal();
            opened.put_chunk("behind", pattern(4, 1_000)).await.unwrap();
            let mut pieces = 0;
            let copied = opened.engine.backup(&target, |_| {
                // The file has been copied, without them.
                pieces += 1;
                if paid_meanwhile {
                    opened.engine.checkpoint().unwrap();
                }
            });
            copied.unwrap();
            assert!(pieces > 0);
            let options = Options { reserve_bytes: 0, ..Options::default() };
            let engine = Arc::new(EmbeddedEngine::open(&target, options).unwrap());
            let store = store::Store::new(Arc::<EmbeddedEngine>::clone(&engine));
            let copy = Opened { engine, store };
            copy.must_be_clean("the backup").await;
            assert_eq!(copy.visible().await.unwrap(), opened.visible().await.unwrap());
        });
    }
}

#[test]
fn a_chunk_without_room_survives_every_crash_until_it_is_where_it_belongs() {
    /// Returns what was acknowledged, and what would be visible if the last step happened.
    async fn run(subject: &Subject) -> (Visible, Visible) {
        let (mut told, opened) = (Visible::new(), &subject.opened);
        for (step, name) in (1..).zip(["before", "waiting", "waiting too", "written", "after"]) {
            let mut next = told.clone();
            next.insert(chunk_name(name), Bytes::from(pattern(step, 700)));
            match name {
                "waiting" => subject.faulty.inject(Fault::NoSpace, "extents/", 0),
                "written" => subject.faulty.heal(),
                _ => {}
            }
            if opened.put_chunk(name, pattern(step, 700)).await.is_err() {
                return (told, next);
            }
            told = next;
            if matches!(name, "waiting too" | "written")
                && opened.engine.checkpoint().is_err() != (name == "waiting too")
            {
                break;
            }
        }
        (told.clone(), told)
    }
    for point in 0.. {
        let subject = subject();
        subject.power.fail_power_at(subject.power.calls() + point);
        let (told, next) = block_on(run(&subject));
        for seed in 0..4 {
            let index = support::copy_index(subject.index.path());
            let opened = Opened::on(SimulatedDisk::from_image(subject.power.crash(seed)), index.path()).unwrap();
            let found = block_on(opened.visible()).unwrap();
            assert!(found == told || found == next, "point {point} seed {seed}: {:?}", found.keys());
            block_on(opened.must_be_clean(&format!("point {point} seed {seed}")));
        }
        if told.len() == 5 {
            assert!(point > 10, "{point}");
            return;
        }
    }
}

/// 15 MB of small chunks in one commit.
async fn link_many(opened: &Opened) -> Result<(), StoreError> {
    let mut chunks = Vec::new();
    for number in 0..250 {
        chunks.push(finish(opened, vec![u8::try_from(number).unwrap(); 60_000]).await);
    }
    link(opened, &chunks).await
}

#[test]
fn no_more_waits_for_room_than_fits_into_the_memory_for_it() {
    let subject = subject();
    let (opened, faulty) = (&subject.opened, &subject.faulty);
    block_on(async {
        opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
        faulty.inject(Fault::NoSpace, "extents/", 0);
        for _ in 0..3 {
            link_many(opened).await.unwrap();
        }
    });
    std::thread::scope(|scope| {
        let hits = faulty.hits();
        let fourth = scope.spawn(|| block_on(link_many(opened)));
        while faulty.hits() < hits + 3 && !fourth.is_finished() {
            std::thread::yield_now();
        }
        assert!(!fourth.is_finished(), "more than 64 MiB are held in memory");
        faulty.heal();
        fourth.join().unwrap().unwrap();
    });
    opened.engine.checkpoint().unwrap();
    block_on(opened.must_be_clean("after there was room"));
}

/// A tiny chunk costs more memory than its bytes.
#[test]
fn tiny_chunks_wait_only_as_many_as_fit_into_the_memory_for_them() {
    let subject = subject();
    let (opened, faulty) = (&subject.opened, &subject.faulty);
    let many = async || {
        let mut chunks = Vec::new();
        for _ in 0..3_000 {
            chunks.push(finish(opened, vec![1]).await);
        }
        link(opened, &chunks).await
    };
    block_on(async {
        opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
        faulty.inject(Fault::NoSpace, "extents/", 0);
        many().await.unwrap();
        many().await.unwrap();
    });
    std::thread::scope(|scope| {
        let hits = faulty.hits();
        let third = scope.spawn(|| block_on(many()));
        while faulty.hits() < hits + 3 && !third.is_finished() {
            std::thread::yield_now();
        }
        assert!(!third.is_finished(), "9,000 chunks, each with the buffer it came in");
        faulty.heal();
        third.join().unwrap().unwrap();
    });
}

/// The log has no room either, and tries again and again: what it holds waits once.
#[test]
fn chunks_wait_once_however_often_their_frame_is_tried() {
    let subject = subject();
    let (opened, faulty) = (&subject.opened, &subject.faulty);
    block_on(opened.put_chunk("before", pattern(1, 1_000))).unwrap();
    faulty.inject(Fault::NoSpace, "", 0);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || sender.send(block_on(link_many(opened))).unwrap());
        while faulty.hits() < 8 {
            std::thread::yield_now();
        }
        faulty.inject(Fault::NoSpace, "extents/", 0);
        let linked = receiver.recv_timeout(LONG);
        faulty.heal();
        linked.expect("the log has room, and little waits").unwrap();
    });
    opened.engine.checkpoint().unwrap();
    block_on(opened.must_be_clean("after there was room"));
}

#[test]
fn an_extent_that_could_not_be_removed_is_removed_at_the_next_try() {
    let subject = subject();
    let opened = &subject.opened;
    block_on(async {
        opened.put_chunk("gone", pattern(1, 1_000)).await.unwrap();
        opened.release("gone").await.unwrap();
        opened.sweep().await.unwrap();
        subject.faulty.inject(Fault::Error, "extents/", 0);
        assert!(opened.engine.delete_dead_extents().is_err());
        subject.faulty.heal();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 1);
        assert!(store_embedded::disk::Disk::list(&subject.power, "extents").unwrap().is_empty());
    });
}

#[test]
fn a_row_named_after_a_chunk_without_room_reads_it() {
    // A second commit that refers to the chunk of another one, as a copy or a snapshot does.
    let subject = subject();
    let opened = &subject.opened;
    block_on(async {
        opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
        subject.faulty.inject(Fault::NoSpace, "extents/", 0);
        opened.put_chunk("waiting", pattern(2, 1_000)).await.unwrap();
        let row = opened.store.snapshot().get(&key(&chunk_name("waiting"))).await.unwrap().unwrap();
        opened.put(&chunk_name("copy"), row).await.unwrap();
        let visible = opened.visible().await.unwrap();
        assert_eq!(visible.get(&chunk_name("copy")), visible.get(&chunk_name("waiting")));
    });
    block_on(subject.must_survive());
}
