//! One of the two engines: does a step and says what it saw. Tokens of chunks and ids differ between engines, so what is
//! said names chunks by their owner, length and checksum.

use std::{
    fmt::Write,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use tokio::sync::broadcast;
use types::{ContentId, Timestamp};

use super::step::{Action, MAPS, NAMES, Step};
use crate::{
    Txn,
    chunk::ChunkRef,
    conformance::{Subject, maps::MapModel, support::*},
    content::{self, Holdings, PinGuard},
    event::Event,
    key::{KeyBuilder, KeyRange},
    read::{Direction, Read, Row, Snapshot},
    space::Space,
    testing::Random,
    transact::{Scope, Store},
};

/// Contents, snapshots and downloads that a history keeps at most.
const CONTENTS: usize = 64;
const SNAPSHOTS: usize = 4;
const DOWNLOADS: usize = 4;

/// A content of one chunk that the history knows.
struct Known {
    content: ContentId,
    chunk: ChunkRef,
    bytes: Bytes,
}

pub(super) struct Side {
    subject: Box<dyn Subject>,
    events: broadcast::Receiver<Event>,
    snapshots: Vec<Snapshot>,
    downloads: Vec<PinGuard>,
    contents: Vec<Known>,
    next_content: u64,
    maps: Vec<MapModel>,
}

fn row_key(name: u64) -> Bytes {
    // Names of every awkward shape, in an order that is not that of the numbers.
    let name = match name % 3 {
        0 => vec![0; usize::try_from(name).unwrap()],
        1 => vec![0xFF; usize::try_from(name).unwrap()],
        _ => name.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().to_vec(),
    };
    KeyBuilder::new(Space::Test, 1).bytes(&name).build()
}

fn brief(value: Option<&Bytes>) -> String {
    value.map_or("nothing".into(), |value| format!("{} bytes {:x}", value.len(), crc64(value)))
}

fn brief_row(row: &Row) -> String {
    format!("{:x}={}", crc64(&row.key), brief(Some(&row.value)))
}

async fn read(rows: &impl Read, action: &Action) -> String {
    match action {
        Action::Get { name } => brief(rows.get(&row_key(*name)).await.unwrap().as_ref()),
        Action::Scan { from, to, direction, limit } => {
            let end = (*to < NAMES).then(|| row_key(*to));
            let range = KeyRange { start: row_key(*from), end };
            let found = rows.scan(range, *direction).take(*limit).await.unwrap();
            found.iter().map(brief_row).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

async fn act(txn: &Txn, action: &Action) -> String {
    match action {
        Action::Put { name, length, seed } => txn.put(row_key(*name), Random::new(*seed).bytes(*length)),
        Action::Delete { name } => txn.delete(row_key(*name)),
        Action::GuardShared { name } => txn.guard_shared(row_key(*name)),
        Action::GuardExclusive { name } => txn.guard_exclusive(row_key(*name)),
        Action::Emit { seed } => txn.emit(Bytes::copy_from_slice(&seed.to_le_bytes())),
        Action::Get { .. } | Action::Scan { .. } => {}
    }
    read(txn, action).await
}

impl Side {
    pub(super) fn new(subject: Box<dyn Subject>) -> Self {
        let events = subject.store().events();
        let maps = (0..MAPS).map(|which| MapModel::new(ContentId::new(u64::MAX - u64::try_from(which).unwrap())));
        let (snapshots, downloads, contents) = (Vec::new(), Vec::new(), Vec::new());
        Self { subject, events, snapshots, downloads, contents, next_content: 1 << 40, maps: maps.collect() }
    }

    /// Does a step and says what it saw.
    pub(super) async fn run(&mut self, step: &Step) -> String {
        let store = self.subject.store();
        match step {
            Step::Transact { actions, interloper, refuse, latched } => {
                self.transact(&store, actions, interloper, *refuse, *latched).await
            }
            Step::TakeSnapshot => {
                self.snapshots.truncate(SNAPSHOTS);
                self.snapshots.insert(0, store.snapshot());
                String::new()
            }
            Step::ReadSnapshot { which, actions } => self.read_snapshot(*which, actions).await,
            Step::DropSnapshot { which } => {
                self.snapshots.truncate(which % SNAPSHOTS);
                String::new()
            }
            Step::WriteChunk { length, piece, seed, abandon } => {
                self.write_chunk(&store, Random::new(*seed).bytes(*length).into(), *piece, *abandon).await
            }
            Step::Sweep => format!("{} held", sweep_all(&store).await),
            Step::Map { which, op } => {
                self.maps[*which].apply(&store, op).await;
                String::new()
            }
            Step::CheckMap { which } => {
                self.maps[*which].check(&store).await;
                String::new()
            }
            Step::Reopen => {
                drop(store);
                self.reopen().await
            }
            Step::LookAtEverything => look_at_everything(&store).await,
            about_content => self.content_step(&store, about_content).await,
        }
    }

    async fn transact(
        &mut self,
        store: &Store,
        actions: &[Action],
        interloper: &[Action],
        refuse: bool,
        latched: bool,
    ) -> String {
        let (seen, attempts) = (&Mutex::new(String::new()), &AtomicU32::new(0));
        let scope = Scope::of(if latched { b"object" } else { b"" });
        let outcome: Result<(), Outcome> = store
            .transact(scope, |txn| async move {
                for action in actions {
                    let result = act(&txn, action).await;
                    writeln!(seen.lock().unwrap(), "{result}").unwrap();
                }
                if attempts.fetch_add(1, Ordering::Relaxed) == 0 && !interloper.is_empty() {
                    commit(store, |txn| async move {
                        for action in interloper {
                            let result = act(&txn, action).await;
                            writeln!(seen.lock().unwrap(), "meanwhile {result}").unwrap();
                        }
                        Ok(())
                    })
                    .await;
                }
                if refuse { Err(Outcome::Refused("by the history")) } else { Ok(()) }
            })
            .await;
        let mut seen = seen.lock().unwrap().clone();
        writeln!(seen, "{outcome:?} after {} attempts", attempts.load(Ordering::Relaxed)).unwrap();
        while let Ok(event) = self.events.try_recv() {
            writeln!(seen, "event {:?}", event.payload).unwrap();
        }
        seen
    }

    async fn read_snapshot(&self, which: usize, actions: &[Action]) -> String {
        let Some(snapshot) = self.snapshots.get(which % SNAPSHOTS) else { return String::new() };
        let mut seen = String::new();
        for action in actions {
            writeln!(seen, "{}", read(snapshot, action).await).unwrap();
        }
        seen
    }

    async fn write_chunk(&mut self, store: &Store, bytes: Bytes, piece: usize, abandon: bool) -> String {
        let mut writer = store.write_chunk(None).unwrap();
        let mut rest = bytes.clone();
        while !rest.is_empty() {
            writer.write(rest.split_to(piece.min(rest.len()))).await.unwrap();
        }
        let pending = &writer.finish().await.unwrap();
        let chunk = pending.reference();
        let seen = format!("{} bytes {:x}", chunk.length, chunk.crc64);
        if abandon {
            return seen;
        }
        let content = ContentId::new(self.next_content);
        self.next_content += 1;
        commit(store, |txn| async move {
            content::link(&txn, pending, content);
            Ok(())
        })
        .await;
        self.contents.push(Known { content, chunk, bytes });
        if self.contents.len() > CONTENTS {
            let Known { content, chunk, .. } = self.contents.remove(0);
            release(store, content, chunk).await;
        }
        seen
    }

    async fn content_step(&mut self, store: &Store, step: &Step) -> String {
        let count = self.contents.len();
        let Some(known) = which_of(step).and_then(|which| self.contents.get(which % count.max(1))) else {
            return String::new();
        };
        let (content, chunk) = (known.content, known.chunk);
        match *step {
            Step::ReadChunk { start, length, .. } => read_chunk(store, known, start, length).await,
            Step::MoveChunk { .. } => move_chunk(&*self.subject, chunk).await,
            Step::FreeChunk { by_owner, .. } => {
                let owner = if by_owner { content } else { ContentId::new(1) };
                format!("{}", commit(store, |txn| async move { content::free(&txn, chunk, owner).await }).await)
            }
            Step::AddEdge { user, .. } => {
                // Only newer contents use older ones: a circle would keep itself.
                let user = self.contents[user % count].content;
                if user <= content {
                    return String::new();
                }
                format!("{}", commit(store, |txn| async move { content::add_edge(&txn, content, user).await }).await)
            }
            Step::Pin { pin, expired, .. } => {
                let until = if expired { Timestamp::from_seconds(1 + pin) } else { Timestamp::NEVER };
                let pinned = |txn| async move { content::pin(&txn, content, pin, until).await };
                format!("{}", commit(store, pinned).await)
            }
            Step::Unpin { pin, .. } => {
                commit(store, |txn| async move { content::unpin(&txn, content, pin).await }).await;
                String::new()
            }
            Step::Release { .. } => {
                release(store, content, chunk).await;
                String::new()
            }
            Step::BeginDownload { .. } => {
                self.downloads.truncate(DOWNLOADS);
                self.downloads.insert(0, store.pins().hold(content));
                String::new()
            }
            Step::EndDownload { which } => {
                self.downloads.truncate(which % DOWNLOADS);
                String::new()
            }
            _ => String::new(),
        }
    }

    async fn reopen(&mut self) -> String {
        self.snapshots.clear();
        self.downloads.clear();
        self.subject.reopen().await;
        self.events = self.subject.store().events();
        String::new()
    }
}

fn which_of(step: &Step) -> Option<usize> {
    match *step {
        Step::ReadChunk { which, .. }
        | Step::MoveChunk { which }
        | Step::FreeChunk { which, .. }
        | Step::AddEdge { source: which, .. }
        | Step::Pin { which, .. }
        | Step::Unpin { which, .. }
        | Step::Release { which }
        | Step::BeginDownload { which }
        | Step::EndDownload { which } => Some(which),
        _ => None,
    }
}

async fn release(store: &Store, content: ContentId, chunk: ChunkRef) {
    commit(store, |txn| async move { content::release(&txn, content, Holdings::Chunk(chunk)).await }).await;
}

async fn read_chunk(store: &Store, known: &Known, start: u64, length: usize) -> String {
    if !is_live(store, known.chunk).await {
        return "gone".into();
    }
    let source = store.open_chunk(known.chunk).await.unwrap();
    let start = usize::try_from(start).unwrap().min(known.bytes.len());
    let length = length.min(known.bytes.len() - start);
    let place = u64::try_from(start).unwrap();
    let read = crate::manifest::read_exactly(&*source, place, length).await.unwrap();
    assert!(read == known.bytes[start..start + length], "{start}+{length} of {}", known.chunk);
    brief(Some(&read))
}

/// Lets the engine move a chunk. Whether it did is its own affair; that nothing else can be told from it is not.
async fn move_chunk(subject: &dyn Subject, chunk: ChunkRef) -> String {
    if content::find(&subject.store().snapshot(), chunk).await.unwrap().is_none() {
        return "gone".into();
    }
    subject.move_chunk(chunk).await;
    "live".into()
}

/// All rows of the test, in both directions, and all live chunks.
async fn look_at_everything(store: &Store) -> String {
    let snapshot = store.snapshot();
    let mut found = rows(&snapshot, everything(), Direction::Ascending).await;
    let mut seen: String = found.iter().map(|row| brief_row(row) + "\n").collect();
    found.reverse();
    assert!(rows(&snapshot, everything(), Direction::Descending).await == found, "backwards is not forwards");
    let mut chunks: Vec<_> = live_chunks(store)
        .await
        .into_values()
        .map(|record| (record.owner, record.chunk.length, record.chunk.crc64, record.slices.rows))
        .collect();
    chunks.sort_unstable();
    writeln!(seen, "{chunks:?}").unwrap();
    seen
}
