//! The scrub: reads live chunks while serving and compares them with their checksums, so that decay is found while
//! there is a backup, not when somebody asks for the bytes.

use store::{
    Direction, Read, Snapshot, StoreError, content,
    engine::{Engine, Horizon},
    key::KeyRange,
};

use crate::{engine::EmbeddedEngine, extent::PlacedChunk};

/// Where a scrub goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCursor {
    extent: u64,
    offset: u64,
}

/// What a step found.
#[derive(Debug, Default)]
pub struct Scrubbed {
    /// Chunks read.
    pub chunks: u64,
    /// Their bytes.
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
        let all =
            KeyRange::between(content::chunk_key(cursor.extent, cursor.offset), content::chunk_key(u64::MAX, u64::MAX));
        let snapshot = Snapshot::new(self.view(Horizon::Durable));
        let rows = snapshot.scan(all, Direction::Ascending).take(ROWS).await?;
        let last = rows.len() < ROWS;
        for row in rows {
            let (extent, offset) = content::parse_chunk_key(&row.key)?;
            if scrubbed.bytes >= bytes {
                scrubbed.next = Some(ScrubCursor { extent, offset });
                return Ok(scrubbed);
            }
            let record = content::ChunkRecord::decode(&row.value)?;
            self.scrub_chunk(extent, offset, &record, &mut scrubbed).await?;
            scrubbed.next = Some(ScrubCursor { extent, offset: offset + 1 });
        }
        if last {
            scrubbed.next = None;
        }
        Ok(scrubbed)
    }

    async fn scrub_chunk(
        &self,
        extent: u64,
        offset: u64,
        record: &content::ChunkRecord,
        scrubbed: &mut Scrubbed,
    ) -> Result<(), StoreError> {
        let chunk = record.chunk;
        let Some(file) = self.shared().extents.get(extent)? else {
            scrubbed.problems.push(format!("chunk {chunk} is in extent {extent:x}, which does not exist"));
            return Ok(());
        };
        let placed = PlacedChunk { extent: file, offset, chunk };
        match self.shared().pool.run(move || placed.verify()).wait().await? {
            Ok(()) => {}
            Err(error) => scrubbed.problems.push(error.to_string()),
        }
        scrubbed.chunks += 1;
        scrubbed.bytes += chunk.length;
        Ok(())
    }
}
