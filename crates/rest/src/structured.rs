//! Structured messages, `x-ms-structured-body: XSM/1.0; properties=crc64`: content in numbered segments, each with the
//! CRC-64 of its bytes behind it, and the CRC-64 of everything at the end. Numbers are little-endian.
//!
//! ```text
//! message:  version u8 = 1 | message length u64 | flags u16 (1 = CRC-64) | segments u16 | segment … | CRC-64 of all content
//! segment:  number u16, from 1 | content length u64 | content | CRC-64 of the content
//! ```
//!
//! Both directions are state machines over pieces; content is handed on as slices. A reader learns of a wrong checksum
//! before the end of the message, so whoever commits at the end never commits wrong bytes.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest};

use crate::{Headers, ServiceError, headers};

/// The one kind of structured message.
pub const KIND: &str = "XSM/1.0; properties=crc64";
/// Content of a segment that we write.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
const SEGMENTS_MAX: u64 = 65_535;
const VERSION: u8 = 1;
const FLAG_CRC64: u16 = 1;
const HEADER_BYTES: usize = 13;
const SEGMENT_HEADER_BYTES: usize = 10;
const CRC_BYTES: usize = 8;

/// Why bytes are no structured message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A version that we do not know.
    #[error("the structured message has version {0}, not 1")]
    Version(u8),
    /// Flags that we do not know, or no checksums.
    #[error("the structured message has the flags {0:#x}, not 0x1")]
    Flags(u16),
    /// The message says another length than the request.
    #[error("the structured message declares {found} bytes, the request {declared}")]
    Length {
        /// What the request says.
        declared: u64,
        /// What the message says.
        found: u64,
    },
    /// Segments are counted from one.
    #[error("the structured message has segment {found} where {expected} is due")]
    Number {
        /// The next one.
        expected: u32,
        /// What came.
        found: u16,
    },
    /// Not as much content as declared.
    #[error("the structured message has more or less content than the {0} bytes that were declared")]
    Content(u64),
    /// Bytes behind the end.
    #[error("the structured message goes on behind its end")]
    Behind,
    /// A checksum that is not that of the bytes.
    #[error("a checksum of the structured message does not match")]
    Crc64 {
        /// What the message says.
        declared: u64,
        /// What its bytes have.
        found: u64,
    },
}

/// True when a request sends, or asks for, a structured message.
///
/// # Errors
/// It is of a kind that we do not know.
pub fn requested(sent: &Headers) -> Result<bool, ServiceError> {
    match headers::text(sent, &headers::X_MS_STRUCTURED_BODY)? {
        None => Ok(false),
        Some(kind) if kind.eq_ignore_ascii_case(KIND) => Ok(true),
        Some(other) => Err(ServiceError::invalid_header(headers::X_MS_STRUCTURED_BODY.as_str(), other)),
    }
}

/// The length of the content in a request whose body is a structured message; `None` when it is a plain one.
///
/// # Errors
/// A kind that we do not know, or no length.
pub fn content_length(sent: &Headers) -> Result<Option<u64>, ServiceError> {
    if !requested(sent)? {
        return Ok(None);
    }
    let name = headers::X_MS_STRUCTURED_CONTENT_LENGTH;
    let length = headers::number(sent, &name)?;
    length.map(Some).ok_or_else(|| ServiceError::missing_header(name.as_str()))
}

/// What comes next out of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Content.
    Content(Bytes),
    /// Everything that was fed is used up.
    More,
    /// The message is complete, and all of it is right.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Header,
    SegmentHeader,
    Content { left: u64 },
    SegmentFooter,
    Footer,
    End,
}

/// Reads a structured message.
pub struct Decoder {
    /// What the request says of the whole message.
    declared: Option<u64>,
    content_length: u64,
    content: u64,
    region: Region,
    /// A number that came in two pieces.
    scratch: BytesMut,
    input: Bytes,
    segments: u16,
    number: u32,
    segment_crc: Digest,
    message_crc: Digest,
}

