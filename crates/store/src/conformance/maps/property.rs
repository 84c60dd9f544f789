//! The property: after any history of writes, clears, snapshots, deleted snapshots and prunes, a map reads, at every
//! epoch that exists, like an array in which each byte remembers where it came from. And the rows keep their invariants.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use types::ContentId;

use super::super::{Subject, support::*};
use crate::{
    chunk::ChunkRef,
    content::{self, Holdings},
    content_map::{self, Bounds, CELL_BYTES, Difference, MapWriter, Slice},
    epoch::Epochs,
    read::{Direction, Snapshot},
    transact::Store,
};

/// Histories per run, and the length of the longest.
const HISTORIES: u32 = 32;
const STEPS: usize = 40;

/// The window that histories play in: a border between two cells in its middle.
pub const WINDOW: u64 = 4096;
const BASE: u64 = CELL_BYTES - WINDOW / 2;

/// A step of a history. Offsets are within the window.
#[derive(Clone, Debug)]
pub enum Op {
    /// Writes `length` bytes at `offset`, from behind `skip` bytes of a fresh chunk.
    Write { offset: u64, length: u64, skip: u64 },
    /// Clears a range.
    Clear { offset: u64, length: u64 },
    /// Takes a snapshot.
    Snapshot,
    /// Deletes a snapshot, without a prune.
    Forget(usize),
    /// Removes what nobody can see, so many rows at a time.
    Prune(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let range = || (0..WINDOW, 1..WINDOW / 3).prop_map(|(offset, length)| (offset, length.min(WINDOW - offset)));
    prop_oneof![
        8 => (range(), 0..3_u64).prop_map(|((offset, length), skip)| Op::Write { offset, length, skip }),
        4 => range().prop_map(|(offset, length)| Op::Clear { offset, length }),
        3 => Just(Op::Snapshot),
        2 => any::<prop::sample::Index>().prop_map(|which| Op::Forget(which.index(1 << 16))),
        1 => (1..20_usize).prop_map(Op::Prune),
    ]
}

pub async fn random_histories_match_an_array_of_bytes_per_epoch(subject: Box<dyn Subject>) {
    let store = subject.store();
    let config = Config { cases: HISTORIES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let handle = tokio::runtime::Handle::current();
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&proptest::collection::vec(op(), 1..STEPS), |history| {
            handle.block_on(play(&store, &history));
            Ok(())
        })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

async fn play(store: &Store, history: &[Op]) {
    let mut model = MapModel::new(content_id(store));
    for op in history {
        model.apply(store, op).await;
        model.check(store).await;
    }
    model.apply(store, &Op::Prune(usize::MAX)).await;
    model.check(store).await;
    model.finish(store).await;
}

/// Where a byte comes from: a chunk and a place in it. `None` is a hole.
type Origin = Option<(ChunkRef, u64)>;

/// A map and the array it should equal at each of its epochs.
pub struct MapModel {
    content: ContentId,
    current: u64,
    present: Vec<Origin>,
    /// The epoch in which each byte was last written; 0 for never.
    written: Vec<u64>,
    snapshots: BTreeMap<u64, Vec<Origin>>,
}

impl MapModel {
    #[must_use]
    pub fn new(content: ContentId) -> Self {
        let present = vec![None; usize::try_from(WINDOW).unwrap()];
        let written = vec![0; present.len()];
        Self { content, current: 1, present, written, snapshots: BTreeMap::new() }
    }

    fn epochs(&self) -> Epochs {
        Epochs { current: self.current, newest_snapshot: self.snapshots.keys().next_back().copied() }
    }

    /// Does a step in the store and in the array.
    pub async fn apply(&mut self, store: &Store, op: &Op) {
        match *op {
            Op::Write { offset, length, skip } => self.write(store, offset, length, skip).await,
            Op::Clear { offset, length } => self.clear(store, offset, length).await,
            Op::Snapshot => {
                self.snapshots.insert(self.current, self.present.clone());
                self.current += 1;
            }
            Op::Forget(which) => {
                let count = self.snapshots.len().max(1);
                let gone = self.snapshots.keys().nth(which % count).copied();
                gone.map(|epoch| self.snapshots.remove(&epoch));
            }
            Op::Prune(limit) => self.prune(store, limit).await,
        }
    }

    async fn write(&mut self, store: &Store, offset: u64, length: u64, skip: u64) {
        let (content, epochs) = (self.content, self.epochs());
        let size = usize::try_from(skip + length + 1).unwrap();
        let pending = &pending(store, vec![7; size]).await;
        let chunk = pending.reference();
        commit(store, |txn| async move {
            content::link(&txn, pending, content);
            let mut map = MapWriter::new(&txn, content, epochs);
            map.write(BASE + offset, Slice { chunk, skip, length }).await?;
            map.finish().await
        })
        .await;
        let start = usize::try_from(offset).unwrap();
        for (place, from) in self.present[start..].iter_mut().zip(skip..skip + length) {
            *place = Some((chunk, from));
        }
        self.written[start..start + usize::try_from(length).unwrap()].fill(self.current);
    }

    async fn clear(&mut self, store: &Store, offset: u64, length: u64) {
        let (content, epochs) = (self.content, self.epochs());
        commit(store, |txn| async move {
            let mut map = MapWriter::new(&txn, content, epochs);
            map.clear(BASE + offset, BASE + offset + length).await?;
            map.finish().await
        })
        .await;
        let start = usize::try_from(offset).unwrap();
        self.present[start..start + usize::try_from(length).unwrap()].fill(None);
    }

    async fn prune(&self, store: &Store, limit: usize) {
        let content = self.content;
        let snapshots: &Vec<u64> = &self.snapshots.keys().copied().collect();
        let readers = content_map::Readers { snapshots, present: true };
        let mut from = Some(0);
        while let Some(place) = from {
            let step = |txn| async move { content_map::prune(&txn, content, readers, place, limit).await };
            let next = commit(store, step).await;
            assert!(next.is_none_or(|next| next > place), "a prune that does not go on");
            from = next;
        }
    }

    /// Compares everything.
    pub async fn check(&self, store: &Store) {
        let snapshot = store.snapshot();
        let mut epochs: Vec<(u64, &Vec<Origin>)> =
            self.snapshots.iter().map(|(epoch, array)| (*epoch, array)).collect();
        epochs.push((self.current, &self.present));
        for (epoch, expected) in &epochs {
            assert_eq!(self.read(&snapshot, *epoch).await, **expected, "at epoch {epoch}");
        }
        for (old, before) in &epochs {
            let (new, after) = epochs[epochs.len() - 1];
            let found = self.diff(&snapshot, *old, new).await;
            self.check_differences(&found, *old, before, after);
        }
        self.check_rows(store, &snapshot).await;
    }

    /// The array at an epoch, read a few segments at a time.
    async fn read(&self, snapshot: &Snapshot, epoch: u64) -> Vec<Origin> {
        let mut array = vec![None; usize::try_from(WINDOW).unwrap()];
        let mut from = Some(BASE);
        while let Some(start) = from {
            let range = (start, BASE + WINDOW);
            let bounds = Bounds { found: 3, examined: 4 };
            let (segments, next) = content_map::read_some(snapshot, self.content, epoch, range, bounds).await.unwrap();
            assert!(next.is_none_or(|next| next > start), "it goes on");
            for segment in segments {
                for step in 0..segment.slice.length {
                    let place = &mut array[usize::try_from(segment.offset + step - BASE).unwrap()];
                    assert_eq!(*place, None, "two rows cover {} at epoch {epoch}", segment.offset + step);
                    *place = Some((segment.slice.chunk, segment.slice.skip + step));
                }
            }
            from = next;
        }
        array
    }

    async fn diff(&self, snapshot: &Snapshot, old: u64, new: u64) -> Vec<Difference> {
        let mut all: Vec<Difference> = Vec::new();
        let mut from = Some(BASE);
        while let Some(start) = from {
            let (range, bounds) = ((start, BASE + WINDOW), Bounds { found: 2, examined: 5 });
            let (found, next) = content_map::diff(snapshot, self.content, (old, new), range, bounds).await.unwrap();
            assert!(next.is_none_or(|next| next > start), "it goes on");
            for piece in found {
                match all.last_mut() {
                    // What one call did not see to its end, the next one goes on with.
                    Some(last) if last.end == piece.start && last.written == piece.written => last.end = piece.end,
                    _ => all.push(piece),
                }
            }
            from = next;
        }
        all
    }

    /// What differs is found, and says how. What is a hole on both sides may be told as cleared, but only if it was
    /// written in between.
    fn check_differences(&self, found: &[Difference], old: u64, before: &[Origin], after: &[Origin]) {
        let mut told: Vec<Option<bool>> = vec![None; before.len()];
        for piece in found {
            let place = |offset: u64| usize::try_from(offset - BASE).unwrap();
            assert!(told[place(piece.start)..place(piece.end)].iter().all(Option::is_none), "{piece:?} is told twice");
            told[place(piece.start)..place(piece.end)].fill(Some(piece.written));
        }
        for (place, told) in told.into_iter().enumerate() {
            match (before[place], after[place], told) {
                (was, is, told) if was != is => assert_eq!(told, Some(is.is_some()), "byte {place} since {old}"),
                (_, None, Some(false)) => assert!(self.written[place] > old, "byte {place} since {old} was a hole"),
                (_, _, told) => assert_eq!(told, None, "byte {place} is as it was in {old}"),
            }
        }
    }

    /// No row crosses a cell; the chunks that are live are those the rows refer to, as often as they say.
    async fn check_rows(&self, store: &Store, snapshot: &Snapshot) {
        let mut referred: BTreeMap<ChunkRef, u64> = BTreeMap::new();
        for row in rows(snapshot, content_map::all_rows(self.content), Direction::Ascending).await {
            let (offset, epoch, slice) = content_map::parse_row(row).unwrap();
            assert!(epoch <= self.current);
            let Some(slice) = slice else { continue };
            assert!(slice.length > 0 && slice.skip + slice.length <= slice.chunk.length);
            let last = offset + slice.length - 1;
            assert_eq!(offset / CELL_BYTES, last / CELL_BYTES, "a row crosses a cell");
            *referred.entry(slice.chunk).or_default() += 1;
        }
        let live = live_chunks(store).await.into_values().filter(|record| record.owner == self.content);
        let live: BTreeMap<ChunkRef, u64> = live.map(|record| (record.chunk, record.slices.rows)).collect();
        assert_eq!(live, referred, "a chunk is live exactly while a row refers to it");
    }

    /// Without snapshots a prune leaves what the present sees and nothing else; a release leaves nothing at all.
    pub async fn finish(mut self, store: &Store) {
        self.snapshots.clear();
        self.prune(store, 7).await;
        self.check(store).await;
        let left = rows(&store.snapshot(), content_map::all_rows(self.content), Direction::Ascending).await;
        assert!(left.into_iter().all(|row| content_map::parse_row(row).unwrap().2.is_some()), "a tombstone stays");
        let content = self.content;
        commit(store, |txn| async move { content::release(&txn, content, Holdings::Map).await }).await;
        sweep_all(store).await;
        assert!(live_chunks(store).await.values().all(|record| record.owner != content));
    }
}
