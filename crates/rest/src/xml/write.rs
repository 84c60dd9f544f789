//! Writing: elements one behind the other into a string, escaped.
//!
//! Invariant: what is written is well-formed XML 1.0, whatever the text holds, as long as elements are closed in
//! order. Names of elements and attributes come from us and are not escaped.

use bytes::Bytes;

use crate::percent;

/// A document that grows.
#[derive(Debug)]
pub struct XmlWriter {
    out: String,
}

impl XmlWriter {
    /// Begins a document with its declaration.
    #[must_use]
    pub fn document() -> Self {
        Self { out: String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>") }
    }

    /// `<name>`
    pub fn open(&mut self, name: &str) {
        self.open_with(name, &[]);
    }

    /// `<name attribute="value">`
    pub fn open_with(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(&mut self.out, value);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// `</name>`
    pub fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// `<name />`
    pub fn empty(&mut self, name: &str) {
        self.out.push('<');
        self.out.push_str(name);
        self.out.push_str(" />");
    }

    /// `<name>text</name>`
    pub fn element(&mut self, name: &str, text: &str) {
        self.open(name);
        self.text(text);
        self.close(name);
    }

    /// `<name>text</name>` when there is a text.
    pub fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.element(name, text);
        }
    }

    /// A name of a client: characters that XML 1.0 cannot carry make it percent-encoded, and an attribute says so.
    pub fn encoded_element(&mut self, name: &str, text: &str) {
        if can_carry(text) {
            return self.element(name, text);
        }
        self.open_with(name, &[("Encoded", "true")]);
        self.text(&percent::encode(text));
        self.close(name);
    }

    /// Text between elements.
    pub fn text(&mut self, text: &str) {
        escape(&mut self.out, text);
    }

    /// Bytes so far, for pages that end at a size.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.out.len()
    }

    /// Never true: a document begins with its declaration.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// All that was written. Whoever opened an element has closed it.
    #[must_use]
    pub fn finish(self) -> Bytes {
        Bytes::from(self.out)
    }
}

/// Escapes markup; a carriage return would be read as a line feed; what XML cannot carry becomes U+FFFD.
fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#xD;"),
            other if is_xml(other) => out.push(other),
            _ => out.push('\u{FFFD}'),
        }
    }
}

/// Whether XML 1.0 can carry every character of a text.
#[must_use]
pub fn can_carry(text: &str) -> bool {
    text.chars().all(is_xml)
}

/// The production Char of XML 1.0.
pub(super) const fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_must_be() {
        let mut xml = XmlWriter::document();
        xml.open_with("A", &[("b", "\"<&\u{1}")]);
        xml.element("C", "x < y & z > \"q\" \r\n\u{0}");
        xml.encoded_element("Name", "plain/ä");
        xml.encoded_element("Name", "a\u{1}b/ä");
        xml.optional("Gone", None);
        xml.empty("E");
        xml.close("A");
        expect_test::expect![[r#"
            <?xml version="1.0" encoding="utf-8"?><A b="&quot;&lt;&amp;�"><C>x &lt; y &amp; z &gt; &quot;q&quot; &#xD;
            �</C><Name>plain/ä</Name><Name Encoded="true">a%01b%2F%C3%A4</Name><E /></A>"#]]
        .assert_eq(std::str::from_utf8(&xml.finish()).unwrap());
    }
}
