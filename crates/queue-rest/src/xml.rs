//! Messages as XML: the text of a request, and the lists of answers.
//!
//! A text is carried byte for byte. The reader resolves what the client escaped, the writer escapes again; what XML
//! cannot carry is refused on the way in, so everything that is stored can be answered.

use bytes::Bytes;
use queue::message::{GotMessage, Hold, MessageProperties, PeekedMessage};
use rest::{
    Body, BodyError, Known, ServiceError, dates,
    xml::{self, XmlWriter},
};
use types::{
    ErrorCode,
    limits::{MESSAGE_BODY_MAX_BYTES, MESSAGE_MAX_BYTES},
};

/// The text of a message that must be there.
pub(crate) async fn message_text(body: &mut Body, known: Known) -> Result<String, ServiceError> {
    parse(&collect(body, known).await?)
}

/// The text of a message; `None` when no body was sent.
pub(crate) async fn optional_message_text(body: &mut Body, known: Known) -> Result<Option<String>, ServiceError> {
    let document = collect(body, known).await?;
    if document.is_empty() { Ok(None) } else { parse(&document).map(Some) }
}

async fn collect(body: &mut Body, known: Known) -> Result<Bytes, ServiceError> {
    body.collect(known, MESSAGE_BODY_MAX_BYTES).await.map_err(|error| match error {
        BodyError::TooLong { .. } => too_large(),
        other => other.into(),
    })
}

fn parse(document: &[u8]) -> Result<String, ServiceError> {
    let mut root = xml::parse(document)?;
    let position = root.children.iter().position(|child| child.name == "MessageText");
    let Some(position) = position.filter(|_| root.name == "QueueMessage") else {
        return Err(ServiceError::new(
            ErrorCode::MissingRequiredXmlNode,
            "A required XML node was not specified in the request body.",
        )
        .with_detail("XmlNodeName", if root.name == "QueueMessage" { "MessageText" } else { "QueueMessage" }));
    };
    let element = root.children.swap_remove(position);
    if let Some(child) = element.children.first() {
        return Err(ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
            .with_detail("Reason", format!("MessageText holds an element {:?}: escape it", child.name)));
    }
    if element.text.len() > MESSAGE_MAX_BYTES {
        return Err(too_large());
    }
    Ok(element.text)
}

fn too_large() -> ServiceError {
    ServiceError::body_too_large(u64::try_from(MESSAGE_MAX_BYTES).unwrap_or(u64::MAX))
}

pub(crate) fn put_message(properties: &MessageProperties, hold: &Hold) -> Bytes {
    list(|xml| {
        message(xml, properties, Some(hold));
        xml.close("QueueMessage");
    })
}

pub(crate) fn got_messages(got: &[GotMessage]) -> Bytes {
    list(|xml| {
        for got in got {
            message(xml, &got.properties, Some(&got.hold));
            text(xml, &got.properties, &got.text);
        }
    })
}

pub(crate) fn peeked_messages(peeked: &[PeekedMessage]) -> Bytes {
    list(|xml| {
        for peeked in peeked {
            message(xml, &peeked.properties, None);
            text(xml, &peeked.properties, &peeked.text);
        }
    })
}

fn list(messages: impl FnOnce(&mut XmlWriter)) -> Bytes {
    let mut xml = XmlWriter::document();
    xml.open("QueueMessagesList");
    messages(&mut xml);
    xml.close("QueueMessagesList");
    xml.finish()
}

fn message(xml: &mut XmlWriter, properties: &MessageProperties, hold: Option<&Hold>) {
    xml.open("QueueMessage");
    xml.element("MessageId", &properties.id.to_string());
    xml.element("InsertionTime", &dates::rfc1123(properties.insertion));
    xml.element("ExpirationTime", &dates::rfc1123(properties.expiry));
    if let Some(hold) = hold {
        xml.element("PopReceipt", &hold.receipt.to_string());
        xml.element("TimeNextVisible", &dates::rfc1123(hold.next_visible));
    }
}

fn text(xml: &mut XmlWriter, properties: &MessageProperties, text: &str) {
    xml.element("DequeueCount", &properties.dequeue_count.to_string());
    xml.element("MessageText", text);
    xml.close("QueueMessage");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_meant() {
        let whole = "x".repeat(MESSAGE_MAX_BYTES);
        let exact = format!("<QueueMessage><MessageText>{whole}</MessageText></QueueMessage>");
        let table = [
            ("<QueueMessage><MessageText>a &lt;b&gt; &amp; &#xD;\n</MessageText></QueueMessage>", "a <b> & \r\n"),
            ("<QueueMessage><MessageText><![CDATA[<raw/>]]></MessageText></QueueMessage>", "<raw/>"),
            ("<QueueMessage><MessageText> \t </MessageText></QueueMessage>", " \t "),
            ("<QueueMessage><MessageText/></QueueMessage>", ""),
            ("<?xml version='1.0'?><QueueMessage><MessageText>ä𝄞</MessageText></QueueMessage>", "ä𝄞"),
            (&exact, &whole),
        ];
        for (document, expected) in table {
            assert_eq!(parse(document.as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        use ErrorCode::{InvalidXmlDocument, MissingRequiredXmlNode, RequestBodyTooLarge};
        let long =
            format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", "x".repeat(MESSAGE_MAX_BYTES + 1));
        let table = [
            ("", InvalidXmlDocument),
            ("text", InvalidXmlDocument),
            ("<QueueMessage><MessageText>a</QueueMessage>", InvalidXmlDocument),
            ("<QueueMessage><MessageText>\u{1}</MessageText></QueueMessage>", InvalidXmlDocument),
            ("<QueueMessage><MessageText>&#1;</MessageText></QueueMessage>", InvalidXmlDocument),
            ("<QueueMessage><MessageText>&#xFFFF;</MessageText></QueueMessage>", InvalidXmlDocument),
            ("<QueueMessage><MessageText><b>x</b></MessageText></QueueMessage>", InvalidXmlDocument),
            ("<QueueMessage></QueueMessage>", MissingRequiredXmlNode),
            ("<Message><MessageText>a</MessageText></Message>", MissingRequiredXmlNode),
            (&long, RequestBodyTooLarge),
        ];
        for (document, expected) in table {
            assert_eq!(
                parse(document.as_bytes()).unwrap_err().code,
                expected,
                "{}",
                &document[..document.len().min(60)]
            );
        }
    }
}
