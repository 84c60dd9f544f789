//! What a path names: `/Tables`, `/Tables('name')`, `/$batch`, `/name()`, `/name(PartitionKey='…',RowKey='…')`.

use rest::ServiceError;
use table::EntityKey;
use types::{ErrorCode, names::TableName};

use crate::errors;

/// The resource of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The service itself.
    Service,
    /// `/Tables`
    Tables,
    /// `/Tables('name')`
    Table(TableName),
    /// `/$batch`
    Batch,
    /// `/$metadata`
    Metadata,
    /// `/name` and `/name()`
    Entities(TableName),
    /// `/name(PartitionKey='…',RowKey='…')`
    Entity(TableName, EntityKey),
}

impl Resource {
    /// Reads a decoded path behind the account, without its first slash.
    ///
    /// # Errors
    /// 400: it names nothing, or a name or a key is against its rules.
    pub fn parse(path: &str) -> Result<Self, ServiceError> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let (name, keys) = match path.split_once('(') {
            Some((name, rest)) => {
                let keys = rest.strip_suffix(')').ok_or_else(|| ServiceError::invalid_uri("a parenthesis is open"))?;
                (name, Some(keys.trim()))
            }
            None => (path, None),
        };
        match (name, keys) {
            ("", None) => Ok(Self::Service),
            ("$batch", None) => Ok(Self::Batch),
            ("$metadata", None) => Ok(Self::Metadata),
            _ if name.eq_ignore_ascii_case("tables") => match keys {
                None | Some("") => Ok(Self::Tables),
                Some(keys) => {
                    let (name, rest) = quoted(keys).ok_or_else(|| malformed(keys))?;
                    if rest.is_empty() { Ok(Self::Table(table(&name)?)) } else { Err(malformed(keys)) }
                }
            },
            (_, None | Some("")) => Ok(Self::Entities(table(name)?)),
            (_, Some(keys)) => Ok(Self::Entity(table(name)?, entity(keys)?)),
        }
    }
}

/// A table's name, checked.
pub(crate) fn table(name: &str) -> Result<TableName, ServiceError> {
    TableName::parse(name).map_err(|error| {
        let mut refusal = ServiceError::invalid_name(&error);
        if refusal.code == ErrorCode::InvalidResourceName {
            // This service writes it without the second i.
            refusal.message = "The specifed resource name contains invalid characters.".to_owned();
        }
        refusal
    })
}

/// `PartitionKey='…',RowKey='…'`, in either order.
fn entity(keys: &str) -> Result<EntityKey, ServiceError> {
    let (mut partition, mut row) = (None, None);
    let mut rest = keys;
    loop {
        let (name, value) = rest.split_once('=').ok_or_else(|| malformed(keys))?;
        let (value, after) = quoted(value.trim_start()).ok_or_else(|| malformed(keys))?;
        let place = match name.trim() {
            "PartitionKey" => &mut partition,
            "RowKey" => &mut row,
            _ => return Err(malformed(keys)),
        };
        if place.replace(value).is_some() {
            return Err(malformed(keys));
        }
        let after = after.trim_start();
        if after.is_empty() {
            break;
        }
        rest = after.strip_prefix(',').ok_or_else(|| malformed(keys))?;
    }
    let (Some(partition), Some(row)) = (partition, row) else { return Err(malformed(keys)) };
    EntityKey::new(partition, row).map_err(|error| errors::key(&error))
}

/// The text in quotes, of which two stand for one, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut out = String::new();
    loop {
        let (piece, after) = rest.split_once('\'')?;
        out.push_str(piece);
        match after.strip_prefix('\'') {
            Some(further) => {
                out.push('\'');
                rest = further;
            }
            None => return Some((out, after)),
        }
    }
}

fn malformed(keys: &str) -> ServiceError {
    errors::invalid_input(format!("the address ({keys}) is not well-formed"))
}

/// Text as it stands in an address: quotes doubled, everything but unreserved characters percent-encoded.
pub fn encode_key(out: &mut Vec<u8>, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'\'' => out.extend_from_slice(b"%27%27"),
            _ if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => out.push(byte),
            _ => {
                out.push(b'%');
                for digit in [byte >> 4, byte & 0x0F] {
                    out.push(DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0'));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths() {
        let name = TableName::parse("people").unwrap();
        let entity =
            |partition: &str, row: &str| Some(Resource::Entity(name.clone(), EntityKey::new(partition, row).unwrap()));
        let table = [
            ("", Some(Resource::Service)),
            ("Tables", Some(Resource::Tables)),
            ("tables", Some(Resource::Tables)),
            ("Tables()", Some(Resource::Tables)),
            ("Tables('People')", Some(Resource::Table(name.clone()))),
            ("$batch", Some(Resource::Batch)),
            ("$metadata", Some(Resource::Metadata)),
            ("people", Some(Resource::Entities(name.clone()))),
            ("People()", Some(Resource::Entities(name.clone()))),
            ("people/", Some(Resource::Entities(name.clone()))),
            ("people(PartitionKey='a',RowKey='b')", entity("a", "b")),
            ("people(RowKey='b', PartitionKey='a')", entity("a", "b")),
            ("people(PartitionKey='a''b',RowKey='')", entity("a'b", "")),
            ("people(PartitionKey='a,RowKey=''',RowKey='(x)')", entity("a,RowKey='", "(x)")),
            ("people(PartitionKey='a')", None),
            ("people(PartitionKey='a',PartitionKey='b')", None),
            ("people(PartitionKey=a,RowKey='b')", None),
            ("people(PartitionKey='a',RowKey='b'", None),
            ("people('a')", None),
            ("people(PartitionKey='a/b',RowKey='b')", None),
            ("Tables(People)", None),
            ("Tables('People' )x", None),
            ("p", None),
            ("1people", None),
            ("peo-ple", None),
            ("$other", None),
        ];
        for (path, expected) in table {
            assert_eq!(Resource::parse(path).ok(), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(path in "\\PC*|people\\([PartionKey='RwKy,ab]{0,60}\\)?") {
            let _read = Resource::parse(&path);
        }

        #[test]
        fn keys_come_back(key in "[ -~ä\u{1F600}]{0,20}") {
            let mut encoded = Vec::new();
            encode_key(&mut encoded, &key);
            let encoded = String::from_utf8(encoded).unwrap();
            let decoded = rest::percent::decode(&encoded).unwrap();
            let quotes = format!("'{decoded}'");
            prop_assert_eq!(quoted(&quotes), Some((key, "")));
        }
    }
}
