//! What stands under the name of a blob: the blob itself, and states of it that are kept. Each is a row of its own, and each
//! of them can be soft-deleted, which its record says.

use types::Timestamp;

/// One of the parts, by the time that names it. In a request the time has the text that the client wrote:
/// [`NamedPart`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobPart<T = Timestamp> {
    /// The blob as it is now.
    #[default]
    Base,
    /// A snapshot, which somebody took.
    Snapshot(T),
    /// A version, which a write left behind. Its rows have their place; nothing writes them yet.
    Version(T),
}

/// A part as a client names it.
pub type NamedPart = BlobPart<NamedTime>;

/// The time that names a snapshot or a version, as a client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTime {
    /// What the text means, to a tick.
    pub time: Timestamp,
    /// As it stood in the request; signatures are made for this text.
    pub text: String,
}

impl<T> BlobPart<T> {
    /// True for the blob itself.
    #[must_use]
    pub const fn is_base(&self) -> bool {
        matches!(self, Self::Base)
    }
}

impl NamedPart {
    /// The same without the text.
    #[must_use]
    pub const fn by_time(&self) -> BlobPart {
        match self {
            Self::Base => BlobPart::Base,
            Self::Snapshot(named) => BlobPart::Snapshot(named.time),
            Self::Version(named) => BlobPart::Version(named.time),
        }
    }
}

#[cfg(test)]
mod tests;
