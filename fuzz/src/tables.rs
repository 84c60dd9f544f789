//! What clients of the Table service send: addresses, filters, batches, entities in both formats.

use bytes::Bytes;
use rest::batch::{self, EmbeddedRequest, Piece};
use table::{
    EntityKey, Value, ValueRef,
    properties::{PARTITION_KEY, Properties, ROW_KEY},
    query::{self, Filter, Operator},
};
use table_rest::{
    Draft,
    address::{self, Resource},
    atom, json,
};
use types::limits::ENTITY_BATCH_MAX;

/// Addresses, as sent: what is read is written and read again.
pub(crate) fn address(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(path) = rest::percent::decode(text) else { return };
    let Ok(resource) = Resource::parse(&path) else { return };
    let again = match &resource {
        Resource::Service => String::new(),
        Resource::Tables => "Tables".to_owned(),
        Resource::Table(name) => format!("Tables('{}')", name.as_str()),
        Resource::Batch => "$batch".to_owned(),
        Resource::Metadata => "$metadata".to_owned(),
        Resource::Entities(name) => format!("{}()", name.as_str()),
        Resource::Entity(name, key) => {
            let encoded = |key: &str| {
                let mut out = Vec::new();
                address::encode_key(&mut out, key);
                String::from_utf8(out).expect("ASCII")
            };
            let (partition, row) = (encoded(key.partition()), encoded(key.row()));
            format!("{}(PartitionKey='{partition}',RowKey='{row}')", name.as_str())
        }
    };
    let again = rest::percent::decode(&again).expect("what is written can be read");
    assert_eq!(Resource::parse(&again).ok(), Some(resource));
}

/// Filters: what is read is written and read again, and its plan reads every row that it holds for.
pub(crate) fn filter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let filter = match query::parse(text) {
        Ok(filter) => filter,
        Err(query::FilterError::Syntax { position, .. } | query::FilterError::NotSupported { position, .. }) => {
            assert!(position <= text.chars().count(), "a position is in the text");
            return;
        }
    };
    let written = write(&filter);
    // By what is shown: NaN is not equal to itself.
    let again = query::parse(&written).map(|again| format!("{again:?}"));
    assert_eq!(again.as_deref(), Ok(&*format!("{filter:?}")), "{written}");

    let mut keys = vec![""];
    constants(&filter, &mut keys);
    keys.truncate(6);
    for partition in &keys {
        for row in &keys {
            let Ok(key) = EntityKey::new(*partition, *row) else { continue };
            let value = |name: &str| {
                Ok(match name {
                    PARTITION_KEY => Some(ValueRef::String(partition)),
                    ROW_KEY => Some(ValueRef::String(row)),
                    _ => None,
                })
            };
            if filter.matches(&value).expect("no store is asked") {
                assert!(query::plan::reads(&filter, &key), "{key:?} is left out");
            }
        }
    }
}

fn constants<'a>(filter: &'a Filter, found: &mut Vec<&'a str>) {
    match filter {
        Filter::Compare { constant: Value::String(text), .. } => found.push(text),
        Filter::Compare { .. } | Filter::Constant(_) => {}
        Filter::Not(inner) => constants(inner, found),
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| constants(part, found)),
    }
}

/// With as many parentheses as there must be.
fn write(filter: &Filter) -> String {
    let grouped = |part: &Filter, bare_and: bool| match part {
        Filter::Or(_) => format!("({})", write(part)),
        Filter::And(_) if !bare_and => format!("({})", write(part)),
        _ => write(part),
    };
    let joined = |parts: &[Filter], word: &str, bare_and| {
        parts.iter().map(|part| grouped(part, bare_and)).collect::<Vec<_>>().join(word)
    };
    match filter {
        Filter::Constant(constant) => constant.to_string(),
        Filter::Not(inner) => format!("not {}", grouped(inner, false)),
        Filter::And(parts) => joined(parts, " and ", false),
        Filter::Or(parts) => joined(parts, " or ", true),
        Filter::Compare { property, operator, constant: Value::Double(number) } if number.is_nan() => {
            format!("{property} {} NaN", word(*operator))
        }
        // The constant first: a property may have the name of an operator.
        Filter::Compare { property, operator, constant } => {
            let flipped = match operator {
                Operator::Greater => Operator::Less,
                Operator::GreaterOrEqual => Operator::LessOrEqual,
                Operator::Less => Operator::Greater,
                Operator::LessOrEqual => Operator::GreaterOrEqual,
                same => *same,
            };
            format!("{} {} {property}", literal(constant), word(flipped))
        }
    }
}

