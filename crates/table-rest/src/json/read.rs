//! Reading an entity: names and values in one pass, types from their annotations.
//!
//! Invariant: nothing is kept of what is not a property, and a body of any content is read or refused.

use std::{collections::HashMap, fmt};

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use crate::draft::{Draft, DraftError, MEMBERS_MAX, Raw};

const TYPE: &str = "@odata.type";

/// Reads an entity.
///
/// # Errors
/// The body is no JSON object, or a value is not of its declared type.
pub fn entity(body: &[u8]) -> Result<Draft, DraftError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let malformed = |error: serde_json::Error| DraftError::Malformed(error.to_string());
    let members = json.deserialize_map(Members).map_err(malformed)?;
    json.end().map_err(malformed)?;
    if members.values.len() + members.types.len() > MEMBERS_MAX {
        return Err(DraftError::TooMany);
    }
    let mut draft = Draft { properties: Vec::with_capacity(members.values.len()), ..Draft::default() };
    for (name, raw) in members.values {
        let declared = members.types.get(&name).map(String::as_str);
        draft.add(name, declared, raw)?;
    }
    Ok(draft)
}

/// Reads the body of Create Table.
///
/// # Errors
/// The body is no JSON object with a text `TableName`.
pub fn table_name(body: &[u8]) -> Result<String, DraftError> {
    let draft = entity(body)?;
    let name = draft.properties.into_iter().find(|(name, _)| name == table::table::TABLE_NAME);
    match name {
        Some((_, table::Value::String(name))) => Ok(name),
        _ => Err(DraftError::Value { name: table::table::TABLE_NAME.to_owned(), type_name: "Edm.String".to_owned() }),
    }
}

#[derive(Default)]
struct Found {
    values: Vec<(String, Raw)>,
    types: HashMap<String, String>,
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(mut name) = map.next_key::<String>()? {
            if found.values.len() + found.types.len() > MEMBERS_MAX {
                map.next_value::<IgnoredAny>()?;
            } else if let Some(property) = name.strip_suffix(TYPE) {
                let length = property.len();
                name.truncate(length);
                let declared = map.next_value::<String>()?;
                if found.types.insert(name, declared).is_some() {
                    return Err(de::Error::custom("the type of a property is specified more than once"));
                }
            } else if is_annotation(&name) {
                map.next_value::<IgnoredAny>()?;
            } else {
                let raw = map.next_value_seed(OneValue)?;
                found.values.push((name, raw));
            }
        }
        Ok(found)
    }
}

/// True for what says something about the entity or one of its properties. Any other name is a property, and is kept or
/// refused, never lost.
fn is_annotation(name: &str) -> bool {
    name.starts_with("odata.") || name.contains("@odata.")
}

struct OneValue;

