//! An answer as tests look at it.

use std::fmt;

use bytes::Bytes;
use rest::Headers;

/// What came back.
pub struct Answer {
    /// As a number: tables are written in numbers.
    pub status: u16,
    /// All headers, those of every answer too.
    pub headers: Headers,
    /// The whole body.
    pub body: Bytes,
}

impl Answer {
    /// The value of a header; empty when it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Whether there is such a header.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.headers.get(name).is_some()
    }

    /// The code of an error; empty without one.
    #[must_use]
    pub fn code(&self) -> &str {
        self.header("x-ms-error-code")
    }

    /// Status and code, the two that tables name.
    #[must_use]
    pub fn verdict(&self) -> (u16, &str) {
        (self.status, self.code())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of the first element of this name in a flat XML document.
    #[must_use]
    pub fn element(&self, name: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in self.headers.iter() {
            writeln!(f, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        write!(f, "\n{}", self.text())
    }
}
