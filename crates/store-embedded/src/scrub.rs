//! The scrub: reads live chunks while serving and compares them with their checksums, so that decay is found while
//! there is a backup, not when somebody asks for the bytes.

use store::{
    ChunkToken, Direction, Read, Snapshot, StoreError,
    content::{self, ChunkRecord},
    engine::{Engine, Horizon},
};

use crate::{engine::EmbeddedEngine, extent::PlacedChunk};

/// Where a scrub goes on: behind the last chunk that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCursor(Option<ChunkToken>);

/// What a step found.
#[derive(Debug, Default)]
pub struct Scrubbed {
    /// Chunks read.
    pub chunks: u64,
    /// How many bytes were read and compared.
    pub bytes: u64,
    /// Damaged chunks, described.
    pub problems: Vec<String>,
    /// Where to go on; `None` after the last chunk.
    pub next: Option<ScrubCursor>,
}

/// Rows looked at in a step, so that its snapshot is short-lived.
const ROWS: usize = 256;

impl EmbeddedEngine {
    /// Verifies chunks from `cursor` on, about `bytes` of them.
    ///
    /// # Errors
    /// The index could not be read. Damage to chunks is no error but a problem in the answer.
    pub async fn scrub(&self, cursor: ScrubCursor, bytes: u64) -> Result<Scrubbed, StoreError> {
        let mut scrubbed = Scrubbed::default();
        let mut rest = content::chunks(&[]);
        if let Some(last) = cursor.0 {
            rest = rest.after(&content::chunk_key(last));
        }
        let snapshot = Snapshot::new(self.view(Horizon::Durable));
        let bound = snapshot.instant().0 + 1;
        let rows = snapshot.scan(rest, Direction::Ascending).take(ROWS).await?;
        let last = rows.len() < ROWS;
        for row in rows {
            if scrubbed.bytes >= bytes {
                return Ok(scrubbed);
            }
            let record = ChunkRecord::decode(&row.value)?;
            self.scrub_chunk(&record, bound, &mut scrubbed).await?;
            scrubbed.next = Some(ScrubCursor(Some(record.chunk.token)));
        }
        if last {
            scrubbed.next = None;
        }
        Ok(scrubbed)
    }

    async fn scrub_chunk(&self, record: &ChunkRecord, bound: u64, scrubbed: &mut Scrubbed) -> Result<(), StoreError> {
        let chunk = record.chunk;
        let place = self.shared().place_of(chunk.token, bound)?;
        let Some(extent) = self.shared().extents.get(place.extent)? else {
            scrubbed.problems.push(format!("chunk {chunk} is at {place}, which does not exist"));
            return Ok(());
        };
        let placed = PlacedChunk { extent, offset: place.offset, chunk };
        match self.shared().pool.run(move || placed.verify()).wait().await? {
            Ok(()) => {}
            Err(error) => scrubbed.problems.push(error.to_string()),
        }
        scrubbed.chunks += 1;
        scrubbed.bytes += chunk.length;
        Ok(())
    }
}
