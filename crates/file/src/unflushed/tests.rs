//! Buffers of files: the newest byte counts, one flush at a time, and a bound.

use std::{
    future::Future as _,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use proptest::prelude::*;
use types::{Inode, Timestamp, UnitId};

use super::*;

const FILE: FileKey = FileKey { share: UnitId::new(1), inode: Inode::new(2) };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn begun(unflushed: &Unflushed) -> Leaving {
    match unflushed.flush(FILE) {
        Flush::Begun(leaving) => leaving,
        Flush::Nothing | Flush::Busy(_) => panic!("nothing stands in its way"),
    }
}

proptest! {
    #[test]
    fn the_newest_byte_counts(writes in prop::collection::vec((0_u64..40, 1_usize..20), 1..40)) {
        let (mut pieces, mut plain) = (Pieces::default(), [0_u8; 64]);
        for (number, (start, length)) in writes.into_iter().enumerate() {
            let byte = u8::try_from(number + 1).unwrap();
            pieces.insert(start, Bytes::from(vec![byte; length]));
            let from = usize::try_from(start).unwrap();
            plain[from..from + length].fill(byte);
        }
        let mut seen = [0_u8; 64];
        let mut last = 0;
        for (start, bytes) in pieces.part(0, 64).into_list() {
            let from = usize::try_from(start).unwrap();
            prop_assert!(from >= last && !bytes.is_empty());
            last = from + bytes.len();
            seen[from..last].copy_from_slice(&bytes);
        }
        prop_assert_eq!(seen, plain);
        prop_assert_eq!(pieces.bytes(), u64::try_from(plain.iter().filter(|byte| **byte != 0).count()).unwrap());
        prop_assert_eq!(pieces.end(), u64::try_from(last).unwrap());
    }
}

#[test]
fn what_is_leaving_is_seen_below_what_came_later() {
    let unflushed = Unflushed::default();
    unflushed.write(FILE, 0, Bytes::from_static(b"aaaa"), at(1), false);
    let leaving = begun(&unflushed);
    unflushed.write(FILE, 2, Bytes::from_static(b"bb"), at(2), false);
    let overlay = unflushed.overlay(FILE, 0, 9);
    assert_eq!(overlay.pieces, [(0, Bytes::from_static(b"aa")), (2, Bytes::from_static(b"bb"))]);
    assert_eq!((overlay.length, overlay.written, unflushed.bytes()), (4, Some(at(2)), 6));
    leaving.stored();
    assert_eq!(unflushed.overlay(FILE, 0, 9).pieces, [(2, Bytes::from_static(b"bb"))]);
    begun(&unflushed).stored();
    assert!(!unflushed.holds(FILE) && unflushed.bytes() == 0 && unflushed.files().is_empty());
}

#[test]
fn a_flush_that_is_given_up_leaves_everything_as_it_was() {
    let unflushed = Unflushed::default();
    unflushed.write(FILE, 0, Bytes::from_static(b"aaaa"), at(1), false);
    let leaving = begun(&unflushed);
    unflushed.write(FILE, 2, Bytes::from_static(b"bb"), at(2), false);
    drop(leaving);
    assert_eq!((unflushed.bytes(), unflushed.holds(FILE)), (4, true));
    let pieces = begun(&unflushed).pieces.clone();
    assert_eq!(pieces, [(0, Bytes::from_static(b"aa")), (2, Bytes::from_static(b"bb"))]);
}

#[test]
fn one_flush_runs_at_a_time() {
    let unflushed = Unflushed::default();
    unflushed.write(FILE, 0, Bytes::from_static(b"a"), at(1), false);
    let leaving = begun(&unflushed);
    let Flush::Busy(rung) = unflushed.flush(FILE) else { panic!("one runs") };
    let (mut rung, mut context) = (pin!(rung), Context::from_waker(Waker::noop()));
    assert_eq!(rung.as_mut().poll(&mut context), Poll::Pending);
    leaving.stored();
    assert_eq!(rung.as_mut().poll(&mut context), Poll::Ready(()));
    assert!(matches!(unflushed.flush(FILE), Flush::Nothing));
}

#[test]
fn there_is_room_up_to_a_limit() {
    let unflushed = Unflushed::default();
    let half = Bytes::from(vec![1; usize::try_from(FILE_BYTES / 2).unwrap()]);
    assert_eq!(unflushed.write(FILE, 0, half.clone(), at(1), false), Room::Enough);
    assert_eq!(unflushed.write(FILE, 0, half.clone(), at(1), false), Room::Enough, "over what is there");
    assert_eq!(unflushed.write(FILE, FILE_BYTES, half, at(1), false), Room::FlushFirst);
    assert_eq!(unflushed.older_than(at(0)), []);
    assert_eq!(unflushed.older_than(at(1)), [FILE]);
    unflushed.discard(FILE);
    assert!(unflushed.bytes() == 0 && unflushed.files().is_empty());
    for piece in 0..1023 {
        assert_eq!(unflushed.write(FILE, piece * 2, Bytes::from_static(b"a"), at(1), false), Room::Enough);
    }
    assert_eq!(unflushed.write(FILE, 9_000, Bytes::from_static(b"a"), at(1), false), Room::FlushFirst);
}
