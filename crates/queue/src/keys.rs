//! The key types of the Queue service, one function each. Kinds are pinned for ever.

use bytes::Bytes;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    space::Space,
};
use types::{Timestamp, UnitId, names::QueueName};

/// `(account, queue name)`: the queue.
pub(crate) const QUEUE: u8 = 0x01;
/// `(queue, generation, next visible, number)`: a message at its place.
pub(crate) const MESSAGE: u8 = 0x02;
/// `(queue, generation, number)`: the text of a message, when it is long.
pub(crate) const TEXT: u8 = 0x03;
/// `(expiry, queue, generation, number)`: when a message is gone, and where it stands.
pub(crate) const EXPIRY: u8 = 0x04;
/// `(queue, generation, shard)`: a part of the number of messages.
pub(crate) const TALLY: u8 = 0x05;
/// `(queue, generation)`: messages that were cleared, or whose queue was deleted, and are being swept.
pub(crate) const SWEEP: u8 = 0x06;
/// `(queue, generation)`: before which place nothing can be delivered any more.
pub(crate) const MARK: u8 = 0x07;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::Queue, kind)
}

/// Every row of the service.
pub(crate) fn everything() -> KeyRange {
    KeyBuilder::space(Space::Queue).range()
}

pub(crate) fn queue(account: UnitId, name: &QueueName) -> Bytes {
    key(QUEUE).number(account.number()).bytes(name.as_str().as_bytes()).build()
}

/// The queues of an account whose names begin with `prefix`.
pub(crate) fn queues(account: UnitId, prefix: &str) -> KeyRange {
    key(QUEUE).number(account.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The place in a listing of queues where `name` would stand.
pub(crate) fn queue_marker(account: UnitId, name: &str) -> Bytes {
    key(QUEUE).number(account.number()).bytes(name.as_bytes()).build()
}

pub(crate) fn parse_queue(bytes: &[u8]) -> Result<String, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, QUEUE)?;
    parser.number()?;
    let name = parser.bytes()?.into_owned();
    parser.end()?;
    String::from_utf8(name).map_err(|_| StoreError::corrupt("a name that is not text"))
}

/// The message index of a queue: its messages in the order in which they become visible. Clear Messages begins a new
/// generation, which is an empty index, and leaves the old one to the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MessageIndex {
    pub(crate) queue: UnitId,
    pub(crate) generation: u64,
}

/// The position of a message in its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) next_visible: Timestamp,
    /// The message's own number: never given twice.
    pub(crate) number: u64,
}

impl Place {
    /// Before everything.
    pub(crate) const FIRST: Self = Self { next_visible: Timestamp::EPOCH, number: 0 };

    /// The first place of this instant.
    pub(crate) const fn at(next_visible: Timestamp) -> Self {
        Self { next_visible, number: 0 }
    }

    /// The place behind this one.
    pub(crate) const fn next(self) -> Self {
        match self.number.checked_add(1) {
            Some(number) => Self { number, ..self },
            None => Self::at(Timestamp::from_ticks(self.next_visible.ticks().saturating_add(1))),
        }
    }
}

fn of(kind: u8, index: MessageIndex) -> KeyBuilder {
    key(kind).number(index.queue.number()).number(index.generation)
}

pub(crate) fn message(index: MessageIndex, place: Place) -> Bytes {
    of(MESSAGE, index).number(place.next_visible.ticks()).number(place.number).build()
}

/// The messages from one place up to another, which is not included.
pub(crate) fn messages(index: MessageIndex, from: Place, to: Place) -> KeyRange {
    KeyRange { start: message(index, from), end: Some(message(index, to)) }
}

/// All messages of an index from a place on.
pub(crate) fn messages_from(index: MessageIndex, from: Place) -> KeyRange {
    KeyRange { start: message(index, from), ..of(MESSAGE, index).range() }
}

