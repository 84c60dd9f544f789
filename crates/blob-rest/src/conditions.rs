//! What a request brings that it is decided by: the lease id, the conditional headers, the conditions of tags, append
//! positions and sequence numbers.

use blob::{Preconditions, container::ContainerPreconditions};
use concurrency::{
    append_condition::AppendConditions,
    conditions::{ConditionKind, Conditions, ETagCondition, IfRange, Taken},
    sequence_number::{SequenceNumber, SequenceNumberConditions},
    tag_condition::{Dialect, TagExpression},
};
use http::{HeaderName, header};
pub(crate) use rest::preconditions::{conditions, date, lease_id};
use rest::{Caller, Headers, ServiceError, dates, headers, preconditions::conditions_named};
use types::{ErrorCode, Timestamp};

use crate::header_names::{
    BLOB_CONDITION_APPENDPOS, BLOB_CONDITION_MAXSIZE, BLOB_IF_MATCH, BLOB_IF_MODIFIED_SINCE, BLOB_IF_NONE_MATCH,
    BLOB_IF_UNMODIFIED_SINCE, IF_SEQUENCE_NUMBER_EQ, IF_SEQUENCE_NUMBER_LE, IF_SEQUENCE_NUMBER_LT, IF_TAGS,
    SOURCE_IF_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS, SOURCE_IF_UNMODIFIED_SINCE,
};

/// The lease id, all four conditions and the tag condition: what most operations on blobs take.
pub(crate) fn of_blob<'a>(
    caller: &Caller,
    sent: &'a Headers,
    now: Timestamp,
) -> Result<Preconditions<'a>, ServiceError> {
    Ok(Preconditions { conditions: conditions(sent, now)?, ..of_annotation(caller, sent)? })
}

/// The lease id and the tag condition alone; an operation that takes no more refuses `If-…` headers before.
pub(crate) fn of_annotation<'a>(caller: &Caller, sent: &'a Headers) -> Result<Preconditions<'a>, ServiceError> {
    Ok(Preconditions {
        version: caller.version,
        lease_id: lease_id(sent)?,
        conditions: Conditions::default(),
        if_tags: if_tags(sent)?,
    })
}

/// What the operations on tags take: conditions under names of their own.
pub(crate) fn of_tags<'a>(
    caller: &Caller,
    sent: &'a Headers,
    now: Timestamp,
) -> Result<Preconditions<'a>, ServiceError> {
    let names = [BLOB_IF_MATCH, BLOB_IF_NONE_MATCH, BLOB_IF_MODIFIED_SINCE, BLOB_IF_UNMODIFIED_SINCE];
    let conditions = conditions_named(sent, now, &names)?;
    Ok(Preconditions { conditions, ..of_annotation(caller, sent)? })
}

/// What the operations on containers take. Which conditions an operation takes, it says itself.
pub(crate) fn of_container<'a>(
    caller: &Caller,
    sent: &'a Headers,
    now: Timestamp,
) -> Result<ContainerPreconditions<'a>, ServiceError> {
    Ok(ContainerPreconditions {
        version: caller.version,
        lease_id: lease_id(sent)?,
        conditions: conditions(sent, now)?,
    })
}

pub(crate) fn if_tags(sent: &Headers) -> Result<Option<TagExpression<'_>>, ServiceError> {
    tag_expression(sent, &IF_TAGS)
}

/// The conditions on the source of a copy.
pub(crate) fn of_source(sent: &Headers, now: Timestamp) -> Result<Conditions<'_>, ServiceError> {
    let names = [SOURCE_IF_MATCH, SOURCE_IF_NONE_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_UNMODIFIED_SINCE];
    conditions_named(sent, now, &names)
}

/// The condition on the tags of the source of a copy.
pub(crate) fn source_if_tags(sent: &Headers) -> Result<Option<TagExpression<'_>>, ServiceError> {
    tag_expression(sent, &SOURCE_IF_TAGS)
}

fn tag_expression<'a>(sent: &'a Headers, name: &HeaderName) -> Result<Option<TagExpression<'a>>, ServiceError> {
    let Some(text) = headers::text(sent, name)? else { return Ok(None) };
    let parsed = TagExpression::parse(text, Dialect::Condition);
    let wrong = |error: concurrency::tag_condition::TagExpressionError| {
        ServiceError::invalid_header(name.as_str(), text).with_detail("Reason", error.to_string())
    };
    parsed.map(Some).map_err(wrong)
}