impl<'de> DeserializeSeed<'de> for OneValue {
    type Value = Raw;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for OneValue {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false or null")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Boolean(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Whole(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Raw, E> {
        #[expect(
            clippy::as_conversions,
            clippy::cast_precision_loss,
            reason = "past every whole type: the nearest double"
        )]
        let nearest = value as f64;
        Ok(i64::try_from(value).map_or(Raw::Double(nearest), Raw::Whole))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Double(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use table::{DateTime, Guid, Value};

    use super::*;

    #[test]
    fn values_have_the_type_of_their_form_or_of_their_annotation() {
        let table = [
            (r#"{"a":"x"}"#, Some(Value::String("x".into()))),
            (r#"{"a":"\u00e4\n\ud83d\ude00"}"#, Some(Value::String("ä\n😀".into()))),
            (r#"{"a":5}"#, Some(Value::Int32(5))),
            (r#"{"a":-2147483648}"#, Some(Value::Int32(i32::MIN))),
            (r#"{"a":2147483648}"#, Some(Value::Double(2_147_483_648.0))),
            (r#"{"a":5.0}"#, Some(Value::Double(5.0))),
            (r#"{"a":1e3}"#, Some(Value::Double(1000.0))),
            (r#"{"a":0.1}"#, Some(Value::Double(0.1))),
            (r#"{"a":true}"#, Some(Value::Boolean(true))),
            (r#"{"a@odata.type":"Edm.Int64","a":"-9223372036854775808"}"#, Some(Value::Int64(i64::MIN))),
            (r#"{"a":"5","a@odata.type":"Edm.Int64"}"#, Some(Value::Int64(5))),
            (r#"{"a@odata.type":"Edm.Int64","a":5}"#, Some(Value::Int64(5))),
            (r#"{"a@odata.type":"Edm.Int32","a":"5"}"#, Some(Value::Int32(5))),
            (r#"{"a@odata.type":"Edm.Double","a":5}"#, Some(Value::Double(5.0))),
            (r#"{"a@odata.type":"Edm.Double","a":"-Infinity"}"#, Some(Value::Double(f64::NEG_INFINITY))),
            (r#"{"a@odata.type":"Edm.Double","a":"INF"}"#, Some(Value::Double(f64::INFINITY))),
            (r#"{"a@odata.type":"Edm.Boolean","a":"false"}"#, Some(Value::Boolean(false))),
            (r#"{"a@odata.type":"Edm.Binary","a":"AP8="}"#, Some(Value::Binary(vec![0, 255].into()))),
            (
                r#"{"a@odata.type":"Edm.Guid","a":"c9da6455-213d-42c9-9a79-3e9149a57833"}"#,
                Some(Value::Guid(Guid::new(0xc9da6455_213d_42c9_9a79_3e9149a57833))),
            ),
            (
                r#"{"a@odata.type":"Edm.DateTime","a":"2024-05-01T10:20:30.1234567Z"}"#,
                DateTime::parse("2024-05-01T10:20:30.1234567Z").map(Value::DateTime),
            ),
            (r#"{"a@odata.type":"Edm.String","a":"5"}"#, Some(Value::String("5".into()))),
            (r#"{"a":null}"#, None),
            (r#"{"a@odata.type":"Edm.Int64","a":null}"#, None),
            (
                r#"{"Timestamp":"yesterday","odata.etag":"x","odata.metadata":{"b":[1]},"a@odata.mediaEditLink":"x"}"#,
                None,
            ),
        ];
        for (body, expected) in table {
            let draft = entity(body.as_bytes()).unwrap();
            assert_eq!(draft.properties.into_iter().next().map(|(_, value)| value), expected, "{body}");
        }
        let draft = entity(br#"{"PartitionKey":5,"RowKey":"r"}"#).unwrap();
        assert_eq!((draft.partition, draft.wrong_key), (None, Some("PartitionKey")));
        let draft = entity(br#"{"PartitionKey":"p","RowKey":"","b":1,"a":2}"#).unwrap();
        assert_eq!((draft.partition.as_deref(), draft.row.as_deref()), (Some("p"), Some("")));
        assert_eq!(draft.properties, [("b".to_owned(), Value::Int32(1)), ("a".to_owned(), Value::Int32(2))]);
    }

    #[test]
    fn everything_else_is_refused() {
        let many = format!("{{{}}}", (0..10_000).map(|n| format!("\"p{n}\":1")).collect::<Vec<_>>().join(","));
        let deep = format!("{{\"odata.x\":{}", "[".repeat(100_000));
        let table = [
            "",
            "[]",
            "5",
            "{",
            "{}x",
            r#"{"a":{}}"#,
            r#"{"a":[1]}"#,
            r#"{"a":1,}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a@odata.type":5,"a":5}"#,
            r#"{"a@odata.type":"Edm.Int64","a":"5","a@odata.type":"Edm.String"}"#,
            r#"{"a@odata.type":"Edm.Decimal","a":"5"}"#,
            r#"{"a@odata.type":"Edm.Int32","a":"2147483648"}"#,
            r#"{"a@odata.type":"Edm.Int64","a":"9223372036854775808"}"#,
            r#"{"a@odata.type":"Edm.Int64","a":1.5}"#,
            r#"{"a@odata.type":"Edm.Guid","a":"x"}"#,
            r#"{"a@odata.type":"Edm.DateTime","a":"x"}"#,
            r#"{"a@odata.type":"Edm.Binary","a":"*"}"#,
            r#"{"a@odata.type":"Edm.String","a":5}"#,
            r#"{"a@odata.type":"Edm.DateTime","a":"1600-12-31T23:59:59Z"}"#,
            r#"{"PartitionKey":"a","PartitionKey":"a"}"#,
            &many,
            &deep,
        ];
        for body in table {
            assert!(entity(body.as_bytes()).is_err(), "{}", body.get(..60).unwrap_or(body));
        }
        assert!(entity(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn a_table_has_a_name() {
        assert_eq!(table_name(br#"{"TableName":"abc"}"#).unwrap(), "abc");
        assert!(table_name(br#"{"TableName":5}"#).is_err() && table_name(b"{}").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _read = entity(&body);
        }

        #[test]
        fn any_document_is_read_or_refused(body in "[{}\\[\\]\":,aPRt0-9.e@odyp \\\\u-]{0,80}") {
            let _read = entity(body.as_bytes());
        }
    }
}
