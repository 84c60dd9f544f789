//! Writing entries and feeds.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use rest::{dates, xml::XmlWriter};
use table::{
    EdmType, Entity, ValueRef,
    errors::TableError,
    properties::{PARTITION_KEY, ROW_KEY, TIMESTAMP},
};
use types::{Timestamp, names::TableName};

use crate::json::{entity_address, missing};

const APP: &str = "http://www.w3.org/2007/app";
const ATOM: &str = "http://www.w3.org/2005/Atom";
const DATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices";
const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
const SCHEME: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme";

/// One entity as a document.
pub(crate) fn entry(
    base: &str,
    account: &str,
    table: &TableName,
    entity: &Entity,
    select: Option<&[String]>,
) -> Result<Bytes, TableError> {
    let mut xml = XmlWriter::document();
    write_entity(&mut xml, Some(base), account, table, entity, (base, select))?;
    Ok(xml.finish())
}

/// A page as a document.
pub(crate) fn feed(
    base: &str,
    account: &str,
    table: &TableName,
    entities: &[Entity],
    select: Option<&[String]>,
) -> Result<Bytes, TableError> {
    let mut xml = XmlWriter::document();
    let updated = entities.iter().map(Entity::timestamp).max().unwrap_or(Timestamp::EPOCH);
    begin_feed(&mut xml, base, table.as_str(), updated);
    for entity in entities {
        write_entity(&mut xml, None, account, table, entity, (base, select))?;
    }
    xml.close("feed");
    Ok(xml.finish())
}

/// One table as a document.
pub(crate) fn table(base: &str, account: &str, name: &TableName, now: Timestamp) -> Bytes {
    let mut xml = XmlWriter::document();
    write_table(&mut xml, Some(base), base, account, name, now);
    xml.finish()
}

/// A page of tables as a document.
pub(crate) fn tables(base: &str, account: &str, names: &[TableName], now: Timestamp) -> Bytes {
    let mut xml = XmlWriter::document();
    begin_feed(&mut xml, base, "Tables", now);
    for name in names {
        write_table(&mut xml, None, base, account, name, now);
    }
    xml.close("feed");
    xml.finish()
}

/// What the service has, as a document.
pub(crate) fn service(base: &str) -> Bytes {
    let mut xml = XmlWriter::document();
    let base_slash = format!("{base}/");
    xml.open_with("service", &[("xml:base", &base_slash), ("xmlns", APP), ("xmlns:atom", ATOM)]);
    xml.open("workspace");
    xml.element("atom:title", "Default");
    xml.open_with("collection", &[("href", "Tables")]);
    xml.element("atom:title", "Tables");
    xml.close("collection");
    xml.close("workspace");
    xml.close("service");
    xml.finish()
}

fn begin_feed(xml: &mut XmlWriter, base: &str, name: &str, updated: Timestamp) {
    let base_slash = format!("{base}/");
    xml.open_with("feed", &[("xml:base", &base_slash), ("xmlns:d", DATA), ("xmlns:m", METADATA), ("xmlns", ATOM)]);
    text_title(xml, name);
    xml.element("id", &format!("{base}/{name}"));
    xml.element("updated", &dates::iso8601(updated));
    link(xml, "self", name, name);
}

fn text_title(xml: &mut XmlWriter, title: &str) {
    xml.open_with("title", &[("type", "text")]);
    xml.text(title);
    xml.close("title");
}

fn link(xml: &mut XmlWriter, relation: &str, title: &str, href: &str) {
    xml.open_with("link", &[("rel", relation), ("title", title), ("href", href)]);
    xml.close("link");
}

