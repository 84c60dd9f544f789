//! The id of a lease: a GUID, compared by value, so that letter case and text form never matter.

use std::fmt;

/// Text longer than the longest form (`{...}` or `(...)`, 38 characters) is refused before it is looked at.
const MAX_TEXT_BYTES: usize = 38;
/// Where the hyphens stand in the 36-character form.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The id of a lease, in the forms of a .NET GUID.
///
/// ```
/// use concurrency::lease::LeaseId;
/// let plain = LeaseId::parse("1f812371a41d49e6b123f4b542e851c5")?;
/// let braces = LeaseId::parse("{1F812371-A41D-49E6-B123-F4B542E851C5}")?;
/// assert_eq!(plain, braces);
/// assert_eq!(plain.to_string(), "1f812371-a41d-49e6-b123-f4b542e851c5");
/// # Ok::<(), concurrency::lease::InvalidLeaseId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseId(u128);

/// The text is not a GUID in one of the forms N, D, B or P.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease id is not a GUID")]
pub struct InvalidLeaseId;

impl LeaseId {
    /// The id with these 128 bits; how a freshly generated id comes in.
    #[must_use]
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The 128 bits, as they stand in records.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// Reads 32 digits (N), 32 digits with hyphens (D), and D in braces (B) or parentheses (P).
    ///
    /// # Errors
    /// [`InvalidLeaseId`] for every other text.
    pub fn parse(text: &str) -> Result<Self, InvalidLeaseId> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(InvalidLeaseId);
        }
        let enclosed = |open, close| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        let digits = match (enclosed('{', '}').or_else(|| enclosed('(', ')')), text.len()) {
            (Some(inner), _) => hyphenated(inner),
            (None, 32) => number(text.bytes()),
            (None, _) => hyphenated(text),
        };
        digits.map(Self).ok_or(InvalidLeaseId)
    }
}

fn hyphenated(text: &str) -> Option<u128> {
    let in_place = text.len() == 36 && text.bytes().enumerate().all(|(at, b)| (b == b'-') == HYPHENS.contains(&at));
    if in_place { number(text.bytes().filter(|b| *b != b'-')) } else { None }
}

fn number(digits: impl Iterator<Item = u8>) -> Option<u128> {
    digits.into_iter().try_fold(0_u128, |value, b| {
        let digit = char::from(b).to_digit(16)?;
        Some((value << 4) | u128::from(digit))
    })
}

impl fmt::Display for LeaseId {
    /// The form the service answers: lower case with hyphens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        let (a, b, c) = (v >> 96, (v >> 80) & 0xFFFF, (v >> 64) & 0xFFFF);
        let (d, e) = ((v >> 48) & 0xFFFF, v & 0xFFFF_FFFF_FFFF);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseId({self})")
    }
}
