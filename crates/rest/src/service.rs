//! The seam between plumbing and services: what a listener calls, and what it needs from its host.

use std::{fmt, sync::Arc, time::Duration};

use types::Timestamp;

use crate::{
    BoxFuture, Commons, ErrorFormat, Load, Record, Request, RequestId, Response, ServiceError, limits::Limits,
};

/// One service behind a port.
pub trait Service: Send + Sync + 'static {
    /// Its name in logs and metrics: `blob`.
    fn name(&self) -> &'static str;

    /// Answers a request. The future is dropped when the client goes away, or when the `timeout` that it asked for is
    /// over; what it was about to write may or may not be written then.
    fn call(&self, request: Request) -> BoxFuture<'_, Outcome>;

    /// How failures look that no handler has seen. A response can say otherwise for itself.
    fn error_format(&self) -> ErrorFormat {
        ErrorFormat::Xml
    }

    /// The longest `timeout` that a client can ask for; a longer one is taken for this.
    fn longest_timeout(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// The answer to a request, and which operation it turned out to be.
#[derive(Debug)]
pub struct Outcome {
    /// What the client is sent.
    pub response: Response,
    /// The operation's name in logs and metrics, such as `PutBlob`; `Unknown` before it was found out.
    pub operation: &'static str,
}

impl Outcome {
    /// The outcome of an operation.
    #[must_use]
    pub fn new(operation: &'static str, result: Result<Response, ServiceError>) -> Self {
        Self { response: result.unwrap_or_else(Response::from), operation }
    }
}

/// What a listener takes from its surroundings: time, fresh ids, and somebody who writes down what happened.
pub trait Host: Send + Sync + 'static {
    /// Wall time: what answers are dated with, and what the dates of credentials are measured by.
    fn now(&self) -> Timestamp;

    /// An id that no other request has.
    fn request_id(&self) -> RequestId;

    /// Further domains behind which accounts are found: `example.com` makes `account.blob.example.com` an address.
    fn domains(&self) -> &[String] {
        &[]
    }

    /// What stands at `/` of a service for people: where no account is named, by no client of the service.
    fn front_page(&self, _service: &'static str) -> Option<String> {
        None
    }

    /// Where a service counts its connections and requests.
    fn load(&self, _service: &'static str) -> Arc<Load> {
        Arc::default()
    }

    /// What a service shares with the others of the process.
    fn commons(&self, _service: &'static str, limits: &Limits) -> Arc<Commons> {
        Arc::new(Commons::new(Arc::new(net::Commons::new(limits.net.connections))))
    }

    /// Called once a request, when the last byte of its answer was handed over or the client went away.
    fn observe(&self, record: &Record<'_>);
}

/// A target as people and logs see it: path and query with signatures blotted out.
pub(crate) struct Redacted<'a>(pub(crate) &'a str);

impl fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(self.0))
    }
}

/// Replaces the value of every `sig` parameter, however its name is written.
fn redact(raw_target: &str) -> String {
    let Some((path, query)) = raw_target.split_once('?') else { return blot(raw_target) };
    let shown = query.split('&').map(|pair| {
        let (name, _) = pair.split_once('=').unwrap_or((pair, ""));
        // An encoded name could hide the word.
        let decoded = crate::percent::decode(name);
        let secret = decoded.is_none_or(|name| name.eq_ignore_ascii_case("sig"));
        if secret { format!("{name}=REDACTED") } else { blot(pair) }
    });
    format!("{}?{}", blot(path), shown.collect::<Vec<_>>().join("&"))
}

/// Replaces a signature where there should be none: in a URL that was escaped once too often (`%3Fsig%3D`, `&amp;sig=`) it
/// is a signature all the same.
fn blot(part: &str) -> String {
    let lower = part.to_ascii_lowercase();
    let begin = ["sig=", "sig%"].iter().filter_map(|word| lower.find(word)).min();
    let before = begin.and_then(|begin| part.get(..begin));
    before.map_or_else(|| part.to_owned(), |before| format!("{before}sig=REDACTED"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_never_show() {
        let table = [
            ("/a/c", "/a/c"),
            ("/a/c?comp=list", "/a/c?comp=list"),
            ("/a/c?sv=1&sig=abc%3D&se=2", "/a/c?sv=1&sig=REDACTED&se=2"),
            ("/a?SIG=abc", "/a?SIG=REDACTED"),
            ("/a?s%69g=abc", "/a?s%69g=REDACTED"),
            ("/a?s%zz=abc", "/a?s%zz=REDACTED"),
            ("/a?sig", "/a?sig=REDACTED"),
            ("/a?signature=x&design=y", "/a?signature=x&design=y"),
            ("/a?sv=1&amp;sig=abc&amp;se=2", "/a?sv=1&amp;sig=REDACTED&amp;se=2"),
            ("/a?sv=1;SIG=abc", "/a?sv=1;sig=REDACTED"),
            ("/a?sv%3D1%26sig%3Dabc", "/a?sv%3D1%26sig=REDACTED"),
            ("/a/c%3Fsv%3D1%26Sig%3Dabc?sig=d", "/a/c%3Fsv%3D1%26sig=REDACTED?sig=REDACTED"),
            ("/a/c/sig=abc", "/a/c/sig=REDACTED"),
        ];
        for (raw, shown) in table {
            assert_eq!(redact(raw), shown);
        }
    }
}
