//! The source of a copy: a blob of this server, or something that is fetched from elsewhere.
//!
//! **Invariants.** A source here is a read of its own, by its own credential. A source elsewhere is asked for through the
//! one client that knows where requests may go. The signature in a source's URL is never shown again.

use access::{Authorized, need::Service};
use blob::{
    HttpHeaders, Metadata, Tags,
    copy::{ForeignSource, SourceBlob},
    object::{Address, BlobKind},
};
use http::{HeaderName, StatusCode, header};
use rest::{
    Caller, Headers, RawTarget, Request, ServiceError, Target, checksum, headers,
    outgoing::{Fetch, FetchError, Fetched},
};
use types::{
    ErrorCode,
    names::{BlobName, ContainerName},
};

use crate::{
    BlobService, conditions,
    header_names::{
        COPY_SOURCE, COPY_SOURCE_AUTHORIZATION, COPY_SOURCE_TAG_OPTION, IF_TAGS, SOURCE_IF_MATCH,
        SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS, SOURCE_IF_UNMODIFIED_SINCE, SOURCE_RANGE,
    },
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
        /// Which.
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
    pub(crate) place: Source,
}

impl<'a> Named<'a> {
    /// Reads `x-ms-copy-source`.
    pub(crate) fn of(service: &BlobService, request: &'a Request) -> Result<Self, ServiceError> {
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
                let target = Target::parse(path, query).map_err(|_| refused())?;
                Source::Here { target: Box::new(target), secure: request.secure }
            }
            Some(host) => {
                let secure = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
                let own = headers::text(&request.headers, &header::HOST)?.unwrap_or_default();
                if is_here(host, own, secure, request.secure) {
                    let target = Target::at(raw, host, "blob", &service.copies.domains).map_err(|_| refused())?;
                    Source::Here { target: Box::new(target), secure }
                } else {
                    Source::Elsewhere
                }
            }
        };
        Ok(Self { url, place })
    }

    /// The URL as it may be shown.
    pub(crate) fn shown(&self) -> String {
        shown(self.url)
    }

    /// The read of a source here, authorised on its own.
    pub(crate) async fn read<'r>(
        &self,
        service: &BlobService,
        caller: &Caller,
        request: &'r Request,
        (target, secure): (&Target, bool),
    ) -> Result<Authorized<SourceBlob<'r>>, ServiceError> {
        let now = service.store.now();
        let reader = caller.source(&service.accounts, Service::Blob, request, target, secure);
        let reader = reader.map_err(|error| unverified(error.status, &error.message))?;
        let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), &self.shown());
        let mut target = target.clone();
        target.default_to_root();
        let container = ContainerName::parse(target.container.as_deref().unwrap_or_default()).map_err(|_| refused())?;
        let blob = BlobName::parse(target.rest.as_deref().unwrap_or_default()).map_err(|_| refused())?;
        if target.query.has("versionid") {
            return Err(unverified(StatusCode::NOT_FOUND, "The source has no versions."));
        }
        let source = SourceBlob {
            address: Address { account: reader.unit(), container, blob },
            snapshot: names::snapshot(&target.query)?,
            conditions: conditions::of_source(&request.headers, now)?,
            if_tags: conditions::source_if_tags(&request.headers)?,
            tags: copies_tags(&request.headers)?,
        };
        let authorized = reader.authorize(&service.store.snapshot(), source).await;
        authorized.map_err(|error| unverified(error.status, &error.message))
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
            return Err(unverified(StatusCode::BAD_REQUEST, "The source is no blob, so it has no tags."));
        }
        match fetched.status {
            StatusCode::OK if range.is_none_or(|(start, _)| start == 0) => Ok(fetched),
            StatusCode::PARTIAL_CONTENT if range.is_some() => Ok(fetched),
            StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED => Err(ServiceError::new(
                ErrorCode::SourceConditionNotMet,
                "The source condition specified using HTTP conditional header(s) is not met.",
            )),
            StatusCode::OK => Err(unverified(StatusCode::NOT_FOUND, "The source does not serve ranges.")),
            status => {
                let answered = if status.is_client_error() { status } else { StatusCode::NOT_FOUND };
                Err(unverified(answered, &format!("The source answered {}.", status.as_u16())))
            }
        }
    }

    /// What a source elsewhere says about itself in its head.
    pub(crate) fn described(&self, fetched: &Fetched) -> Result<ForeignSource, ServiceError> {
        let length = fetched.text("content-length").and_then(|length| length.parse().ok());
        let missing = || unverified(StatusCode::BAD_REQUEST, "The source does not tell its length.");
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
                content_md5: md5,
            },
            metadata,
            tags: Tags::new(),
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

/// The source cannot be read.
fn unverified(status: StatusCode, reason: &str) -> ServiceError {
    ServiceError::new(ErrorCode::CannotVerifyCopySource, "Could not verify the copy source within the specified time.")
        .with_status(status)
        .with_detail("CopySourceStatusCode", status.as_u16().to_string())
        .with_detail("CopySourceErrorMessage", reason)
}

pub(crate) fn unfetched(error: &FetchError) -> ServiceError {
    let status = match error {
        FetchError::Url(_) => StatusCode::BAD_REQUEST,
        FetchError::Forbidden(_) => StatusCode::FORBIDDEN,
        FetchError::Unreachable(_) => StatusCode::NOT_FOUND,
    };
    unverified(status, &error.to_string())
}

/// True when a host is one under which this server was just addressed.
fn is_here(source: &str, own: &str, source_secure: bool, own_secure: bool) -> bool {
    let (source, source_port) = split_port(source, source_secure);
    let (own, own_port) = split_port(own, own_secure);
    if source_port != own_port {
        return false;
    }
    let loopback = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "localhost"
            || name.ends_with(".localhost")
            || name == "[::1]"
            || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
    };
    // Accounts behind one domain: `a.blob.example.com` and `b.blob.example.com`.
    let domain = |name: &str| {
        let (_, domain) = name.split_once('.')?;
        let domain = domain.to_ascii_lowercase();
        domain.starts_with("blob.").then_some(domain)
    };
    source.eq_ignore_ascii_case(own)
        || (loopback(source) && loopback(own))
        || domain(source).is_some_and(|source| domain(own) == Some(source))
}

fn split_port(host: &str, secure: bool) -> (&str, &str) {
    let usual = if secure { "443" } else { "80" };
    let port = host.rsplit_once(':').filter(|(_, port)| !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()));
    port.unwrap_or((host, usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_hosts_are_this_server() {
        let table = [
            ("127.0.0.1:10000", "127.0.0.1:10000", true),
            ("localhost:10000", "127.0.0.1:10000", true),
            ("[::1]:10000", "localhost:10000", true),
            ("a.blob.localhost:10000", "127.0.0.1:10000", true),
            ("127.0.0.1:10003", "127.0.0.1:10000", false),
            ("STORE:80", "store", true),
            ("store", "other", false),
            ("a.blob.example.com", "b.blob.example.com", true),
            ("a.example.com", "b.example.com", false),
            ("a.blob.core.windows.net", "127.0.0.1:10000", false),
            ("10.0.0.1:10000", "127.0.0.1:10000", false),
        ];
        for (source, own, here) in table {
            assert_eq!(is_here(source, own, false, false), here, "{source} {own}");
        }
        assert!(!is_here("store", "store", true, false));
    }

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
