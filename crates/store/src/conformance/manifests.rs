//! Manifests: a block list of any length in one chunk.

use types::ContentId;

use super::{Subject, support::*};
use crate::{
    chunk::{ChunkRef, ChunkToken},
    content::{self, Holdings},
    error::StoreError,
    manifest::{BLOCK_ID_BYTES, Block, Encoder, Manifest},
    testing::Random,
    transact::Store,
};

/// Writes the manifest of these blocks and links it.
async fn write(store: &Store, owner: ContentId, blocks: &[(ChunkRef, Vec<u8>)]) -> ChunkRef {
    let mut writer = store.write_chunk(None).unwrap();
    let mut encoder = Encoder::default();
    writer.write(Encoder::header(u64::try_from(blocks.len()).unwrap())).await.unwrap();
    for (chunk, id) in blocks {
        writer.write(encoder.block(*chunk, id).unwrap()).await.unwrap();
    }
    let pending = &writer.finish().await.unwrap();
    commit(store, |txn| async move {
        content::link(&txn, pending, owner);
        Ok(())
    })
    .await;
    pending.reference()
}

/// A content of `count` small blocks; returns its manifest and the blocks' chunks.
pub async fn committed(store: &Store, owner: ContentId, count: u64) -> (ChunkRef, Vec<ChunkRef>) {
    let mut chunks = Vec::new();
    for number in 0..count {
        chunks.push(linked(store, owner, format!("block {number} of {owner:?}")).await);
    }
    let blocks: Vec<_> = chunks.iter().map(|chunk| (*chunk, b"id".to_vec())).collect();
    (write(store, owner, &blocks).await, chunks)
}

pub async fn manifests_of_any_length_are_read_and_searched(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut random = Random::new(17);
    for count in [0_u64, 1, 3, 50_000] {
        // The chunks need not exist to be listed.
        let blocks: Vec<(ChunkRef, Vec<u8>)> = (0..count)
            .map(|number| {
                let token = ChunkToken::new((u128::from(number) << 64 | u128::from(random.number())).to_be_bytes());
                let crc64 = random.number();
                let id_length = random.index(BLOCK_ID_BYTES + 1);
                (ChunkRef { token, length: random.below(5), crc64 }, random.bytes(id_length))
            })
            .collect();
        let chunk = write(&store, content_id(&store), &blocks).await;
        let source = store.open_chunk(chunk).await.unwrap();
        let manifest = Manifest::open(&*source).await.unwrap();
        assert_eq!(manifest.count(), count);

        let mut read: Vec<Block> = Vec::new();
        while let Ok(page) = manifest.blocks(u64::try_from(read.len()).unwrap(), 7_777).await
            && !page.is_empty()
        {
            read.extend(page);
        }
        assert!(read.iter().map(|block| (block.chunk, block.id.to_vec())).eq(blocks.iter().cloned()));
        assert_eq!(manifest.blocks(count, 10).await.unwrap(), []);
        assert_eq!(manifest.blocks(count + 5, 10).await.unwrap(), []);

        let total = read.last().map_or(0, |block| block.end);
        assert_eq!(total, blocks.iter().map(|(chunk, _)| chunk.length).sum::<u64>());
        let mut places = vec![0, 1, total.saturating_sub(1), total, total + 1, u64::MAX];
        places.extend((0..50).map(|_| random.below(total + 1)));
        for place in places {
            let expected = read.partition_point(|block| block.end <= place);
            assert_eq!(manifest.find(place).await.unwrap(), u64::try_from(expected).unwrap(), "{place} of {total}");
        }
    }
}

pub async fn a_block_id_past_its_limit_is_refused(subject: Box<dyn Subject>) {
    let store = subject.store();
    let chunk = linked(&store, content_id(&store), "block").await;
    let mut encoder = Encoder::default();
    assert!(encoder.block(chunk, &[1; BLOCK_ID_BYTES]).is_ok());
    for length in [BLOCK_ID_BYTES + 1, 255, 256, 100_000] {
        let refused = encoder.block(chunk, &vec![1; length]);
        assert!(matches!(refused, Err(StoreError::TooLarge { limit: BLOCK_ID_BYTES, .. })), "{refused:?}");
    }
    let huge = ChunkRef { length: u64::MAX, ..chunk };
    assert!(matches!(encoder.block(huge, b"id"), Err(StoreError::TooLarge { .. })));
}

pub async fn what_is_no_manifest_is_corrupt(subject: Box<dyn Subject>) {
    let store = subject.store();
    for bytes in ["", "short", "sixteen bytes or more"] {
        let chunk = linked(&store, content_id(&store), bytes).await;
        let source = store.open_chunk(chunk).await.unwrap();
        let opened = Manifest::open(&*source).await.map(|_| ());
        assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
    }
}

pub async fn a_manifest_is_swept_with_all_its_blocks(subject: Box<dyn Subject>) {
    let store = subject.store();
    let other = linked(&store, content_id(&store), "stays").await;
    // Around the sweeper's batch of 256.
    for count in [0, 1, 255, 256, 257, 600] {
        let owner = content_id(&store);
        let (manifest, _) = committed(&store, owner, count).await;
        commit(
            &store,
            |txn| async move { content::release(&txn, owner, Holdings::Manifest { manifest, next: 0 }).await },
        )
        .await;
        sweep_all(&store).await;
        assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), [other], "{count} blocks");
    }
}
