//! One commit in a frame, and a row's value as the index keeps it.
//!
//! The rows are encoded once; the memtable keeps slices of that buffer. The bytes of small chunks stay outside it, so that
//! they are not held in memory once they are written.

use bytes::{BufMut, Bytes, BytesMut};
use store::{ChunkRef, StoreError, engine::Sequence};

use crate::extent::{InlineChunk, Place};

const INLINE: u8 = 0;
const SPILLED: u8 = 1;
const DELETED: u32 = u32::MAX;
/// What stands before the bytes of a small chunk: place, checksum, length.
const INLINE_HEADER_BYTES: usize = 8 + 8 + 8 + 4;

/// A row's value as the index keeps it: here, or in a chunk of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Inline(Bytes),
    Spilled(ChunkRef),
}

impl Value {
    fn encoded_bytes(&self) -> usize {
        1 + match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Spilled(_) => ChunkRef::ENCODED_BYTES,
        }
    }

    fn encode(&self, buffer: &mut BytesMut) {
        match self {
            Self::Inline(bytes) => {
                buffer.put_u8(INLINE);
                buffer.put_slice(bytes);
            }
            Self::Spilled(chunk) => {
                buffer.put_u8(SPILLED);
                buffer.put_slice(&chunk.encode());
            }
        }
    }

    /// What the index keeps.
    #[cfg(test)]
    pub(crate) fn encoded(&self) -> Bytes {
        let mut buffer = BytesMut::new();
        self.encode(&mut buffer);
        buffer.freeze()
    }

    /// Reads what the index keeps.
    pub(crate) fn decode(stored: &Bytes) -> Result<Self, StoreError> {
        match stored.split_first() {
            Some((&INLINE, _)) => Ok(Self::Inline(stored.slice(1..))),
            Some((&SPILLED, rest)) => match rest.try_into() {
                Ok(rest) => Ok(Self::Spilled(ChunkRef::decode(rest))),
                Err(_) => Err(StoreError::corrupt("a spilled row of the wrong length")),
            },
            _ => Err(StoreError::corrupt("a row of unknown kind")),
        }
    }
}

/// A row as it goes into the memtable: the value as the index keeps it, `None` deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRow {
    pub(crate) key: Bytes,
    pub(crate) value: Option<Bytes>,
}

/// A commit, encoded except for its sequence, which the sequencer gives.
#[derive(Clone)]
pub(crate) struct Record {
    /// Rows and live bytes, encoded.
    body: Bytes,
    pub(crate) rows: Vec<StoredRow>,
    pub(crate) live_bytes: Vec<(u64, i64)>,
    pub(crate) inline: Vec<InlineChunk>,
}

impl Record {
    pub(crate) fn encode(
        writes: &[(Bytes, Option<Value>)],
        live_bytes: Vec<(u64, i64)>,
        inline: Vec<InlineChunk>,
    ) -> Result<Self, StoreError> {
        let payload: usize = writes.iter().map(|(key, value)| row_bytes(key, value.as_ref())).sum();
        let mut body = BytesMut::with_capacity(16 + payload + live_bytes.len() * 16);
        body.put_u32_le(length_u32(writes.len())?);
        let mut spans = Vec::with_capacity(writes.len());
        for (key, value) in writes {
            body.put_u32_le(length_u32(key.len())?);
            match value {
                Some(value) => body.put_u32_le(length_u32(value.encoded_bytes())?),
                None => body.put_u32_le(DELETED),
            }
            let key_start = body.len();
            body.put_slice(key);
            let value_start = body.len();
            if let Some(value) = value {
                value.encode(&mut body);
            }
            spans.push((key_start, value_start, value.is_some().then_some(body.len())));
        }
        body.put_u32_le(length_u32(live_bytes.len())?);
        for (extent, bytes) in &live_bytes {
            body.put_u64_le(*extent);
            body.put_i64_le(*bytes);
        }
        let body = body.freeze();
        let rows = spans.into_iter().map(|(key, value, end)| StoredRow {
            key: body.slice(key..value),
            value: end.map(|end| body.slice(value..end)),
        });
        Ok(Self { rows: rows.collect(), body, live_bytes, inline })
    }

    /// Bytes of this record in a frame.
    pub(crate) fn framed_bytes(&self) -> usize {
        let inline: usize = self.inline.iter().map(|chunk| INLINE_HEADER_BYTES + chunk.bytes.len()).sum();
        8 + 4 + self.body.len() + 4 + inline
    }

    /// Appends the record to a frame.
    pub(crate) fn put(&self, sequence: Sequence, frame: &mut Vec<u8>) -> Result<(), StoreError> {
        frame.put_u64_le(sequence.0);
        frame.put_u32_le(length_u32(self.body.len())?);
        frame.put_slice(&self.body);
        frame.put_u32_le(length_u32(self.inline.len())?);
        for chunk in &self.inline {
            frame.put_u64_le(chunk.place.extent);
            frame.put_u64_le(chunk.place.offset);
            frame.put_u64_le(chunk.crc64);
            frame.put_u32_le(length_u32(chunk.bytes.len())?);
            frame.put_slice(&chunk.bytes);
        }
        Ok(())
    }

