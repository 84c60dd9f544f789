//! Percent-encoding, strictly: an escape is two hexadecimal digits, and what comes out is UTF-8.

use std::{borrow::Cow, fmt::Write};

/// Decodes, or `None` for a broken escape or bytes that are not UTF-8. A plus is a plus: the clients of the services
/// send a space as `%20`.
#[must_use]
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

/// Encodes everything but unreserved characters.
#[must_use]
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_strictly() {
        let table = [
            ("", Some("")),
            ("plain", Some("plain")),
            ("a%20b+c", Some("a b+c")),
            ("%2f%2F", Some("//")),
            ("%C3%A4", Some("ä")),
            ("%25", Some("%")),
            ("%00", Some("\0")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%+1", None),
            ("%C3", None),
            ("%ED%A0%80", None), // a lone surrogate
        ];
        for (text, expected) in table {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn encoding_comes_back() {
        for text in ["", "a b", "ä/\u{1}\u{ffff}%"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text));
        }
    }
}
