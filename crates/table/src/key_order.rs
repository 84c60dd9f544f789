//! The order of keys and texts: by UTF-16 code units, as the service has it.
//!
//! UTF-8 sorts alike except that characters beyond the basic plane come after U+E000..U+FFFF, where UTF-16 puts their
//! surrogates before. So keys write each surrogate of such a character as three bytes (the form is known as CESU-8):
//! byte by byte that is the order of UTF-16, and every other text stays as it is.

use std::{borrow::Cow, cmp::Ordering};

use store::StoreError;

const FIRST_SURROGATE_LEAD: u8 = 0xED;
const FIRST_OF_FOUR: u8 = 0xF0;

/// The bytes of a text in a key.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|byte| byte < FIRST_OF_FOUR) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut buffer = [0; 4];
    for character in text.chars() {
        if character.len_utf8() < 4 {
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            let [high, low] = unit.to_be_bytes();
            out.extend_from_slice(&[0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]);
        }
    }
    Cow::Owned(out)
}

/// The text of such bytes.
///
/// # Errors
/// They are not what [`encode`] makes.
pub(crate) fn decode(bytes: Cow<'_, [u8]>) -> Result<String, StoreError> {
    let malformed = || StoreError::corrupt("a key that is not text");
    let surrogates = bytes.windows(2).any(|pair| matches!(pair, [FIRST_SURROGATE_LEAD, 0xA0..=0xFF]));
    if !surrogates {
        return String::from_utf8(bytes.into_owned()).map_err(|_| malformed());
    }
    let mut out = String::with_capacity(bytes.len());
    let mut rest = &*bytes;
    while let Some(&lead) = rest.first() {
        if let Some((&[FIRST_SURROGATE_LEAD, a, b, FIRST_SURROGATE_LEAD, c, d], after)) = rest.split_first_chunk::<6>()
            && a >= 0xA0
        {
            let unit = |middle: u8, last: u8| 0xD000 | u16::from(middle & 0x3F) << 6 | u16::from(last & 0x3F);
            let pair = [unit(a, b), unit(c, d)];
            out.push(char::decode_utf16(pair).next().and_then(Result::ok).ok_or_else(malformed)?);
            rest = after;
            continue;
        }
        let length = match lead {
            0..0x80 => 1,
            0xC0..0xE0 => 2,
            _ => 3,
        };
        let (character, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
        out.push_str(std::str::from_utf8(character).map_err(|_| malformed())?);
        rest = after;
    }
    Ok(out)
}

/// Compares two texts as the service does.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let plain = |text: &str| text.bytes().all(|byte| byte < 0xEE);
    if plain(left) && plain(right) { left.cmp(right) } else { left.encode_utf16().cmp(right.encode_utf16()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_surrogate_sorts_before_the_end_of_the_basic_plane() {
        let (astral, private) = ("\u{1F600}", "\u{E000}");
        assert!(astral > private, "in UTF-8");
        assert!(encode(astral) < encode(private));
        assert_eq!(compare(astral, private), Ordering::Less);
    }

    #[test]
    fn what_was_not_encoded_is_refused() {
        for bytes in [&b"\xff"[..], b"\xed\xa0\x80", b"\xed\xa0\x80\xed\xa0\x80", b"\xed\xb0\x80a", b"\xed\xa0"] {
            assert!(decode(Cow::Borrowed(bytes)).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn keys_keep_the_text_and_the_order(left in "\\PC*", right in "[\u{d000}-\u{d7ff}\u{e000}-\u{ffff}\u{10000}-\u{10ffff}a]{0,4}") {
            for text in [&left, &right] {
                prop_assert_eq!(&decode(encode(text)).unwrap(), text);
            }
            let expected = left.encode_utf16().cmp(right.encode_utf16());
            prop_assert_eq!(encode(&left).cmp(&encode(&right)), expected);
            prop_assert_eq!(compare(&left, &right), expected);
        }
    }
}
