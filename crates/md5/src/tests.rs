//! Compared with the `md-5` crate, alone and side by side.

use ::md5::Digest as _;
use proptest::prelude::*;

use super::*;

fn expected(bytes: &[u8]) -> Md5Bytes {
    ::md5::Md5::digest(bytes).into()
}

#[test]
fn the_vectors_of_the_standard() {
    let table = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    for (text, digest) in table {
        let mut md5 = Md5::default();
        md5.update(text.as_bytes());
        let hex: String = md5.finish().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digest, "{text}");
    }
}

#[test]
fn every_length_around_a_block() {
    for length in 0..=200 {
        let bytes = vec![7; length];
        let mut md5 = Md5::default();
        md5.update(&bytes);
        assert_eq!(md5.finish(), expected(&bytes), "{length}");
    }
}

proptest! {
    /// However many streams go side by side, and however their bytes are cut.
    #[test]
    fn streams_do_not_mix(pieces in prop::collection::vec(prop::collection::vec(0_usize..700, 1..5), 1..20)) {
        let rounds = pieces.iter().map(Vec::len).max().unwrap_or_default();
        let mut wholes = vec![Vec::new(); pieces.len()];
        let mut streams: Vec<(Md5, Vec<u8>)> = pieces.iter().map(|_| (Md5::default(), Vec::new())).collect();
        for round in 0..rounds {
            for (number, lengths) in pieces.iter().enumerate() {
                let length = lengths.get(round).copied().unwrap_or_default();
                let piece: Vec<u8> = (0..length).map(|at| (at * 31 + number * 7 + round).to_le_bytes()[0]).collect();
                wholes[number].extend_from_slice(&piece);
                streams[number].1 = piece;
            }
            update_together(&mut streams);
        }
        for ((md5, _), whole) in streams.into_iter().zip(&wholes) {
            prop_assert_eq!(md5.finish(), expected(whole));
        }
    }
}
