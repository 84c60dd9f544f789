//! Fields that the services have in common: times, pairs, options, and the words of the vocabulary that are stored.
//!
//! **Invariant.** The order of fields and the numbers of variants are in data directories: they never change here. A new form
//! is a new method, which a record uses under its next version.

use types::{ContentMd5, CopyState, CopyStatus, HttpHeaders, Timestamp};

use super::{Reader, Writer};
use crate::error::StoreError;

impl Writer {
    /// Appends an instant.
    #[inline]
    #[must_use]
    pub fn time(self, time: Timestamp) -> Self {
        self.number(time.ticks())
    }

    /// Appends whether there is a value, and the value.
    #[inline]
    #[must_use]
    pub fn optional<T>(self, value: Option<T>, write: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => write(self.flag(true), value),
            None => self.flag(false),
        }
    }

    /// Appends names and values, with how many there are in front.
    #[must_use]
    pub fn pairs(self, pairs: &[(String, String)]) -> Self {
        let writer = self.small(u32::try_from(pairs.len()).unwrap_or(u32::MAX));
        pairs.iter().fold(writer, |writer, (name, value)| writer.text(name).text(value))
    }

    /// Appends HTTP properties.
    #[must_use]
    pub fn headers(self, headers: &HttpHeaders) -> Self {
        let texts = [
            &headers.content_type,
            &headers.content_encoding,
            &headers.content_language,
            &headers.content_disposition,
            &headers.cache_control,
        ];
        let writer = texts.into_iter().fold(self, |writer, text| writer.optional(text.as_deref(), Self::text));
        match &headers.content_md5 {
            None => writer.byte(0),
            Some(ContentMd5::Md5(md5)) => writer.byte(1).raw(md5),
            Some(ContentMd5::Other(bytes)) => writer.byte(2).bytes(bytes),
        }
    }

    /// Appends how a copy stands.
    #[must_use]
    pub fn copy_state(self, copy: &CopyState) -> Self {
        self.text(&copy.id)
            .text(&copy.source)
            .byte(match copy.status {
                CopyStatus::Pending => 0,
                CopyStatus::Success => 1,
                CopyStatus::Aborted => 2,
                CopyStatus::Failed => 3,
            })
            .optional(copy.description.as_deref(), Self::text)
            .number(copy.copied)
            .number(copy.total)
            .optional(copy.completed, Self::time)
    }
}

impl<'a> Reader<'a> {
    /// Takes an instant.
    ///
    /// # Errors
    /// The record ends before it.
    #[inline]
    pub fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.number().map(Timestamp::from_ticks)
    }

    /// Takes a value that may be there.
    ///
    /// # Errors
    /// The record ends before it, or it cannot be read.
    #[inline]
    pub fn optional<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    /// Takes a text of its own.
    ///
    /// # Errors
    /// The record ends before it, or it is not text.
    pub fn string(&mut self) -> Result<String, StoreError> {
        self.text().map(str::to_owned)
    }

    /// Takes names and values.
    ///
    /// # Errors
    /// The record ends before them, or they are not text.
    pub fn pairs(&mut self) -> Result<Vec<(String, String)>, StoreError> {
        let mut pairs = Vec::new();
        for _ in 0..self.small()? {
            pairs.push((self.string()?, self.string()?));
        }
        Ok(pairs)
    }

    /// Takes HTTP properties.
    ///
    /// # Errors
    /// The record ends before them, or holds what no writer wrote.
    pub fn headers(&mut self) -> Result<HttpHeaders, StoreError> {
        Ok(HttpHeaders {
            content_type: self.optional(Self::string)?,
            content_encoding: self.optional(Self::string)?,
            content_language: self.optional(Self::string)?,
            content_disposition: self.optional(Self::string)?,
            cache_control: self.optional(Self::string)?,
            content_md5: match self.byte()? {
                0 => None,
                1 => Some(ContentMd5::Md5(self.take()?)),
                2 => Some(ContentMd5::Other(self.bytes()?.into())),
                other => return Err(self.malformed(&format!("a Content-MD5 of the kind {other}"))),
            },
        })
    }

    /// Takes how a copy stands.
    ///
    /// # Errors
    /// The record ends before it, or holds what no writer wrote.
    pub fn copy_state(&mut self) -> Result<CopyState, StoreError> {
        Ok(CopyState {
            id: self.string()?,
            source: self.string()?,
            status: match self.byte()? {
                0 => CopyStatus::Pending,
                1 => CopyStatus::Success,
                2 => CopyStatus::Aborted,
                3 => CopyStatus::Failed,
                other => return Err(self.malformed(&format!("a copy of the status {other}"))),
            },
            description: self.optional(Self::string)?,
            copied: self.number()?,
            total: self.number()?,
            completed: self.optional(Self::time)?,
        })
    }
}
