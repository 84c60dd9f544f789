//! An entity as a client sent it, before its rules were checked: what the readers of JSON and Atom make.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use table::{
    DateTime, EdmType, Guid, Value,
    properties::{PARTITION_KEY, ROW_KEY, TIMESTAMP},
    value::parse_double,
};

/// Members of a body that are read at all: 255 properties, each with its type, and some about the entity.
pub(crate) const MEMBERS_MAX: usize = 600;

/// An entity as it was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// PartitionKey, if it was sent.
    pub partition: Option<String>,
    /// RowKey, if it was sent.
    pub row: Option<String>,
    /// A key that was sent and is no text. Where the address has the keys, what the body says of them does not count.
    pub wrong_key: Option<&'static str>,
    /// The other properties that have a value, in order. Timestamp is the service's and is left out.
    pub properties: Vec<(String, Value)>,
}

/// Why a body is no entity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// It is not well-formed.
    #[error("the body is not well-formed: {0}")]
    Malformed(String),
    /// A value is not of the type it is said to be.
    #[error("the value of {name:?} is not of the type {type_name}")]
    Value {
        /// The property that is not what it says.
        name: String,
        /// The type it is said to be.
        type_name: String,
    },
    /// An instant before 1601.
    #[error("the value {value:?} of {name:?} is before 1601")]
    OutOfRange {
        /// The property that holds the instant.
        name: String,
        /// The value as it was sent.
        value: String,
    },
    /// A property stands twice.
    #[error("the property {0:?} is specified more than once")]
    Duplicate(String),
    /// More members than any entity has.
    #[error("the body has more than {MEMBERS_MAX} members")]
    TooMany,
}

/// A value before its type is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Null,
    Boolean(bool),
    Whole(i64),
    Double(f64),
    Text(String),
}

impl Draft {
    /// Adds a member with the type that was declared for it.
    pub(crate) fn add(&mut self, name: String, declared: Option<&str>, raw: Raw) -> Result<(), DraftError> {
        let wrong = |name: String, type_name: &str| DraftError::Value { name, type_name: type_name.to_owned() };
        if name == TIMESTAMP {
            return Ok(());
        }
        let kind = match declared {
            Some(declared) => match EdmType::parse(declared) {
                Some(kind) => Some(kind),
                None => return Err(wrong(name, declared)),
            },
            None => None,
        };
        // A property without a value is as good as absent.
        if raw == Raw::Null {
            return Ok(());
        }
        if let (Some(EdmType::DateTime), Raw::Text(text)) = (kind, &raw)
            && DateTime::is_out_of_range(text)
        {
            return Err(DraftError::OutOfRange { name, value: text.clone() });
        }
        let Some(value) = typed(kind, raw) else {
            return Err(wrong(name, kind.map_or("Edm.String", EdmType::name)));
        };
        let (key, key_name) = match &*name {
            PARTITION_KEY => (&mut self.partition, PARTITION_KEY),
            ROW_KEY => (&mut self.row, ROW_KEY),
            _ => {
                self.properties.push((name, value));
                return Ok(());
            }
        };
        let Value::String(value) = value else {
            self.wrong_key = Some(key_name);
            return Ok(());
        };
        match key.replace(value) {
            Some(_) => Err(DraftError::Duplicate(name)),
            None => Ok(()),
        }
    }
}

/// The value, of the declared type or else of the one that its form tells. A whole number past 32 bits without a type is
/// a double, as the service reads it.
fn typed(kind: Option<EdmType>, raw: Raw) -> Option<Value> {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "the nearest double is meant")]
    let nearest = |whole: i64| whole as f64;
    match (kind, raw) {
        (None | Some(EdmType::Boolean), Raw::Boolean(value)) => Some(Value::Boolean(value)),
        (None | Some(EdmType::Double), Raw::Double(value)) => Some(Value::Double(value)),
        (None | Some(EdmType::String), Raw::Text(text)) => Some(Value::String(text)),
        (None, Raw::Whole(whole)) => {
            Some(i32::try_from(whole).map_or_else(|_| Value::Double(nearest(whole)), Value::Int32))
        }
        (Some(EdmType::Int32), Raw::Whole(whole)) => i32::try_from(whole).ok().map(Value::Int32),
        (Some(EdmType::Int64), Raw::Whole(whole)) => Some(Value::Int64(whole)),
        (Some(EdmType::Double), Raw::Whole(whole)) => Some(Value::Double(nearest(whole))),
        (Some(kind), Raw::Text(text)) => from_text(kind, &text),
        _ => None,
    }
}

/// The value that a text of this type stands for.
fn from_text(kind: EdmType, text: &str) -> Option<Value> {
    match kind {
        EdmType::String => Some(Value::String(text.to_owned())),
        EdmType::Binary => STANDARD.decode(text).ok().map(|bytes| Value::Binary(Bytes::from(bytes))),
        EdmType::Boolean => match text {
            "1" => Some(Value::Boolean(true)),
            "0" => Some(Value::Boolean(false)),
            _ if text.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            _ if text.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            _ => None,
        },
        EdmType::DateTime => DateTime::parse(text).map(Value::DateTime),
        EdmType::Double => parse_double(text).map(Value::Double),
        EdmType::Guid => Guid::parse(text).map(Value::Guid),
        EdmType::Int32 => text.parse().ok().map(Value::Int32),
        EdmType::Int64 => text.parse().ok().map(Value::Int64),
    }
}
