//! Order and round trip of keys.

use super::*;

fn text(text: &[u8]) -> Bytes {
    KeyBuilder::new(Space::Test, 1).bytes(text).number(7).build()
}

#[test]
fn strings_sort_as_their_bytes_whatever_follows() {
    let sorted: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\xFF", b"a", b"a\0", b"a\0b", b"ab"];
    for pair in sorted.windows(2) {
        assert!(text(pair[0]) < text(pair[1]), "{pair:?}");
    }
}

#[test]
fn numbers_sort_ascending_and_descending() {
    let up = |n| KeyBuilder::new(Space::Test, 1).number(n).build();
    let down = |n| KeyBuilder::new(Space::Test, 1).descending(n).build();
    for pair in [0, 1, 255, 256, u64::MAX - 1, u64::MAX].windows(2) {
        assert!(up(pair[0]) < up(pair[1]));
        assert!(down(pair[0]) > down(pair[1]));
    }
}

#[test]
fn elements_come_back() {
    for string in [&b""[..], b"plain", b"\0", b"a\0\0b", b"\xFF\0\x01"] {
        let key = KeyBuilder::new(Space::Test, 9).number(3).bytes(string).byte(4).descending(5).build();
        let mut parser = KeyParser::new(&key, Space::Test, 9).unwrap();
        assert_eq!(parser.number().unwrap(), 3);
        assert_eq!(&*parser.bytes().unwrap(), string);
        assert_eq!(parser.byte().unwrap(), 4);
        assert_eq!(parser.descending().unwrap(), 5);
        parser.end().unwrap();
    }
}

#[test]
fn a_key_cut_short_is_corrupt_not_a_panic() {
    let key = KeyBuilder::new(Space::Test, 9).number(3).bytes(b"a\0b").build();
    for length in 0..key.len() {
        let parsed = KeyParser::new(&key[..length], Space::Test, 9)
            .and_then(|mut parser| parser.number().and_then(|_| parser.bytes().map(|_| parser.end())));
        assert!(parsed.is_err(), "{length}");
    }
}

#[test]
fn a_prefix_range_holds_its_extensions_only() {
    let range = KeyBuilder::new(Space::Test, 1).bytes_prefix(b"a\xFF").range();
    assert!(range.contains(&text(b"a\xFF")) && range.contains(&text(b"a\xFFz")));
    assert!(!range.contains(&text(b"a")) && !range.contains(&text(b"b")));
    assert_eq!(KeyRange::prefix(Bytes::from_static(b"\xFF\xFF")).end, None);
}

#[test]
fn after_continues_behind_a_key_and_never_widens() {
    let range = KeyBuilder::new(Space::Test, 1).range();
    let (a, b) = (text(b"a"), text(b"b"));
    assert!(!range.clone().after(&a).contains(&a));
    assert!(range.clone().after(&a).contains(&b));
    assert_eq!(range.clone().after(b""), range);
}