impl Decoder {
    /// A message of `declared` bytes, if that is known, with so much content.
    #[must_use]
    pub fn new(declared: Option<u64>, content_length: u64) -> Self {
        Self {
            declared,
            content_length,
            content: 0,
            region: Region::Header,
            scratch: BytesMut::new(),
            input: Bytes::new(),
            segments: 0,
            number: 0,
            segment_crc: crc64(),
            message_crc: crc64(),
        }
    }

    /// The content that was declared.
    #[must_use]
    pub const fn content_length(&self) -> u64 {
        self.content_length
    }

    /// Takes the next bytes. To be called when the last ones are used up.
    pub fn feed(&mut self, bytes: Bytes) {
        self.input = bytes;
    }

    /// What comes next.
    ///
    /// # Errors
    /// The bytes are no message, or not the declared one.
    pub fn step(&mut self) -> Result<Step, Malformed> {
        loop {
            let taken = match self.region {
                Region::Header => self.fixed(HEADER_BYTES).map(|bytes| self.header(bytes)),
                Region::SegmentHeader => self.fixed(SEGMENT_HEADER_BYTES).map(|bytes| self.segment_header(bytes)),
                Region::Content { left: 0 } => {
                    self.region = Region::SegmentFooter;
                    continue;
                }
                Region::Content { left } => match self.content(left) {
                    Some(bytes) => return Ok(Step::Content(bytes)),
                    None => None,
                },
                Region::SegmentFooter => self.fixed(CRC_BYTES).map(|bytes| self.segment_footer(bytes)),
                Region::Footer => self.fixed(CRC_BYTES).map(|bytes| self.footer(bytes)),
                Region::End if self.input.is_empty() => return Ok(Step::End),
                Region::End => return Err(Malformed::Behind),
            };
            match taken {
                Some(outcome) => outcome?,
                None => return Ok(Step::More),
            }
        }
    }

    /// So many bytes, once they are here.
    fn fixed(&mut self, length: usize) -> Option<Bytes> {
        if self.scratch.is_empty() && self.input.len() >= length {
            return Some(self.input.split_to(length));
        }
        let missing = length.saturating_sub(self.scratch.len()).min(self.input.len());
        self.scratch.extend_from_slice(&self.input.split_to(missing));
        (self.scratch.len() == length).then(|| self.scratch.split().freeze())
    }

    fn content(&mut self, left: u64) -> Option<Bytes> {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.input.len());
        if length == 0 {
            return None;
        }
        let bytes = self.input.split_to(length);
        self.segment_crc.update(&bytes);
        self.message_crc.update(&bytes);
        let count = u64::try_from(length).unwrap_or(left);
        self.content += count;
        self.region = Region::Content { left: left - count };
        Some(bytes)
    }

    fn header(&mut self, mut bytes: Bytes) -> Result<(), Malformed> {
        let (version, length) = (bytes.get_u8(), bytes.get_u64_le());
        let (flags, segments) = (bytes.get_u16_le(), bytes.get_u16_le());
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        if let Some(declared) = self.declared.filter(|declared| *declared != length) {
            return Err(Malformed::Length { declared, found: length });
        }
        if flags != FLAG_CRC64 {
            return Err(Malformed::Flags(flags));
        }
        let numbers = HEADER_BYTES + CRC_BYTES + usize::from(segments) * (SEGMENT_HEADER_BYTES + CRC_BYTES);
        let expected = u64::try_from(numbers).ok().and_then(|numbers| numbers.checked_add(self.content_length));
        if expected != Some(length) {
            return Err(Malformed::Content(self.content_length));
        }
        self.segments = segments;
        self.next_segment()
    }

    /// To the next segment, or behind the last one.
    fn next_segment(&mut self) -> Result<(), Malformed> {
        if self.number < u32::from(self.segments) {
            self.region = Region::SegmentHeader;
        } else if self.content == self.content_length {
            self.region = Region::Footer;
        } else {
            return Err(Malformed::Content(self.content_length));
        }
        Ok(())
    }

    fn segment_header(&mut self, mut bytes: Bytes) -> Result<(), Malformed> {
        let (found, left) = (bytes.get_u16_le(), bytes.get_u64_le());
        self.number += 1;
        if u32::from(found) != self.number {
            return Err(Malformed::Number { expected: self.number, found });
        }
        if left > self.content_length - self.content {
            return Err(Malformed::Content(self.content_length));
        }
        self.segment_crc = crc64();
        self.region = Region::Content { left };
        Ok(())
    }

    fn segment_footer(&mut self, mut bytes: Bytes) -> Result<(), Malformed> {
        compare(bytes.get_u64_le(), &self.segment_crc)?;
        self.next_segment()
    }

    fn footer(&mut self, mut bytes: Bytes) -> Result<(), Malformed> {
        compare(bytes.get_u64_le(), &self.message_crc)?;
        self.region = Region::End;
        Ok(())
    }
}