pub(crate) fn append(sent: &Headers) -> Result<AppendConditions, ServiceError> {
    Ok(AppendConditions {
        position: headers::number(sent, &BLOB_CONDITION_APPENDPOS)?,
        max_size: headers::number(sent, &BLOB_CONDITION_MAXSIZE)?,
    })
}

pub(crate) fn sequence_numbers(sent: &Headers) -> Result<SequenceNumberConditions, ServiceError> {
    Ok(SequenceNumberConditions {
        less_or_equal: sequence_number(sent, &IF_SEQUENCE_NUMBER_LE)?,
        less: sequence_number(sent, &IF_SEQUENCE_NUMBER_LT)?,
        equal: sequence_number(sent, &IF_SEQUENCE_NUMBER_EQ)?,
    })
}

pub(crate) fn sequence_number(sent: &Headers, name: &HeaderName) -> Result<Option<SequenceNumber>, ServiceError> {
    let Some(number) = headers::number(sent, name)? else { return Ok(None) };
    let wrong = || ServiceError::invalid_header(name.as_str(), &number.to_string());
    SequenceNumber::new(number).map(Some).ok_or_else(wrong)
}

/// `If-Range`: an ETag or a date; anything else is a validator that nothing has.
pub(crate) fn if_range(sent: &Headers, now: Timestamp) -> Option<IfRange<'_>> {
    let text = sent.get(header::IF_RANGE)?.to_str().unwrap_or_default();
    Some(match dates::parse_http(text, now) {
        Some(date) => IfRange::Date(date),
        None => ETagCondition::parse(text).map_or(IfRange::Unknown, IfRange::ETag),
    })
}

/// The kind of condition that a header is. Empty, only those on ETags are one.
fn kind(name: &str, value: &[u8]) -> Option<ConditionKind> {
    let kind = match name {
        "if-match" | "if-none-match" => return Some(ConditionKind::Standard),
        "x-ms-blob-if-match" | "x-ms-blob-if-none-match" => return Some(ConditionKind::OfTagged),
        "if-modified-since" | "if-unmodified-since" => ConditionKind::Standard,
        "x-ms-blob-if-modified-since" | "x-ms-blob-if-unmodified-since" => ConditionKind::OfTagged,
        "x-ms-if-tags" => ConditionKind::Tags,
        _ => return None,
    };
    (!value.trim_ascii().is_empty()).then_some(kind)
}

/// Refuses conditions that an operation does not take, so that nobody believes that they were checked.
pub(crate) fn refuse_untaken(taken: Taken, sent: &Headers) -> Result<(), ServiceError> {
    for (name, value) in sent {
        if kind(name, value.as_bytes()).is_some_and(|kind| taken.check(kind).is_err()) {
            let message = "Condition headers are not supported.";
            return Err(
                ServiceError::new(ErrorCode::ConditionHeadersNotSupported, message).with_detail("HeaderName", name)
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(lines: &[(&str, &str)]) -> Headers {
        lines.iter().copied().collect()
    }

    #[test]
    fn numbers_and_expressions() {
        let table = [
            ("x-ms-if-sequence-number-le", "9223372036854775807", true),
            ("x-ms-if-sequence-number-le", "9223372036854775808", false),
            ("x-ms-if-sequence-number-lt", "-1", false),
            ("x-ms-if-sequence-number-eq", "7", true),
            ("x-ms-blob-condition-appendpos", "0", true),
            ("x-ms-blob-condition-appendpos", "one", false),
            ("x-ms-blob-condition-maxsize", "18446744073709551615", true),
            ("x-ms-if-tags", "a = 'b' OR c <> 'd'", true),
            ("x-ms-if-tags", "a = b", false),
            ("x-ms-lease-id", "1f812371a41d49e6b123f4b542e851c5", true),
            ("x-ms-lease-id", "mine", false),
        ];
        for (name, value, fine) in table {
            let sent = sent(&[(name, value)]);
            let found = sequence_numbers(&sent)
                .and(append(&sent).map(drop))
                .and(if_tags(&sent).map(drop))
                .and(lease_id(&sent).map(drop));
            let found = found.map_err(|error| error.code);
            assert_eq!(found, if fine { Ok(()) } else { Err(ErrorCode::InvalidHeaderValue) }, "{name}: {value}");
        }
    }
}
