//! A source elsewhere, asked for under the conditions and with the credential that the request names for it.

use bytes::Bytes;
use concurrency::conditions::ConditionHeader;
use http::{HeaderName, StatusCode, header};
use rest::{
    BoxFuture, Request, ServiceError, headers,
    outgoing::{Fetch, FetchError, Fetched, Outgoing},
};

use crate::{
    Arriving, Found, Opened, Source, SourceUse, Wanted,
    header_names::{
        COPY_SOURCE_AUTHORIZATION, IF_TAGS, SOURCE_IF_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH,
        SOURCE_IF_TAGS, SOURCE_IF_UNMODIFIED_SINCE,
    },
    refusals::{condition, unfetched, unusable, unverified},
};

/// The version in which another storage service is asked.
const SOURCE_VERSION: &str = "2021-12-02";

/// Opens a source elsewhere for a copy that is done at once.
pub(crate) async fn open(
    outgoing: &dyn Outgoing,
    source: &Source<'_>,
    request: &Request,
    Wanted { range, limit }: Wanted,
) -> Result<Opened, ServiceError> {
    let fetched = fetch(outgoing, source, request, false, range).await?;
    let mut found = Found::of(&fetched)?;
    // The MD5 is that of the whole source, and of the bytes here only if it is computed.
    found.content_md5 = None;
    found.length = range.map_or(found.length, |(start, end)| found.length.min(end - start));
    if found.length > limit {
        return Err(ServiceError::body_too_large(limit));
    }
    Ok(Opened { found, bytes: Box::new(Coming(fetched)) })
}

struct Coming(Fetched);

impl Arriving for Coming {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, ServiceError>> {
        Box::pin(async {
            match self.0.body.next().await {
                Ok(Some(piece)) => Ok(piece),
                Ok(None) => Err(unfetched(&FetchError::Unreachable("the source ended early".into()))),
                Err(error) => Err(unfetched(&error)),
            }
        })
    }
}

/// Asks for a source elsewhere, whole or a range of it, under its conditions.
pub(crate) async fn fetch(
    outgoing: &dyn Outgoing,
    source: &Source<'_>,
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
    let fetch = Fetch { head, url: source.url.to_owned(), headers: sent };
    let fetched = outgoing.fetch(fetch).await.map_err(|error| unfetched(&error))?;
    if fetched.status.is_success()
        && request.headers.contains_key(SOURCE_IF_TAGS)
        && fetched.text("x-ms-blob-type").is_none()
    {
        return Err(unusable(StatusCode::BAD_REQUEST, "the source is no blob, so it has no tags"));
    }
    match fetched.status {
        StatusCode::OK if range.is_none_or(|(start, _)| start == 0) => Ok(fetched),
        StatusCode::PARTIAL_CONTENT if range.is_some() => Ok(fetched),
        StatusCode::NOT_MODIFIED => Err(condition(source.usage, ConditionHeader::IfNoneMatch)),
        StatusCode::PRECONDITION_FAILED => {
            // The one of the two that decides when both are sent. Without them it was the one on tags.
            let sent = |name: &HeaderName| request.headers.contains_key(name);
            let (usage, decided) = match (sent(&SOURCE_IF_MATCH), sent(&SOURCE_IF_UNMODIFIED_SINCE)) {
                (true, _) => (source.usage, ConditionHeader::IfMatch),
                (false, true) => (source.usage, ConditionHeader::IfUnmodifiedSince),
                (false, false) => (SourceUse::Later, ConditionHeader::IfMatch),
            };
            Err(condition(usage, decided))
        }
        StatusCode::OK => Err(unusable(StatusCode::NOT_FOUND, "the source does not serve ranges")),
        status if status.is_client_error() => {
            let code = fetched.text("x-ms-error-code").filter(|code| code.bytes().all(|it| it.is_ascii_alphanumeric()));
            let message = format!("The source answered {}.", status.as_u16());
            Err(unverified(status, code.unwrap_or(status.canonical_reason().unwrap_or_default()), &message))
        }
        status => Err(unusable(StatusCode::NOT_FOUND, &format!("the source answered {}", status.as_u16()))),
    }
}
