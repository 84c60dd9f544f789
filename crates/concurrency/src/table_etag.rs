//! The ETag of an entity and what each entity operation makes of `If-Match`.
//!
//! Owns the weak wire form, which is the entity's Timestamp, the reading of `If-Match`, and the matrix of operation,
//! `If-Match` and existence. Must never know how entities are stored. Invariant: Timestamp and ETag move together and
//! strictly forward with every write of an entity, so a stale ETag can never equal a current one.

use std::fmt::{self, Write as _};

use types::{
    Timestamp,
    calendar::{DAY_SECONDS, EPOCH_DAY, date_of, time_of},
};

/// The longest `If-Match` that is read.
pub const MAX_IF_MATCH_BYTES: usize = 1024;

const TICKS_PER_SECOND: u64 = 10_000_000;

/// The ETag of an entity: its Timestamp in the weak form.
///
/// ```
/// use concurrency::table_etag::EntityETag;
/// use types::Timestamp;
///
/// let etag = EntityETag::new(Timestamp::from_ticks(17_145_588_301_234_567));
/// let text = "W/\"datetime'2024-05-01T10%3A20%3A30.1234567Z'\"";
/// assert_eq!(etag.to_string(), text);
/// assert!(etag.is_written_as(text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityETag(Timestamp);

impl EntityETag {
    /// The ETag of an entity with this Timestamp.
    #[must_use]
    pub const fn new(timestamp: Timestamp) -> Self {
        Self(timestamp)
    }

    /// The Timestamp.
    #[must_use]
    pub const fn timestamp(self) -> Timestamp {
        self.0
    }

    /// The ETag of the next write: now, but always later than the previous one, also when the clock was set back.
    ///
    /// ```
    /// use concurrency::table_etag::EntityETag;
    /// use types::Timestamp;
    /// let (early, late) = (Timestamp::from_seconds(1), Timestamp::from_seconds(2));
    /// assert!(EntityETag::after(Some(EntityETag::new(late)), early) > EntityETag::new(late));
    /// assert_eq!(EntityETag::after(None, early), EntityETag::new(early));
    /// ```
    #[must_use]
    pub fn after(previous: Option<Self>, now: Timestamp) -> Self {
        let least = previous.map_or(Timestamp::EPOCH, |p| Timestamp::from_ticks(p.0.ticks().saturating_add(1)));
        Self(now.max(least))
    }

    /// True when this is the text of the ETag: exactly, but for the mark of weakness, which some clients write in lower
    /// case. Compares while writing and allocates nothing.
    #[must_use]
    pub fn is_written_as(self, text: &str) -> bool {
        let Some(behind_mark) = text.strip_prefix(WEAK) else { return false };
        let mut remaining = Remaining(behind_mark);
        write!(remaining, "{}", BehindMark(self)).is_ok() && remaining.0.is_empty()
    }
}

/// The mark of a weak ETag, in either case.
const WEAK: [char; 2] = ['W', 'w'];

/// An ETag without the letter that it begins with.
struct BehindMark(EntityETag);

/// A text from which each written piece is taken off the front; writing another piece is an error.
struct Remaining<'a>(&'a str);

impl fmt::Write for Remaining<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(piece).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl fmt::Display for EntityETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "W{}", BehindMark(*self))
    }
}

impl fmt::Display for BehindMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = self.0.timestamp();
        let (seconds, fraction) = (timestamp.seconds(), timestamp.ticks() % TICKS_PER_SECOND);
        let (year, month, day) = date_of(EPOCH_DAY + seconds / DAY_SECONDS);
        let (hour, minute, second) = time_of(seconds);
        write!(f, "/\"datetime'{year:04}-{month:02}-{day:02}T{hour:02}%3A{minute:02}%3A{second:02}.{fraction:07}Z'\"")
    }
}

/// The `If-Match` of an entity operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch<'a> {
    /// Not sent.
    Absent,
    /// `*`: whatever is there.
    Any,
    /// One weak ETag; its mark may be in lower case.
    ETag(&'a str),
}

/// The condition headers of an entity operation are not what it takes (400 InvalidInput).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntityCondition {
    /// Neither `*` nor one weak ETag.
    #[error("the etag value of If-Match is not valid; it is * or one weak ETag")]
    IfMatch,
    /// `If-None-Match` was sent.
    #[error("If-None-Match is not supported by this operation")]
    IfNoneMatch,
}

