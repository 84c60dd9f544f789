//! UTF-16 of names, the one place that decides what is a name at all.
//!
//! A lone surrogate is refused as `ILLEGAL_CHARACTER` and a zero as `OBJECT_NAME_INVALID`: the store's names are Unicode
//! text, so REST could neither show nor ask for such a file.

use crate::NtStatus;

/// The text of UTF-16LE bytes.
///
/// # Errors
/// `INVALID_PARAMETER`: half a unit; `ILLEGAL_CHARACTER`: a lone surrogate; `OBJECT_NAME_INVALID`: a zero inside.
pub fn decode(bytes: &[u8]) -> Result<String, NtStatus> {
    let (units, odd) = bytes.as_chunks();
    if !odd.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    let text = text.map_err(|_lone| NtStatus::ILLEGAL_CHARACTER)?;
    if text.contains('\0') {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    Ok(text)
}

/// Appends text as UTF-16LE and says how many bytes that were.
pub fn encode_into(out: &mut Vec<u8>, text: &str) -> usize {
    let before = out.len();
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
    out.len().saturating_sub(before)
}

/// Text as UTF-16LE.
#[must_use]
pub fn encode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().saturating_mul(2));
    encode_into(&mut out, text);
    out
}

/// How many bytes the text is in UTF-16.
#[must_use]
pub fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum::<usize>().saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let table: &[(&[u8], Result<&str, NtStatus>)] = &[
            (b"", Ok("")),
            (b"a\0\xe4\0", Ok("a\u{e4}")),
            (b"\x3d\xd8\x00\xde", Ok("\u{1f600}")),
            (b"a", Err(NtStatus::INVALID_PARAMETER)),
            (b"\x3d\xd8", Err(NtStatus::ILLEGAL_CHARACTER)),
            (b"\x00\xdea\0", Err(NtStatus::ILLEGAL_CHARACTER)),
            (b"a\0\0\0", Err(NtStatus::OBJECT_NAME_INVALID)),
        ];
        for (bytes, expected) in table {
            assert_eq!(decode(bytes).as_deref(), expected.as_deref(), "{bytes:?}");
            if let Ok(text) = expected {
                assert_eq!((encode(text).as_slice(), length(text)), (*bytes, bytes.len()));
            }
        }
    }
}
