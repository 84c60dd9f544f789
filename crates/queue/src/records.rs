//! The stored records of the Queue service, apart from what the service works with: each has a conversion from and to bytes,
//! by [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes of all
//! of them are in `testdata/records.tsv`.

use bytes::Bytes;
use concurrency::visibility::{Message, PopReceipt};
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{Timestamp, UnitId};

use crate::{
    keys::Place,
    queue::{Metadata, Queue},
};

/// The newest version of each record.
const QUEUE: u8 = 1;
const MESSAGE: u8 = 1;
const TEXT: u8 = 1;
const PLACE: u8 = 1;
const TALLY: u8 = 1;

/// A text up to this many bytes stands in the row of its message; a longer one has a row of its own, because the row of
/// a message is written anew each time it is got.
pub(crate) const INLINE_TEXT_BYTES: usize = 1024;

/// Bytes of a message's row without its text, rounded up.
const MESSAGE_BYTES: usize = 72;

pub(crate) fn encode_queue(queue: &Queue) -> Bytes {
    let writer = Writer::new(QUEUE).number(queue.unit.number()).number(queue.generation);
    let writer = writer.small(u32::try_from(queue.metadata.len()).unwrap_or(u32::MAX));
    queue.metadata.iter().fold(writer, |writer, (name, value)| writer.text(name).text(value)).build()
}

pub(crate) fn decode_queue(row: &[u8]) -> Result<Queue, StoreError> {
    let mut reader = Reader::new("the row of a queue", row, QUEUE)?;
    let (unit, generation) = (UnitId::new(reader.number()?), reader.number()?);
    let mut metadata = Metadata::new();
    for _ in 0..reader.small()? {
        metadata.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
    }
    reader.end()?;
    Ok(Queue { unit, generation, metadata })
}

/// A message as its row has it. Its place, and so from when on it is visible, stands in the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredMessage {
    pub(crate) id: u128,
    pub(crate) message: Message,
    /// `None` when it has a row of its own.
    pub(crate) text: Option<String>,
}

impl StoredMessage {
    pub(crate) fn encode(&self) -> Bytes {
        let text = self.text.as_deref();
        let writer = Writer::with_capacity(MESSAGE, MESSAGE_BYTES + text.map_or(0, str::len))
            .wide(self.id)
            .wide(self.message.receipt.value())
            .number(self.message.insertion.ticks())
            .number(self.message.expiry.ticks())
            .number(self.message.changed_at.ticks())
            .small(self.message.dequeue_count)
            .flag(text.is_some());
        match text {
            Some(text) => writer.text(text).build(),
            None => writer.build(),
        }
    }

    /// The message in this row, which stands at this place.
    pub(crate) fn decode(place: Place, row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a message", row, MESSAGE)?;
        let (id, receipt) = (reader.wide()?, PopReceipt::new(reader.wide()?));
        let message = Message {
            receipt,
            insertion: Timestamp::from_ticks(reader.number()?),
            expiry: Timestamp::from_ticks(reader.number()?),
            changed_at: Timestamp::from_ticks(reader.number()?),
            dequeue_count: reader.small()?,
            next_visible: place.next_visible,
        };
        let text = if reader.flag()? { Some(reader.text()?.to_owned()) } else { None };
        reader.end()?;
        Ok(Self { id, message, text })
    }
}

pub(crate) fn encode_text(text: &str) -> Bytes {
    Writer::with_capacity(TEXT, text.len() + 5).text(text).build()
}

pub(crate) fn decode_text(row: &[u8]) -> Result<String, StoreError> {
    let mut reader = Reader::new("the text of a message", row, TEXT)?;
    let text = reader.text()?.to_owned();
    reader.end()?;
    Ok(text)
}

/// The place that a row of the expiry index, the progress of a sweep or the head of an index refers to.
pub(crate) fn encode_place(place: Place) -> Bytes {
    Writer::new(PLACE).number(place.next_visible.ticks()).number(place.number).build()
}

pub(crate) fn decode_place(row: &[u8]) -> Result<Place, StoreError> {
    let mut reader = Reader::new("the row of a place", row, PLACE)?;
    let place = Place { next_visible: Timestamp::from_ticks(reader.number()?), number: reader.number()? };
    reader.end()?;
    Ok(place)
}

/// A shard of a count, which may be negative.
pub(crate) fn encode_tally(count: i64) -> Bytes {
    Writer::new(TALLY).raw(&count.to_le_bytes()).build()
}

pub(crate) fn decode_tally(row: &[u8]) -> Result<i64, StoreError> {
    let mut reader = Reader::new("the row of a tally", row, TALLY)?;
    let count = i64::from_le_bytes(reader.take()?);
    reader.end()?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use store::golden::Golden;

    use super::*;

    fn message(text: Option<&str>) -> StoredMessage {
        let message = Message {
            insertion: Timestamp::from_ticks(0x0102_0304_0506_0708),
            expiry: Timestamp::NEVER,
            next_visible: place().next_visible,
            dequeue_count: 3,
            receipt: PopReceipt::new(0x1011_1213_1415_1617_1819_1a1b_1c1d_1e1f),
            changed_at: Timestamp::from_ticks(0x2021_2223_2425_2627),
        };
        StoredMessage { id: 0x3031_3233_3435_3637_3839_3a3b_3c3d_3e3f, message, text: text.map(str::to_owned) }
    }

    fn place() -> Place {
        Place { next_visible: Timestamp::from_ticks(0x4041_4243_4445_4647), number: 0x4849_4a4b_4c4d_4e4f }
    }

    #[test]
    fn records_are_written_and_read_as_the_golden_bytes() {
        let mut golden = Golden::new(include_str!("../testdata/records.tsv"));
        let metadata = vec![("Colour".to_owned(), "grün".to_owned()), ("empty".to_owned(), String::new())];
        for (name, metadata) in [("queue 1", Metadata::new()), ("queue 1 with metadata", metadata)] {
            let queue = Queue { unit: UnitId::new(0x0102_0304_0506_0708), generation: 9, metadata };
            golden.round_trip(name, &encode_queue(&queue), decode_queue, &queue);
        }
        for (name, text) in [("message 1", Some("wörk")), ("message 1 with a text of its own", None)] {
            golden.round_trip(name, &message(text).encode(), |row| StoredMessage::decode(place(), row), &message(text));
        }
        golden.round_trip("text 1", &encode_text("a löng one"), decode_text, &"a löng one".to_owned());
        golden.round_trip("place 1", &encode_place(place()), decode_place, &place());
        for (name, count) in [("tally 1", 258), ("tally 1 below zero", -2)] {
            golden.round_trip(name, &encode_tally(count), decode_tally, &count);
        }
        golden.finish();
    }

    #[test]
    fn a_version_of_the_future_and_half_a_record_are_refused() {
        let text = message(Some("text")).encode();
        for length in 0..text.len() {
            assert!(StoredMessage::decode(place(), &text[..length]).is_err(), "{length}");
        }
        let future = decode_place(&[2; 17]).unwrap_err().to_string();
        assert!(future.contains("the row of a place has version 2, and this build reads versions up to 1"), "{future}");
    }
}
