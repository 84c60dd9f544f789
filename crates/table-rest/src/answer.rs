//! An answer before it is known whether it stands alone or in a batch.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use rest::{Response, ResponseBody};

use crate::format::Format;

/// Status, headers and body.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    body: Option<(&'static str, Bytes)>,
}

impl Answer {
    /// An answer with what all have.
    pub(crate) fn new(status: StatusCode, format: Format) -> Self {
        let mut headers = Vec::with_capacity(8);
        headers.extend([
            ("Cache-Control", Cow::Borrowed("no-cache")),
            ("X-Content-Type-Options", Cow::Borrowed("nosniff")),
            ("DataServiceVersion", Cow::Borrowed(format.data_service_version())),
        ]);
        Self { status, headers, body: None }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
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
        let mut put = |pieces: &[&str]| pieces.iter().for_each(|piece| out.extend_from_slice(piece.as_bytes()));
        put(&["Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 "]);
        put(&[self.status.as_str(), " ", self.status.canonical_reason().unwrap_or_default(), "\r\n"]);
        if let Some(id) = content_id {
            put(&["Content-ID: ", id, "\r\n"]);
        }
        for (name, value) in &self.headers {
            put(&[name, ": ", value, "\r\n"]);
        }
        match &self.body {
            Some((kind, body)) => {
                put(&["Content-Type: ", kind, "\r\n\r\n"]);
                out.extend_from_slice(body);
            }
            None => put(&["\r\n"]),
        }
        out.extend_from_slice(b"\r\n");
    }
}
