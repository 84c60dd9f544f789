//! The bytes of a file against a plain vector of bytes: writes, clears, other lengths, snapshots of the share, files that are
//! made anew, moved, copied and deleted.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use proptest::prelude::*;
use support::*;

/// Longest file.
const LENGTH: u64 = 64;

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u64, u8),
    Clear(u64, u64),
    Resize(u64),
    Create(u64),
    Snapshot,
    Rename,
    /// The bytes come from another file, which is written too.
    CopyFrom,
    /// The file becomes the other one.
    CopyTo,
    CopyOntoItself,
    /// The bytes come from what a snapshot keeps, the first or the last.
    CopySnapshot(bool),
    Delete,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..LENGTH).prop_flat_map(|start| (Just(start), start + 1..=LENGTH));
    let step = prop_oneof![
        8 => (range(), 1..=255_u8).prop_map(|((start, end), byte)| Step::Write(start, end, byte)),
        4 => range().prop_map(|(start, end)| Step::Clear(start, end)),
        3 => (0..=LENGTH).prop_map(Step::Resize),
        1 => (0..=LENGTH).prop_map(Step::Create),
        2 => Just(Step::Snapshot),
        1 => Just(Step::Rename),
        1 => Just(Step::CopyFrom),
        2 => Just(Step::CopyTo),
        1 => Just(Step::CopyOntoItself),
        2 => any::<bool>().prop_map(Step::CopySnapshot),
        1 => Just(Step::Delete),
    ];
    proptest::collection::vec(step, 1..40)
}

/// The bytes of a file, of which those that were never written are nothing.
type Bytes = Vec<Option<u8>>;

/// The written ranges, merged where they touch.
fn written(file: &Bytes) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (place, _) in (0_u64..).zip(file).filter(|(_, byte)| byte.is_some()) {
        match ranges.last_mut() {
            Some(last) if last.1 == place => last.1 = place + 1,
            _ => ranges.push((place, place + 1)),
        }
    }
    ranges
}

fn index(place: u64) -> usize {
    usize::try_from(place).unwrap()
}

/// What a file is expected to be.
#[derive(Clone, Debug)]
struct Model {
    name: &'static str,
    file: Option<Bytes>,
    /// What a copy of the file is, once there is one. Nobody writes it but copies.
    other: Option<Bytes>,
}

/// Where the other file is: not in the way of the one that is written.
const OTHER: &str = "other/copy";

impl Model {
    /// Bytes of the file from `start` on, when the range is within it.
    fn range(&mut self, start: u64, end: u64) -> Option<&mut [Option<u8>]> {
        self.file.as_mut()?.get_mut(index(start)..index(end))
    }

