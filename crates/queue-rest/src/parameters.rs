//! The numbers and receipts in a query. Their ranges are rules; here is how they are written.

use concurrency::visibility::{self, MessageParameter, ParameterRefusal, PutTimes, VisibilityTimeout};
use queue::Receipt;
use rest::{Query, Request, ServiceError};
use types::ServiceVersion;

use crate::errors;

pub(crate) fn put_times(request: &Request, version: ServiceVersion) -> Result<PutTimes, ServiceError> {
    let query = &request.target.query;
    let (timeout, ttl) =
        (number(query, MessageParameter::VisibilityTimeout)?, number(query, MessageParameter::MessageTtl)?);
    PutTimes::new(version, timeout, ttl).map_err(|refusal| explained(query, refusal))
}

pub(crate) fn get_timeout(request: &Request) -> Result<VisibilityTimeout, ServiceError> {
    let query = &request.target.query;
    let sent = number(query, MessageParameter::VisibilityTimeout)?;
    VisibilityTimeout::for_get(sent).map_err(|refusal| explained(query, refusal))
}

pub(crate) fn update_timeout(request: &Request) -> Result<VisibilityTimeout, ServiceError> {
    let query = &request.target.query;
    let sent = number(query, MessageParameter::VisibilityTimeout)?;
    VisibilityTimeout::for_update(sent).map_err(|refusal| explained(query, refusal))
}

pub(crate) fn number_of_messages(request: &Request) -> Result<u8, ServiceError> {
    let query = &request.target.query;
    let sent = number(query, MessageParameter::NumOfMessages)?;
    visibility::number_of_messages(sent).map_err(|refusal| explained(query, refusal))
}

pub(crate) fn pop_receipt(request: &Request) -> Result<Receipt, ServiceError> {
    const NAME: &str = "popreceipt";
    let sent = request.target.query.get(NAME).ok_or_else(|| ServiceError::missing_query(NAME))?;
    Receipt::parse(sent).map_err(|error| ServiceError::invalid_query(NAME, sent, &error.to_string()))
}

fn explained(query: &Query, refusal: ParameterRefusal) -> ServiceError {
    let (ParameterRefusal::OutOfRange { parameter, .. }
    | ParameterRefusal::Invalid { parameter, .. }
    | ParameterRefusal::Missing { parameter }) = refusal;
    errors::parameter(refusal, query.get(parameter.as_str()))
}

/// A whole number with or without a sign. One that is too large for us is too large for every range.
fn number(query: &Query, parameter: MessageParameter) -> Result<Option<i64>, ServiceError> {
    let Some(text) = query.get(parameter.as_str()) else { return Ok(None) };
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ServiceError::invalid_query(parameter.as_str(), text, "it is not a whole number"));
    }
    Ok(Some(text.parse().unwrap_or(if negative { i64::MIN } else { i64::MAX })))
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn numbers_are_whole_and_may_be_negative() {
        let table = [
            ("", None),
            ("n", None),
            ("1.5", None),
            ("+1", None),
            ("-", None),
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("604800", Some(604_800)),
            ("99999999999999999999", Some(i64::MAX)),
            ("-99999999999999999999", Some(i64::MIN)),
        ];
        for (text, expected) in table {
            let query = Query::parse(&format!("messagettl={text}")).unwrap();
            let found = number(&query, MessageParameter::MessageTtl);
            assert_eq!(found.as_ref().ok(), expected.map(Some).as_ref(), "{text}");
            assert!(found.is_ok_and(|found| found.is_some()) == expected.is_some());
        }
        assert_eq!(number(&Query::default(), MessageParameter::MessageTtl).unwrap(), None);
    }

    #[test]
    fn a_refusal_shows_what_was_sent() {
        let query = Query::parse("numofmessages=99999999999999999999").unwrap();
        let sent = number(&query, MessageParameter::NumOfMessages).unwrap();
        let refused = explained(&query, visibility::number_of_messages(sent).unwrap_err());
        assert_eq!(refused.code, ErrorCode::OutOfRangeQueryParameterValue);
        let details: Vec<&str> = refused.details.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(details, ["numofmessages", "99999999999999999999", "1", "32"]);
    }
}
