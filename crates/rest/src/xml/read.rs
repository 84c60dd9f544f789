//! Reading: one document into a small tree. Attributes, comments and namespaces are read past; no service needs them.
//!
//! Invariant: bytes, elements and depth are capped before memory is taken, and there is no DTD, so nothing expands.

use quick_xml::{Reader, events::Event};
use types::ErrorCode;

use super::write::is_xml;
use crate::{ServiceError, limits};

/// An element with its text and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// All text directly in it, joined; not trimmed.
    pub text: String,
    /// The elements in it, in order.
    pub children: Vec<Self>,
}

impl Element {
    /// The first child of this name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of this name.
    #[must_use]
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| &*child.text)
    }
}

/// Why a document is not one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// More bytes, elements or depth than allowed.
    #[error("the document has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
    /// Not well-formed, or with something that is refused.
    #[error("the document is not well-formed at byte {position}: {reason}")]
    Malformed {
        /// The byte at which reading stopped.
        position: u64,
        /// Why.
        reason: String,
    },
}

impl From<XmlError> for ServiceError {
    fn from(error: XmlError) -> Self {
        let position = match &error {
            XmlError::Malformed { position, .. } => *position,
            XmlError::TooLarge { .. } => 0,
        };
        Self::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
            .with_detail("LineNumber", "1")
            .with_detail("LinePosition", position.to_string())
            .with_detail("Reason", error.to_string())
    }
}

/// Reads a document.
///
/// # Errors
/// It is too large or not well-formed.
pub fn parse(document: &[u8]) -> Result<Element, XmlError> {
    if document.len() > limits::XML_MAX_BYTES {
        return Err(XmlError::TooLarge { what: "bytes", limit: limits::XML_MAX_BYTES });
    }
    let document = std::str::from_utf8(document).map_err(|error| {
        let position = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
        XmlError::Malformed { position, reason: error.to_string() }
    })?;
    // Some clients write a byte order mark.
    let document = document.strip_prefix('\u{FEFF}').unwrap_or(document);
    let mut reader = Reader::from_str(document);
    reader.config_mut().expand_empty_elements = true;
    let mut tree = Tree::default();
    loop {
        let event = reader.read_event();
        let position = reader.buffer_position();
        let malformed = |reason: String| XmlError::Malformed { position, reason };
        match event.map_err(|error| malformed(error.to_string()))? {
            Event::Start(tag) => {
                tag.attributes().try_for_each(|attribute| attribute.map(drop)).map_err(|e| malformed(e.to_string()))?;
                if !is_name(tag.name().as_ref()) {
                    return Err(malformed("an element has no name".into()));
                }
                tree.open(tag.local_name().as_ref().to_owned())
                    .map_err(|error| error.unwrap_or_else(|| malformed("a second root".into())))?;
            }
            Event::End(_) => tree.close(),
            Event::Text(text) => {
                tree.text(&text).map_err(malformed)?;
            }
            Event::CData(data) => tree.text(&data).map_err(malformed)?,
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref().map_err(|error| malformed(error.to_string()))? {
                    Some(character) => character.to_string(),
                    None => entity(&reference).map_err(malformed)?.to_owned(),
                };
                tree.text(&text).map_err(malformed)?;
            }
            // With it would come entities that expand without bound.
            Event::DocType(_) => return Err(malformed("a document type is not allowed".into())),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::Empty(_) => {}
            Event::Eof => break,
        }
    }
    let position = u64::try_from(document.len()).unwrap_or(u64::MAX);
    let unfinished = || XmlError::Malformed { position, reason: "the document ends too early".into() };
    if tree.open.is_empty() { tree.root.ok_or_else(unfinished) } else { Err(unfinished()) }
}

/// A name with at most one prefix. The reader takes anything between the brackets for one, even nothing.
fn is_name(name: &str) -> bool {
    let mut parts = name.split(':');
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = |letter: char| letter.is_alphabetic() || letter == '_';
        letters.next().is_some_and(first)
            && letters.all(|letter| first(letter) || letter.is_numeric() || "-.".contains(letter))
    };
    parts.next().is_some_and(part) && parts.next().is_none_or(part) && parts.next().is_none()
}

/// The tree while it grows.
#[derive(Default)]
struct Tree {
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Tree {
    /// `Err(None)` for a second root.
    fn open(&mut self, name: String) -> Result<(), Option<XmlError>> {
        self.elements += 1;
        if self.elements > limits::XML_ELEMENTS_MAX {
            return Err(Some(XmlError::TooLarge { what: "elements", limit: limits::XML_ELEMENTS_MAX }));
        }
        if self.open.len() == limits::XML_DEPTH_MAX {
            return Err(Some(XmlError::TooLarge { what: "levels", limit: limits::XML_DEPTH_MAX }));
        }
        if self.root.is_some() {
            return Err(None);
        }
        self.open.push(Element { name, ..Element::default() });
        Ok(())
    }

    /// The reader has checked that names match.
    fn close(&mut self) {
        let Some(element) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        if let Some(character) = text.chars().find(|character| !is_xml(*character)) {
            return Err(format!("the character {character:?} is not allowed"));
        }
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().is_empty() => {}
            None => return Err("text outside of the root".into()),
        }
        Ok(())
    }
}

fn entity(name: &str) -> Result<&'static str, String> {
    match name {
        "lt" => Ok("<"),
        "gt" => Ok(">"),
        "amp" => Ok("&"),
        "quot" => Ok("\""),
        "apos" => Ok("'"),
        other => Err(format!("the entity {other:?} is not known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_elements_text_and_entities() {
        let document = "\u{feff}<?xml version=\"1.0\"?>\n<!-- c --><BlockList a='1'>\n <Latest>YQ==</Latest>\
            <Latest/><n:Q xmlns:n='u'>&lt;&#65;&amp;<![CDATA[<raw>]]></n:Q></BlockList>\n";
        let root = parse(document.as_bytes()).unwrap();
        assert_eq!((&*root.name, root.children.len()), ("BlockList", 3));
        assert_eq!(root.text_of("Latest"), Some("YQ=="));
        assert_eq!(root.text_of("Q"), Some("<A&<raw>"));
        assert_eq!(root.child("none"), None);
    }

    #[test]
    fn refuses_everything_else() {
        let deep = "<a>".repeat(limits::XML_DEPTH_MAX + 1);
        let many = format!("<r>{}</r>", "<a/>".repeat(limits::XML_ELEMENTS_MAX));
        let table: [&[u8]; 18] = [
            b"",
            b"   ",
            b"text",
            b"<a>",
            b"</a>",
            b"<a></b>",
            b"<a/><b/>",
            b"<a/>x",
            b"<a b></a>",
            b"<a>&unknown;</a>",
            b"<a>&#xZZ;</a>",
            b"<a>&#1;</a>",
            b"<a>\x01</a>",
            b"<a>\xff</a>",
            b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
            b"<a",
            deep.as_bytes(),
            many.as_bytes(),
        ];
        for document in table {
            let shown = String::from_utf8_lossy(document.get(..document.len().min(40)).unwrap()).into_owned();
            assert!(parse(document).is_err(), "{shown}");
        }
        assert!(parse(&vec![b' '; limits::XML_MAX_BYTES + 1]).is_err());
    }
}
