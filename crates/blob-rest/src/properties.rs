//! Set Blob Properties, Get and Set Blob Metadata, Set Blob Expiry.

use std::time::Duration;

use blob::settings::{Expiry, SetExpiry, SetMetadata, SetProperties};
use concurrency::sequence_number::SequenceNumberAction;
use http::StatusCode;
use rest::{Caller, Headers, Request, Response, ServiceError, dates, headers};
use types::Timestamp;

use crate::{
    BlobService, answers, blobs, conditions, errors,
    header_names::{BLOB_CONTENT_LENGTH, BLOB_SEQUENCE_NUMBER, EXPIRY_OPTION, EXPIRY_TIME, SEQUENCE_NUMBER_ACTION},
    metadata, names,
};

pub(crate) async fn set(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let (length, sequence_number) = (headers::number(sent, &BLOB_CONTENT_LENGTH)?, sequence_number_action(sent)?);
    // What is about pages only leaves the others as they are; else what is not named is taken away.
    let of_pages = (length.is_some() || sequence_number.is_some()) && !metadata::names_http_headers(sent);
    let asked = caller.ask(SetProperties {
        address: names::base(caller.unit(), request)?,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        headers: (!of_pages).then(|| metadata::all_http_headers(sent)).transpose()?,
        length,
        sequence_number,
    });
    let set = service.blobs.set_blob_properties(&asked).await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::OK), caller.version, set.written);
    Ok(match set.sequence_number {
        Some(number) => response.number_header(BLOB_SEQUENCE_NUMBER, number.value()),
        None => response,
    })
}

/// A number is sent with `max` and `update`, and only with them.
fn sequence_number_action(sent: &Headers) -> Result<Option<SequenceNumberAction>, ServiceError> {
    let number = conditions::sequence_number(sent, &BLOB_SEQUENCE_NUMBER)?;
    let Some(action) = headers::text(sent, &SEQUENCE_NUMBER_ACTION)? else {
        return match number {
            None => Ok(None),
            Some(_) => Err(ServiceError::missing_header(SEQUENCE_NUMBER_ACTION.as_str())),
        };
    };
    let missing = || ServiceError::missing_header(BLOB_SEQUENCE_NUMBER.as_str());
    match (action.to_ascii_lowercase().as_str(), number) {
        ("max", number) => Ok(Some(SequenceNumberAction::Max(number.ok_or_else(missing)?))),
        ("update", number) => Ok(Some(SequenceNumberAction::Update(number.ok_or_else(missing)?))),
        ("increment", None) => Ok(Some(SequenceNumberAction::Increment)),
        ("increment", Some(number)) => {
            Err(ServiceError::invalid_header(BLOB_SEQUENCE_NUMBER.as_str(), &number.value().to_string()))
        }
        _ => Err(ServiceError::invalid_header(SEQUENCE_NUMBER_ACTION.as_str(), action)),
    }
}

pub(crate) async fn get_metadata(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = blobs::read(service, caller, request).await?;
    let response = answers::stamped(Response::new(StatusCode::OK), caller.version, found.etag, found.last_modified);
    Ok(metadata::to_headers(response, &found.metadata))
}

pub(crate) async fn set_metadata(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(SetMetadata {
        address,
        preconditions: conditions::of_blob(caller, &request.headers, service.blobs.now())?,
        metadata: metadata::from_headers(&request.headers)?,
    });
    let written = service.blobs.set_blob_metadata(&asked);
    let written = written.await.map_err(errors::of)?;
    Ok(answers::not_encrypted(answers::written(Response::new(StatusCode::OK), caller.version, written)))
}

pub(crate) async fn set_expiry(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(SetExpiry {
        address,
        preconditions: conditions::of_annotation(caller, &request.headers)?,
        expiry: expiry(&request.headers, service.blobs.now())?,
    });
    let written = service.blobs.set_blob_expiry(&asked);
    let written = written.await.map_err(errors::of)?;
    Ok(answers::written(Response::new(StatusCode::OK), caller.version, written))
}

/// The expiry that a new blob is put with.
pub(crate) fn expiry_of_new(sent: &Headers, now: Timestamp) -> Result<Option<Expiry>, ServiceError> {
    let sends = headers::text(sent, &EXPIRY_OPTION)?.is_some() || headers::text(sent, &EXPIRY_TIME)?.is_some();
    sends.then(|| expiry(sent, now)).transpose()
}