/// Everything of an entry up to its properties. `alone` is the base of an entry that is a document by itself.
fn begin_entry(
    xml: &mut XmlWriter,
    alone: Option<&str>,
    base: &str,
    kind: (&str, &str),
    href: &str,
    etag: Option<&str>,
    updated: Timestamp,
) {
    let base_slash = alone.map(|base| format!("{base}/"));
    let mut attributes = Vec::new();
    if let Some(base) = &base_slash {
        attributes.extend([("xml:base", &**base), ("xmlns:d", DATA), ("xmlns:m", METADATA)]);
    }
    if let Some(etag) = etag {
        attributes.push(("m:etag", etag));
    }
    if alone.is_some() {
        attributes.push(("xmlns", ATOM));
    }
    xml.open_with("entry", &attributes);
    xml.element("id", &format!("{base}/{href}"));
    text_title(xml, "");
    xml.element("updated", &dates::iso8601(updated));
    xml.open("author");
    xml.empty("name");
    xml.close("author");
    let (account, table) = kind;
    link(xml, "edit", table, href);
    xml.open_with("category", &[("term", &format!("{account}.{table}")), ("scheme", SCHEME)]);
    xml.close("category");
    xml.open_with("content", &[("type", "application/xml")]);
    xml.open("m:properties");
}

fn end_entry(xml: &mut XmlWriter) {
    xml.close("m:properties");
    xml.close("content");
    xml.close("entry");
}

fn write_table(xml: &mut XmlWriter, alone: Option<&str>, base: &str, account: &str, name: &TableName, now: Timestamp) {
    begin_entry(xml, alone, base, (account, "Tables"), &format!("Tables('{name}')"), None, now);
    xml.element("d:TableName", name.as_str());
    end_entry(xml);
}

fn write_entity(
    xml: &mut XmlWriter,
    alone: Option<&str>,
    account: &str,
    table: &TableName,
    entity: &Entity,
    (base, select): (&str, Option<&[String]>),
) -> Result<(), TableError> {
    let mut href = Vec::new();
    entity_address(&mut href, table, entity.key());
    let href = String::from_utf8_lossy(&href);
    let etag = entity.etag().to_string();
    begin_entry(xml, alone, base, (account, table.as_str()), &href, Some(&etag), entity.timestamp());
    let wanted = |name: &str| select.is_none_or(|select| select.iter().any(|wanted| wanted == name));
    for (name, value) in [(PARTITION_KEY, entity.key().partition()), (ROW_KEY, entity.key().row())] {
        if wanted(name) {
            property(xml, name, ValueRef::String(value));
        }
    }
    if wanted(TIMESTAMP) {
        property(xml, TIMESTAMP, ValueRef::DateTime(table::DateTime::of(entity.timestamp())));
    }
    let mut written = 0;
    for stored in entity.properties() {
        let (name, value) = stored?;
        if wanted(name) {
            property(xml, name, value);
            written += 1;
        }
    }
    for name in missing(entity, select, written)? {
        let element = format!("d:{name}");
        xml.open_with(&element, &[("m:null", "true")]);
        xml.close(&element);
    }
    end_entry(xml);
    Ok(())
}

fn property(xml: &mut XmlWriter, name: &str, value: ValueRef<'_>) {
    let element = format!("d:{name}");
    match value.kind() {
        EdmType::String => xml.open(&element),
        kind => xml.open_with(&element, &[("m:type", kind.name())]),
    }
    let text = match value {
        ValueRef::String(text) => text.to_owned(),
        ValueRef::Boolean(value) => value.to_string(),
        ValueRef::Int32(value) => value.to_string(),
        ValueRef::Int64(value) => value.to_string(),
        ValueRef::Guid(value) => value.to_string(),
        ValueRef::DateTime(value) => value.to_string(),
        ValueRef::Binary(bytes) => STANDARD.encode(bytes),
        ValueRef::Double(f64::INFINITY) => "INF".to_owned(),
        ValueRef::Double(f64::NEG_INFINITY) => "-INF".to_owned(),
        ValueRef::Double(value) => format!("{value:?}"),
    };
    xml.text(&text);
    xml.close(&element);
}
