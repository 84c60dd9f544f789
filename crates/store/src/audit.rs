//! The audit of this crate's own rows: everything parses, every reference has its other end, every count is right.
//!
//! One pass in key order, in memory that does not grow with the store: what must match elsewhere is compared as a sum of
//! hashes. A mismatch is found for certain enough (64 bits) and reported; where exactly it is, the sums do not tell.

use std::hash::{BuildHasher, RandomState};

use crate::{
    content::{self, ChunkRecord, Holdings, keys as kinds},
    content_map,
    error::StoreError,
    key::KeyBuilder,
    read::{Direction, Read, Row},
    space::Space,
};

/// What an audit found.
#[derive(Debug, Default)]
pub struct Audit {
    /// Rows of this crate.
    pub rows: u64,
    /// Live chunks.
    pub chunks: u64,
    /// What is wrong, at most [`PROBLEMS`].
    pub problems: Vec<String>,
}

/// Problems listed; a store with more of them is broken enough.
pub const PROBLEMS: usize = 1000;

impl Audit {
    /// Notes a problem.
    pub fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(what);
        }
    }
}

/// Sums that must be equal in the end.
#[derive(Default)]
struct Sums {
    edges: u64,
    uses: u64,
    pins: u64,
    deadlines: u64,
    slices_in_maps: u64,
    slices_in_chunks: u64,
}

/// Audits all rows of this crate. `on_chunk` sees every live chunk, to look at its bytes.
///
/// # Errors
/// The engine could not read.
pub async fn audit(
    rows: &impl Read,
    mut on_chunk: impl FnMut(ChunkRecord) -> Result<(), StoreError>,
) -> Result<Audit, StoreError> {
    let mut audit = Audit::default();
    let mut sums = Sums::default();
    let hasher = RandomState::new();
    let all = KeyBuilder::space(Space::Store).range();
    let mut scan = rows.scan(all, Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let key = row.key.clone();
        if let Err(error) = look(rows, row, &hasher, &mut audit, &mut sums, &mut on_chunk).await {
            match error {
                StoreError::Corrupt(what) => audit.problem(format!("row {}: {what}", hex(&key))),
                other => return Err(other),
            }
        }
    }
    let pairs = [
        (sums.edges, sums.uses, "the two ends of edges between contents"),
        (sums.pins, sums.deadlines, "pins and their deadlines"),
        (sums.slices_in_maps, sums.slices_in_chunks, "the slices of maps and the counts of their chunks"),
    ];
    for (one, other, what) in pairs {
        if one != other {
            audit.problem(format!("{what} do not agree"));
        }
    }
    Ok(audit)
}

async fn look(
    rows: &impl Read,
    row: Row,
    hasher: &RandomState,
    audit: &mut Audit,
    sums: &mut Sums,
    on_chunk: &mut impl FnMut(ChunkRecord) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let add = |sum: &mut u64, what: u64| *sum = sum.wrapping_add(what);
    let kind = row.key.get(1).copied().unwrap_or_default();
    match kind {
        kinds::CHUNK => {
            let token = content::parse_chunk_key(&row.key)?;
            let record = ChunkRecord::decode(&row.value)?;
            if record.chunk.token != token {
                return Err(StoreError::corrupt(format!("it says that it is about chunk {}", record.chunk)));
            }
            audit.chunks += 1;
            let chunk_hash = hasher.hash_one(record.chunk);
            add(&mut sums.slices_in_chunks, chunk_hash.wrapping_mul(record.slices.rows));
            on_chunk(record)
        }
        // Each of these has a twin under another key. Sums of hashes find one without its twin, and take no memory.
        kinds::EDGE => {
            add(&mut sums.edges, hasher.hash_one(content::parse_pair_key(&row.key, kind)?));
            Ok(())
        }
        kinds::USE => {
            let (user, source) = content::parse_pair_key(&row.key, kind)?;
            add(&mut sums.uses, hasher.hash_one((source, user)));
            Ok(())
        }
        kinds::PIN => {
            let (source, pin) = content::parse_pair_key(&row.key, kind)?;
            let until = content::decode_pin(&row.value)?;
            add(&mut sums.pins, hasher.hash_one((until, source, pin)));
            Ok(())
        }
        kinds::PIN_DEADLINE => {
            let (until, source, pin) = content::parse_pin_deadline_key(&row.key)?;
            add(&mut sums.deadlines, hasher.hash_one((until, source.number(), pin)));
            Ok(())
        }
        kinds::RELEASED | kinds::SWEEP => Holdings::decode(&row.value).map(|_| ()),
        kinds::SPARSE => content_map::parse_sparse(&row).map(|_| ()),
        content_map::MAP => {
            if let (_, _, Some(slice)) = content_map::parse_row(row)? {
                check_slice(rows, slice).await?;
                add(&mut sums.slices_in_maps, hasher.hash_one(slice.chunk));
            }
            Ok(())
        }
        other => Err(StoreError::corrupt(format!("its kind {other:#04x} is unknown"))),
    }
}

async fn check_slice(rows: &impl Read, slice: content_map::Slice) -> Result<(), StoreError> {
    if content::find(rows, slice.chunk).await?.is_none() {
        return Err(StoreError::corrupt(format!("it refers to chunk {}, which was freed", slice.chunk)));
    }
    if slice.skip.saturating_add(slice.length) > slice.chunk.length || slice.length == 0 {
        return Err(StoreError::corrupt(format!("its slice is not within chunk {}", slice.chunk)));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
