//! Verification of a whole store: every row parses, every chunk exists and matches, no orphan survives a collection,
//! counters agree.

use std::hash::{BuildHasher, RandomState};

use store::{
    ChunkRef, Snapshot, StoreError,
    audit::{self, Audit},
    content,
    engine::{Engine, Horizon},
    key::KeyRange,
    space::Space,
};

use crate::{checkpointer, engine::EmbeddedEngine, extent::PlacedChunk, log::Value, open::Recovery};

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
        let mut spilled = SpillSums::default();
        let mut report = CheckReport { recovery: self.shared().recovery, ..CheckReport::default() };
        self.check_rows(bound, &mut report, &mut spilled, |rows| progress(CheckProgress { rows, ..done }))?;
        done.rows = report.rows;

        let mut damaged = Vec::new();
        let audit = audit::audit(&snapshot, |located| {
            let chunk = located.record.chunk;
            if located.record.owner == content::ENGINE {
                spilled.in_chunks = spilled.in_chunks.wrapping_add(spilled.hasher.hash_one(chunk));
            }
            match self.check_chunk(chunk, located.extent, located.offset) {
                Err(StoreError::Corrupt(what)) => damaged.push(what.to_string()),
                other => other?,
            }
            done.chunk_bytes += chunk.length;
            progress(done);
            Ok(())
        })
        .await?;
        report.chunks = audit.chunks;
        report.chunk_bytes = done.chunk_bytes;
        report.problems.extend(damaged.into_iter().take(audit::PROBLEMS));
        if spilled.in_rows != spilled.in_chunks {
            report.problems.push("spilled rows and the chunks of their values do not agree".into());
        }
        self.check_counters(&audit, &mut report);
        report.problems.extend(audit.problems);
        drop(snapshot);
        self.check_orphans(&mut report)?;
        Ok(report)
    }

    fn check_rows(
        &self,
        bound: u64,
        report: &mut CheckReport,
        spilled: &mut SpillSums,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let start = store::key::KeyBuilder::space(Space::Store).build();
        for row in self.shared().raw_rows(&KeyRange { start, end: None }, bound) {
            match row.and_then(|(_, stored)| Value::decode(&stored)) {
                Ok(Value::Inline(_)) => {}
                Ok(Value::Spilled(chunk)) => {
                    spilled.in_rows = spilled.in_rows.wrapping_add(spilled.hasher.hash_one(chunk));
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

    fn check_chunk(&self, chunk: ChunkRef, extent: u64, offset: u64) -> Result<(), StoreError> {
        match self.shared().extents.get(extent) {
            Ok(Some(extent)) => PlacedChunk { extent, offset, chunk }.verify(),
            Ok(None) => {
                Err(StoreError::corrupt(format!("chunk {chunk} is in extent {extent:x}, which does not exist")))
            }
            Err(error) => Err(error),
        }
    }

    fn check_counters(&self, audit: &Audit, report: &mut CheckReport) {
        let state = self.shared().sequencer.lock();
        let mut extents: Vec<u64> = state.live.keys().chain(audit.live_bytes.keys()).copied().collect();
        extents.sort_unstable();
        extents.dedup();
        for extent in extents {
            let counted = state.live.get(&extent).copied().unwrap_or_default();
            let found = audit.live_bytes.get(&extent).copied().unwrap_or_default();
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

/// Chunks of spilled values, from the rows' side and from the chunks' side: each once, or something is lost or leaked.
#[derive(Default)]
struct SpillSums {
    hasher: RandomState,
    in_rows: u64,
    in_chunks: u64,
}
