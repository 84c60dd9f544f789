//! Keys in tuple order: comparing the bytes of two keys compares their elements one by one.
//!
//! A number is eight bytes, big-endian; a descending number is its complement. Bytes and text escape zero as `00 FF`
//! and end with `00 01`, so that a shorter string sorts before its extensions and whatever follows cannot blur the end.

use std::borrow::Cow;

use bytes::Bytes;

use crate::{error::StoreError, space::Space};

const ZERO: u8 = 0x00;
const ESCAPED: u8 = 0xFF;
const END: u8 = 0x01;

/// Builds a key element by element.
#[derive(Clone, Debug)]
pub struct KeyBuilder(Vec<u8>);

impl KeyBuilder {
    /// A key of this space and kind.
    #[must_use]
    pub fn new(space: Space, kind: u8) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&[space.byte(), kind]);
        Self(bytes)
    }

    /// The prefix of every key of a space.
    #[must_use]
    pub fn space(space: Space) -> Self {
        Self(vec![space.byte()])
    }

    /// Appends a number, ascending.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// Appends a number, descending.
    #[must_use]
    pub fn descending(self, number: u64) -> Self {
        self.number(!number)
    }

    /// Appends one byte as it is: a kind within a kind.
    #[must_use]
    pub fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    /// Appends bytes as they are: an element whose length never varies, or the beginning of one in a prefix.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends bytes, escaped and ended.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.bytes_prefix(bytes);
        self.0.extend_from_slice(&[ZERO, END]);
        self
    }

    /// Appends escaped bytes without their end: the prefix of every key whose next element begins with them.
    #[must_use]
    pub fn bytes_prefix(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0.push(byte);
            if byte == ZERO {
                self.0.push(ESCAPED);
            }
        }
        self
    }

    /// The finished key.
    #[must_use]
    pub fn build(self) -> Bytes {
        Bytes::from(self.0)
    }

    /// Every key that continues this one.
    #[must_use]
    pub fn range(self) -> KeyRange {
        KeyRange::prefix(self.build())
    }
}

/// Takes a key apart again. Every mismatch is corruption: keys are only ever made by [`KeyBuilder`].
#[derive(Clone, Copy, Debug)]
pub struct KeyParser<'a>(&'a [u8]);

impl<'a> KeyParser<'a> {
    /// The elements of `key` behind its space and kind.
    ///
    /// # Errors
    /// The key is of another space or kind.
    pub fn new(key: &'a [u8], space: Space, kind: u8) -> Result<Self, StoreError> {
        match key.strip_prefix(&[space.byte(), kind]) {
            Some(rest) => Ok(Self(rest)),
            None => Err(malformed("its space and kind")),
        }
    }

    /// Takes a number.
    ///
    /// # Errors
    /// Fewer than eight bytes are left.
    pub fn number(&mut self) -> Result<u64, StoreError> {
        let (head, rest) = self.0.split_first_chunk::<8>().ok_or_else(|| malformed("a number"))?;
        self.0 = rest;
        Ok(u64::from_be_bytes(*head))
    }

    /// Takes a descending number.
    ///
    /// # Errors
    /// Fewer than eight bytes are left.
    pub fn descending(&mut self) -> Result<u64, StoreError> {
        self.number().map(|number| !number)
    }

    /// Takes one byte.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn byte(&mut self) -> Result<u8, StoreError> {
        let (head, rest) = self.0.split_first().ok_or_else(|| malformed("a byte"))?;
        self.0 = rest;
        Ok(*head)
    }

    /// Takes an element of a length that never varies.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(|| malformed("an element of fixed length"))?;
        self.0 = rest;
        Ok(*head)
    }

    /// Takes bytes; borrowed when nothing was escaped.
    ///
    /// # Errors
    /// The end is missing or an escape is unknown.
    pub fn bytes(&mut self) -> Result<Cow<'a, [u8]>, StoreError> {
        let mut unescaped: Option<Vec<u8>> = None;
        let mut rest = self.0;
        loop {
            let zero = rest.iter().position(|&byte| byte == ZERO).ok_or_else(|| malformed("the end of a string"))?;
            let (plain, tail) = rest.split_at(zero);
            let (mark, after) = tail.split_first_chunk::<2>().ok_or_else(|| malformed("an escape"))?;
            rest = after;
            match (mark, &mut unescaped) {
                ([_, END], None) => {
                    self.0 = rest;
                    return Ok(Cow::Borrowed(plain));
                }
                ([_, END], Some(whole)) => {
                    whole.extend_from_slice(plain);
                    self.0 = rest;
                    return Ok(Cow::Owned(unescaped.unwrap_or_default()));
                }
                ([_, ESCAPED], whole) => {
                    let whole = whole.get_or_insert_default();
                    whole.extend_from_slice(plain);
                    whole.push(ZERO);
                }
                _ => return Err(malformed("an escape")),
            }
        }
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end(self) -> Result<(), StoreError> {
        if self.0.is_empty() { Ok(()) } else { Err(malformed("its end")) }
    }
}

fn malformed(wanted: &str) -> StoreError {
    StoreError::corrupt(format!("a key in which {wanted} was expected"))
}

/// Keys from `start` (included) to `end` (excluded); without an end, to the last key of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key that may be in the range.
    pub start: Bytes,
    /// The first key behind the range.
    pub end: Option<Bytes>,
}

impl KeyRange {
    /// Every key that begins with `prefix`.
    #[must_use]
    pub fn prefix(prefix: Bytes) -> Self {
        let end = successor_of_prefix(&prefix);
        Self { start: prefix, end }
    }

    /// Keys from `start` to before `end`.
    #[must_use]
    pub const fn between(start: Bytes, end: Bytes) -> Self {
        Self { start, end: Some(end) }
    }

    /// The part of this range behind `key`: how a listing goes on after its marker.
    #[must_use]
    pub fn after(mut self, key: &[u8]) -> Self {
        let mut next = Vec::with_capacity(key.len() + 1);
        next.extend_from_slice(key);
        next.push(0);
        if *next > *self.start {
            self.start = Bytes::from(next);
        }
        self
    }

    /// True when `key` is in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= &*self.start && self.end.as_ref().is_none_or(|end| key < &**end)
    }

    /// True when no key can be in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }
}

fn successor_of_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    Some(Bytes::from(end))
}

#[cfg(test)]
mod tests;
