//! Golden bytes of what this engine writes. See `store::golden` for how they are kept.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use store::{ChunkRef, Sequence, golden::Golden};
use types::Timestamp;

use crate::{
    checkpoint::{self, Meta},
    disk::{Disk, SimulatedDisk},
    extent::{self, InlineChunk, Place},
    identity::Identity,
    log::{FrameHeader, Record, Value},
    moved,
};

const PLACE: Place = Place { extent: 0x0102_0304, offset: 0x0200 };
const MOVED: Place = Place { extent: 0x0506_0708, offset: 0x1000 };
const SALT: u64 = 0x0011_2233_4455_6677;

fn golden() -> Golden {
    Golden::new(include_str!("../testdata/records.tsv"))
}

#[test]
fn everything_is_what_it_was_when_it_was_released() {
    let mut golden = golden();
    rows(&mut golden);
    log(&mut golden);
    files(&mut golden);
    golden.finish();
}

fn rows(golden: &mut Golden) {
    let meta = Meta { sequence: Sequence(7), time: Timestamp::from_ticks(0x0123_4567), id_limit: 1 << 33 };
    let live = HashMap::from([(9, 70_000)]);
    let [checkpoint, counter, ..] = &*checkpoint::rows(&meta, &live, &HashSet::from([9])) else { panic!("two rows") };
    golden.check("key of the checkpoint", &checkpoint.key);
    let bytes = golden.check("checkpoint, version 1", checkpoint.value.as_ref().unwrap());
    assert_eq!(checkpoint::decode(&bytes).unwrap(), meta);
    golden.check("key of live bytes", &counter.key);
    let bytes = golden.check("live bytes, version 1", counter.value.as_ref().unwrap());
    assert_eq!(checkpoint::decode_live(&bytes).unwrap(), 70_000);

    let token = PLACE.token();
    golden.check("token", token.bytes());
    let place_key = golden.check("key of a moved chunk's place", &moved::place_key(token));
    let place = golden.check("place of a moved chunk, version 1", &moved::encode_place(MOVED));
    let resident_key = golden.check("key of what was moved to a place", &moved::resident_key(MOVED));
    let resident = golden.check("what was moved to a place, version 1", &moved::encode_resident(token));
    for (key, row) in [(place_key, place), (resident_key, resident)] {
        let stored = Value::Inline(Bytes::from(row)).encoded();
        assert_eq!(moved::parse(&key, &stored).unwrap(), (token, MOVED));
    }

    let spilled = ChunkRef { token, length: 20_000, crc64: 5 };
    for (name, value) in
        [("inline value", Value::Inline(Bytes::from_static(b"bytes"))), ("spilled value", Value::Spilled(spilled))]
    {
        let bytes = Bytes::from(golden.check(name, &value.encoded()));
        assert_eq!(Value::decode(&bytes).unwrap(), value);
    }
}

fn log(golden: &mut Golden) {
    let header = FrameHeader {
        segment: 1,
        number: 2,
        synced: 3,
        previous_sequence: 4,
        last_sequence: 5,
        time: Timestamp::from_ticks(6),
        id_limit: 7,
        payload_bytes: 8,
        payload_crc64: 9,
    };
    let bytes = golden.check("frame header", &header.encode(SALT));
    assert_eq!(FrameHeader::decode(&bytes, SALT), Some(header));

    let spilled = ChunkRef { token: PLACE.token(), length: 20_000, crc64: 5 };
    let rows = [
        (Bytes::from_static(b"key"), Some(Value::Inline(Bytes::from_static(b"value")))),
        (Bytes::from_static(b"deleted"), None),
        (Bytes::from_static(b"spilled"), Some(Value::Spilled(spilled))),
    ];
    let inline = InlineChunk { place: MOVED, crc64: 77, bytes: Bytes::from_static(b"xyz"), _attached: None };
    let record = Record::encode(&rows, vec![(9, -5), (10, 6)], vec![inline]).unwrap();
    let mut frame = Vec::new();
    record.put(Sequence(42), &mut frame).unwrap();
    let mut bytes = Bytes::from(golden.check("commit in the log", &frame));
    let (sequence, back) = Record::take(&mut bytes).unwrap();
    assert_eq!((sequence, &back.rows, &back.live_bytes), (Sequence(42), &record.rows, &vec![(9, -5), (10, 6)]));
    assert_eq!((back.inline[0].place, back.inline[0].crc64, &*back.inline[0].bytes), (MOVED, 77, &b"xyz"[..]));
}

fn files(golden: &mut Golden) {
    let header = extent::header(PLACE.extent);
    golden.check("header of an extent", &header[..24]);
    assert_eq!(header[24..], [0; 488]);
    let (data, mut stored) = (b"the bytes of a chunk", Vec::new());
    extent::put_blocks(PLACE, data, crc_fast::crc64_nvme(data), &mut stored);
    let bytes = golden.check("block", &stored);
    assert_eq!(extent::verify(PLACE, &bytes), Ok(data.len()));

    let disk = SimulatedDisk::new();
    Identity { salt: SALT }.write(&disk).unwrap();
    let mut text = [0; 64];
    let length = disk.open("VERSION").unwrap().read_at(&mut text, 0).unwrap();
    golden.check("VERSION, format 2", &text[..length]);
    assert_eq!(Identity::read(&disk).unwrap(), Some(Identity { salt: SALT }));
}
