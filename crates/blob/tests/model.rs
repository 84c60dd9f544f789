//! Random histories of the Blob service against a plain map, on the reference engine and on the embedded one. After each
//! step the blob it was about has the bytes that the map says; in the end everything is compared, the audits find
//! nothing, and once all is deleted nothing is left.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod support;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use blob::{BlobKind, Preconditions, list::ListBlobs, object::DeleteSnapshots, reader::BlobReader};
use proptest::prelude::*;
use support::*;
use types::Timestamp;

const NAMES: [&str; 4] = ["a", "b", "b/c", "d"];
const IDS: [&str; 3] = ["x", "y", "z"];
const PAGES: u64 = 12;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<u8>),
    Stage(usize, usize, Vec<u8>),
    Commit(usize, Vec<(char, usize)>),
    CreatePages(usize, u64),
    Fill(usize, u64, u64, u8),
    Clear(usize, u64, u64),
    Resize(usize, u64),
    CreateAppend(usize),
    Append(usize, Vec<u8>),
    Snapshot(usize),
    Delete(usize, Option<DeleteSnapshots>),
    DeleteSnapshot(usize, usize),
    Copy(usize, Option<usize>, usize),
    Open(usize, Option<usize>),
    Close(usize),
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES.len();
    let data = || prop::collection::vec(any::<u8>(), 0..20);
    let entry = (prop::sample::select(vec!['c', 'u', 'l']), 0..IDS.len());
    let how = prop::sample::select(vec![None, Some(DeleteSnapshots::Include), Some(DeleteSnapshots::Only)]);
    prop_oneof![
        3 => (name.clone(), data()).prop_map(|(name, data)| Step::Put(name, data)),
        5 => (name.clone(), 0..IDS.len(), data()).prop_map(|(name, id, data)| Step::Stage(name, id, data)),
        4 => (name.clone(), prop::collection::vec(entry, 0..4)).prop_map(|(name, list)| Step::Commit(name, list)),
        2 => (name.clone(), 0..PAGES).prop_map(|(name, pages)| Step::CreatePages(name, pages)),
        6 => (name.clone(), 0..PAGES, 1..PAGES, 1_u8..255).prop_map(|(n, s, l, b)| Step::Fill(n, s, l, b)),
        3 => (name.clone(), 0..PAGES, 1..PAGES).prop_map(|(n, s, l)| Step::Clear(n, s, l)),
        2 => (name.clone(), 0..PAGES).prop_map(|(name, pages)| Step::Resize(name, pages)),
        1 => name.clone().prop_map(Step::CreateAppend),
        4 => (name.clone(), data()).prop_map(|(name, data)| Step::Append(name, data)),
        4 => name.clone().prop_map(Step::Snapshot),
        3 => (name.clone(), how).prop_map(|(name, how)| Step::Delete(name, how)),
        3 => (name.clone(), 0..4_usize).prop_map(|(name, which)| Step::DeleteSnapshot(name, which)),
        4 => (name.clone(), prop::option::of(0..4_usize), name.clone()).prop_map(|(f, p, t)| Step::Copy(f, p, t)),
        2 => (name, prop::option::of(0..4_usize)).prop_map(|(name, part)| Step::Open(name, part)),
        2 => (0..4_usize).prop_map(Step::Close),
        2 => Just(Step::Sweep),
    ]
}

