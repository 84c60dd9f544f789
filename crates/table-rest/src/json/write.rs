//! Writing: pages and entities straight from their rows into one buffer, no tree in between.
//!
//! Invariant: what is written is JSON, whatever the text holds.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rest::ODataMetadata;
use table::{
    DateTime, EdmType, Entity, EntityKey, ValueRef,
    errors::TableError,
    properties::{PARTITION_KEY, ROW_KEY, SYSTEM, TIMESTAMP, is_name},
};
use types::names::TableName;

use crate::address::encode_key;

/// What the metadata of an answer is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// `http://host:port/account`
    pub(crate) base: &'a str,
    /// The name of the account, which types and schemas are called after.
    pub(crate) account: &'a str,
    /// The table in the letter case of the request.
    pub(crate) table: &'a TableName,
    /// How much is said.
    pub(crate) metadata: ODataMetadata,
    /// The properties that are asked for; `None` for all.
    pub(crate) select: Option<&'a [String]>,
}

/// A document that grows.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    out: Vec<u8>,
}

impl JsonWriter {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    pub(crate) fn finish(self) -> bytes::Bytes {
        self.out.into()
    }

    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.push(b'"');
        escape(&mut self.out, text);
        self.out.push(b'"');
    }

    /// `"name":"value",`
    pub(crate) fn member(&mut self, name: &str, value: &str) {
        self.text(name);
        self.out.push(b':');
        self.text(value);
        self.out.push(b',');
    }

    /// Ends an object or a list whose members all have a comma behind them.
    pub(crate) fn close(&mut self, bracket: u8) {
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        self.out.push(bracket);
    }

    /// A page: `{"odata.metadata":…,"value":[…]}`
    pub(crate) fn page(&mut self, context: Context<'_>, entities: &[Entity]) -> Result<(), TableError> {
        self.out.push(b'{');
        if context.metadata != ODataMetadata::None {
            self.metadata_of(context.base, context.table.as_str(), "");
        }
        self.raw("\"value\":[");
        for entity in entities {
            self.out.push(b'{');
            self.members(context, entity)?;
            self.raw(",");
        }
        self.close(b']');
        self.raw("}");
        Ok(())
    }

    /// One entity by itself.
    pub(crate) fn entity(&mut self, context: Context<'_>, entity: &Entity) -> Result<(), TableError> {
        self.out.push(b'{');
        if context.metadata != ODataMetadata::None {
            self.metadata_of(context.base, context.table.as_str(), "/@Element");
        }
        self.members(context, entity)
    }

    /// `"odata.metadata":"base/$metadata#name",`
    pub(crate) fn metadata_of(&mut self, base: &str, name: &str, element: &str) {
        self.raw("\"odata.metadata\":\"");
        escape(&mut self.out, base);
        self.raw("/$metadata#");
        escape(&mut self.out, name);
        self.raw(element);
        self.raw("\",");
    }

    fn members(&mut self, context: Context<'_>, entity: &Entity) -> Result<(), TableError> {
        let full = context.metadata == ODataMetadata::Full;
        if full {
            self.raw("\"odata.type\":\"");
            escape(&mut self.out, context.account);
            self.raw(".");
            self.raw(context.table.as_str());
            self.raw("\",\"odata.id\":\"");
            escape(&mut self.out, context.base);
            self.raw("/");
            entity_address(&mut self.out, context.table, entity.key());
            self.raw("\",");
        }
        if context.metadata != ODataMetadata::None {
            self.raw("\"odata.etag\":\"W/\\\"datetime'");
            write_etag_time(&mut self.out, DateTime::of(entity.timestamp()));
            self.raw("'\\\"\",");
        }
        if full {
            self.raw("\"odata.editLink\":\"");
            entity_address(&mut self.out, context.table, entity.key());
            self.raw("\",");
        }
        // The keys and the Timestamp stand in no property of the record, so `$select` is asked for each of them.
        let wanted = |name: &str| context.select.is_none_or(|select| select.iter().any(|wanted| wanted == name));
        for (name, key) in [(PARTITION_KEY, entity.key().partition()), (ROW_KEY, entity.key().row())] {
            if wanted(name) {
                self.member(name, key);
            }
        }
        if wanted(TIMESTAMP) {
            self.raw(if full {
                "\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\":\""
            } else {
                "\"Timestamp\":\""
            });
            DateTime::of(entity.timestamp()).write_full(&mut self.out);
            self.raw("\",");
        }
        let mut written = 0;
        for property in entity.properties() {
            let (name, value) = property?;
            if wanted(name) {
                self.property(context.metadata, name, value);
                written += 1;
            }
        }
        // Who selects what an entity does not have is told that it is null.
        for name in missing(entity, context.select, written)? {
            self.text(name);
            self.raw(":null,");
        }
        self.close(b'}');
        Ok(())
    }

    fn property(&mut self, metadata: ODataMetadata, name: &str, value: ValueRef<'_>) {
        if metadata != ODataMetadata::None && needs_type(value) {
            self.out.push(b'"');
            escape(&mut self.out, name);
            self.raw("@odata.type\":\"");
            self.raw(value.kind().name());
            self.raw("\",");
        }
        self.text(name);
        self.out.push(b':');
        self.value(value);
        self.out.push(b',');
    }

    fn value(&mut self, value: ValueRef<'_>) {
        use std::io::Write;
        // Writing into a vector cannot fail.
        let _infallible = match value {
            ValueRef::String(text) => {
                self.text(text);
                Ok(())
            }
            ValueRef::Boolean(value) => {
                self.raw(if value { "true" } else { "false" });
                Ok(())
            }
            ValueRef::Int32(number) => write!(self.out, "{number}"),
            ValueRef::Int64(number) => write!(self.out, "\"{number}\""),
            ValueRef::Double(number) if number.is_nan() => write!(self.out, "\"NaN\""),
            ValueRef::Double(f64::INFINITY) => write!(self.out, "\"Infinity\""),
            ValueRef::Double(f64::NEG_INFINITY) => write!(self.out, "\"-Infinity\""),
            ValueRef::Double(number) => write!(self.out, "{number:?}"),
            ValueRef::Guid(guid) => write!(self.out, "\"{guid}\""),
            ValueRef::DateTime(instant) => {
                self.out.push(b'"');
                instant.write(&mut self.out);
                self.out.push(b'"');
                Ok(())
            }
            ValueRef::Binary(bytes) => {
                self.out.push(b'"');
                let start = self.out.len();
                self.out.resize(start + bytes.len().div_ceil(3) * 4, 0);
                let space = self.out.get_mut(start..).unwrap_or_default();
                let written = STANDARD.encode_slice(bytes, space).unwrap_or_default();
                self.out.truncate(start + written);
                self.out.push(b'"');
                Ok(())
            }
        };
    }
}

