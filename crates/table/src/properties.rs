//! The properties of an entity, checked: names, number, and sizes.
//!
//! Invariant: a value of [`Properties`] obeys every rule but the size of the whole entity, which also counts the keys and
//! what a merge keeps.

use std::collections::HashSet;

use types::limits::{
    ENTITY_MAX_BYTES, ENTITY_PROPERTIES_MAX, ENTITY_SYSTEM_PROPERTIES, PROPERTY_MAX_BYTES, PROPERTY_NAME_MAX,
};

use crate::{EntityKey, Value, ValueRef, errors::InvalidProperties, value::utf16_units};

/// The names that every entity has; they are no properties of the user.
pub const SYSTEM: [&str; 3] = [PARTITION_KEY, ROW_KEY, TIMESTAMP];
/// PartitionKey
pub const PARTITION_KEY: &str = "PartitionKey";
/// RowKey
pub const ROW_KEY: &str = "RowKey";
/// Timestamp
pub const TIMESTAMP: &str = "Timestamp";

/// The properties of one entity without the three of the system, in the order they were sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties(Vec<(String, Value)>);

impl Properties {
    /// Checks names, values and their number.
    ///
    /// # Errors
    /// [`InvalidProperties`].
    pub fn new(properties: Vec<(String, Value)>) -> Result<Self, InvalidProperties> {
        let max = ENTITY_PROPERTIES_MAX - ENTITY_SYSTEM_PROPERTIES;
        if properties.len() > max {
            return Err(InvalidProperties::TooMany(properties.len()));
        }
        let mut seen = HashSet::with_capacity(properties.len());
        for (name, value) in &properties {
            check_name(name)?;
            if !seen.insert(&**name) {
                return Err(InvalidProperties::Duplicate(name.clone()));
            }
            let bytes = match value {
                Value::String(text) => utf16_units(text) * 2,
                Value::Binary(bytes) => bytes.len(),
                _ => 0,
            };
            if bytes > PROPERTY_MAX_BYTES {
                return Err(InvalidProperties::ValueTooLarge(name.clone()));
            }
        }
        Ok(Self(properties))
    }

    /// Names and values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, ValueRef<'_>)> {
        self.0.iter().map(|(name, value)| (&**name, value.borrowed()))
    }

    /// These properties over older ones: what is not in here is kept, and keeps its place.
    ///
    /// # Errors
    /// Together they are too many.
    pub(crate) fn over<'a>(
        &self,
        older: impl Iterator<Item = (&'a str, ValueRef<'a>)>,
    ) -> Result<Self, InvalidProperties> {
        let mut merged: Vec<(String, Value)> = Vec::new();
        for (name, value) in older {
            match self.0.iter().find(|(newer, _)| newer == name) {
                Some(newer) => merged.push(newer.clone()),
                None => merged.push((name.to_owned(), value.to_value())),
            }
        }
        let kept = merged.len();
        for (name, value) in &self.0 {
            if !merged.iter().take(kept).any(|(old, _)| old == name) {
                merged.push((name.clone(), value.clone()));
            }
        }
        Self::new(merged)
    }

    /// Checks the size of the whole entity, counted as the service documents it.
    ///
    /// # Errors
    /// It is larger than 1 MiB.
    pub(crate) fn check_size(&self, key: &EntityKey) -> Result<(), InvalidProperties> {
        let keys = (utf16_units(key.partition()) + utf16_units(key.row())) * 2;
        let properties = self.iter().map(|(name, value)| 8 + utf16_units(name) * 2 + value.size());
        let size = 4 + keys + properties.sum::<usize>();
        if u64::try_from(size).is_ok_and(|size| size <= ENTITY_MAX_BYTES) {
            Ok(())
        } else {
            Err(InvalidProperties::EntityTooLarge(size))
        }
    }
}

/// True for a name that a property of the user can have: an identifier that begins with a letter or an underscore, and
/// goes on with letters, digits, marks and underscores.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let others = characters.all(|c| c.is_alphanumeric() || c == '_');
    first && others && !SYSTEM.contains(&name) && utf16_units(name) <= PROPERTY_NAME_MAX
}

fn check_name(name: &str) -> Result<(), InvalidProperties> {
    match name {
        _ if is_name(name) => Ok(()),
        _ if utf16_units(name) > PROPERTY_NAME_MAX => Err(InvalidProperties::NameTooLong(name.to_owned())),
        _ => Err(InvalidProperties::NameInvalid(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn one(name: &str, value: Value) -> Result<Properties, InvalidProperties> {
        Properties::new(vec![(name.to_owned(), value)])
    }

    #[test]
    fn names_are_identifiers() {
        let longest = "n".repeat(255);
        for (name, ok) in [
            ("a", true),
            ("_", true),
            ("Größe2", true),
            (&longest, true),
            (&format!("{longest}n"), false),
            ("", false),
            ("2a", false),
            ("a-b", false),
            ("a.b", false),
            ("a b", false),
            ("PartitionKey", false),
            ("partitionkey", true),
        ] {
            assert_eq!(one(name, Value::Int32(1)).is_ok(), ok, "{name}");
        }
    }

    #[test]
    fn values_and_entities_have_sizes() {
        let text = |units: usize| Value::String("ä".repeat(units));
        assert!(one("a", text(32_768)).is_ok());
        assert_eq!(one("a", text(32_769)), Err(InvalidProperties::ValueTooLarge("a".into())));
        assert!(one("a", Value::Binary(Bytes::from(vec![0; 65_536]))).is_ok());
        assert!(one("a", Value::Binary(Bytes::from(vec![0; 65_537]))).is_err());
        let named = |count: usize, value: &Value| {
            Properties::new((0..count).map(|number| (format!("p{number:03}"), value.clone())).collect())
        };
        assert!(named(252, &Value::Boolean(true)).is_ok());
        assert_eq!(named(253, &Value::Boolean(true)), Err(InvalidProperties::TooMany(253)));
        let key = EntityKey::new("p", "r").unwrap();
        // 15 properties of 64 KiB, each with 20 more bytes, and 8 bytes of the entity.
        assert!(named(15, &text(32_768)).unwrap().check_size(&key).is_ok());
        assert!(named(16, &text(32_768)).unwrap().check_size(&key).is_err());
        let rest = (1_048_576 - 8 - 15 * 65_556 - 20) / 2;
        for (units, ok) in [(rest, true), (rest + 1, false)] {
            let mut properties = named(15, &text(32_768)).unwrap();
            properties.0.push(("last".into(), text(units)));
            assert_eq!(properties.check_size(&key).is_ok(), ok, "{units}");
        }
    }

    #[test]
    fn a_merge_replaces_keeps_and_adds() {
        let older = [("a", ValueRef::Int32(1)), ("b", ValueRef::Int32(2))];
        let newer = Properties::new(vec![("c".into(), Value::Int32(3)), ("a".into(), Value::Int32(4))]).unwrap();
        let merged = newer.over(older.into_iter()).unwrap();
        let expected = [("a", ValueRef::Int32(4)), ("b", ValueRef::Int32(2)), ("c", ValueRef::Int32(3))];
        assert_eq!(merged.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_stands_once() {
        let twice = Properties::new(vec![("a".into(), Value::Int32(1)), ("a".into(), Value::Int32(1))]);
        assert_eq!(twice, Err(InvalidProperties::Duplicate("a".into())));
    }
}
