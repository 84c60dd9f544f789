//! Reading and writing little-endian fields: a cursor that never reads outside of its slice, and `layout!`, which makes a
//! struct, its reader and its writer from one list of fields, so that the two cannot disagree.

use crate::NtStatus;

/// A cursor over bytes that a stranger sent. What is not there is `INVALID_PARAMETER`.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A cursor at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// A cursor at a position, which is not behind the end.
    ///
    /// # Errors
    /// The position is behind the end.
    pub fn at(bytes: &'a [u8], position: usize) -> Result<Self, NtStatus> {
        bytes.get(position..).map(Self::new).ok_or(NtStatus::INVALID_PARAMETER)
    }

    /// What was not read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], NtStatus> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(NtStatus::INVALID_PARAMETER)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Passes over bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn skip(&mut self, count: usize) -> Result<(), NtStatus> {
        self.take(count).map(drop)
    }

    /// The next bytes, so many that the type says.
    ///
    /// # Errors
    /// There are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], NtStatus> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(NtStatus::INVALID_PARAMETER)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    pub fn u8(&mut self) -> Result<u8, NtStatus> {
        self.array().map(u8::from_le_bytes)
    }

    /// The next number of two bytes.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn u16(&mut self) -> Result<u16, NtStatus> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next number of four bytes.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn u32(&mut self) -> Result<u32, NtStatus> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next number of eight bytes.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn u64(&mut self) -> Result<u64, NtStatus> {
        self.array().map(u64::from_le_bytes)
    }
}

/// A part of a message that an offset and a length name. Empty wherever it is said to be; else it begins not before
/// `earliest` (the fixed part is nobody's buffer) and ends inside.
pub(crate) fn part(message: &[u8], offset: usize, length: usize, earliest: usize) -> Result<&[u8], NtStatus> {
    if length == 0 {
        return Ok(&[]);
    }
    let end = offset.checked_add(length).ok_or(NtStatus::INVALID_PARAMETER)?;
    if offset < earliest {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    message.get(offset..end).ok_or(NtStatus::INVALID_PARAMETER)
}

/// A number that was sent, as a length. Ours are at least as wide as those of the wire.
pub(crate) fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A length, as two bytes. Callers keep to the limit; more would be cut to a length that the peer refuses.
pub(crate) fn length16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// A length, as four bytes.
pub(crate) fn length32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Writes a number of four bytes over what stands at a position.
pub(crate) fn patch32(out: &mut [u8], position: usize, value: u32) {
    if let Some(field) = position.checked_add(4).and_then(|end| out.get_mut(position..end)) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// Appends zeros until the length since `start` is a multiple.
pub(crate) fn align(out: &mut Vec<u8>, start: usize, multiple: usize) {
    let length = out.len().saturating_sub(start).next_multiple_of(multiple);
    out.resize(start.saturating_add(length), 0);
}

/// Appends zeros.
pub(crate) fn zeros(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len().saturating_add(count), 0);
}

/// Numbers of two bytes, as they stand in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct U16s<'a>(pub &'a [u8]);

impl U16s<'_> {
    /// The numbers. An odd byte at the end is none.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.len() < 2
    }

    /// Whether the number is among them.
    #[must_use]
    pub fn contains(&self, number: u16) -> bool {
        self.iter().any(|found| found == number)
    }
}

/// A value of fixed length.
pub(crate) trait Field: Sized {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NtStatus>;
    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Field for $number {
            fn read(reader: &mut Reader<'_>) -> Result<Self, NtStatus> {
                reader.array().map(Self::from_le_bytes)
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i64);

impl<const N: usize> Field for [u8; N] {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NtStatus> {
        reader.array()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl Field for NtStatus {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NtStatus> {
        reader.u32().map(Self)
    }

    fn write(&self, out: &mut Vec<u8>) {
        Field::write(&self.0, out);
    }
}

/// A struct of fields as they stand in a message. `[n]` begins it with the StructureSize `n`, which a reader checks;
/// `=> n` are reserved bytes after a field (or before the first): zero when written, ignored when read.
macro_rules! layout {
    ($(#[$meta:meta])* $name:ident $([$size:literal])? {
        $(=> $lead:literal,)? $($(#[$note:meta])* $field:ident: $kind:ty $(=> $pad:literal)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[allow(missing_docs, reason = "fields without words have the names of the specification")]
        pub struct $name { $($(#[$note])* pub $field: $kind),* }

        impl $name {
            /// Reads it.
            ///
            /// # Errors
            /// `INVALID_PARAMETER`: it is too short or says another structure size.
            pub fn read(reader: &mut $crate::wire::bytes::Reader<'_>) -> Result<Self, $crate::NtStatus> {
                $(if reader.u16()? != $size { return Err($crate::NtStatus::INVALID_PARAMETER); })?
                $(reader.skip($lead)?;)?
                $(let $field = <$kind as $crate::wire::bytes::Field>::read(reader)?; $(reader.skip($pad)?;)?)*
                Ok(Self { $($field),* })
            }

            /// Appends it.
            pub fn write(&self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&u16::to_le_bytes($size));)?
                $($crate::wire::bytes::zeros(out, $lead);)?
                $($crate::wire::bytes::Field::write(&self.$field, out); $($crate::wire::bytes::zeros(out, $pad);)?)*
                let _last = out;
            }
        }

        impl $crate::wire::bytes::Field for $name {
            fn read(reader: &mut $crate::wire::bytes::Reader<'_>) -> Result<Self, $crate::NtStatus> {
                Self::read(reader)
            }

            fn write(&self, out: &mut Vec<u8>) {
                Self::write(self, out);
            }
        }
    };
}
pub(crate) use layout;

#[cfg(test)]
#[expect(unreachable_pub, reason = "layouts are made for others")]
mod tests {
    use super::*;

    #[test]
    fn parts_are_inside_of_the_message() {
        let message = [0_u8; 10];
        // offset, length, earliest, length of the part
        let table = [
            (4, 6, 4, Some(6)),
            (4, 7, 4, None),
            (3, 1, 4, None),
            (usize::MAX, 2, 4, None),
            (0, 0, 4, Some(0)),
            (usize::MAX, 0, 4, Some(0)),
        ];
        for (offset, length, earliest, found) in table {
            assert_eq!(part(&message, offset, length, earliest).ok().map(<[u8]>::len), found, "{offset} {length}");
        }
    }

    layout! {
        /// An example.
        Example[9] { => 1, first: u8 => 2, second: u32 }
    }

    #[test]
    fn a_layout_is_read_as_it_is_written() {
        let mut out = Vec::new();
        let example = Example { first: 5, second: 0x0102_0304 };
        example.write(&mut out);
        assert_eq!(out, [9, 0, 0, 5, 0, 0, 4, 3, 2, 1]);
        assert_eq!(Example::read(&mut Reader::new(&out)), Ok(example));
        assert_eq!(Example::read(&mut Reader::new(&out[..9])), Err(NtStatus::INVALID_PARAMETER));
        out[0] = 8;
        assert_eq!(Example::read(&mut Reader::new(&out)), Err(NtStatus::INVALID_PARAMETER));
    }
}