/// The properties that are asked for by name and that the entity does not have, `written` being those that it has: they
/// are answered as null.
pub(crate) fn missing<'a>(
    entity: &Entity,
    select: Option<&'a [String]>,
    written: usize,
) -> Result<Vec<&'a str>, TableError> {
    let mut missing = Vec::new();
    let select = select.unwrap_or_default();
    if written + select.iter().filter(|name| SYSTEM.contains(&name.as_str())).count() == select.len() {
        return Ok(missing);
    }
    for name in select {
        if is_name(name) && entity.get(name)?.is_none() {
            missing.push(name.as_str());
        }
    }
    Ok(missing)
}

/// True when the form of the value does not tell its type.
fn needs_type(value: ValueRef<'_>) -> bool {
    match value.kind() {
        EdmType::String | EdmType::Boolean | EdmType::Int32 => false,
        EdmType::Double => matches!(value, ValueRef::Double(number) if !number.is_finite()),
        EdmType::Binary | EdmType::DateTime | EdmType::Guid | EdmType::Int64 => true,
    }
}

/// The Timestamp in an ETag: its colons are percent-encoded.
fn write_etag_time(out: &mut Vec<u8>, timestamp: DateTime) {
    let start = out.len();
    timestamp.write_full(out);
    for position in [16, 13] {
        out.splice(start + position..=start + position, *b"%3A");
    }
}

/// `table(PartitionKey='…',RowKey='…')`
pub(crate) fn entity_address(out: &mut Vec<u8>, table: &TableName, key: &EntityKey) {
    out.extend_from_slice(table.as_str().as_bytes());
    out.extend_from_slice(b"(PartitionKey='");
    encode_key(out, key.partition());
    out.extend_from_slice(b"',RowKey='");
    encode_key(out, key.row());
    out.extend_from_slice(b"')");
}

/// Bytes looked at in one go: as many as the machine compares at once without a branch.
const STRIDE: usize = 32;

/// Escapes what JSON cannot carry. Text is mostly plain, so it is copied in pieces.
fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let plain = plain_prefix(rest);
        let (piece, after) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        out.extend_from_slice(piece);
        let Some((&byte, after)) = after.split_first() else { return };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(byte >> 4), digit(byte & 0x0F)]);
            }
        }
        rest = after;
    }
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn plain_prefix(bytes: &[u8]) -> usize {
    let mut plain = 0;
    for chunk in bytes.chunks(STRIDE) {
        if chunk.iter().fold(false, |any, byte| any | is_special(*byte)) {
            return plain + chunk.iter().position(|byte| is_special(*byte)).unwrap_or(chunk.len());
        }
        plain += chunk.len();
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_come_back(text in "\\PC*[\u{0}-\u{1f}\"\\\\a]{0,40}\\PC*") {
            let mut writer = JsonWriter::with_capacity(0);
            writer.text(&text);
            prop_assert_eq!(serde_json::from_slice::<String>(&writer.out).unwrap(), text);
        }

        #[test]
        fn doubles_come_back(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let mut writer = JsonWriter::with_capacity(0);
            writer.value(ValueRef::Double(number));
            let text = String::from_utf8(writer.out).unwrap();
            // A double must not be taken for a whole number when it comes back.
            prop_assert!(text.contains(['.', 'e']));
            prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), bits);
        }
    }

    #[test]
    fn an_etag_repeats_the_timestamp() {
        let mut out = Vec::new();
        write_etag_time(&mut out, DateTime::parse("2024-05-01T10:20:30.1Z").unwrap());
        assert_eq!(out, b"2024-05-01T10%3A20%3A30.1000000Z");
    }
}