    async fn act(&mut self, world: &World, step: &Step, snapshots: &[(Timestamp, Model)]) {
        match step {
            Step::Write(start, end, byte) => {
                let written = world.put_range(self.name, *start, &vec![*byte; index(end - start)]).await;
                assert_eq!(written.is_ok(), self.range(*start, *end).is_some(), "{written:?}");
                if let Some(range) = self.range(*start, *end) {
                    range.fill(Some(*byte));
                }
            }
            Step::Clear(start, end) => {
                let cleared = world.clear_range(self.name, *start, *end).await;
                assert_eq!(cleared.is_ok(), self.range(*start, *end).is_some(), "{cleared:?}");
                if let Some(range) = self.range(*start, *end) {
                    range.fill(None);
                }
            }
            Step::Resize(length) => {
                let resized = world.resize(self.name, *length).await;
                assert_eq!(resized.is_ok(), self.file.is_some(), "{resized:?}");
                if let Some(file) = &mut self.file {
                    file.resize(index(*length), None);
                }
            }
            Step::Create(length) => {
                world.create_file(self.name, *length).await.unwrap();
                self.file = Some(vec![None; index(*length)]);
            }
            Step::Rename => {
                let to = if self.name == "a" { "b" } else { "a" };
                let renamed = world.rename(self.name, to, false).await;
                assert_eq!(renamed.is_ok(), self.file.is_some(), "{renamed:?}");
                self.name = if renamed.is_ok() { to } else { self.name };
            }
            Step::CopyFrom => {
                let copied = world.copy(OTHER, None, self.name).await;
                assert_eq!(copied.is_ok(), self.other.is_some(), "{copied:?}");
                self.file = if copied.is_ok() { self.other.clone() } else { self.file.take() };
            }
            Step::CopyTo => {
                let copied = world.copy(self.name, None, OTHER).await;
                assert_eq!(copied.is_ok(), self.file.is_some(), "{copied:?}");
                self.other = if copied.is_ok() { self.file.clone() } else { self.other.take() };
            }
            Step::CopyOntoItself => {
                let copied = world.copy(self.name, None, self.name).await;
                assert_eq!(copied.is_ok(), self.file.is_some(), "{copied:?}");
            }
            Step::CopySnapshot(first) => {
                let kept = if *first { snapshots.first() } else { snapshots.last() };
                let Some((snapshot, kept)) = kept else { return };
                let copied = world.copy(kept.name, Some(*snapshot), self.name).await;
                assert_eq!(copied.is_ok(), kept.file.is_some(), "{copied:?}");
                self.file = if copied.is_ok() { kept.file.clone() } else { self.file.take() };
            }
            Step::Delete => {
                let deleted = world.delete(self.name).await;
                assert_eq!(deleted.is_ok(), self.file.is_some(), "{deleted:?}");
                self.file = None;
            }
            Step::Snapshot => {}
        }
    }

    async fn check(&self, world: &World, snapshot: Option<Timestamp>) {
        let found = world.read(self.name, snapshot).await;
        match &self.file {
            Some(file) => {
                let bytes: Vec<u8> = file.iter().map(|byte| byte.unwrap_or(0)).collect();
                assert_eq!(found.unwrap(), bytes);
                assert_eq!(world.ranges(self.name, snapshot).await.unwrap(), written(file));
                assert_eq!(world.names("", snapshot).await, [self.name, "other"]);
            }
            None => {
                assert!(matches!(found, Err(FileError::ResourceNotFound)), "{found:?}");
                assert_eq!(world.names("", snapshot).await, ["other"]);
            }
        }
        if let Some(other) = &self.other {
            let bytes: Vec<u8> = other.iter().map(|byte| byte.unwrap_or(0)).collect();
            assert_eq!(world.read(OTHER, snapshot).await.unwrap(), bytes);
            assert_eq!(world.ranges(OTHER, snapshot).await.unwrap(), written(other));
        }
    }
}

async fn live(steps: &[Step]) {
    let world = World::new().await;
    let mut model = Model { name: "a", file: Some(vec![None; index(LENGTH)]), other: None };
    world.create_directory("other").await.unwrap();
    world.create_file(model.name, LENGTH).await.unwrap();
    let mut snapshots = Vec::new();
    for step in steps {
        if matches!(step, Step::Snapshot) {
            snapshots.push((world.snapshot().await, model.clone()));
        }
        model.act(&world, step, &snapshots).await;
        model.check(&world, None).await;
        let held = |file: &Option<Bytes>| file.as_ref().map_or(0, |file| file.iter().flatten().count());
        assert_eq!(world.usage().await, u64::try_from(held(&model.file) + held(&model.other)).unwrap());
    }
    for (snapshot, model) in &snapshots {
        model.check(&world, Some(*snapshot)).await;
    }
    // One after the other goes, and those that are left stay what they are.
    while let Some((snapshot, _)) = (!snapshots.is_empty()).then(|| snapshots.remove(snapshots.len() / 2)) {
        world.delete_snapshot(snapshot).await;
        world.sweep().await;
        model.check(&world, None).await;
        for (snapshot, model) in &snapshots {
            model.check(&world, Some(*snapshot)).await;
        }
    }
    world.audit().await;
    world.check_empties().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_file_is_what_a_vector_of_bytes_is(steps in steps()) {
        run(live(&steps));
    }
}
