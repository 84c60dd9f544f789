//! The source of a copy: a blob of this server, or something that is fetched from elsewhere.
//!
//! **Invariants.** A source here is a read of its own, by its own credential. A source elsewhere is asked for through the
//! one client that knows where requests may go. The signature in a source's URL is never shown again.

use access::{Asked, need::Service};
use blob::{
    HttpHeaders, Metadata, Tags,
    copy::{ForeignSource, SourceBlob},
    object::{self, BlobKind},
};
use concurrency::conditions::ConditionHeader;
use http::{HeaderName, StatusCode, header};
use rest::{
    Caller, CopySource, Headers, RawTarget, Request, ServiceError, Target, checksum, headers,
    outgoing::{Fetch, Fetched},
};
use types::names::{BlobName, ContainerName};

use crate::{
    BlobService, conditions,
    errors::sources::{SourceUse, answered, condition, unfetched, unusable, unverified},
    header_names::{
        COPY_SOURCE, COPY_SOURCE_AUTHORIZATION, COPY_SOURCE_TAG_OPTION, IF_TAGS, SOURCE_IF_MATCH,
        SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS, SOURCE_IF_UNMODIFIED_SINCE, SOURCE_RANGE,
    },
    here::Address,
    names,
};

/// The version in which another storage service is asked.
const SOURCE_VERSION: &str = "2021-12-02";
/// Longest source that is taken, as documented.
const URL_MAX_BYTES: usize = 2 * 1024;

/// Where a source is.
#[derive(Debug)]
pub(crate) enum Source {
    /// On this server.
    Here {
        /// What its URL names.
        target: Box<Target>,
        /// Whether its URL begins with `https`.
        secure: bool,
    },
    /// Somewhere else.
    Elsewhere,
}

/// A source as it was named.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    /// The URL as sent. **Secret:** it may hold a signature.
    url: &'a str,
    usage: SourceUse,
    pub(crate) place: Source,
}