    /// Takes the next record off the payload of a frame.
    pub(crate) fn take(payload: &mut Bytes) -> Result<(Sequence, Self), StoreError> {
        let mut head = Taker(payload);
        let sequence = Sequence(head.u64()?);
        let body_bytes = head.u32()?;
        let body = head.bytes(body_bytes)?;
        let inline = (0..head.u32()?).map(|_| head.inline()).collect::<Result<_, _>>()?;

        let mut rest = body.clone();
        let mut taker = Taker(&mut rest);
        let rows = (0..taker.u32()?).map(|_| taker.row()).collect::<Result<_, _>>()?;
        let live_bytes = (0..taker.u32()?)
            .map(|_| Ok((taker.u64()?, i64::from_le_bytes(taker.u64()?.to_le_bytes()))))
            .collect::<Result<_, StoreError>>()?;
        if !rest.is_empty() {
            return Err(cut());
        }
        Ok((sequence, Self { body, rows, live_bytes, inline }))
    }
}

fn row_bytes(key: &Bytes, value: Option<&Value>) -> usize {
    8 + key.len() + value.map_or(0, Value::encoded_bytes)
}

fn length_u32(length: usize) -> Result<u32, StoreError> {
    let limit = usize::try_from(DELETED - 1).unwrap_or(usize::MAX);
    u32::try_from(length).ok().filter(|length| *length != DELETED).ok_or(StoreError::TooLarge {
        what: "a part of a commit",
        actual: length,
        limit,
    })
}

fn cut() -> StoreError {
    StoreError::corrupt("a commit in the log that is cut short")
}

struct Taker<'a>(&'a mut Bytes);

impl Taker<'_> {
    fn bytes(&mut self, length: u32) -> Result<Bytes, StoreError> {
        let length = usize::try_from(length).map_err(|_| cut())?;
        if self.0.len() < length { Err(cut()) } else { Ok(self.0.split_to(length)) }
    }

    fn u32(&mut self) -> Result<u32, StoreError> {
        let bytes = self.bytes(4)?;
        bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(cut)
    }

    fn u64(&mut self) -> Result<u64, StoreError> {
        let bytes = self.bytes(8)?;
        bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or_else(cut)
    }

    fn row(&mut self) -> Result<StoredRow, StoreError> {
        let (key, value) = (self.u32()?, self.u32()?);
        let key = self.bytes(key)?;
        let value = if value == DELETED { None } else { Some(self.bytes(value)?) };
        Ok(StoredRow { key, value })
    }

    fn inline(&mut self) -> Result<InlineChunk, StoreError> {
        let place = Place { extent: self.u64()?, offset: self.u64()? };
        let (crc64, length) = (self.u64()?, self.u32()?);
        Ok(InlineChunk { place, crc64, bytes: self.bytes(length)?, _attached: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let place = Place { extent: 1, offset: 2 };
        let chunk = ChunkRef { token: place.token(), length: 3, crc64: 4 };
        let writes = [
            (Bytes::from_static(b"a"), Some(Value::Inline(Bytes::from_static(b"one")))),
            (Bytes::from_static(b"b"), None),
            (Bytes::from_static(b"c"), Some(Value::Spilled(chunk))),
            (Bytes::from_static(b"d"), Some(Value::Inline(Bytes::new()))),
        ];
        let inline = InlineChunk { place, crc64: 4, bytes: Bytes::from_static(b"xyz"), _attached: None };
        Record::encode(&writes, vec![(7, -9)], vec![inline]).unwrap()
    }

    #[test]
    fn a_record_comes_back() {
        let record = sample();
        let mut frame = Vec::new();
        record.put(Sequence(42), &mut frame).unwrap();
        assert_eq!(frame.len(), record.framed_bytes());
        let mut payload = Bytes::from(frame);
        let (sequence, back) = Record::take(&mut payload).unwrap();
        assert!(payload.is_empty());
        assert_eq!((sequence, &back.rows, &back.live_bytes), (Sequence(42), &record.rows, &vec![(7, -9)]));
        assert_eq!(&*back.inline[0].bytes, b"xyz");
        assert_eq!((back.inline[0].place, back.inline[0].crc64), (Place { extent: 1, offset: 2 }, 4));
        assert_eq!(Value::decode(back.rows[0].value.as_ref().unwrap()).unwrap(), Value::Inline(Bytes::from("one")));
    }

    #[test]
    fn a_record_cut_anywhere_is_corrupt_not_a_panic() {
        let mut frame = Vec::new();
        sample().put(Sequence(42), &mut frame).unwrap();
        for length in 0..frame.len() {
            assert!(Record::take(&mut Bytes::copy_from_slice(&frame[..length])).is_err(), "{length}");
        }
    }
}
