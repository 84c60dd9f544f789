//! How a failure looks in the body of an answer: one way a family of services.

use bytes::Bytes;
use types::Timestamp;

use crate::{RequestId, ServiceError, dates, xml::XmlWriter};

const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";

/// The form of the body of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    /// `<Error><Code>…`: Blob, Queue and File.
    Xml,
    /// `{"odata.error": …}`: Table.
    OData(ODataMetadata),
    /// `<error xmlns="…metadata">`: Table before 2015-12-11, for clients that ask for Atom.
    Atom,
    /// `<m:error xmlns:m="…metadata">`: Table, for operations whose documents are XML.
    Metadata,
    /// `{"error": …}`: Data Lake.
    Dfs,
}

/// How much a JSON answer of Table says about itself; part of its media type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ODataMetadata {
    /// `odata=nometadata`.
    None,
    /// `odata=minimalmetadata`, which is what no wish means.
    #[default]
    Minimal,
    /// `odata=fullmetadata`.
    Full,
}

impl ODataMetadata {
    /// The media type of a JSON answer.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Self::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Self::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }
}

impl ErrorFormat {
    /// The media type and the body.
    #[must_use]
    pub fn write(self, error: &ServiceError, request_id: RequestId, now: Timestamp) -> (&'static str, Bytes) {
        let message = format!("{}\nRequestId:{request_id}\nTime:{}", error.message, dates::iso8601(now));
        let code = error.code.as_str();
        match self {
            Self::Xml => {
                let mut xml = XmlWriter::document();
                xml.open("Error");
                xml.element("Code", code);
                xml.element("Message", &message);
                for (name, value) in &error.details {
                    xml.element(name, value);
                }
                xml.close("Error");
                ("application/xml", xml.finish())
            }
            Self::Atom => {
                let mut xml = XmlWriter::document();
                xml.open_with("error", &[("xmlns", METADATA)]);
                xml.element("code", code);
                xml.element("message", &message);
                xml.close("error");
                ("application/xml;charset=utf-8", xml.finish())
            }
            Self::Metadata => {
                let mut xml = XmlWriter::document();
                xml.open_with("m:error", &[("xmlns:m", METADATA)]);
                xml.element("m:code", code);
                xml.open_with("m:message", &[("xml:lang", "en-US")]);
                xml.text(&message);
                xml.close("m:message");
                xml.close("m:error");
                ("application/xml;charset=utf-8", xml.finish())
            }
            Self::OData(metadata) => {
                let message = serde_json::json!({"lang": "en-US", "value": message});
                let body = serde_json::json!({"odata.error": {"code": code, "message": message}});
                (metadata.content_type(), Bytes::from(body.to_string()))
            }
            Self::Dfs => {
                let body = serde_json::json!({"error": {"code": code, "message": message}});
                ("application/json;charset=utf-8", Bytes::from(body.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: ErrorFormat, expected: expect_test::Expect) {
        let error = ServiceError::invalid_header("x-ms-version", "<new>\"");
        let (kind, body) = format.write(&error, RequestId::new(1), Timestamp::from_seconds(1));
        expected.assert_eq(&format!("{kind}\n{}", std::str::from_utf8(&body).unwrap()));
    }

    #[test]
    fn each_family_has_its_form() {
        check(
            ErrorFormat::Xml,
            expect_test::expect![[r#"
                application/xml
                <?xml version="1.0" encoding="utf-8"?><Error><Code>InvalidHeaderValue</Code><Message>The value for one of the HTTP headers is not in the correct format.
                RequestId:00000000-0000-0000-0000-000000000001
                Time:1970-01-01T00:00:01.0000000Z</Message><HeaderName>x-ms-version</HeaderName><HeaderValue>&lt;new&gt;&quot;</HeaderValue></Error>"#]],
        );
        check(
            ErrorFormat::Atom,
            expect_test::expect![[r#"
            application/xml;charset=utf-8
            <?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>InvalidHeaderValue</code><message>The value for one of the HTTP headers is not in the correct format.
            RequestId:00000000-0000-0000-0000-000000000001
            Time:1970-01-01T00:00:01.0000000Z</message></error>"#]],
        );
        check(
            ErrorFormat::OData(ODataMetadata::None),
            expect_test::expect![[r#"
            application/json;odata=nometadata;streaming=true;charset=utf-8
            {"odata.error":{"code":"InvalidHeaderValue","message":{"lang":"en-US","value":"The value for one of the HTTP headers is not in the correct format.\nRequestId:00000000-0000-0000-0000-000000000001\nTime:1970-01-01T00:00:01.0000000Z"}}}"#]],
        );
        check(
            ErrorFormat::Dfs,
            expect_test::expect![[r#"
            application/json;charset=utf-8
            {"error":{"code":"InvalidHeaderValue","message":"The value for one of the HTTP headers is not in the correct format.\nRequestId:00000000-0000-0000-0000-000000000001\nTime:1970-01-01T00:00:01.0000000Z"}}"#]],
        );
    }
}
