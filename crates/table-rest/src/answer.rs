//! An answer before it is known whether it stands alone or in a batch.

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use rest::{Response, ResponseBody};

use crate::format::Format;

/// Status, headers and body.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: Option<(&'static str, Bytes)>,
}

impl Answer {
    /// An answer with what all have.
    pub(crate) fn new(status: StatusCode, format: Format) -> Self {
        let headers = vec![
            ("Cache-Control", "no-cache".to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("DataServiceVersion", format.data_service_version().to_owned()),
        ];
        Self { status, headers, body: None }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    #[must_use]
    pub(crate) fn body(mut self, content_type: &'static str, body: Bytes) -> Self {
        self.body = Some((content_type, body));
        self
    }

    /// As the answer to a request.
    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(self.status);
        for (name, value) in self.headers {
            response = response.text_header(name, &value);
        }
        match self.body {
            Some((kind, body)) => response.body(HeaderValue::from_static(kind), ResponseBody::bytes(body)),
            None => response,
        }
    }

    /// As a part of the answer to a batch.
    pub(crate) fn write_part(&self, out: &mut Vec<u8>, content_id: Option<&str>) {
        let mut line = |text: &str| {
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        };
        line("Content-Type: application/http");
        line("Content-Transfer-Encoding: binary");
        line("");
        let reason = self.status.canonical_reason().unwrap_or_default();
        line(&format!("HTTP/1.1 {} {reason}", self.status.as_u16()));
        if let Some(id) = content_id {
            line(&format!("Content-ID: {id}"));
        }
        for (name, value) in &self.headers {
            line(&format!("{name}: {value}"));
        }
        if let Some((kind, _)) = &self.body {
            line(&format!("Content-Type: {kind}"));
        }
        line("");
        if let Some((_, body)) = &self.body {
            out.extend_from_slice(body);
        }
        out.extend_from_slice(b"\r\n");
    }
}
