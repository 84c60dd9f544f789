//! One commit in a frame, and a row's value as the index keeps it.
//!
//! The rows are encoded once; the memtable keeps slices of that buffer. Small chunks that ride along stay outside it,
//! so that they are not held in memory once they are written.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use store::{ChunkRef, StoreError, chunk::Ride, engine::Sequence};

const INLINE: u8 = 0;
const SPILLED: u8 = 1;
const DELETED: u32 = u32::MAX;

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
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Rows and live bytes, encoded.
    body: Bytes,
    pub(crate) rows: Vec<StoredRow>,
    pub(crate) live_bytes: Vec<(u64, i64)>,
    pub(crate) rides: Vec<Ride>,
}

impl Record {
    pub(crate) fn encode(
        writes: &[(Bytes, Option<Value>)],
        live_bytes: Vec<(u64, i64)>,
        rides: Vec<Ride>,
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
        Ok(Self { rows: rows.collect(), body, live_bytes, rides })
    }

    /// Bytes of this record in a frame.
    pub(crate) fn framed_bytes(&self) -> usize {
        let rides: usize = self.rides.iter().map(|ride| ChunkRef::ENCODED_BYTES + ride.bytes.len()).sum();
        8 + 4 + self.body.len() + 4 + rides
    }

    /// Appends the record to a frame.
    pub(crate) fn put(&self, sequence: Sequence, frame: &mut Vec<u8>) -> Result<(), StoreError> {
        frame.put_u64_le(sequence.0);
        frame.put_u32_le(length_u32(self.body.len())?);
        frame.put_slice(&self.body);
        frame.put_u32_le(length_u32(self.rides.len())?);
        for ride in &self.rides {
            frame.put_slice(&ride.chunk.encode());
            frame.put_slice(&ride.bytes);
        }
        Ok(())
    }

    /// Takes the next record off the payload of a frame.
    pub(crate) fn take(payload: &mut Bytes) -> Result<(Sequence, Self), StoreError> {
        let mut head = Taker(payload);
        let sequence = Sequence(head.u64()?);
        let body_bytes = head.u32()?;
        let body = head.bytes(body_bytes)?;
        let rides = (0..head.u32()?).map(|_| head.ride()).collect::<Result<_, _>>()?;

        let mut rest = body.clone();
        let mut taker = Taker(&mut rest);
        let rows = (0..taker.u32()?).map(|_| taker.row()).collect::<Result<_, _>>()?;
        let live_bytes = (0..taker.u32()?)
            .map(|_| Ok((taker.u64()?, i64::from_le_bytes(taker.u64()?.to_le_bytes()))))
            .collect::<Result<_, StoreError>>()?;
        if !rest.is_empty() {
            return Err(cut());
        }
        Ok((sequence, Self { body, rows, live_bytes, rides }))
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

    fn ride(&mut self) -> Result<Ride, StoreError> {
        let encoded = self.bytes(32)?;
        let chunk = encoded.first_chunk().map(ChunkRef::decode).ok_or_else(cut)?;
        let bytes = self.bytes(u32::try_from(chunk.length).map_err(|_| cut())?)?;
        Ok(Ride { chunk, bytes, hold: Arc::new(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let chunk = ChunkRef { extent: 1, offset: 2, length: 3, crc64: 4 };
        let writes = [
            (Bytes::from_static(b"a"), Some(Value::Inline(Bytes::from_static(b"one")))),
            (Bytes::from_static(b"b"), None),
            (Bytes::from_static(b"c"), Some(Value::Spilled(chunk))),
            (Bytes::from_static(b"d"), Some(Value::Inline(Bytes::new()))),
        ];
        Record::encode(
            &writes,
            vec![(7, -9)],
            vec![Ride { chunk, bytes: Bytes::from_static(b"xyz"), hold: Arc::new(()) }],
        )
        .unwrap()
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
        assert_eq!(&*back.rides[0].bytes, b"xyz");
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
