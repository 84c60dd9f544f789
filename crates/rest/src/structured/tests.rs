//! Messages written by hand, by us, and spoiled bit by bit.

use proptest::prelude::*;

use super::*;

fn encode(content: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(u64::try_from(content.len()).unwrap());
    let length = usize::try_from(encoder.message_length()).unwrap();
    let mut message = Vec::new();
    for piece in content.chunks(1000) {
        encoder.push(Bytes::copy_from_slice(piece));
        while let Some(bytes) = encoder.piece() {
            message.extend_from_slice(&bytes);
        }
    }
    while let Some(bytes) = encoder.piece() {
        message.extend_from_slice(&bytes);
    }
    assert_eq!(message.len(), length);
    message
}

/// `Ok(None)` is a message that is not complete.
fn decode(message: &[u8], content_length: u64, piece: usize) -> Result<Option<Vec<u8>>, Malformed> {
    let mut decoder = Decoder::new(u64::try_from(message.len()).ok(), content_length);
    let (mut content, mut pieces) = (Vec::new(), message.chunks(piece));
    loop {
        match decoder.step()? {
            Step::Content(bytes) => content.extend_from_slice(&bytes),
            Step::End if pieces.len() == 0 => return Ok(Some(content)),
            Step::More | Step::End => match pieces.next() {
                Some(bytes) => decoder.feed(Bytes::copy_from_slice(bytes)),
                None => return Ok(None),
            },
        }
    }
}

/// A message of segments of these contents, written by hand.
fn message(segments: &[&[u8]]) -> Vec<u8> {
    let content = segments.concat();
    let mut out = vec![1];
    out.put_u64_le(u64::try_from(13 + 8 + 18 * segments.len() + content.len()).unwrap());
    out.put_u16_le(1);
    out.put_u16_le(u16::try_from(segments.len()).unwrap());
    let crc = |bytes: &[u8]| crc_fast::checksum(CrcAlgorithm::Crc64Nvme, bytes);
    for (number, segment) in segments.iter().enumerate() {
        out.put_u16_le(u16::try_from(number + 1).unwrap());
        out.put_u64_le(u64::try_from(segment.len()).unwrap());
        out.put_slice(segment);
        out.put_u64_le(crc(segment));
    }
    out.put_u64_le(crc(&content));
    out
}

/// The bytes that azure-storage-blob 12 sends for `hello`.
#[test]
fn a_known_message() {
    let mut known = vec![1, 44, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0];
    known.extend_from_slice(b"hello");
    let crc = crc_fast::checksum(CrcAlgorithm::Crc64Nvme, b"hello").to_le_bytes();
    known.extend_from_slice(&crc);
    known.extend_from_slice(&crc);
    assert_eq!(encode(b"hello"), known);
    assert_eq!(message(&[b"hello"]), known);
}

#[test]
fn segments_are_put_together_however_they_come() {
    let table: [&[&[u8]]; 5] = [&[b""], &[b"a"], &[b"hello", b" ", b"world"], &[b"", b"x"], &[b"abc", b""]];
    for segments in table {
        let (message, content) = (message(segments), segments.concat());
        for piece in [1, 2, 7, 13, 1000] {
            let length = u64::try_from(content.len()).unwrap();
            assert_eq!(decode(&message, length, piece), Ok(Some(content.clone())), "{segments:?} by {piece}");
        }
    }
}

#[test]
fn long_content_has_segments_of_4_mib() {
    let content: Vec<u8> = (0..9 * 1024 * 1024_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let encoded = encode(&content);
    assert_eq!(encoded[11..13], [3, 0]);
    let length = u64::try_from(content.len()).unwrap();
    assert!(decode(&encoded, length, 100_000) == Ok(Some(content)));
    assert!(Encoder::new(u64::MAX / 2).message_length() > u64::MAX / 2);
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let right = message(&[b"hello", b"world"]);
    for place in 0..right.len() {
        for bit in 0..8 {
            let mut wrong = right.clone();
            wrong[place] ^= 1 << bit;
            assert!(!matches!(decode(&wrong, 10, 1000), Ok(Some(_))), "byte {place} bit {bit}");
        }
        assert!(!matches!(decode(&right[..place], 10, 1000), Ok(Some(_))), "cut at {place}");
    }
    assert!(decode(&right, 9, 1000).is_err() && decode(&right, 11, 1000).is_err(), "another content length");
    let behind = [&right[..], b"!"].concat();
    assert!(decode(&behind, 10, 1000).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(content in proptest::collection::vec(any::<u8>(), 0..3000), piece in 1_usize..500) {
        let length = u64::try_from(content.len()).unwrap();
        prop_assert_eq!(decode(&encode(&content), length, piece), Ok(Some(content)));
    }

    #[test]
    fn noise_is_answered(noise in proptest::collection::vec(any::<u8>(), 0..100), length in 0_u64..100) {
        let _either_way = decode(&noise, length, 7);
    }
}