impl<'a> Named<'a> {
    /// Reads `x-ms-copy-source`.
    pub(crate) fn of(service: &BlobService, request: &'a Request, usage: SourceUse) -> Result<Self, ServiceError> {
        let url = headers::required(&request.headers, &COPY_SOURCE)?;
        let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), &shown(url));
        if url.len() > URL_MAX_BYTES {
            return Err(refused());
        }
        let raw = RawTarget::split(url).map_err(|_| refused())?;
        let RawTarget::Resource { host, path, query } = raw else { return Err(refused()) };
        let place = match host {
            // As versions before 2012-02-12 write it: the account and what is in it.
            None => {
                let mut target = Target::parse(path, query).map_err(|_| refused())?;
                target.backslashes_are_slashes().map_err(|_| refused())?;
                Source::Here { target: Box::new(target), secure: request.secure }
            }
            Some(host) => {
                let secure = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
                let own = headers::text(&request.headers, &header::HOST)?.unwrap_or_default();
                let has = |account: &str| service.accounts.get(account).is_some();
                if service.copies.here.is(Address::new(host, secure), Address::new(own, request.secure), has) {
                    let target = Target::at(raw, host, "blob", &service.copies.here.domains);
                    let mut target = target.map_err(|_| refused())?;
                    target.backslashes_are_slashes().map_err(|_| refused())?;
                    Source::Here { target: Box::new(target), secure }
                } else {
                    Source::Elsewhere
                }
            }
        };
        Ok(Self { url, usage, place })
    }

    /// The URL as it may be shown.
    pub(crate) fn shown(&self) -> String {
        shown(self.url)
    }

    /// The read of a source here, asked for with its own credential.
    pub(crate) fn read<'r>(
        &self,
        service: &BlobService,
        caller: &Caller,
        request: &'r Request,
        (target, secure): (&Target, bool),
    ) -> Result<Asked<SourceBlob<'r>>, ServiceError> {
        let now = service.blobs.now();
        // Only a copy that goes on by itself reads with the credential of its request.
        let by_caller = self.usage == SourceUse::Later;
        let source = CopySource { target, secure, by_caller };
        let reader =
            caller.source(&service.accounts, Service::Blob, request, source).map_err(|error| answered(&error))?;
        let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), &self.shown());
        let mut target = target.clone();
        target.default_to_root();
        let container = ContainerName::parse(target.container.as_deref().unwrap_or_default()).map_err(|_| refused())?;
        let blob = BlobName::parse(target.rest.as_deref().unwrap_or_default()).map_err(|_| refused())?;
        if target.query.has("versionid") {
            return Err(unverified(StatusCode::NOT_FOUND, "BlobNotFound", "The source has no versions."));
        }
        Ok(reader.ask(SourceBlob {
            address: object::Address { account: reader.unit(), container, blob },
            part: names::part(&target.query)?,
            conditions: conditions::of_source(&request.headers, now)?,
            if_tags: conditions::source_if_tags(&request.headers)?,
            tags: copies_tags(&request.headers)?,
        }))
    }

    /// Asks for a source elsewhere, whole or a range of it, under its conditions.
    pub(crate) async fn fetch(
        &self,
        service: &BlobService,
        request: &Request,
        head: bool,
        range: Option<(u64, u64)>,
    ) -> Result<Fetched, ServiceError> {
        let mut sent: Vec<(HeaderName, String)> = Vec::new();
        let translated = [
            (SOURCE_IF_MATCH, header::IF_MATCH),
            (SOURCE_IF_NONE_MATCH, header::IF_NONE_MATCH),
            (SOURCE_IF_MODIFIED_SINCE, header::IF_MODIFIED_SINCE),
            (SOURCE_IF_UNMODIFIED_SINCE, header::IF_UNMODIFIED_SINCE),
            (SOURCE_IF_TAGS, IF_TAGS),
            (COPY_SOURCE_AUTHORIZATION, header::AUTHORIZATION),
        ];
        for (ours, theirs) in translated {
            if let Some(value) = headers::text(&request.headers, &ours)? {
                sent.push((theirs, value.to_owned()));
            }
        }
        // Tags and tokens mean something to another storage service only, and only in a version that knows them.
        let of_storage = [&SOURCE_IF_TAGS, &COPY_SOURCE_AUTHORIZATION];
        if of_storage.iter().any(|name| request.headers.contains_key(*name)) {
            sent.push((headers::X_MS_VERSION, SOURCE_VERSION.to_owned()));
        }
        if let Some((start, end)) = range {
            sent.push((header::RANGE, format!("bytes={start}-{}", end.saturating_sub(1))));
        }
        let fetch = Fetch { head, url: self.url.to_owned(), headers: sent };
        let fetched = service.copies.outgoing.fetch(fetch).await.map_err(|error| unfetched(&error))?;
        if fetched.status.is_success()
            && request.headers.contains_key(SOURCE_IF_TAGS)
            && fetched.text("x-ms-blob-type").is_none()
        {
            return Err(unusable(StatusCode::BAD_REQUEST, "the source is no blob, so it has no tags"));
        }
        match fetched.status {
            StatusCode::OK if range.is_none_or(|(start, _)| start == 0) => Ok(fetched),
            StatusCode::PARTIAL_CONTENT if range.is_some() => Ok(fetched),
            StatusCode::NOT_MODIFIED => Err(condition(self.usage, ConditionHeader::IfNoneMatch)),
            StatusCode::PRECONDITION_FAILED => {
                // The one of the two that decides when both are sent. Without them it was the one on tags.
                let sent = |name: &HeaderName| request.headers.contains_key(name);
                let (usage, decided) = match (sent(&SOURCE_IF_MATCH), sent(&SOURCE_IF_UNMODIFIED_SINCE)) {
                    (true, _) => (self.usage, ConditionHeader::IfMatch),
                    (false, true) => (self.usage, ConditionHeader::IfUnmodifiedSince),
                    (false, false) => (SourceUse::Later, ConditionHeader::IfMatch),
                };
                Err(condition(usage, decided))
            }
            StatusCode::OK => Err(unusable(StatusCode::NOT_FOUND, "the source does not serve ranges")),
            status if status.is_client_error() => {
                let code =
                    fetched.text("x-ms-error-code").filter(|code| code.bytes().all(|it| it.is_ascii_alphanumeric()));
                let message = format!("The source answered {}.", status.as_u16());
                Err(unverified(status, code.unwrap_or(status.canonical_reason().unwrap_or_default()), &message))
            }
            status => Err(unusable(StatusCode::NOT_FOUND, &format!("the source answered {}", status.as_u16()))),
        }
    }

    /// What a source elsewhere says about itself in its head.
    pub(crate) fn described(&self, fetched: &Fetched) -> Result<ForeignSource, ServiceError> {
        let length = fetched.text("content-length").and_then(|length| length.parse().ok());
        let missing = || unusable(StatusCode::BAD_REQUEST, "the source does not tell its length");
        let kind = match fetched.text("x-ms-blob-type") {
            Some("PageBlob") => BlobKind::Page,
            Some("AppendBlob") => BlobKind::Append,
            _ => BlobKind::Block,
        };
        let own = |name: &str| fetched.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let md5 = fetched.text("content-md5").and_then(|text| checksum::parse_md5(&headers::CONTENT_MD5, text).ok());
        let metadata: Metadata = fetched
            .headers
            .iter_as_sent()
            .filter_map(|(name, value)| {
                let (prefix, name) = name.split_at_checked("x-ms-meta-".len())?;
                let is_metadata = prefix.eq_ignore_ascii_case("x-ms-meta-") && !name.is_empty();
                is_metadata.then_some((name.to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        Ok(ForeignSource {
            url: self.url.to_owned(),
            etag: own("etag"),
            kind,
            length: length.ok_or_else(missing)?,
            headers: HttpHeaders {
                content_type: own("content-type"),
                content_encoding: own("content-encoding"),
                content_language: own("content-language"),
                content_disposition: own("content-disposition"),
                cache_control: own("cache-control"),
                content_md5: md5.map(Into::into),
            },
            metadata,
            tags: Tags::new(),
            sealed: fetched.text("x-ms-blob-sealed") == Some("true"),
        })
    }
}

/// Whether `x-ms-copy-source-tag-option` asks for the tags of the source.
pub(crate) fn copies_tags(sent: &Headers) -> Result<bool, ServiceError> {
    match headers::text(sent, &COPY_SOURCE_TAG_OPTION)? {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("COPY") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("REPLACE") => Ok(false),
        Some(text) => Err(ServiceError::invalid_header(COPY_SOURCE_TAG_OPTION.as_str(), text)),
    }
}

/// `x-ms-source-range`, end excluded; `None` for the whole source.
pub(crate) fn range(request: &Request) -> Result<Option<(u64, u64)>, ServiceError> {
    let Some(text) = headers::text(&request.headers, &SOURCE_RANGE)? else { return Ok(None) };
    let range = text.strip_prefix("bytes=").and_then(|range| range.split_once('-')).and_then(|(first, last)| {
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < u64::MAX).then_some((first, last + 1))
    });
    range.map(Some).ok_or_else(|| ServiceError::invalid_header(SOURCE_RANGE.as_str(), text))
}

/// The URL without its signature, and without anything that could hide one.
pub(crate) fn shown(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
            ["snapshot", "versionid", "sharesnapshot"].iter().any(|known| name.eq_ignore_ascii_case(known))
        })
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signature_is_shown() {
        let table = [
            ("http://h/c/b", "http://h/c/b"),
            ("http://h/c/b?sv=1&sig=abc", "http://h/c/b"),
            ("http://h/c/b?snapshot=2026&sig=abc", "http://h/c/b?snapshot=2026"),
            ("http://h/c/b?s%69g=abc&code=x", "http://h/c/b"),
        ];
        for (url, expected) in table {
            assert_eq!(shown(url), expected);
        }
    }
}
