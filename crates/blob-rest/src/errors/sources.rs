//! What is told about a source that is a blob of this server and cannot be read. What all services say about sources is
//! in `transfer::refusals`.

use blob::{copy::CopyMode, errors::BlobError};
use concurrency::conditions::SourceRefusal;
use http::StatusCode;
use rest::{ServiceError, caller::denied_answer};
use transfer::{
    SourceUse,
    refusals::{answered, condition, unverified},
};
use types::ErrorCode;

/// What a copy reads its source for.
pub(crate) const fn usage(mode: CopyMode) -> SourceUse {
    match mode {
        CopyMode::CopyBlob => SourceUse::Later,
        CopyMode::CopyBlobFromUrl | CopyMode::PutBlobFromUrl => SourceUse::Whole,
    }
}

/// What a client is answered when a source here is refused. `explain` is [`rest::Caller::explain`].
pub(crate) fn of(explain: impl Fn(ServiceError) -> ServiceError, usage: SourceUse, error: BlobError) -> ServiceError {
    match error {
        BlobError::Source(refusal) => refused(usage, refusal),
        BlobError::SourceDenied(denied) => answered(&explain(denied_answer(&denied))),
        error => super::of(error),
    }
}

pub(crate) fn refused(usage: SourceUse, refusal: SourceRefusal) -> ServiceError {
    match refusal {
        SourceRefusal::NotFound => {
            unverified(StatusCode::NOT_FOUND, "BlobNotFound", "The specified blob does not exist.")
        }
        SourceRefusal::ConditionNotMet(header) => condition(usage, header),
        SourceRefusal::MultipleConditionHeaders => {
            ServiceError::new(ErrorCode::MultipleConditionHeadersNotSupported, super::MULTIPLE)
        }
    }
}
