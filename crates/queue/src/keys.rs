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

/// The messages of a queue between two clears: what Clear Messages leaves behind at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Line {
    pub(crate) queue: UnitId,
    pub(crate) generation: u64,
}

/// Where a message stands in its line.
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

fn of(kind: u8, line: Line) -> KeyBuilder {
    key(kind).number(line.queue.number()).number(line.generation)
}

pub(crate) fn message(line: Line, place: Place) -> Bytes {
    of(MESSAGE, line).number(place.next_visible.ticks()).number(place.number).build()
}

/// The messages from one place up to another, which is not included.
pub(crate) fn messages(line: Line, from: Place, to: Place) -> KeyRange {
    KeyRange { start: message(line, from), end: Some(message(line, to)) }
}

/// All messages of a line from a place on.
pub(crate) fn messages_from(line: Line, from: Place) -> KeyRange {
    KeyRange { start: message(line, from), ..of(MESSAGE, line).range() }
}

pub(crate) fn parse_message(bytes: &[u8]) -> Result<(Line, Place), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, MESSAGE)?;
    let line = parse_line(&mut parser)?;
    let place = Place { next_visible: Timestamp::from_ticks(parser.number()?), number: parser.number()? };
    parser.end()?;
    Ok((line, place))
}

pub(crate) fn text(line: Line, number: u64) -> Bytes {
    of(TEXT, line).number(number).build()
}

pub(crate) fn parse_text(bytes: &[u8]) -> Result<(Line, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, TEXT)?;
    let found = (parse_line(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn expiry(at: Timestamp, line: Line, number: u64) -> Bytes {
    let key = key(EXPIRY).number(at.ticks());
    key.number(line.queue.number()).number(line.generation).number(number).build()
}

/// What is gone from an instant on up to another, which is included.
pub(crate) fn expiries(from: Timestamp, to: Timestamp) -> KeyRange {
    let end = key(EXPIRY).number(to.ticks().saturating_add(1)).build();
    KeyRange { start: key(EXPIRY).number(from.ticks()).build(), end: Some(end) }
}

pub(crate) fn parse_expiry(bytes: &[u8]) -> Result<(Timestamp, Line, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, EXPIRY)?;
    let at = Timestamp::from_ticks(parser.number()?);
    let found = (at, parse_line(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn tally(line: Line, shard: u64) -> Bytes {
    of(TALLY, line).number(shard).build()
}

pub(crate) fn tallies(line: Line) -> KeyRange {
    of(TALLY, line).range()
}

pub(crate) fn parse_tally(bytes: &[u8]) -> Result<(Line, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, TALLY)?;
    let found = (parse_line(&mut parser)?, parser.number()?);
    parser.end()?;
    Ok(found)
}

pub(crate) fn sweep(line: Line) -> Bytes {
    of(SWEEP, line).build()
}

pub(crate) fn sweeps() -> KeyRange {
    key(SWEEP).range()
}

pub(crate) fn parse_sweep(bytes: &[u8]) -> Result<Line, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, SWEEP)?;
    let line = parse_line(&mut parser)?;
    parser.end()?;
    Ok(line)
}

pub(crate) fn mark(line: Line) -> Bytes {
    of(MARK, line).build()
}

pub(crate) fn parse_mark(bytes: &[u8]) -> Result<Line, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Queue, MARK)?;
    let line = parse_line(&mut parser)?;
    parser.end()?;
    Ok(line)
}

fn parse_line(parser: &mut KeyParser<'_>) -> Result<Line, StoreError> {
    Ok(Line { queue: UnitId::new(parser.number()?), generation: parser.number()? })
}
