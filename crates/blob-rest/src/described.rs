//! What Get Blob and Get Blob Properties say about a blob, in headers.

use blob::{BlobKind, BlobProperties, RehydratePriority, tier::TierProperties};
use http::{HeaderValue, header};
use rest::{Response, dates};
use types::ServiceVersion;

use crate::{
    answers,
    header_names::{
        ACCESS_TIER, ACCESS_TIER_CHANGE_TIME, ACCESS_TIER_INFERRED, ARCHIVE_STATUS, BLOB_COMMITTED_BLOCK_COUNT,
        BLOB_SEALED, BLOB_SEQUENCE_NUMBER, BLOB_TYPE, CREATION_TIME, EXPIRY_TIME, REHYDRATE_PRIORITY, SERVER_ENCRYPTED,
        TAG_COUNT,
    },
    leases, metadata,
};

/// The token of `x-ms-blob-type`.
pub(crate) const fn kind(kind: BlobKind) -> &'static str {
    match kind {
        BlobKind::Block => "BlockBlob",
        BlobKind::Page => "PageBlob",
        BlobKind::Append => "AppendBlob",
    }
}

/// The headers that both operations have.
pub(crate) fn blob(response: Response, version: ServiceVersion, found: &BlobProperties) -> Response {
    let mut response = answers::stamped(response, version, found.etag, found.last_modified)
        .header(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"))
        .text_header(BLOB_TYPE, kind(found.kind))
        .text_header(SERVER_ENCRYPTED, "false")
        .text_header(CREATION_TIME, &dates::rfc1123(found.created));
    response = metadata::http_headers_to(response, &found.headers);
    if let Some(lease) = found.lease {
        response = leases::described(response, lease);
    }
    if let Some(number) = found.sequence_number {
        response = response.number_header(BLOB_SEQUENCE_NUMBER, number.value());
    }
    if let Some(count) = found.committed_block_count {
        response = response.number_header(BLOB_COMMITTED_BLOCK_COUNT, u64::from(count));
    }
    if found.sealed {
        response = response.text_header(BLOB_SEALED, "true");
    }
    if !found.tags.is_empty() {
        response = response.number_header(TAG_COUNT, u64::try_from(found.tags.len()).unwrap_or_default());
    }
    if let Some(state) = &found.copy {
        response = transfer::states::described(response, state);
    }
    metadata::to_headers(response, &found.metadata)
}

/// The headers that only Get Blob Properties has.
pub(crate) fn more(mut response: Response, found: &BlobProperties) -> Response {
    if let Some(properties) = &found.tier {
        response = tier(response, properties);
    }
    match found.expiry {
        Some(expiry) => response.text_header(EXPIRY_TIME, &dates::rfc1123(expiry)),
        None => response,
    }
}

/// The access tier, in Get Blob Properties and in new versions of Get Blob.
pub(crate) fn tier(response: Response, found: &TierProperties) -> Response {
    let mut response = response.text_header(ACCESS_TIER, found.tier.as_str());
    if found.inferred {
        response = response.text_header(ACCESS_TIER_INFERRED, "true");
    }
    if let Some(changed) = found.changed {
        response = response.text_header(ACCESS_TIER_CHANGE_TIME, &dates::rfc1123(changed));
    }
    if let Some((_, priority)) = found.rehydrating {
        response = response.text_header(REHYDRATE_PRIORITY, rehydrate_priority(priority));
    }
    match archive_status(found) {
        Some(status) => response.text_header(ARCHIVE_STATUS, &status),
        None => response,
    }
}

/// Where an archived blob is on its way to.
pub(crate) fn archive_status(found: &TierProperties) -> Option<String> {
    let (to, _) = found.rehydrating?;
    Some(format!("rehydrate-pending-to-{}", to.as_str().to_ascii_lowercase()))
}

pub(crate) const fn rehydrate_priority(priority: RehydratePriority) -> &'static str {
    match priority {
        RehydratePriority::Standard => "Standard",
        RehydratePriority::High => "High",
    }
}
