//! Verification of a whole store: every row parses, every chunk exists and matches, no orphan survives a collection,
//! counters agree.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use store::{
    ChunkRef, Snapshot, StoreError, audit,
    content::{self, ChunkRecord},
    engine::{Engine, Horizon},
    key::KeyRange,
    space::Space,
};

use crate::{
    checkpointer,
    engine::EmbeddedEngine,
    extent::{Place, PlacedChunk, stored_bytes},
    log::Value,
    moved,
    open::Recovery,
};

/// What a verification found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Rows of all kinds.
    pub rows: u64,
    /// Live chunks, and their bytes.
    pub chunks: u64,
    /// Bytes of live chunks.
    pub chunk_bytes: u64,
    /// Extent files.
    pub extents: u64,
    /// What opening the store found in its log.
    pub recovery: Recovery,
    /// What is wrong. Empty means clean.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// True when nothing is wrong.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckProgress {
    /// Rows looked at.
    pub rows: u64,
    /// Bytes of chunks read.
    pub chunk_bytes: u64,
}

impl EmbeddedEngine {
    /// Verifies everything. Nobody else should be writing; `lazuli check` has the store to itself.
    ///
    /// # Errors
    /// The disk could not be read; damage is no error but a problem in the report.
    pub async fn check(&self, mut progress: impl FnMut(CheckProgress)) -> Result<CheckReport, StoreError> {
        let mut done = CheckProgress::default();
        let snapshot = Snapshot::new(self.view(Horizon::Durable));
        let bound = snapshot.instant().0 + 1;
        let mut sums = Sums::default();
        let mut report = CheckReport { recovery: self.shared().recovery, ..CheckReport::default() };
        self.check_rows(bound, &mut report, &mut sums, |rows| progress(CheckProgress { rows, ..done }))?;
        self.check_places(bound, &mut report, &mut sums)?;
        done.rows = report.rows;

        let mut damaged = Vec::new();
        let audit = audit::audit(&snapshot, |record| {
            match self.check_chunk(&record, bound, &mut sums) {
                Err(StoreError::Corrupt(what)) => damaged.push(what.to_string()),
                other => other?,
            }
            done.chunk_bytes += record.chunk.length;
            progress(done);
            Ok(())
        })
        .await?;
        report.chunks = audit.chunks;
        report.chunk_bytes = done.chunk_bytes;
        report.problems.extend(damaged.into_iter().take(audit::PROBLEMS));
        if sums.spilled_rows != sums.spilled_chunks {
            report.problems.push("spilled rows and the chunks of their values do not agree".into());
        }
        if sums.places != sums.residents || sums.places != sums.moved {
            report.problems.push("moved chunks and the rows of their places do not agree".into());
        }
        self.check_counters(&sums.live_bytes, &mut report);
        report.problems.extend(audit.problems);
        drop(snapshot);
        self.check_orphans(&mut report)?;
        Ok(report)
    }

    fn check_rows(
        &self,
        bound: u64,
        report: &mut CheckReport,
        sums: &mut Sums,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let start = store::key::KeyBuilder::space(Space::Store).build();
        for row in self.shared().raw_rows(&KeyRange { start, end: None }, bound) {
            match row.and_then(|(_, stored)| Value::decode(&stored)) {
                Ok(Value::Inline(_)) => {}
                Ok(Value::Spilled(chunk)) => {
                    sums.spilled_rows = sums.spilled_rows.wrapping_add(sums.hasher.hash_one(chunk));
                }
                Err(StoreError::Corrupt(what)) if report.problems.len() < audit::PROBLEMS => {
                    report.problems.push(what.to_string());
                }
                Err(StoreError::Corrupt(_)) => break,
                Err(error) => return Err(error),
            }
            report.rows += 1;
            if report.rows.is_multiple_of(4096) {
                progress(report.rows);
            }
        }
        Ok(())
    }

    /// The rows of moved chunks, from both sides.
    fn check_places(&self, bound: u64, report: &mut CheckReport, sums: &mut Sums) -> Result<(), StoreError> {
        let [places, residents] = moved::all();
        for (range, residents) in [(places, false), (residents, true)] {
            for row in self.shared().raw_rows(&range, bound) {
                match row.and_then(|(key, stored)| moved::parse(&key, &stored)) {
                    Ok(pair) => {
                        let sum = if residents { &mut sums.residents } else { &mut sums.places };
                        *sum = sum.wrapping_add(sums.hasher.hash_one(pair));
                    }
                    Err(StoreError::Corrupt(what)) => report.problems.push(what.to_string()),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn check_chunk(&self, record: &ChunkRecord, bound: u64, sums: &mut Sums) -> Result<(), StoreError> {
        let chunk = record.chunk;
        let place = self.shared().place_of(chunk.token, bound)?;
        sums.count(record, place);
        match self.shared().extents.get(place.extent)? {
            Some(extent) => PlacedChunk { extent, offset: place.offset, chunk }.verify(),
            None => Err(StoreError::corrupt(format!("chunk {chunk} is at {place}, which does not exist"))),
        }
    }

    fn check_counters(&self, live_bytes: &BTreeMap<u64, i64>, report: &mut CheckReport) {
        let state = self.shared().sequencer.lock();
        let mut extents: Vec<u64> = state.live.keys().chain(live_bytes.keys()).copied().collect();
        extents.sort_unstable();
        extents.dedup();
        for extent in extents {
            let counted = state.live.get(&extent).copied().unwrap_or_default();
            let found = live_bytes.get(&extent).copied().unwrap_or_default();
            if counted != found {
                report.problems.push(format!("extent {extent:x} has {found} live bytes and counts {counted}"));
            }
        }
    }

    fn check_orphans(&self, report: &mut CheckReport) -> Result<(), StoreError> {
        checkpointer::delete_dead_extents(self.shared())?;
        let ids = self.shared().extents.ids();
        report.extents = u64::try_from(ids.len()).unwrap_or(u64::MAX);
        let state = self.shared().sequencer.lock();
        for id in ids {
            if state.live.get(&id).is_none_or(|bytes| *bytes == 0) {
                report.problems.push(format!("extent {id:x} holds nothing live and was not deleted"));
            }
        }
        Ok(())
    }
}

/// What must agree in the end, as sums of hashes: nothing lost, nothing leaked.
#[derive(Default)]
struct Sums {
    hasher: RandomState,
    /// Chunks of spilled values, from the rows' side and from the chunks' side.
    spilled_rows: u64,
    spilled_chunks: u64,
    /// Moved chunks, by their two rows and from the chunks' side.
    places: u64,
    residents: u64,
    moved: u64,
    /// Live bytes by extent, as the chunks have them.
    live_bytes: BTreeMap<u64, i64>,
}

impl Sums {
    fn count(&mut self, record: &ChunkRecord, place: Place) {
        let chunk: ChunkRef = record.chunk;
        let bytes = i64::try_from(stored_bytes(chunk.length)).unwrap_or(i64::MAX);
        *self.live_bytes.entry(place.extent).or_default() += bytes;
        if record.owner == content::ENGINE {
            self.spilled_chunks = self.spilled_chunks.wrapping_add(self.hasher.hash_one(chunk));
        }
        if place != Place::of(chunk.token) {
            self.moved = self.moved.wrapping_add(self.hasher.hash_one((chunk.token, place)));
        }
    }
}
