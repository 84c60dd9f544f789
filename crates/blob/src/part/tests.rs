//! Versions and soft-deleted parts have their rows, and readers take them for what they are, before anything writes them.

use store::{Read as _, Txn};

use super::*;
use crate::{
    Preconditions,
    download::GetBlob,
    keys,
    list::ListBlobs,
    object::{ReadBlob, find_at},
    state::{Blob, SoftDeleted},
    support::*,
};

/// Writes the row of a part anew, from that of another.
async fn rewrite(world: &World, from: BlobPart, to: BlobPart, deleted: Option<SoftDeleted>) {
    let place = &address("b");
    let write = |txn: Txn| async move {
        let (container, _) = find_at(&txn, place, txn.now()).await?;
        let row = txn.get(&keys::part(container, "b", from)).await?.unwrap();
        let mut blob = Blob::decode(&row)?;
        blob.extra_mut().deleted = deleted;
        txn.put(keys::part(container, "b", to), blob.encode());
        Ok(())
    };
    world.blobs.on_blob(place, write).await.unwrap();
}

async fn read(world: &World, part: BlobPart) -> String {
    let named = |time| NamedTime { time, text: String::new() };
    let part = match part {
        BlobPart::Base => NamedPart::Base,
        BlobPart::Snapshot(time) => NamedPart::Snapshot(named(time)),
        BlobPart::Version(time) => NamedPart::Version(named(time)),
    };
    let read = ReadBlob { address: address("b"), part, preconditions: Preconditions::default() };
    match world.blobs.get_blob(&asked(GetBlob { read, range: None, if_range: None })).await {
        Ok(mut open) => String::from_utf8(open.reader.collect(open.range).await.unwrap().to_vec()).unwrap(),
        refused => name_of(&refused),
    }
}

#[test]
fn each_part_can_be_soft_deleted_and_brought_back() {
    run(async {
        let world = World::new().await;
        world.put("b", b"bytes").await.unwrap();
        let time = world.snapshot("b").await.unwrap();
        let (snapshot, version) = (BlobPart::Snapshot(time), BlobPart::Version(time));
        assert_eq!(read(&world, version).await, "BlobNotFound");
        rewrite(&world, BlobPart::Base, version, None).await;
        let listed =
            || world.listing(ListBlobs { snapshots: true, ..ListBlobs::new(ACCOUNT, container_name("things"), 10) });
        let both = vec![format!("b@{}", time.ticks()), "b".to_owned()];
        let table = [
            (BlobPart::Base, Vec::new()),
            (snapshot, vec!["b".to_owned()]),
            // Versions are not listed yet.
            (version, both.clone()),
        ];
        for (part, left) in table {
            let gone = SoftDeleted { at: time, until: Timestamp::NEVER };
            rewrite(&world, part, part, Some(gone)).await;
            assert_eq!(read(&world, part).await, "BlobNotFound", "{part:?}");
            assert_eq!(listed().await, left, "{part:?}");
            rewrite(&world, part, part, None).await;
            assert_eq!(read(&world, part).await, "bytes", "{part:?}");
            assert_eq!(listed().await, both, "{part:?}");
        }
    });
}