const fn word(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "eq",
        Operator::NotEqual => "ne",
        Operator::Greater => "gt",
        Operator::GreaterOrEqual => "ge",
        Operator::Less => "lt",
        Operator::LessOrEqual => "le",
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Binary(bytes) => {
            format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Value::DateTime(_) | Value::Guid(_) => {
            let kind = if matches!(value, Value::Guid(_)) { "guid" } else { "datetime" };
            format!("{kind}'{}'", text(value))
        }
        Value::Double(f64::INFINITY) => "1e999".to_owned(),
        Value::Double(f64::NEG_INFINITY) => "-1e999".to_owned(),
        Value::Double(number) => format!("{number:?}d"),
        Value::Int64(number) => format!("{number}L"),
        Value::Boolean(_) | Value::Int32(_) => text(value),
    }
}

/// Batches.
pub(crate) fn batch(data: &[u8]) {
    let data = Bytes::copy_from_slice(data);
    let Ok(pieces) = batch::parse("multipart/mixed; boundary=b", &data, ENTITY_BATCH_MAX) else { return };
    let parts: Vec<EmbeddedRequest> = pieces
        .into_iter()
        .flat_map(|piece| match piece {
            Piece::Request(part) => vec![part],
            Piece::ChangeSet(parts) => parts,
        })
        .collect();
    assert!((1..=ENTITY_BATCH_MAX).contains(&parts.len()));
    for part in &parts {
        assert!(!part.target.contains(|letter: char| letter == ' ' || letter.is_control()));
        let (all, body) = (data.as_ptr_range(), part.body.as_ptr_range());
        assert!(part.body.is_empty() || all.start <= body.start && body.end <= all.end, "a body is not copied");
        if let Ok(Some(length)) = rest::headers::number(&part.headers, &http::header::CONTENT_LENGTH) {
            assert_eq!(usize::try_from(length), Ok(part.body.len()), "a body has its declared length");
        }
        let _either_way = json::entity(&part.body);
    }
}

/// Entities in JSON.
pub(crate) fn json(data: &[u8]) {
    let _either_way = json::table_name(data);
    if let Ok(draft) = json::entity(data) {
        same_in_both(draft);
    }
}

/// Entities in Atom.
pub(crate) fn atom(data: &[u8]) {
    let _either_way = atom::table_name(data);
    if let Ok(draft) = atom::entity(data) {
        same_in_both(draft);
    }
}

/// An entity that keeps its rules is the same in both formats.
fn same_in_both(draft: Draft) {
    if Properties::new(draft.properties.clone()).is_err() {
        return;
    }
    let keys = [(PARTITION_KEY, &draft.partition), (ROW_KEY, &draft.row)];
    let keys = keys.into_iter().filter_map(|(name, key)| Some((name, key.clone().map(Value::String)?)));
    let all: Vec<(&str, Value)> =
        keys.chain(draft.properties.iter().map(|(name, value)| (&**name, value.clone()))).collect();

    let mut members = serde_json::Map::new();
    for (name, value) in &all {
        members.insert(format!("{name}@odata.type"), value.borrowed().kind().name().into());
        members.insert((*name).to_owned(), text(value).into());
    }
    // A map is in the order of its names, a draft in the order it was sent.
    let sorted = |mut draft: Draft| {
        draft.properties.sort_by(|(left, _), (right, _)| left.cmp(right));
        format!("{draft:?}")
    };
    let document = serde_json::Value::Object(members).to_string();
    let again = json::entity(document.as_bytes()).expect("what is written can be read");
    assert_eq!(sorted(again), sorted(draft.clone()), "{document}");

    // What no document of XML can hold is only in JSON.
    if all
        .iter()
        .any(|(_, value)| text(value).contains(|c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}')))
    {
        return;
    }
    let elements: String = all
        .iter()
        .map(|(name, value)| {
            let text = text(value).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            format!("<d:{name} m:type='{}'>{text}</d:{name}>", value.borrowed().kind().name())
        })
        .collect();
    let document = format!("<entry><properties>{elements}</properties></entry>");
    let again = atom::entity(document.as_bytes()).expect("what is written can be read");
    assert_eq!(format!("{again:?}"), format!("{draft:?}"), "{document}");
}

/// A value as both formats write it when its type is said.
fn text(value: &Value) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    match value {
        Value::Binary(bytes) => STANDARD.encode(bytes),
        Value::Boolean(value) => value.to_string(),
        Value::DateTime(instant) => {
            let mut out = Vec::new();
            instant.write(&mut out);
            String::from_utf8(out).expect("ASCII")
        }
        Value::Double(number) if number.is_nan() => "NaN".to_owned(),
        Value::Double(f64::INFINITY) => "Infinity".to_owned(),
        Value::Double(f64::NEG_INFINITY) => "-Infinity".to_owned(),
        Value::Double(number) => format!("{number:?}"),
        Value::Guid(guid) => guid.to_string(),
        Value::Int32(number) => number.to_string(),
        Value::Int64(number) => number.to_string(),
        Value::String(text) => text.clone(),
    }
}
