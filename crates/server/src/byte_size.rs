//! A number of bytes as people write it: `268435456`, `256MiB`, `1GiB`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de::Visitor};

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

/// What may stand behind the number.
const UNITS: [(&str, u64); 6] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim();
        let number = bare.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = bare.strip_prefix(number).unwrap_or_default();
        let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor);
        let bytes = number.trim().parse::<u64>().ok().zip(factor).and_then(|(count, unit)| count.checked_mul(unit));
        bytes.map(Self).ok_or_else(|| format!("{text:?} is not a size, such as 268435456, 256MiB or 1GiB"))
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(file: D) -> Result<Self, D::Error> {
        file.deserialize_any(NumberOrText)
    }
}

/// A file may have it as a number too.
struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = ByteSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size, such as 268435456, \"256MiB\" or \"1GiB\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ByteSize, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<ByteSize, E> {
        u64::try_from(number).map(ByteSize).map_err(|_| E::custom(format!("{number} is not a size")))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<ByteSize, E> {
        Ok(ByteSize(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        let table = [
            ("0", Some(0)),
            ("268435456", Some(1 << 28)),
            ("256MiB", Some(1 << 28)),
            ("256 mib", Some(1 << 28)),
            ("1GiB", Some(1 << 30)),
            ("2TiB", Some(1 << 41)),
            ("4KiB", Some(4096)),
            ("7B", Some(7)),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1.5GiB", None),
            ("1MB", None),
            ("99999999TiB", None),
        ];
        for (text, bytes) in table {
            assert_eq!(text.parse::<ByteSize>().ok().map(|size| size.0), bytes, "{text:?}");
        }
        assert!("1 MB".parse::<ByteSize>().unwrap_err().contains("\"1 MB\" is not a size"));
    }

    #[test]
    fn a_file_has_them_as_numbers_or_texts() {
        #[derive(Deserialize)]
        struct File {
            size: ByteSize,
        }
        let read = |text: &str| toml::from_str::<File>(text).ok().map(|file| file.size.0);
        assert_eq!(read("size = 4096"), Some(4096));
        assert_eq!(read("size = '4KiB'"), Some(4096));
        assert_eq!(read("size = -1"), None);
        assert_eq!(read("size = true"), None);
    }
}
