//! The seam between plumbing and services: what a listener calls, and what it needs from its host.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use http::{Method, StatusCode};
use types::Timestamp;

use crate::{Commons, ErrorFormat, Load, Request, RequestId, Response, ServiceError, limits::Limits};

/// A boxed future that can cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
    /// The answer.
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
        Arc::new(Commons::new(limits.connections))
    }

    /// Called once a request, when the last byte of its answer was handed over or the client went away.
    fn observe(&self, record: &Record<'_>);
}

/// What is known of a request when it is over. Holds no header and no body.
pub struct Record<'a> {
    /// The service.
    pub service: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// The verb.
    pub method: &'a Method,
    /// Path and query as sent. **Secret:** it may hold a signature; show it with [`Record::shown_target`].
    raw_target: &'a str,
    /// The status of the answer.
    pub status: StatusCode,
    /// The code of the error, if it was one.
    pub error_code: Option<types::ErrorCode>,
    /// The id of the request.
    pub request_id: RequestId,
    /// From the arrival of the head to the last byte of the answer.
    pub duration: Duration,
    /// Declared length of the request's body.
    pub bytes_in: u64,
    /// Bytes of the answer's body.
    pub bytes_out: u64,
    /// False when the answer was not sent to its end.
    pub complete: bool,
}

impl<'a> Record<'a> {
    #[expect(clippy::too_many_arguments, reason = "the one caller has them as fields")]
    pub(crate) const fn new(
        service: &'static str,
        operation: &'static str,
        method: &'a Method,
        raw_target: &'a str,
        status: StatusCode,
        error_code: Option<types::ErrorCode>,
        request_id: RequestId,
        duration: Duration,
        bytes: (u64, u64),
        complete: bool,
    ) -> Self {
        let (bytes_in, bytes_out) = bytes;
        Self {
            service,
            operation,
            method,
            raw_target,
            status,
            error_code,
            request_id,
            duration,
            bytes_in,
            bytes_out,
            complete,
        }
    }

    /// Path and query with signatures blotted out, for people and logs.
    #[must_use]
    pub fn shown_target(&self) -> String {
        redact(self.raw_target)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("operation", &self.operation)
            .field("target", &self.shown_target())
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Replaces the value of every `sig` parameter, however its name is written.
pub(crate) fn redact(raw_target: &str) -> String {
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
