//! The value of `If-Match` and `If-None-Match`: `*`, or ETags with commas between them, quoted or bare.
//!
//! Borrows the header's text and compares in place: nothing is allocated, and the text is bounded before it is read.

use types::ETag;

/// The longest text of ETags that is read.
pub const MAX_ETAG_TEXT_BYTES: usize = 8 * 1024;
/// The most ETags in one header.
pub const MAX_ETAGS: usize = 256;

/// Why the value of `If-Match` or `If-None-Match` is refused (400 InvalidHeaderValue).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidETagCondition {
    /// Nothing stands in the header.
    #[error("the condition has no value")]
    Empty,
    /// Longer than [`MAX_ETAG_TEXT_BYTES`].
    #[error("the condition is longer than {MAX_ETAG_TEXT_BYTES} bytes")]
    TooLong,
    /// More than [`MAX_ETAGS`] values.
    #[error("the condition names more than {MAX_ETAGS} ETags")]
    TooMany,
    /// A quote is missing, or `*` stands among ETags.
    #[error("the condition is not a list of ETags")]
    Malformed,
}

/// The value of `If-Match` or `If-None-Match`.
///
/// ```
/// use concurrency::conditions::ETagCondition;
/// use types::ETag;
///
/// let current = ETag::new(0x8DC0_FFEE_1234_5678);
/// let list = ETagCondition::parse("\"0x1\", 0x8DC0FFEE12345678")?;
/// assert!(list.names(current) && list.count() == 2);
/// assert!(!ETagCondition::parse("W/\"0x8DC0FFEE12345678\"")?.names(current), "a weak ETag equals no strong one");
/// assert!(ETagCondition::parse("*")?.is_any());
/// # Ok::<(), concurrency::conditions::InvalidETagCondition>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETagCondition<'a> {
    /// `None` is `*`.
    list: Option<&'a str>,
    count: usize,
}

impl<'a> ETagCondition<'a> {
    /// The value `*`.
    pub const ANY: ETagCondition<'static> = ETagCondition { list: None, count: 1 };

    /// Reads the header's value.
    ///
    /// # Errors
    /// [`InvalidETagCondition`] when the text is not `*` and not a list of ETags.
    pub fn parse(text: &'a str) -> Result<Self, InvalidETagCondition> {
        if text.len() > MAX_ETAG_TEXT_BYTES {
            return Err(InvalidETagCondition::TooLong);
        }
        let list = text.trim();
        if list == "*" {
            return Ok(Self::ANY);
        }
        let mut count = 0_usize;
        for element in (Elements { rest: list }) {
            element?;
            count = count.saturating_add(1);
        }
        match count {
            0 => Err(InvalidETagCondition::Empty),
            1..=MAX_ETAGS => Ok(Self { list: Some(list), count }),
            _ => Err(InvalidETagCondition::TooMany),
        }
    }

    /// True for `*`.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.list.is_none()
    }

    /// How many values the header has.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// True when one of the values is this ETag. `*` names none.
    #[must_use]
    pub fn names(&self, etag: ETag) -> bool {
        let elements = Elements { rest: self.list.unwrap_or_default() };
        elements.flatten().any(|element| matches!(element, Element::Strong(text) if number(text) == Some(etag.value())))
    }

    /// The same where a weak ETag counts as the strong one that it was.
    #[must_use]
    pub fn names_weakly(&self, etag: ETag) -> bool {
        let elements = Elements { rest: self.list.unwrap_or_default() };
        elements.flatten().any(|(Element::Strong(text) | Element::Weak(text))| number(text) == Some(etag.value()))
    }
}

/// The number that an ETag's text stands for, in exactly the form that [`ETag`] is written in.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 16)?;
    let canonical = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'));
    if canonical { u64::from_str_radix(digits, 16).ok() } else { None }
}

enum Element<'a> {
    Strong(&'a str),
    Weak(&'a str),
}

struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, InvalidETagCondition>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_start_matches([',', ' ', '\t']);
        if rest.is_empty() {
            return None;
        }
        let found = quoted(rest).unwrap_or_else(|| bare(rest));
        // After a malformed element there is nothing to go on with.
        self.rest = found.as_ref().map_or("", |(_, rest)| rest);
        Some(found.map(|(element, _)| element))
    }
}

type Found<'a> = Result<(Element<'a>, &'a str), InvalidETagCondition>;

/// `"..."` or `W/"..."`, followed by a comma or the end; `None` when the text does not begin like that.
fn quoted(text: &str) -> Option<Found<'_>> {
    let (weak, inner) = match text.strip_prefix("W/\"") {
        Some(inner) => (true, inner),
        None => (false, text.strip_prefix('"')?),
    };
    let Some((value, rest)) = inner.split_once('"') else {
        return Some(Err(InvalidETagCondition::Malformed));
    };
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with(',') {
        return Some(Err(InvalidETagCondition::Malformed));
    }
    Some(Ok((if weak { Element::Weak(value) } else { Element::Strong(value) }, rest)))
}

fn bare(text: &str) -> Found<'_> {
    let (value, rest) = text.split_once(',').unwrap_or((text, ""));
    let value = value.trim_end();
    if value == "*" || value.contains('"') {
        return Err(InvalidETagCondition::Malformed);
    }
    Ok((Element::Strong(value), rest))
}
