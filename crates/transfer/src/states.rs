//! How a copy stands, in the headers of answers, and which copy a request ends: the same words in all services.

use rest::{Request, Response, ServiceError, dates, headers};
use types::{CopyState, CopyStatus};

use crate::header_names::{
    COPY_ACTION, COPY_COMPLETION_TIME, COPY_ID, COPY_PROGRESS, COPY_SOURCE, COPY_STATUS, COPY_STATUS_DESCRIPTION,
};

/// The answer to whoever begins a copy.
#[must_use]
pub fn begun(response: Response, copy_id: &str, status: CopyStatus) -> Response {
    response.text_header(COPY_ID, copy_id).text_header(COPY_STATUS, status.as_str())
}

/// What something says about the last copy into it.
#[must_use]
pub fn described(response: Response, state: &CopyState) -> Response {
    let mut response = begun(response, &state.id, state.status)
        .text_header(COPY_SOURCE, &state.source)
        .text_header(COPY_PROGRESS, &progress(state));
    if let Some(completed) = state.completed {
        response = response.text_header(COPY_COMPLETION_TIME, &dates::rfc1123(completed));
    }
    match &state.description {
        Some(description) => response.text_header(COPY_STATUS_DESCRIPTION, description),
        None => response,
    }
}

/// Bytes that are there, and bytes in all.
#[must_use]
pub fn progress(state: &CopyState) -> String {
    format!("{}/{}", state.copied, state.total)
}

/// The id of the copy that a request aborts.
///
/// # Errors
/// It names none, or asks for something else.
pub fn aborted(request: &Request) -> Result<&str, ServiceError> {
    match headers::required(&request.headers, &COPY_ACTION)? {
        action if action.eq_ignore_ascii_case("abort") => {}
        other => return Err(ServiceError::invalid_header(COPY_ACTION.as_str(), other)),
    }
    request.target.query.get("copyid").ok_or_else(|| ServiceError::missing_query("copyid"))
}
