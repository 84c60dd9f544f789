//! Whoever can be asked: a service in this process, or a server behind a socket.

use std::sync::Arc;

use crate::{Answer, RestService};

/// A request to an account, before it is signed.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The HTTP verb.
    pub method: &'static str,
    /// Path and query behind the account, encoded.
    pub target: String,
    /// Headers besides those that every request has.
    pub headers: Vec<(&'static str, String)>,
    /// Empty for none.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), ..Self::default() }
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// One client: it makes one request at a time.
pub trait Client: Send + 'static {
    /// The answer; `None` when nobody knows what became of the request.
    fn call(&mut self, request: &Request) -> impl Future<Output = Option<Answer>> + Send;
}

/// A client of a service in this process.
#[derive(Clone)]
pub struct InProcess(pub Arc<RestService>);

impl Client for InProcess {
    async fn call(&mut self, request: &Request) -> Option<Answer> {
        let headers: Vec<(&str, &str)> = request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Some(self.0.call(request.method, &request.target, &headers, &request.body).await)
    }
}
