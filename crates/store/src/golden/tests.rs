//! Golden bytes of every record, key and manifest of this crate: encoded to exactly these, and decoded from them.

use bytes::Bytes;
use types::{ContentId, Timestamp};

use super::Golden;
use crate::{
    chunk::{ChunkRef, ChunkToken},
    content::{self, ChunkRecord, Holdings, Slices, keys},
    content_map::{self, Slice},
    epoch,
    manifest::{self, Encoder},
    read::Row,
};

const OWNER: ContentId = ContentId::new(0x0102_0304);
const USER: ContentId = ContentId::new(0x0506);

fn chunk() -> ChunkRef {
    ChunkRef { token: ChunkToken::new(*b"0123456789abcdef"), length: 4096, crc64: 0xAE8B_1486_0A79_9888 }
}

#[test]
fn every_record_is_what_it_was_when_it_was_released() {
    let mut golden = Golden::new(include_str!("../../testdata/records.tsv"));

    let bytes = golden.check("reference", &chunk().encode());
    assert_eq!(ChunkRef::decode(bytes.as_slice().try_into().unwrap()), chunk());

    let record = ChunkRecord { owner: OWNER, chunk: chunk(), slices: Slices { rows: 3, bytes: 4000, offset: 1 << 40 } };
    let bytes = golden.check("chunk, version 1", &record.encode());
    assert_eq!(ChunkRecord::decode(&bytes).unwrap(), record);

    let holdings = [
        ("holdings of nothing, version 1", Holdings::Nothing),
        ("holdings of a chunk, version 1", Holdings::Chunk(chunk())),
        ("holdings of a manifest, version 1", Holdings::Manifest { manifest: chunk(), next: 256 }),
        ("holdings of a map, version 1", Holdings::Map),
    ];
    for (name, holdings) in holdings {
        let bytes = golden.check(name, &holdings.encode());
        assert_eq!(Holdings::decode(&bytes).unwrap(), holdings);
    }

    let until = Timestamp::from_ticks(0x0011_2233_4455_6677);
    let bytes = golden.check("pin, version 1", &content::encode_pin(until));
    assert_eq!(content::decode_pin(&bytes).unwrap(), until);

    let slice = Slice { chunk: chunk(), skip: 512, length: 1024 };
    let bytes = golden.check("slice of a map, version 1", &epoch::encode(&slice.encode()));
    let key = content_map::row_key(OWNER, 8192, 5);
    let row = Row { key: key.clone(), value: Bytes::from(bytes) };
    assert_eq!(content_map::parse_row(row).unwrap(), (8192, 5, Some(slice)));
    for (name, tombstone, length) in
        [("tombstone", epoch::TOMBSTONE, None), ("tombstone with a length", epoch::tombstone_of(700), Some(700))]
    {
        let bytes = Bytes::from(golden.check(name, &tombstone));
        assert_eq!((epoch::decode(bytes.clone()).unwrap(), epoch::deleted_length(&bytes)), (None, length));
    }
    golden.finish();
}

#[test]
fn every_key_is_what_it_was_when_it_was_released() {
    let mut golden = Golden::new(include_str!("../../testdata/keys.tsv"));
    let until = Timestamp::from_ticks(0x0011_2233_4455_6677);
    let table = [
        ("chunk", keys::chunk_key(chunk().token)),
        ("edge", keys::edge_key(OWNER, USER)),
        ("use", keys::use_key(USER, OWNER)),
        ("pin", keys::pin_key(OWNER, 9)),
        ("deadline of a pin", keys::pin_deadline_key(until, OWNER, 9)),
        ("released content", keys::released_key(OWNER)),
        ("sweep", keys::sweep_key(OWNER)),
        ("sparse chunk", keys::sparse_key(OWNER, chunk())),
        ("row of a map", content_map::row_key(OWNER, 8192, 5)),
    ];
    for (name, key) in &table {
        assert_eq!(golden.check(name, key), **key);
    }
    assert_eq!(keys::parse_chunk_key(&golden.bytes("chunk")).unwrap(), chunk().token);
    assert_eq!(keys::parse_use_key(&golden.bytes("use")).unwrap(), OWNER);
    assert_eq!(keys::parse_pin_deadline_key(&golden.bytes("deadline of a pin")).unwrap(), (until, OWNER, 9));
    assert_eq!(keys::parse_sparse_key(&golden.bytes("sparse chunk")).unwrap(), OWNER);
    golden.finish();
}

#[test]
fn a_manifest_is_what_it_was_when_it_was_released() {
    let mut golden = Golden::new(include_str!("../../testdata/manifest.tsv"));
    golden.check("header", &Encoder::header(50_000));
    let mut encoder = Encoder::default();
    golden.check("first block", &encoder.block(chunk(), b"block-000001").unwrap());
    let bytes = golden.check("second block", &encoder.block(chunk(), &[0xFF; 64]).unwrap());
    let block = manifest::decode(&bytes).unwrap();
    assert_eq!((block.end, block.chunk, &*block.id), (8192, chunk(), &[0xFF; 64][..]));
    golden.finish();
}

#[test]
fn a_record_of_the_future_is_refused_by_a_sentence_that_says_so() {
    let mut record = ChunkRecord { owner: OWNER, chunk: chunk(), slices: Slices::default() }.encode().to_vec();
    record[0] = 9;
    let error = ChunkRecord::decode(&record).unwrap_err().to_string();
    assert_eq!(error, "corrupt data: a chunk's row has version 9, and this build reads versions up to 1");
    record[0] = 0;
    assert!(ChunkRecord::decode(&record).is_err(), "there is no version 0");
}
