//! Conditional headers: the optimistic strategy.
//!
//! Owns what `If-Match`, `If-None-Match`, `If-Modified-Since` and `If-Unmodified-Since` mean to reads, writes and the
//! sources of copies, alone and together. Must never see HTTP: the ETag text comes in borrowed, the dates parsed.
//! Allocates nothing, because it stands in front of every request.
//!
//! Invariants: a write is never answered "not modified"; 412 beats 304; a condition is decided against the state that
//! the write then replaces, so the caller asks inside the write's transaction.

mod etag_list;
mod if_range;
mod taken;

pub use etag_list::{ETagCondition, InvalidETagCondition, MAX_ETAG_TEXT_BYTES, MAX_ETAGS};
pub use if_range::IfRange;
pub use taken::{ConditionKind, NotTaken, Taken};

use types::{ETag, ServiceVersion, Timestamp};

/// One of the four headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionHeader {
    /// `If-Match`
    IfMatch,
    /// `If-None-Match`
    IfNoneMatch,
    /// `If-Modified-Since`
    IfModifiedSince,
    /// `If-Unmodified-Since`
    IfUnmodifiedSince,
}

impl ConditionHeader {
    /// Its name, as answers write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IfMatch => "If-Match",
            Self::IfNoneMatch => "If-None-Match",
            Self::IfModifiedSince => "If-Modified-Since",
            Self::IfUnmodifiedSince => "If-Unmodified-Since",
        }
    }
}

/// What conditions are compared with. A block blob with uncommitted blocks only counts as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// There is none.
    Absent,
    /// There is one.
    Present {
        /// Its ETag.
        etag: ETag,
        /// When it last changed; compared in whole seconds.
        last_modified: Timestamp,
    },
}

/// The conditions of one request. A date header with several values or no date is refused before it gets here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions<'a> {
    /// `If-Match`
    pub if_match: Option<ETagCondition<'a>>,
    /// `If-None-Match`
    pub if_none_match: Option<ETagCondition<'a>>,
    /// `If-Modified-Since`
    pub if_modified_since: Option<Timestamp>,
    /// `If-Unmodified-Since`
    pub if_unmodified_since: Option<Timestamp>,
}

/// Why a read is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadRefusal {
    /// There is nothing to read (404).
    #[error("the resource does not exist")]
    NotFound,
    /// 412 ConditionNotMet.
    #[error("the condition {0:?} is not met")]
    ConditionNotMet(ConditionHeader),
    /// The client's copy is current (304 ConditionNotMet, no body). The answer names what it is, by RFC 9110.
    #[error("the resource is not modified")]
    NotModified {
        /// Its ETag.
        etag: ETag,
        /// When it last changed.
        last_modified: Timestamp,
    },
    /// `If-None-Match: *` on a read (400 UnsatisfiableCondition).
    #[error("the request includes an unsatisfiable condition")]
    Unsatisfiable,
    /// Before 2013-08-15: headers that do not go together (400 MultipleConditionHeadersNotSupported).
    #[error("multiple condition headers are not supported")]
    MultipleConditionHeaders,
}

/// Why a write is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// The operation needs an existing resource (404).
    #[error("the resource does not exist")]
    NotFound,
    /// 412 ConditionNotMet; some copies answer TargetConditionNotMet.
    #[error("the condition {0:?} is not met")]
    ConditionNotMet(ConditionHeader),
    /// `If-None-Match: *` on a creating write (409 BlobAlreadyExists).
    #[error("the resource already exists")]
    AlreadyExists,
    /// Headers that do not go together, or several ETags (400 MultipleConditionHeadersNotSupported).
    #[error("multiple condition headers are not supported")]
    MultipleConditionHeaders,
    /// The operation takes no such header (400 ConditionHeadersNotSupported).
    #[error("the condition {0:?} is not supported by this operation")]
    HeaderNotSupported(ConditionHeader),
}

/// Why the source of a copy is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceRefusal {
    /// There is no source (404).
    #[error("the source does not exist")]
    NotFound,
    /// 412 SourceConditionNotMet.
    #[error("the source condition {0:?} is not met")]
    ConditionNotMet(ConditionHeader),
    /// Headers that do not go together, or several ETags (400 MultipleConditionHeadersNotSupported).
    #[error("multiple condition headers are not supported")]
    MultipleConditionHeaders,
}

/// What a write accepts and does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRule {
    /// `If-Match` and `If-None-Match` are accepted.
    pub etags: bool,
    /// `If-Modified-Since` is accepted.
    pub modified_since: bool,
    /// `If-Unmodified-Since` is accepted.
    pub unmodified_since: bool,
    /// The write creates the resource when it is absent.
    pub creates: bool,
}