impl<'a> IfMatch<'a> {
    /// Reads the condition headers of an update, merge or delete. An empty header is an error, not an absent one.
    ///
    /// # Errors
    /// [`InvalidEntityCondition`].
    ///
    /// ```
    /// use concurrency::table_etag::IfMatch;
    /// assert_eq!(IfMatch::parse(Some("*"), false), Ok(IfMatch::Any));
    /// assert_eq!(IfMatch::parse(None, false), Ok(IfMatch::Absent));
    /// assert!(IfMatch::parse(Some("\"strong\""), false).is_err());
    /// ```
    pub fn parse(if_match: Option<&'a str>, if_none_match_is_sent: bool) -> Result<Self, InvalidEntityCondition> {
        if if_none_match_is_sent {
            return Err(InvalidEntityCondition::IfNoneMatch);
        }
        let Some(text) = if_match.map(str::trim) else {
            return Ok(Self::Absent);
        };
        if text == "*" {
            return Ok(Self::Any);
        }
        let inner = text.strip_prefix(WEAK).and_then(|rest| rest.strip_prefix("/\""));
        let inner = inner.and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(inner) if text.len() <= MAX_IF_MATCH_BYTES && !inner.contains('"') => Ok(Self::ETag(text)),
            _ => Err(InvalidEntityCondition::IfMatch),
        }
    }
}

/// An entity operation as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityOperation {
    /// POST: Insert Entity.
    Insert,
    /// PUT: Update Entity with `If-Match`, Insert Or Replace Entity without.
    Replace,
    /// MERGE or PATCH: Merge Entity with `If-Match`, Insert Or Merge Entity without.
    Merge,
    /// DELETE: Delete Entity.
    Delete,
    /// GET: one entity by its keys.
    Query,
}

/// What an entity operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityEffect {
    /// Stores a new entity.
    Insert,
    /// Replaces all properties.
    Replace,
    /// Replaces the properties that are sent and keeps the others.
    Merge,
    /// Removes the entity.
    Delete,
    /// Returns the entity.
    Read,
}

/// Why an entity operation is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntityRefusal {
    /// 409 EntityAlreadyExists.
    #[error("the specified entity already exists")]
    AlreadyExists,
    /// 404 ResourceNotFound, also with a stale ETag.
    #[error("the specified resource does not exist")]
    NotFound,
    /// 412 UpdateConditionNotSatisfied.
    #[error("the update condition specified in the request was not satisfied")]
    ConditionNotSatisfied,
    /// A delete without `If-Match` (400 MissingRequiredHeader).
    #[error("If-Match is required by this operation")]
    IfMatchRequired,
}

impl EntityOperation {
    /// Decides an entity operation against the ETag of the entity, `None` when there is none.
    ///
    /// # Errors
    /// An [`EntityRefusal`].
    ///
    /// ```
    /// use concurrency::table_etag::{EntityETag, EntityEffect, EntityOperation, EntityRefusal, IfMatch};
    /// use types::Timestamp;
    ///
    /// let entity = Some(EntityETag::new(Timestamp::from_seconds(5)));
    /// let stale = IfMatch::parse(Some("W/\"datetime'2024-05-01T10%3A20%3A30.1234567Z'\""), false)?;
    /// assert_eq!(EntityOperation::Merge.decide(stale, entity), Err(EntityRefusal::ConditionNotSatisfied));
    /// assert_eq!(EntityOperation::Merge.decide(IfMatch::Any, entity), Ok(EntityEffect::Merge));
    /// assert_eq!(EntityOperation::Merge.decide(IfMatch::Absent, None), Ok(EntityEffect::Insert));
    /// # Ok::<(), concurrency::table_etag::InvalidEntityCondition>(())
    /// ```
    pub fn decide(self, if_match: IfMatch<'_>, entity: Option<EntityETag>) -> Result<EntityEffect, EntityRefusal> {
        match (self, if_match, entity) {
            (Self::Insert, _, None) => Ok(EntityEffect::Insert),
            (Self::Insert, _, Some(_)) => Err(EntityRefusal::AlreadyExists),
            (Self::Delete, IfMatch::Absent, _) => Err(EntityRefusal::IfMatchRequired),
            (Self::Replace | Self::Merge, IfMatch::Absent, None) => Ok(EntityEffect::Insert),
            (Self::Query, _, Some(_)) => Ok(EntityEffect::Read),
            (Self::Replace | Self::Merge | Self::Delete | Self::Query, _, None) => Err(EntityRefusal::NotFound),
            (Self::Replace | Self::Merge | Self::Delete, IfMatch::ETag(sent), Some(current))
                if !current.is_written_as(sent) =>
            {
                Err(EntityRefusal::ConditionNotSatisfied)
            }
            (Self::Replace, _, Some(_)) => Ok(EntityEffect::Replace),
            (Self::Merge, _, Some(_)) => Ok(EntityEffect::Merge),
            (Self::Delete, _, Some(_)) => Ok(EntityEffect::Delete),
        }
    }
}

#[cfg(test)]
mod tests;