pub(crate) fn parse_message(bytes: &[u8]) -> Result<(MessageIndex, Place), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, MESSAGE)?;
    let index = parse_index(&mut parser)?;
    let place = Place { next_visible: Timestamp::from_ticks(parser.number()?), number: parser.number()? };
    parser.end()?;
    Ok((index, place))
}

pub(crate) fn text(index: MessageIndex, number: u64) -> Bytes {
    of(TEXT, index).number(number).build()
}

pub(crate) fn parse_text(bytes: &[u8]) -> Result<(MessageIndex, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, TEXT)?;
    let found = (parse_index(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn expiry(at: Timestamp, index: MessageIndex, number: u64) -> Bytes {
    let key = key(EXPIRY).number(at.ticks());
    key.number(index.queue.number()).number(index.generation).number(number).build()
}

/// What is gone from an instant on up to another, which is included.
pub(crate) fn expiries(from: Timestamp, to: Timestamp) -> KeyRange {
    let end = key(EXPIRY).number(to.ticks().saturating_add(1)).build();
    KeyRange { start: key(EXPIRY).number(from.ticks()).build(), end: Some(end) }
}

pub(crate) fn parse_expiry(bytes: &[u8]) -> Result<(Timestamp, MessageIndex, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, EXPIRY)?;
    let at = Timestamp::from_ticks(parser.number()?);
    let found = (at, parse_index(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn tally(index: MessageIndex, shard: u64) -> Bytes {
    of(TALLY, index).number(shard).build()
}

pub(crate) fn tallies(index: MessageIndex) -> KeyRange {
    of(TALLY, index).range()
}

pub(crate) fn parse_tally(bytes: &[u8]) -> Result<(MessageIndex, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, TALLY)?;
    let found = (parse_index(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn sweep(index: MessageIndex) -> Bytes {
    of(SWEEP, index).build()
}

pub(crate) fn sweeps() -> KeyRange {
    key(SWEEP).range()
}

pub(crate) fn parse_sweep(bytes: &[u8]) -> Result<MessageIndex, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, SWEEP)?;
    let index = parse_index(&mut parser)?;
    parser.end()?;
    Ok(index)
}

pub(crate) fn mark(index: MessageIndex) -> Bytes {
    of(MARK, index).build()
}

pub(crate) fn parse_mark(bytes: &[u8]) -> Result<MessageIndex, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, MARK)?;
    let index = parse_index(&mut parser)?;
    parser.end()?;
    Ok(index)
}

fn parse_index(parser: &mut KeyParser<'_>) -> Result<MessageIndex, StoreError> {
    Ok(MessageIndex { queue: UnitId::new(parser.number()?), generation: parser.number()? })
}

#[cfg(test)]
mod tests {
    use store::golden::Golden;

    use super::*;

    #[test]
    fn keys_are_written_and_read_as_the_golden_bytes() {
        let mut golden = Golden::new(include_str!("../testdata/keys.tsv"));
        let (account, name) = (UnitId::new(0x0102_0304_0506_0708), QueueName::parse("jobs-1").unwrap());
        let index = MessageIndex { queue: UnitId::new(0x1011_1213_1415_1617), generation: 0x1819_1a1b_1c1d_1e1f };
        let place = Place { next_visible: Timestamp::from_ticks(0x2021_2223_2425_2627), number: 0x2829_2a2b_2c2d_2e2f };
        let at = Timestamp::from_ticks(0x3031_3233_3435_3637);
        golden.round_trip("queue", &queue(account, &name), parse_queue, &"jobs-1".to_owned());
        golden.round_trip("message", &message(index, place), parse_message, &(index, place));
        golden.round_trip("text", &text(index, place.number), parse_text, &(index, place.number));
        golden.round_trip("expiry", &expiry(at, index, place.number), parse_expiry, &(at, index, place.number));
        golden.round_trip("tally", &tally(index, 255), parse_tally, &(index, 255));
        golden.round_trip("sweep", &sweep(index), parse_sweep, &index);
        golden.round_trip("mark", &mark(index), parse_mark, &index);
        golden.finish();
    }
}