impl WriteRule {
    /// Creates or replaces (Put Blob, Put Block List, the copies); takes all four headers.
    pub const CREATING: Self = Self { etags: true, modified_since: true, unmodified_since: true, creates: true };
    /// Changes or deletes what exists; takes all four headers.
    pub const EXISTING: Self = Self { creates: false, ..Self::CREATING };
    /// Takes dates only (Set Container ACL, Delete Container, Lease Container).
    pub const DATES_ONLY: Self = Self { etags: false, ..Self::EXISTING };
    /// Takes `If-Modified-Since` only (Set Container Metadata).
    pub const MODIFIED_SINCE_ONLY: Self = Self { unmodified_since: false, ..Self::DATES_ONLY };
    /// Takes `If-Unmodified-Since` only (Set Immutability Policy).
    pub const UNMODIFIED_SINCE_ONLY: Self = Self { modified_since: false, ..Self::DATES_ONLY };
}

impl Conditions<'_> {
    /// Decides a read.
    ///
    /// From 2013-08-15: `If-Match && If-Unmodified-Since && (If-None-Match || If-Modified-Since)`, and headers that are
    /// not sent drop out. Before, the combinations of writes apply.
    ///
    /// # Errors
    /// A [`ReadRefusal`].
    ///
    /// ```
    /// use concurrency::conditions::{Conditions, ETagCondition, ReadRefusal, Resource};
    /// use types::{ETag, ServiceVersion, Timestamp};
    ///
    /// let (etag, last_modified) = (ETag::new(7), Timestamp::from_seconds(100));
    /// let if_none_match = Some(ETagCondition::parse("W/\"0x0000000000000007\"")?);
    /// let conditions = Conditions { if_none_match, ..Conditions::default() };
    /// let found = conditions.check_read(ServiceVersion::NEWEST, Resource::Present { etag, last_modified });
    /// assert_eq!(found, Err(ReadRefusal::NotModified { etag, last_modified }));
    /// # Ok::<(), concurrency::conditions::InvalidETagCondition>(())
    /// ```
    pub fn check_read(&self, version: ServiceVersion, resource: Resource) -> Result<(), ReadRefusal> {
        if self.if_none_match.is_some_and(|condition| condition.is_any()) {
            return Err(ReadRefusal::Unsatisfiable);
        }
        if !version.at_least(2013, 8, 15) {
            return self.check_read_before_2013(resource);
        }
        let Resource::Present { etag, last_modified } = resource else { return Err(ReadRefusal::NotFound) };
        for header in [ConditionHeader::IfMatch, ConditionHeader::IfUnmodifiedSince] {
            if self.holds(header, resource) == Some(false) {
                return Err(ReadRefusal::ConditionNotMet(header));
            }
        }
        let none_match = self.read_holds(ConditionHeader::IfNoneMatch, resource);
        let modified = self.holds(ConditionHeader::IfModifiedSince, resource);
        match (none_match, modified) {
            (Some(false), Some(false) | None) | (None, Some(false)) => {
                Err(ReadRefusal::NotModified { etag, last_modified })
            }
            (Some(true), _) | (_, Some(true)) | (None, None) => Ok(()),
        }
    }

    fn check_read_before_2013(&self, resource: Resource) -> Result<(), ReadRefusal> {
        let deciding = self.deciding().ok_or(ReadRefusal::MultipleConditionHeaders)?;
        let Resource::Present { etag, last_modified } = resource else { return Err(ReadRefusal::NotFound) };
        match deciding.filter(|header| self.read_holds(*header, resource) == Some(false)) {
            Some(ConditionHeader::IfNoneMatch | ConditionHeader::IfModifiedSince) => {
                Err(ReadRefusal::NotModified { etag, last_modified })
            }
            Some(header) => Err(ReadRefusal::ConditionNotMet(header)),
            None => Ok(()),
        }
    }

    /// Decides a write.
    ///
    /// `holds_lease` says that the request carries the id of the Leased or Breaking lease of the resource: its holder
    /// may overwrite in spite of `If-None-Match: *`.
    ///
    /// # Errors
    /// A [`WriteRefusal`].
    ///
    /// ```
    /// use concurrency::conditions::{ConditionHeader, Conditions, ETagCondition, Resource, WriteRefusal, WriteRule};
    /// use types::{ETag, Timestamp};
    ///
    /// let resource = Resource::Present { etag: ETag::new(7), last_modified: Timestamp::from_seconds(100) };
    /// let stale = Conditions { if_match: Some(ETagCondition::parse("\"0x6\"")?), ..Conditions::default() };
    /// let refused = Err(WriteRefusal::ConditionNotMet(ConditionHeader::IfMatch));
    /// assert_eq!(stale.check_write(WriteRule::EXISTING, resource, false), refused);
    ///
    /// let create = Conditions { if_none_match: Some(ETagCondition::ANY), ..Conditions::default() };
    /// assert_eq!(create.check_write(WriteRule::CREATING, resource, false), Err(WriteRefusal::AlreadyExists));
    /// assert_eq!(create.check_write(WriteRule::CREATING, resource, true), Ok(()));
    /// # Ok::<(), concurrency::conditions::InvalidETagCondition>(())
    /// ```
    pub fn check_write(&self, rule: WriteRule, resource: Resource, holds_lease: bool) -> Result<(), WriteRefusal> {
        for (header, sent, accepted) in [
            (ConditionHeader::IfMatch, self.if_match.is_some(), rule.etags),
            (ConditionHeader::IfNoneMatch, self.if_none_match.is_some(), rule.etags),
            (ConditionHeader::IfModifiedSince, self.if_modified_since.is_some(), rule.modified_since),
            (ConditionHeader::IfUnmodifiedSince, self.if_unmodified_since.is_some(), rule.unmodified_since),
        ] {
            if sent && !accepted {
                return Err(WriteRefusal::HeaderNotSupported(header));
            }
        }
        let deciding = self.deciding().ok_or(WriteRefusal::MultipleConditionHeaders)?;
        if resource == Resource::Absent && !rule.creates {
            return Err(WriteRefusal::NotFound);
        }
        match deciding.filter(|header| self.holds(*header, resource) == Some(false)) {
            None => Ok(()),
            Some(ConditionHeader::IfNoneMatch) if rule.creates && self.is_if_none_match_any() => {
                if holds_lease {
                    Ok(())
                } else {
                    Err(WriteRefusal::AlreadyExists)
                }
            }
            Some(header) => Err(WriteRefusal::ConditionNotMet(header)),
        }
    }

    /// Decides for the source of a copy (`x-ms-source-if-...`), with the combinations of writes.
    ///
    /// # Errors
    /// A [`SourceRefusal`]; never "not modified".
    ///
    /// ```
    /// use concurrency::conditions::{ConditionHeader, Conditions, Resource, SourceRefusal};
    /// use types::{ETag, Timestamp};
    ///
    /// let source = Resource::Present { etag: ETag::new(7), last_modified: Timestamp::from_seconds(100) };
    /// let conditions = Conditions { if_modified_since: Some(Timestamp::from_seconds(100)), ..Conditions::default() };
    /// let refused = Err(SourceRefusal::ConditionNotMet(ConditionHeader::IfModifiedSince));
    /// assert_eq!(conditions.check_source(source), refused);
    /// ```
    pub fn check_source(&self, source: Resource) -> Result<(), SourceRefusal> {
        let deciding = self.deciding().ok_or(SourceRefusal::MultipleConditionHeaders)?;
        if source == Resource::Absent {
            return Err(SourceRefusal::NotFound);
        }
        match deciding.filter(|header| self.holds(*header, source) == Some(false)) {
            None => Ok(()),
            Some(header) => Err(SourceRefusal::ConditionNotMet(header)),
        }
    }

    /// The one header that decides a write, `Some(None)` when none is sent, `None` when they do not go together.
    fn deciding(&self) -> Option<Option<ConditionHeader>> {
        let several = |condition: Option<ETagCondition<'_>>| condition.is_some_and(|condition| condition.count() > 1);
        if several(self.if_match) || several(self.if_none_match) {
            return None;
        }
        let sent = (
            self.if_match.is_some(),
            self.if_none_match.is_some(),
            self.if_modified_since.is_some(),
            self.if_unmodified_since.is_some(),
        );
        match sent {
            (false, false, false, false) => Some(None),
            (true, false, false, _) => Some(Some(ConditionHeader::IfMatch)),
            (false, true, _, false) => Some(Some(ConditionHeader::IfNoneMatch)),
            (false, false, true, false) => Some(Some(ConditionHeader::IfModifiedSince)),
            (false, false, false, true) => Some(Some(ConditionHeader::IfUnmodifiedSince)),
            _ => None,
        }
    }

    /// The same for a read, whose `If-None-Match` is compared weakly: a cache that weakened an ETag still has the same.
    fn read_holds(&self, header: ConditionHeader, resource: Resource) -> Option<bool> {
        match (header, resource) {
            (ConditionHeader::IfNoneMatch, Resource::Present { etag, .. }) => {
                self.if_none_match.map(|c| !c.is_any() && !c.names_weakly(etag))
            }
            _ => self.holds(header, resource),
        }
    }

    /// Whether one header holds, `None` when it is not sent.
    fn holds(&self, header: ConditionHeader, resource: Resource) -> Option<bool> {
        let Resource::Present { etag, last_modified } = resource else {
            return self.is_sent(header).then_some(header != ConditionHeader::IfMatch);
        };
        let last_modified = last_modified.seconds();
        match header {
            ConditionHeader::IfMatch => self.if_match.map(|c| c.is_any() || c.names(etag)),
            ConditionHeader::IfNoneMatch => self.if_none_match.map(|c| !c.is_any() && !c.names(etag)),
            ConditionHeader::IfModifiedSince => self.if_modified_since.map(|date| last_modified > date.seconds()),
            ConditionHeader::IfUnmodifiedSince => self.if_unmodified_since.map(|date| last_modified <= date.seconds()),
        }
    }

    const fn is_sent(&self, header: ConditionHeader) -> bool {
        match header {
            ConditionHeader::IfMatch => self.if_match.is_some(),
            ConditionHeader::IfNoneMatch => self.if_none_match.is_some(),
            ConditionHeader::IfModifiedSince => self.if_modified_since.is_some(),
            ConditionHeader::IfUnmodifiedSince => self.if_unmodified_since.is_some(),
        }
    }

    fn is_if_none_match_any(&self) -> bool {
        self.if_none_match.is_some_and(|condition| condition.is_any())
    }
}

#[cfg(test)]
mod tests;