/// A time is sent with every option but one: milliseconds where it is relative, else a date.
fn expiry(sent: &Headers, now: Timestamp) -> Result<Expiry, ServiceError> {
    let option = headers::required(sent, &EXPIRY_OPTION)?;
    let after = || {
        headers::required(sent, &EXPIRY_TIME).and_then(|text| {
            let milliseconds = headers::number(sent, &EXPIRY_TIME)?;
            let milliseconds = milliseconds.ok_or_else(|| ServiceError::invalid_header(EXPIRY_TIME.as_str(), text))?;
            Ok(Duration::from_millis(milliseconds))
        })
    };
    match option.to_ascii_lowercase().as_str() {
        "relativetocreation" => Ok(Expiry::RelativeToCreation(after()?)),
        "relativetonow" => Ok(Expiry::RelativeToNow(after()?)),
        "absolute" => {
            let text = headers::required(sent, &EXPIRY_TIME)?;
            let time = dates::parse_http(text, now);
            time.map(Expiry::Absolute).ok_or_else(|| ServiceError::invalid_header(EXPIRY_TIME.as_str(), text))
        }
        "neverexpire" => match headers::text(sent, &EXPIRY_TIME)? {
            None => Ok(Expiry::Never),
            Some(text) => Err(ServiceError::invalid_header(EXPIRY_TIME.as_str(), text)),
        },
        _ => Err(ServiceError::invalid_header(EXPIRY_OPTION.as_str(), option)),
    }
}

#[cfg(test)]
mod tests {
    use concurrency::sequence_number::SequenceNumber;
    use types::ErrorCode;

    use super::*;

    fn sent(name: &str, value: Option<&str>, other: &str, with: Option<&str>) -> Headers {
        let lines = [value.map(|value| (name.to_owned(), value)), with.map(|with| (other.to_owned(), with))];
        lines.into_iter().flatten().collect()
    }

    #[test]
    fn sequence_numbers_and_their_actions() {
        let seven = SequenceNumber::new(7).unwrap();
        let table = [
            (None, None, Ok(None)),
            (None, Some("7"), Err(ErrorCode::MissingRequiredHeader)),
            (Some("max"), Some("7"), Ok(Some(SequenceNumberAction::Max(seven)))),
            (Some("Update"), Some("7"), Ok(Some(SequenceNumberAction::Update(seven)))),
            (Some("update"), None, Err(ErrorCode::MissingRequiredHeader)),
            (Some("update"), Some("9223372036854775808"), Err(ErrorCode::InvalidHeaderValue)),
            (Some("increment"), None, Ok(Some(SequenceNumberAction::Increment))),
            (Some("increment"), Some("7"), Err(ErrorCode::InvalidHeaderValue)),
            (Some("min"), Some("7"), Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (action, number, expected) in table {
            let sent = sent("x-ms-sequence-number-action", action, "x-ms-blob-sequence-number", number);
            let found = sequence_number_action(&sent).map_err(|error| error.code);
            assert_eq!(found, expected, "{action:?} {number:?}");
        }
    }

    #[test]
    fn options_of_an_expiry() {
        let table = [
            (None, None, Err(ErrorCode::MissingRequiredHeader)),
            (Some("NeverExpire"), None, Ok(Expiry::Never)),
            (Some("NeverExpire"), Some("1"), Err(ErrorCode::InvalidHeaderValue)),
            (Some("RelativeToNow"), Some("1500"), Ok(Expiry::RelativeToNow(Duration::from_millis(1500)))),
            (Some("relativeToCreation"), Some("1"), Ok(Expiry::RelativeToCreation(Duration::from_millis(1)))),
            (Some("RelativeToNow"), None, Err(ErrorCode::MissingRequiredHeader)),
            (Some("RelativeToNow"), Some("-1"), Err(ErrorCode::InvalidHeaderValue)),
            (
                Some("Absolute"),
                Some("Sun, 09 Sep 2001 01:46:40 GMT"),
                Ok(Expiry::Absolute(Timestamp::from_seconds(1_000_000_000))),
            ),
            (Some("Absolute"), Some("soon"), Err(ErrorCode::InvalidHeaderValue)),
            (Some("Soon"), None, Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (option, time, expected) in table {
            let sent = sent("x-ms-expiry-option", option, "x-ms-expiry-time", time);
            let found = expiry(&sent, Timestamp::EPOCH).map_err(|error| error.code);
            assert_eq!(found, expected, "{option:?} {time:?}");
        }
    }
}
