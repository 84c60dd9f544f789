//! Golden bytes: what is in `testdata/records.tsv` is in data directories. A line may be added, and never changed.

use std::fmt::Debug;

use concurrency::{
    lease::{Leasable, Lease, LeaseDuration, LeaseId, LeaseOperation},
    sequence_number::SequenceNumber,
};
use store::{ChunkRef, content::Holdings, golden::Golden};
use types::{ContentId, ContentMd5, Timestamp};

use super::*;
use crate::{
    state::{
        Blob, BlobKind, CopyState, CopyStatus, Extra, HttpHeaders, RehydratePriority, Rehydration, SoftDeleted, Tier,
    },
    tier::AccessTier,
};

const fn time(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn chunk() -> ChunkRef {
    ChunkRef::decode(&std::array::from_fn(|place| u8::try_from(place + 1).unwrap()))
}

fn leased() -> Lease {
    let (fresh, duration) = (LeaseId::from_u128(0x0102_0304), LeaseDuration::Infinite);
    let acquire = LeaseOperation::Acquire { proposed: None, fresh, duration };
    Lease::default().apply(Leasable::Blob, acquire, time(5)).unwrap().lease
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn plain() -> Blob {
    Blob {
        content: ContentId::new(7),
        kind: BlobKind::Block,
        etag: ETag::new(0x0102_0304_0506_0708),
        last_modified: time(300),
        created: time(200),
        length: 4096,
        holdings: Holdings::Chunk(chunk()),
        headers: HttpHeaders { content_md5: Some(ContentMd5::Md5([9; 16])), ..HttpHeaders::default() },
        metadata: Vec::new(),
        lease: Lease::default(),
        extra: None,
    }
}

/// A blob that has everything, also what no one blob can have at once.
fn full() -> Blob {
    let text = |text: &str| Some(text.to_owned());
    let rehydration = Rehydration { to: AccessTier::Cool, priority: RehydratePriority::High, due: time(900) };
    Blob {
        kind: BlobKind::Append,
        holdings: Holdings::Map,
        headers: HttpHeaders {
            content_type: text("text/plain"),
            content_encoding: text("gzip"),
            content_language: text("de"),
            content_disposition: text("inline"),
            cache_control: text("no-cache"),
            content_md5: Some(ContentMd5::Other(Box::new([1, 2, 3]))),
        },
        metadata: pairs(&[("Colour", "grün")]),
        lease: leased(),
        extra: Some(Box::new(Extra {
            uncommitted: true,
            upload: Some(ContentId::new(11)),
            snapshots: 2,
            last_snapshot: time(400),
            snapshots_gone_to: time(350),
            shared: true,
            epoch: 3,
            newest_shared_epoch: Some(2),
            untrimmed: true,
            sequence_number: SequenceNumber::new(13).unwrap(),
            append_blocks: 17,
            sealed: true,
            tags: pairs(&[("a", "1"), ("b", "")]),
            tier: Some(Tier { tier: AccessTier::Archive, changed: time(500), rehydration: Some(rehydration) }),
            copy: Some(CopyState {
                id: "id".to_owned(),
                source: "http://h/b".to_owned(),
                status: CopyStatus::Failed,
                description: text("why"),
                copied: 5,
                total: 6,
                completed: Some(time(600)),
            }),
            expiry: Some(time(700)),
            deleted: Some(SoftDeleted { at: time(800), until: time(900) }),
        })),
        ..plain()
    }
}

/// A record is written and read as ever, and neither a part of it nor more than it is read.
fn check<T: Debug + PartialEq>(
    golden: &mut Golden,
    name: &str,
    record: &T,
    encode: impl Fn(&T) -> Bytes,
    decode: impl Fn(&[u8]) -> Result<T, StoreError>,
) {
    let written = encode(record);
    golden.round_trip(name, &written, &decode, record);
    for cut in 0..written.len() {
        assert!(decode(&written[..cut]).is_err(), "{name} is read though only {cut} bytes of it are left");
    }
    assert!(decode(&[&*written, &[0]].concat()).is_err(), "{name} is read though it is longer");
}

macro_rules! check_all {
    ($golden:ident: $($name:literal $kind:ident $record:expr;)*) => {
        $(check(&mut $golden, $name, &$record, $kind::encode, $kind::decode);)*
    };
}

#[test]
fn records_are_written_as_ever() {
    let page = Blob { kind: BlobKind::Page, holdings: Holdings::Nothing, ..plain() };
    let manifest = Blob { holdings: Holdings::Manifest { manifest: chunk(), next: 0 }, ..plain() };
    let container = Container {
        unit: UnitId::new(3),
        etag: ETag::new(9),
        last_modified: time(300),
        lease: leased(),
        metadata: pairs(&[("Name", "value")]),
    };
    let copy = |source| CopyJob {
        account: 1,
        id: "id".to_owned(),
        started: 100,
        staged: 5,
        pieces: 2,
        total: 1000,
        copied: 500,
        source,
    };
    let elsewhere = CopySource::Foreign { url: "http://h/b".to_owned(), etag: Some("\"1\"".to_owned()) };
    let map = CopySource::Map { container: 3, blob: "b".to_owned(), content: 7, epoch: 2, append_blocks: 1, next: 512 };
    let upload = Upload {
        container: 3,
        blob: "b".to_owned(),
        count: 2,
        id_length: 8,
        changes: 4,
        last_staged: 100,
        deadline: 200,
    };
    let mut golden = Golden::new(include_str!("../../testdata/records.tsv"));
    check_all! { golden:
        "blob 1, plain" Blob plain();
        "blob 1, page" Blob page;
        "blob 1, list" Blob manifest;
        "blob 1, everything" Blob full();
        "container 1" Container container;
        "unit 1" UnitRecord UnitRecord { account: 1, name: "things".to_owned() };
        "upload 1" Upload upload;
        "block 1" BlockRecord BlockRecord::new(chunk(), 4);
        "dropped upload 1" DroppedUpload DroppedUpload::new(None);
        "dropped upload 1, committed" DroppedUpload DroppedUpload::new(Some(chunk()));
        "prune 1" PruneRecord PruneRecord { container: 3, blob: "b".to_owned(), from: 512 };
        "adoption 1" AdoptionRecord AdoptionRecord::new(chunk(), 6);
        "place 1" PlaceRecord PlaceRecord { id: 7 };
        "sweep 1" SweepRecord SweepRecord { account: 1, reached: vec![1, 2, 3] };
        "copy 1, elsewhere" CopyJob copy(elsewhere);
        "copy 1, map" CopyJob copy(map);
    }
    golden.finish();
}

#[test]
fn a_record_of_the_future_is_refused_by_name() {
    let mut row = plain().encode().to_vec();
    row[0] += 1;
    let refused = Blob::decode(&row).unwrap_err().to_string();
    assert!(refused.contains("the row of a blob has version 2, and this build reads versions up to 1"), "{refused}");
}
