//! The names of the headers about copies and their sources, which all services share.

use http::HeaderName;

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    COPY_ACTION: "x-ms-copy-action";
    COPY_COMPLETION_TIME: "x-ms-copy-completion-time";
    COPY_ID: "x-ms-copy-id";
    COPY_PROGRESS: "x-ms-copy-progress";
    COPY_SOURCE: "x-ms-copy-source";
    COPY_SOURCE_AUTHORIZATION: "x-ms-copy-source-authorization";
    COPY_SOURCE_ERROR_CODE: "x-ms-copy-source-error-code";
    COPY_SOURCE_STATUS_CODE: "x-ms-copy-source-status-code";
    COPY_STATUS: "x-ms-copy-status";
    COPY_STATUS_DESCRIPTION: "x-ms-copy-status-description";
    IF_TAGS: "x-ms-if-tags";
    SOURCE_CONTENT_CRC64: "x-ms-source-content-crc64";
    SOURCE_CONTENT_MD5: "x-ms-source-content-md5";
    SOURCE_IF_MATCH: "x-ms-source-if-match";
    SOURCE_IF_MODIFIED_SINCE: "x-ms-source-if-modified-since";
    SOURCE_IF_NONE_MATCH: "x-ms-source-if-none-match";
    SOURCE_IF_TAGS: "x-ms-source-if-tags";
    SOURCE_IF_UNMODIFIED_SINCE: "x-ms-source-if-unmodified-since";
    SOURCE_RANGE: "x-ms-source-range";
}
