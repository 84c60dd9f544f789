//! Reading an entry: the elements of its `properties`, their types and their texts.
//!
//! Invariant: there is no DTD, so nothing expands; members and depth are bounded, and bytes are by the body's limit.

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::draft::{Draft, DraftError, MEMBERS_MAX, Raw};

/// Deeper than any entry: entry, content, properties, a property.
const DEPTH_MAX: usize = 16;

/// Reads an entity.
///
/// # Errors
/// The body is no entry, or a value is not of its declared type.
pub fn entity(body: &[u8]) -> Result<Draft, DraftError> {
    let mut draft = Draft::default();
    for property in properties(body)? {
        // An element without a type is a text, also when it is empty.
        let raw = if property.null { Raw::Null } else { Raw::Text(property.text) };
        draft.add(property.name, property.type_name.as_deref(), raw)?;
    }
    Ok(draft)
}

/// Reads the body of Create Table.
///
/// # Errors
/// The body is no entry with a `TableName`.
pub fn table_name(body: &[u8]) -> Result<String, DraftError> {
    let name = table::table::TABLE_NAME;
    let found = properties(body)?.into_iter().find(|property| property.name == name && !property.null);
    let missing = || DraftError::Value { name: name.to_owned(), type_name: "Edm.String".to_owned() };
    found.map(|property| property.text).ok_or_else(missing)
}

#[derive(Default)]
struct Property {
    name: String,
    type_name: Option<String>,
    null: bool,
    text: String,
}

fn malformed(reason: impl ToString) -> DraftError {
    DraftError::Malformed(reason.to_string())
}

fn properties(body: &[u8]) -> Result<Vec<Property>, DraftError> {
    let document = std::str::from_utf8(body).map_err(malformed)?;
    let document = document.strip_prefix('\u{FEFF}').unwrap_or(document);
    let mut reader = Reader::from_str(document);
    reader.config_mut().expand_empty_elements = true;
    let mut found: Vec<Property> = Vec::new();
    // The depth, and that of the element `properties` once we are in it.
    let (mut depth, mut inside, mut complete) = (0_usize, None, false);
    loop {
        match reader.read_event().map_err(malformed)? {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_MAX || found.len() > MEMBERS_MAX {
                    return Err(if depth > DEPTH_MAX {
                        malformed("it is nested too deeply")
                    } else {
                        DraftError::TooMany
                    });
                }
                match inside {
                    None if tag.local_name().as_ref() == "properties" => inside = Some(depth),
                    Some(level) if depth == level + 1 => found.push(begin(&tag)?),
                    Some(level) if depth > level + 1 => return Err(malformed("a property has elements")),
                    _ => {}
                }
            }
            Event::End(_) => {
                complete |= inside == Some(depth);
                if inside == Some(depth) {
                    inside = None;
                }
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) => add(&mut found, inside, depth, &text),
            Event::CData(data) => add(&mut found, inside, depth, &data),
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref().map_err(malformed)? {
                    Some(character) => character.to_string(),
                    None => match &*reference {
                        "lt" => "<".to_owned(),
                        "gt" => ">".to_owned(),
                        "amp" => "&".to_owned(),
                        "quot" => "\"".to_owned(),
                        "apos" => "'".to_owned(),
                        other => return Err(malformed(format!("the entity {other:?} is not known"))),
                    },
                };
                add(&mut found, inside, depth, &text);
            }
            // With it would come entities that expand without bound.
            Event::DocType(_) => return Err(malformed("a document type is not allowed")),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::Empty(_) => {}
            Event::Eof => break,
        }
    }
    if depth == 0 && complete { Ok(found) } else { Err(malformed("there are no properties")) }
}

fn add(found: &mut [Property], inside: Option<usize>, depth: usize, text: &str) {
    if inside.is_some_and(|level| depth == level + 1)
        && let Some(property) = found.last_mut()
    {
        property.text.push_str(text);
    }
}

fn begin(tag: &BytesStart<'_>) -> Result<Property, DraftError> {
    let mut property = Property { name: tag.local_name().as_ref().to_owned(), ..Property::default() };
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(malformed)?;
        let value = attribute.value.trim().to_owned();
        match attribute.key.local_name().as_ref() {
            "type" => property.type_name = Some(value),
            "null" => property.null = value == "true",
            _ => {}
        }
    }
    Ok(property)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use table::Value;

    use super::*;

    const ENTRY: &str = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
        <entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
               xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
          <title /><updated>2013-08-15T00:00:00Z</updated><author><name /></author><id />
          <content type="application/xml"><m:properties>
            <d:PartitionKey>p &amp; q</d:PartitionKey><d:RowKey m:null="false"></d:RowKey>
            <d:Timestamp m:type="Edm.DateTime">0001-01-01T00:00:00</d:Timestamp>
            <d:Text> a&#xA;<![CDATA[<b>]]> </d:Text><d:Empty /><d:Gone m:null="true" />
            <d:Age m:type="Edm.Int32">-5</d:Age><d:Big m:type="Edm.Int64">5</d:Big>
            <d:Score m:type="Edm.Double">-INF</d:Score><d:Yes m:type="Edm.Boolean">true</d:Yes>
          </m:properties></content></entry>"#;

    #[test]
    fn an_entry_is_an_entity() {
        let draft = entity(ENTRY.as_bytes()).unwrap();
        assert_eq!((draft.partition.as_deref(), draft.row.as_deref()), (Some("p & q"), Some("")));
        let expected = [
            ("Text", Value::String(" a\n<b> ".into())),
            ("Empty", Value::String(String::new())),
            ("Age", Value::Int32(-5)),
            ("Big", Value::Int64(5)),
            ("Score", Value::Double(f64::NEG_INFINITY)),
            ("Yes", Value::Boolean(true)),
        ];
        let expected: Vec<_> = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(draft.properties, expected);
    }

    #[test]
    fn everything_else_is_refused() {
        let table = [
            "",
            "text",
            "<entry/>",
            "<m:properties>",
            "<e><properties><a><b/></a></properties></e>",
            "<e><properties><a m:type='Edm.Int32'>x</a></properties></e>",
            "<e><properties><a>&unknown;</a></properties></e>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><e><properties><a>&x;</a></properties></e>",
            &"<a>".repeat(100_000),
            &format!("<e><properties>{}</properties></e>", "<a/>".repeat(10_000)),
        ];
        for body in table {
            assert!(entity(body.as_bytes()).is_err(), "{}", body.get(..60).unwrap_or(body));
        }
    }

    #[test]
    fn a_table_has_a_name() {
        let body = "<entry><content><properties><d:TableName>abc</d:TableName></properties></content></entry>";
        assert_eq!(table_name(body.as_bytes()).unwrap(), "abc");
        assert!(table_name(ENTRY.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _read = entity(&body);
        }

        #[test]
        fn any_document_is_read_or_refused(body in "(<|</|/>|>|properties|a|m:type='Edm.Int32'|&lt;|&|5| ){0,40}") {
            let _read = entity(body.as_bytes());
        }
    }
}
