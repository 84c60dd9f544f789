//! The body of an upload on its way into the store: its length, its limits, its checksums.
//!
//! **Invariant.** A body is never in memory as a whole, unless it is a few pages: the store is handed each piece as it comes, and makes the client
//! wait when the disk is slower.

use bytes::Bytes;
use http::header;
use store::body::{Begun, Body};

use crate::{
    Known, Request, Response, ServiceError,
    checksum::{self, Checksums, Computed, Declared, Md5Bytes},
    headers, structured,
};

/// Bodies up to this stay in memory until their MD5 is told.
const TOLD_LATE_BYTES: u64 = 16 * 1024;

/// What a request declares about its body.
pub struct Upload {
    declared: Declared,
    structured: bool,
    /// Bytes of content.
    pub length: u64,
}

/// A body that has arrived, whole and as declared.
pub struct Received {
    /// Its bytes.
    pub body: Body,
    /// When it was computed.
    pub md5: Option<Md5Bytes>,
    /// What an MD5 is yet to be computed of.
    untold: Option<(Checksums, Vec<Bytes>)>,
}

impl Received {
    /// Computes an MD5 that was left for later.
    #[must_use]
    pub async fn told(mut self) -> Self {
        if let Some((mut checksums, pieces)) = self.untold.take() {
            for piece in pieces {
                checksums = checksums.take(piece).await;
            }
            self.md5 = checksums.finish().md5;
        }
        self
    }
}

impl Upload {
    /// Reads what is declared. Nothing of the body is read yet.
    ///
    /// # Errors
    /// No length is declared, it is too long, or a checksum is malformed.
    pub fn new(request: &mut Request, limit: u64) -> Result<Self, ServiceError> {
        let declared = Declared::from_headers(&request.headers)?;
        let message = structured::content_length(&request.headers)?;
        if let Some(content_length) = message {
            request.body.decode(content_length);
        }
        // Without the header a request of HTTP/1.1 has no body; but whoever forgets it did not mean an empty one.
        let said = request.headers.get(header::CONTENT_LENGTH).and_then(|_| request.body.declared_length());
        let length = said.ok_or_else(ServiceError::missing_content_length)?;
        if length > limit {
            return Err(ServiceError::body_too_large(limit));
        }
        Ok(Self { declared, structured: message.is_some(), length })
    }

    /// Refuses a body without bytes.
    ///
    /// # Errors
    /// It has none.
    pub fn must_not_be_empty(&self) -> Result<(), ServiceError> {
        if self.length == 0 { Err(ServiceError::invalid_header(header::CONTENT_LENGTH.as_str(), "0")) } else { Ok(()) }
    }

    /// `x-ms-blob-content-md5` wins over Content-MD5 where the blob is the body.
    pub const fn expect_md5(&mut self, md5: Md5Bytes) {
        self.declared.md5 = Some(md5);
    }

    /// Streams the body into the store and compares it with what was declared. The store computes the CRC-64 as it writes;
    /// an MD5 is computed when one was declared or is wanted.
    ///
    /// # Errors
    /// The body or the store failed, or it is not what was declared.
    pub async fn receive(
        &self,
        begun: Begun<'_>,
        request: &mut Request,
        wants_md5: bool,
    ) -> Result<Received, ServiceError> {
        let mut writer = begun.writer(self.length)?;
        let mut checksums = Checksums::new(wants_md5 || self.declared.md5.is_some(), false);
        while let Some(piece) = request.body.chunk().await? {
            checksums = checksums.take(piece.clone()).await;
            writer.write(piece).await?;
        }
        let body = writer.finish().await?;
        let found = Computed { crc64: Some(body.crc64()), ..checksums.finish() };
        self.declared.verify(&found)?;
        Ok(Received { body, md5: found.md5, untold: None })
    }

    /// The same when an answer tells the MD5 and nothing else depends on it: that of a short body is left for
    /// [`Received::told`], once what the body is for is done. Writes that become durable together end together, so theirs
    /// are computed side by side.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub async fn receive_to_tell(&self, begun: Begun<'_>, request: &mut Request) -> Result<Received, ServiceError> {
        if self.declared.md5.is_some() || self.length > TOLD_LATE_BYTES {
            return self.receive(begun, request, true).await;
        }
        let mut writer = begun.writer(self.length)?;
        let (checksums, mut pieces) = (Checksums::new(true, false), Vec::new());
        while let Some(piece) = request.body.chunk().await? {
            pieces.push(piece.clone());
            writer.write(piece).await?;
        }
        let body = writer.finish().await?;
        self.declared.verify(&Computed { crc64: Some(body.crc64()), md5: None })?;
        Ok(Received { body, md5: None, untold: Some((checksums, pieces)) })
    }

    /// The headers by which a client can see what arrived.
    #[must_use]
    pub fn acknowledged(&self, response: Response, received: &Received) -> Response {
        let crc64 = checksum::format_crc64(received.body.crc64());
        let mut response = response.text_header(headers::X_MS_CONTENT_CRC64, &crc64);
        if let Some(md5) = received.md5 {
            response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
        }
        if self.structured {
            response = response.text_header(headers::X_MS_STRUCTURED_BODY, structured::KIND);
        }
        response
    }
}

/// Refuses a body where there is none to be.
///
/// # Errors
/// There is one.
pub fn no_body(request: &Request) -> Result<(), ServiceError> {
    match request.body.declared_length() {
        None => Err(ServiceError::missing_content_length()),
        Some(0) => Ok(()),
        Some(length) => Err(ServiceError::invalid_header(header::CONTENT_LENGTH.as_str(), &length.to_string())),
    }
}

/// A short document in the body, compared with the checksums that were declared for it.
///
/// # Errors
/// It is too long, or not what was declared.
pub async fn document(request: &mut Request, known: Known, limit: usize) -> Result<(Bytes, Computed), ServiceError> {
    let declared = Declared::from_headers(&request.headers)?;
    let body = request.body.collect(known, limit).await?;
    let found = Checksums::new(declared.md5.is_some(), true).take(body.clone()).await.finish();
    declared.verify(&found)?;
    Ok((body, found))
}
