//! Blob tags: Get and Set Blob Tags, their limits, and the index of them.
//!
//! **Invariant.** The index has a row for each tag of each base blob that exists, written with the blob's own row.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::{conditions::WriteRule, lease::LeaseUse};
use store::{Read, Txn};
use types::{Timestamp, limits};

use crate::{
    Blobs,
    errors::BlobError,
    keys,
    lifecycle::Place,
    object::{Address, find, find_part},
    part::NamedPart,
    permissions,
    preconditions::Preconditions,
    state::Tags,
};

/// Why tags are not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTags {
    /// More than a blob may have (400 TagsTooLarge).
    #[error("{0} tags")]
    TooMany(usize),
    /// A key without a character (400 EmptyTagName).
    #[error("a tag without a name")]
    EmptyName,
    /// The same key twice (400 DuplicateTagNames).
    #[error("the tag {0} twice")]
    Duplicate(String),
    /// A key that is too long (400 TagsTooLarge).
    #[error("the name of a tag with {0} characters")]
    NameTooLong(usize),
    /// A value that is too long (400 TagsTooLarge).
    #[error("the value of a tag with {0} characters")]
    ValueTooLong(usize),
    /// A character that tags do not have (400 InvalidTag).
    #[error("the character {0:?} in a tag")]
    Character(char),
}

/// Checks tags and puts them in order.
///
/// # Errors
/// [`InvalidTags`].
pub fn check(mut tags: Tags) -> Result<Tags, InvalidTags> {
    if tags.len() > limits::TAGS_MAX {
        return Err(InvalidTags::TooMany(tags.len()));
    }
    for (name, value) in &tags {
        if name.is_empty() {
            return Err(InvalidTags::EmptyName);
        }
        let (name_length, value_length) = (name.chars().count(), value.chars().count());
        if name_length > limits::TAG_KEY_MAX {
            return Err(InvalidTags::NameTooLong(name_length));
        }
        if value_length > limits::TAG_VALUE_MAX {
            return Err(InvalidTags::ValueTooLong(value_length));
        }
        if let Some(wrong) = name.chars().chain(value.chars()).find(|c| !is_allowed(*c)) {
            return Err(InvalidTags::Character(wrong));
        }
    }
    tags.sort_unstable();
    match tags.windows(2).find_map(|pair| match pair {
        [(first, _), (second, _)] if first == second => Some(first.clone()),
        _ => None,
    }) {
        Some(name) => Err(InvalidTags::Duplicate(name)),
        None => Ok(tags),
    }
}

const fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ' ' | '+' | '-' | '.' | '/' | ':' | '=' | '_')
}

/// Puts a blob's tags into the index.
pub(crate) fn index(txn: &Txn, place: Place<'_>, tags: &Tags) {
    for (tag, value) in tags {
        txn.put(keys::tag(place.account, tag, value, place.container, place.name), Bytes::new());
    }
}

/// Takes a blob's tags out of the index.
pub(crate) fn unindex(txn: &Txn, place: Place<'_>, tags: &Tags) {
    for (tag, value) in tags {
        txn.delete(keys::tag(place.account, tag, value, place.container, place.name));
    }
}

/// Get Blob Tags.
#[derive(Clone, Debug)]
pub struct GetTags<'a> {
    /// The blob that has the tags.
    pub address: Address,
    /// The part of it that is meant.
    pub part: NamedPart,
    /// What it is decided by; its conditions are those of `x-ms-blob-if-…`.
    pub preconditions: Preconditions<'a>,
}

impl Operation for GetTags<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need_part(&self.part, permissions::GET_TAGS)
    }
}

impl Blobs {
    /// Reads the tags of a blob.
    ///
    /// # Errors
    /// It does not exist, a lease or condition stands against it, or the store failed.
    pub async fn get_blob_tags(&self, asked: &Asked<GetTags<'_>>) -> Result<Tags, BlobError> {
        let (rows, now) = self.view();
        get(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn get(rows: &impl Read, request: &Authorized<'_, GetTags<'_>>, now: Timestamp) -> Result<Tags, BlobError> {
    let (_, _, blob) = find_part(rows, &request.address, request.part.by_time(), now).await?;
    request.preconditions.admit_read(blob.as_ref(), now)?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    Ok(blob.extra().tags.clone())
}

/// Set Blob Tags.
#[derive(Clone, Debug)]
pub struct SetTags<'a> {
    /// The blob that gets the tags.
    pub address: Address,
    /// What it is decided by; its conditions are those of `x-ms-blob-if-…`.
    pub preconditions: Preconditions<'a>,
    /// All tags it shall have.
    pub tags: Tags,
}

impl Operation for SetTags<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::SET_TAGS)
    }
}

impl Blobs {
    /// Replaces the tags of a blob. Its ETag stays.
    ///
    /// # Errors
    /// It does not exist, the tags are not allowed, a lease or condition stands against it, or the store failed.
    pub async fn set_blob_tags(&self, asked: &Asked<SetTags<'_>>) -> Result<(), BlobError> {
        self.on_blob(&asked.address, |txn| async move { set(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set(txn: &Txn, request: &Authorized<'_, SetTags<'_>>) -> Result<(), BlobError> {
    let tags = check(request.tags.clone())?;
    let (container, blob) = find(txn, &request.address).await?;
    let blob = blob.filter(|blob| blob.exists(txn.now()));
    request.preconditions.admit_write(WriteRule::EXISTING, LeaseUse::Annotate, blob.as_ref(), txn.now())?;
    let mut blob = blob.ok_or(BlobError::BlobNotFound)?;
    let place = request.address.place(container);
    unindex(txn, place, &blob.extra().tags);
    index(txn, place, &tags);
    blob.extra_mut().tags = tags;
    place.put(txn, &blob);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn limits_of_tags() {
        let (long, longer) = ("k".repeat(128), "k".repeat(129));
        let many: Tags = (0..11).map(|number| (format!("k{number}"), String::new())).collect();
        assert_eq!(check(tags(&[("b", "2"), ("a", "")])), Ok(tags(&[("a", ""), ("b", "2")])));
        assert_eq!(check(tags(&[(&long, "v")])), Ok(tags(&[(&long, "v")])));
        for (wrong, expected) in [
            (many, InvalidTags::TooMany(11)),
            (tags(&[("", "v")]), InvalidTags::EmptyName),
            (tags(&[("a", "1"), ("b", "2"), ("a", "3")]), InvalidTags::Duplicate("a".into())),
            (tags(&[(&longer, "v")]), InvalidTags::NameTooLong(129)),
            (tags(&[("a", &"v".repeat(257))]), InvalidTags::ValueTooLong(257)),
            (tags(&[("a", "é")]), InvalidTags::Character('é')),
            (tags(&[("a&b", "")]), InvalidTags::Character('&')),
        ] {
            assert_eq!(check(wrong), Err(expected));
        }
    }
}