type Blocks = Vec<(&'static str, Vec<u8>)>;

#[derive(Clone, Default)]
struct ModelBlob {
    /// `None` for a blob of uncommitted blocks.
    committed: Option<Committed>,
    uncommitted: BTreeMap<&'static str, Vec<u8>>,
    snapshots: Vec<(Timestamp, Committed)>,
}

#[derive(Clone)]
struct Committed {
    kind: BlobKind,
    bytes: Vec<u8>,
    blocks: Blocks,
}

#[derive(Default)]
struct Model {
    blobs: HashMap<&'static str, ModelBlob>,
    readers: Vec<(Vec<u8>, BlobReader)>,
}

impl Model {
    fn committed(&self, name: &str) -> Option<&Committed> {
        self.blobs.get(name).and_then(|blob| blob.committed.as_ref())
    }

    fn kind(&self, name: &str) -> Option<BlobKind> {
        let blob = self.blobs.get(name)?;
        Some(blob.committed.as_ref().map_or(BlobKind::Block, |committed| committed.kind))
    }

    /// The outcome of creating a blob of this kind; the new state is stored when it is allowed.
    fn create(&mut self, name: &'static str, kind: BlobKind, bytes: Vec<u8>, blocks: Blocks) -> &'static str {
        if self.kind(name).is_some_and(|old| old != kind) {
            return "InvalidBlobType";
        }
        let blob = self.blobs.entry(name).or_default();
        blob.committed = Some(Committed { kind, bytes, blocks });
        blob.uncommitted.clear();
        "ok"
    }

    /// The bytes of a blob of this kind, to change them, or why they cannot be changed.
    fn change(&mut self, name: &str, kind: BlobKind) -> Result<&mut Vec<u8>, &'static str> {
        match self.blobs.get_mut(name).and_then(|blob| blob.committed.as_mut()) {
            None => Err("BlobNotFound"),
            Some(committed) if committed.kind != kind => Err("InvalidBlobType"),
            Some(committed) => Ok(&mut committed.bytes),
        }
    }

    fn part(&self, name: &str, part: Option<usize>) -> Option<(Option<Timestamp>, Committed)> {
        let blob = self.blobs.get(name)?;
        match part {
            None => blob.committed.clone().map(|committed| (None, committed)),
            Some(which) => blob.snapshots.get(which).map(|(time, state)| (Some(*time), state.clone())),
        }
    }

    async fn apply(&mut self, world: &World, step: &Step) {
        match step {
            Step::Put(name, data) => {
                let name = NAMES[*name];
                let outcome = name_of(&world.put(name, data).await);
                assert_eq!(outcome, self.create(name, BlobKind::Block, data.clone(), Vec::new()));
            }
            Step::Stage(name, id, data) => {
                let (name, id) = (NAMES[*name], IDS[*id]);
                let outcome = name_of(&world.stage(name, id, data).await);
                if self.kind(name).is_some_and(|kind| kind != BlobKind::Block) {
                    assert_eq!(outcome, "InvalidBlobType");
                } else {
                    assert_eq!(outcome, "ok");
                    self.blobs.entry(name).or_default().uncommitted.insert(id, data.clone());
                }
            }
            Step::Commit(name, list) => self.commit(world, NAMES[*name], list).await,
            Step::CreatePages(name, pages) => {
                let name = NAMES[*name];
                let outcome = name_of(&world.create_pages(name, pages * 512).await);
                let zeros = vec![0; usize::try_from(pages * 512).unwrap()];
                assert_eq!(outcome, self.create(name, BlobKind::Page, zeros, Vec::new()));
            }
            Step::Fill(name, start, length, letter) => {
                let range = (start * 512, (start + length) * 512);
                let outcome = name_of(&world.fill(NAMES[*name], range, *letter).await);
                assert_eq!(outcome, self.pages(NAMES[*name], range, *letter));
            }
            Step::Clear(name, start, length) => {
                let range = (start * 512, (start + length) * 512);
                let outcome = name_of(&world.clear(NAMES[*name], range).await);
                assert_eq!(outcome, self.pages(NAMES[*name], range, 0));
            }
            Step::Resize(name, pages) => {
                let outcome = name_of(&world.resize(NAMES[*name], pages * 512).await);
                let expected = match self.change(NAMES[*name], BlobKind::Page) {
                    Err(refused) => refused,
                    Ok(bytes) => {
                        bytes.resize(usize::try_from(pages * 512).unwrap(), 0);
                        "ok"
                    }
                };
                assert_eq!(outcome, expected);
            }
            Step::CreateAppend(name) => {
                let outcome = name_of(&world.create_append(NAMES[*name]).await);
                assert_eq!(outcome, self.create(NAMES[*name], BlobKind::Append, Vec::new(), Vec::new()));
            }
            Step::Append(name, data) => {
                let outcome = name_of(&world.append(NAMES[*name], data).await);
                let expected = match self.change(NAMES[*name], BlobKind::Append) {
                    Err(refused) => refused,
                    Ok(bytes) => {
                        bytes.extend(data);
                        "ok"
                    }
                };
                assert_eq!(outcome, expected);
            }
            Step::Snapshot(name) => {
                let taken = world.snapshot(NAMES[*name]).await;
                match self.blobs.get_mut(NAMES[*name]).filter(|blob| blob.committed.is_some()) {
                    None => assert_eq!(name_of(&taken), "BlobNotFound"),
                    Some(blob) => blob.snapshots.push((taken.unwrap(), blob.committed.clone().unwrap())),
                }
            }
            Step::Delete(name, how) => self.delete(world, NAMES[*name], *how).await,
            Step::DeleteSnapshot(name, which) => {
                let Some((Some(time), _)) = self.part(NAMES[*name], Some(*which)) else { return };
                world.delete_with(NAMES[*name], Some(time), None, Preconditions::default()).await.unwrap();
                self.blobs.get_mut(NAMES[*name]).unwrap().snapshots.remove(*which);
            }
            Step::Copy(from, part, to) => {
                let Some((time, state)) = self.part(NAMES[*from], *part) else { return };
                let outcome = name_of(&world.copy(NAMES[*from], time, NAMES[*to]).await);
                assert_eq!(outcome, self.create(NAMES[*to], state.kind, state.bytes, state.blocks));
            }
            Step::Open(name, part) => {
                let Some((time, state)) = self.part(NAMES[*name], *part) else { return };
                let (_, reader) = world.open(NAMES[*name], time).await.unwrap();
                self.readers.push((state.bytes, reader));
            }
            Step::Close(which) => {
                if *which < self.readers.len() {
                    let (expected, mut reader) = self.readers.remove(*which);
                    let read = reader.collect(0..u64::try_from(expected.len()).unwrap()).await.unwrap();
                    assert!(read == expected, "a download saw another state than it began with");
                }
            }
            Step::Sweep => world.sweep().await,
        }
    }

    async fn commit(&mut self, world: &World, name: &'static str, list: &[(char, usize)]) {
        let entries: Vec<String> = list.iter().map(|(search, id)| format!("{search}{}", IDS[*id])).collect();
        let outcome = world.commit(name, &entries.iter().map(String::as_str).collect::<Vec<_>>()).await;
        if self.kind(name).is_some_and(|kind| kind != BlobKind::Block) {
            assert_eq!(name_of(&outcome), "InvalidBlobType");
            return;
        }
        let blob = self.blobs.get(name).cloned().unwrap_or_default();
        let committed: HashMap<&str, Vec<u8>> =
            blob.committed.map(|committed| committed.blocks).unwrap_or_default().into_iter().collect();
        let mut blocks = Blocks::new();
        for (search, id) in list {
            let id = IDS[*id];
            let staged = blob.uncommitted.get(id).filter(|_| *search != 'c');
            let found = staged.or_else(|| committed.get(id).filter(|_| *search != 'u'));
            match found {
                Some(data) => blocks.push((id, data.clone())),
                None => {
                    assert_eq!(name_of(&outcome), "InvalidBlockList");
                    return;
                }
            }
        }
        outcome.unwrap();
        let bytes = blocks.iter().flat_map(|(_, data)| data.clone()).collect();
        assert_eq!(self.create(name, BlobKind::Block, bytes, blocks), "ok");
    }

    fn pages(&mut self, name: &str, (start, end): (u64, u64), letter: u8) -> &'static str {
        match self.change(name, BlobKind::Page) {
            Err(refused) => refused,
            Ok(bytes) => match bytes.get_mut(usize::try_from(start).unwrap()..usize::try_from(end).unwrap()) {
                None => "InvalidPageRange",
                Some(pages) => {
                    pages.fill(letter);
                    "ok"
                }
            },
        }
    }

    async fn delete(&mut self, world: &World, name: &str, how: Option<DeleteSnapshots>) {
        let outcome = name_of(&world.delete_with(name, None, how, Preconditions::default()).await);
        let Some(blob) = self.blobs.get_mut(name) else {
            assert_eq!(outcome, "BlobNotFound");
            return;
        };
        match how {
            None if !blob.snapshots.is_empty() => assert_eq!(outcome, "SnapshotsPresent"),
            Some(DeleteSnapshots::Only) => {
                assert_eq!(outcome, "ok");
                blob.snapshots.clear();
            }
            _ => {
                assert_eq!(outcome, "ok");
                self.blobs.remove(name);
            }
        }
    }

    /// Everything is as the map says.
    async fn check(&self, world: &World) {
        let mut lines = Vec::new();
        let mut names: Vec<&&str> = self.blobs.keys().collect();
        names.sort_unstable();
        for name in names {
            let blob = &self.blobs[*name];
            for (time, state) in &blob.snapshots {
                assert!(world.get_part(name, Some(*time)).await.unwrap() == state.bytes, "{name} at {time:?}");
                lines.push(format!("{name}@{}", time.ticks()));
            }
            match &blob.committed {
                Some(committed) => {
                    assert!(world.get(name).await.unwrap() == committed.bytes, "{name}");
                    lines.push((*name).to_string());
                }
                None => lines.push(format!("{name}?")),
            }
            if self.kind(name) == Some(BlobKind::Block) {
                let list = world.block_list(name).await.unwrap();
                let committed = list.committed.unwrap();
                let expected = blob.committed.as_ref().map(|committed| &committed.blocks[..]).unwrap_or_default();
                assert_eq!(committed.len(), expected.len());
                let ids = expected.iter().map(|(id, data)| (id.as_bytes(), data.len()));
                for (found, (id, length)) in committed.iter().zip(ids) {
                    assert_eq!((&found.id[..], usize::try_from(found.length).unwrap()), (id, length));
                }
                assert_eq!(list.uncommitted.unwrap().len(), blob.uncommitted.len());
            }
        }
        let all = ListBlobs::new(ACCOUNT, container_name("things"), 3);
        assert_eq!(world.listing(ListBlobs { snapshots: true, uncommitted: true, ..all }).await, lines);
        assert_eq!(world.problems().await, Vec::<String>::new());
    }
}

async fn play(world: &World, steps: &[Step]) {
    let mut model = Model::default();
    for step in steps {
        model.apply(world, step).await;
        if let Step::Fill(name, ..) | Step::Copy(_, _, name) | Step::Clear(name, ..) = step
            && let Some(committed) = model.committed(NAMES[*name])
        {
            assert!(world.get(NAMES[*name]).await.unwrap() == committed.bytes, "after {step:?}");
        }
    }
    model.check(world).await;
    world.sweep().await;
    model.check(world).await;
    while !model.readers.is_empty() {
        model.apply(world, &Step::Close(0)).await;
    }
    world.check_empties().await;
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_match_a_plain_map(steps in prop::collection::vec(step(), 1..80)) {
        run(async { play(&World::new().await, &steps).await });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_match_a_plain_map_on_the_embedded_engine(steps in prop::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let options = store_embedded::Options {
            durability: store_embedded::Durability::Relaxed,
            reserve_bytes: 0,
            ..store_embedded::Options::default()
        };
        let engine = Arc::new(store_embedded::EmbeddedEngine::open(directory.path(), options).unwrap());
        run(async { play(&World::on(store::Store::new(engine.clone())).await, &steps).await });
        engine.close().unwrap();
    }
}
