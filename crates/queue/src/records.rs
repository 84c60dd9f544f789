//! The stored records of the Queue service. Each begins with its format; a new format is a new struct and a conversion.

use bytes::Bytes;
use concurrency::visibility::{Message, PopReceipt};
use serde::{Deserialize, Serialize};
use store::StoreError;
use types::{Timestamp, UnitId};

use crate::keys::{MessageIndex, Place};

const QUEUE_FORMAT: u8 = 1;
const MESSAGE_FORMAT: u8 = 1;
const TEXT_FORMAT: u8 = 1;
const PLACE_FORMAT: u8 = 1;
const TALLY_FORMAT: u8 = 1;

/// A text up to this many bytes stands in the row of its message; a longer one has a row of its own, because the row of
/// a message is written anew each time it is got.
pub(crate) const INLINE_TEXT_BYTES: usize = 1024;

/// Names and values as the client sent them, in the order of names.
pub type Metadata = Vec<(String, String)>;

/// A queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) unit: UnitId,
    /// Raised by Clear Messages.
    pub(crate) generation: u64,
    pub(crate) metadata: Metadata,
}

#[derive(Serialize, Deserialize)]
struct QueueRecord {
    unit: u64,
    generation: u64,
    metadata: Metadata,
}

impl Queue {
    pub(crate) const fn index(&self) -> MessageIndex {
        MessageIndex { queue: self.unit, generation: self.generation }
    }

    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        let record =
            QueueRecord { unit: self.unit.number(), generation: self.generation, metadata: self.metadata.clone() };
        encode(QUEUE_FORMAT, &record)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let record: QueueRecord = decode("a queue", QUEUE_FORMAT, row)?;
        Ok(Self { unit: UnitId::new(record.unit), generation: record.generation, metadata: record.metadata })
    }
}

/// A message as its row has it. Its place, and so from when on it is visible, stands in the key.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: u128,
    pub(crate) message: Message,
    /// `None` when it has a row of its own.
    pub(crate) text: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct MessageRecord<'a> {
    id: [u8; 16],
    receipt: [u8; 16],
    insertion: u64,
    expiry: u64,
    changed_at: u64,
    dequeue_count: u32,
    text: Option<&'a str>,
}

impl Stored {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        let record = MessageRecord {
            id: self.id.to_be_bytes(),
            receipt: self.message.receipt.value().to_be_bytes(),
            insertion: self.message.insertion.ticks(),
            expiry: self.message.expiry.ticks(),
            changed_at: self.message.changed_at.ticks(),
            dequeue_count: self.message.dequeue_count,
            text: self.text.as_deref(),
        };
        encode(MESSAGE_FORMAT, &record)
    }

    /// The message in this row, which stands at this place.
    pub(crate) fn decode(place: Place, row: &[u8]) -> Result<Self, StoreError> {
        let record: MessageRecord<'_> = decode("a message", MESSAGE_FORMAT, row)?;
        Ok(Self {
            id: u128::from_be_bytes(record.id),
            message: Message {
                insertion: Timestamp::from_ticks(record.insertion),
                expiry: Timestamp::from_ticks(record.expiry),
                next_visible: place.next_visible,
                dequeue_count: record.dequeue_count,
                receipt: PopReceipt::new(u128::from_be_bytes(record.receipt)),
                changed_at: Timestamp::from_ticks(record.changed_at),
            },
            text: record.text.map(str::to_owned),
        })
    }
}

pub(crate) fn encode_text(text: &str) -> Bytes {
    let mut row = Vec::with_capacity(text.len() + 1);
    row.push(TEXT_FORMAT);
    row.extend_from_slice(text.as_bytes());
    Bytes::from(row)
}

pub(crate) fn decode_text(row: &[u8]) -> Result<String, StoreError> {
    let text = behind_format("the text of a message", TEXT_FORMAT, row)?;
    String::from_utf8(text.to_vec()).map_err(|_| StoreError::corrupt("the text of a message is not text"))
}

/// The place that a row of the expiry index, or the progress of a sweep, refers to.
pub(crate) fn encode_place(place: Place) -> Bytes {
    let mut row = Vec::with_capacity(17);
    row.push(PLACE_FORMAT);
    row.extend_from_slice(&place.next_visible.ticks().to_be_bytes());
    row.extend_from_slice(&place.number.to_be_bytes());
    Bytes::from(row)
}

pub(crate) fn decode_place(row: &[u8]) -> Result<Place, StoreError> {
    let fields = behind_format("a place", PLACE_FORMAT, row)?;
    let malformed = || StoreError::corrupt("the row of a place has the wrong length");
    let (next_visible, rest) = fields.split_first_chunk::<8>().ok_or_else(malformed)?;
    let number: [u8; 8] = rest.try_into().map_err(|_| malformed())?;
    Ok(Place {
        next_visible: Timestamp::from_ticks(u64::from_be_bytes(*next_visible)),
        number: u64::from_be_bytes(number),
    })
}

pub(crate) fn encode_tally(count: i64) -> Bytes {
    let mut row = Vec::with_capacity(9);
    row.push(TALLY_FORMAT);
    row.extend_from_slice(&count.to_be_bytes());
    Bytes::from(row)
}

pub(crate) fn decode_tally(row: &[u8]) -> Result<i64, StoreError> {
    let count = behind_format("a tally", TALLY_FORMAT, row)?.try_into();
    count.map(i64::from_be_bytes).map_err(|_| StoreError::corrupt("the row of a tally has the wrong length"))
}

fn encode<T: Serialize>(format: u8, record: &T) -> Result<Bytes, StoreError> {
    let encoded = postcard::to_extend(record, vec![format]);
    encoded.map(Bytes::from).map_err(|error| StoreError::corrupt(format!("a record cannot be written: {error}")))
}

fn decode<'a, T: Deserialize<'a>>(what: &str, format: u8, row: &'a [u8]) -> Result<T, StoreError> {
    postcard::from_bytes(behind_format(what, format, row)?)
        .map_err(|error| StoreError::corrupt(format!("the row of {what} cannot be read: {error}")))
}

fn behind_format<'a>(what: &str, format: u8, row: &'a [u8]) -> Result<&'a [u8], StoreError> {
    match row.split_first() {
        Some((found, record)) if *found == format => Ok(record),
        Some((found, _)) => {
            Err(StoreError::corrupt(format!("the row of {what} has format {found}, this build reads {format}")))
        }
        None => Err(StoreError::corrupt(format!("the row of {what} is empty"))),
    }
}