fn crc64() -> Digest {
    Digest::new(CrcAlgorithm::Crc64Nvme)
}

fn compare(declared: u64, digest: &Digest) -> Result<(), Malformed> {
    let found = digest.finalize();
    if declared == found { Ok(()) } else { Err(Malformed::Crc64 { declared, found }) }
}

/// Writes a structured message.
pub struct Encoder {
    content_length: u64,
    segment_length: u64,
    segments: u64,
    number: u64,
    /// Content that is still due.
    left: u64,
    /// Content of this segment that is still due.
    segment_left: u64,
    segment_crc: Digest,
    message_crc: Digest,
    out: VecDeque<Bytes>,
}

impl Encoder {
    /// A message with so much content.
    #[must_use]
    pub fn new(content_length: u64) -> Self {
        let segment_length = SEGMENT_BYTES.max(content_length.div_ceil(SEGMENTS_MAX));
        let segments = content_length.div_ceil(segment_length).max(1);
        let mut encoder = Self {
            content_length,
            segment_length,
            segments,
            number: 0,
            left: content_length,
            segment_left: 0,
            segment_crc: crc64(),
            message_crc: crc64(),
            out: VecDeque::new(),
        };
        let mut header = BytesMut::with_capacity(HEADER_BYTES + SEGMENT_HEADER_BYTES);
        header.put_u8(VERSION);
        header.put_u64_le(encoder.message_length());
        header.put_u16_le(FLAG_CRC64);
        header.put_u16_le(u16::try_from(segments).unwrap_or(u16::MAX));
        encoder.begin_segment(header);
        encoder
    }

    /// The length of the whole message.
    #[must_use]
    pub const fn message_length(&self) -> u64 {
        self.content_length + 13 + 8 + self.segments * 18
    }

    /// Takes content; what is written comes out of [`Self::piece`].
    pub fn push(&mut self, mut content: Bytes) {
        while !content.is_empty() && self.left > 0 {
            let length = usize::try_from(self.segment_left).unwrap_or(usize::MAX).min(content.len());
            let piece = content.split_to(length);
            self.segment_crc.update(&piece);
            self.message_crc.update(&piece);
            let count = u64::try_from(length).unwrap_or(self.segment_left);
            self.segment_left -= count;
            self.left -= count;
            self.out.push_back(piece);
            if self.segment_left == 0 {
                self.end_segment();
            }
        }
    }

    /// The next piece of the message that is ready.
    pub fn piece(&mut self) -> Option<Bytes> {
        self.out.pop_front()
    }

    fn begin_segment(&mut self, mut behind: BytesMut) {
        self.number += 1;
        self.segment_left = self.left.min(self.segment_length);
        self.segment_crc = crc64();
        behind.put_u16_le(u16::try_from(self.number).unwrap_or(u16::MAX));
        behind.put_u64_le(self.segment_left);
        if self.segment_left == 0 {
            // A message without content has one segment without content.
            behind.put_u64_le(self.segment_crc.finalize());
            behind.put_u64_le(self.message_crc.finalize());
        }
        self.out.push_back(behind.freeze());
    }

    fn end_segment(&mut self) {
        let mut behind = BytesMut::with_capacity(CRC_BYTES + CRC_BYTES + SEGMENT_HEADER_BYTES);
        behind.put_u64_le(self.segment_crc.finalize());
        if self.left > 0 {
            return self.begin_segment(behind);
        }
        behind.put_u64_le(self.message_crc.finalize());
        self.out.push_back(behind.freeze());
    }
}

#[cfg(test)]
mod tests;
