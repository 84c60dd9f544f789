//! The admin port: is it alive, is it ready, what does it count; a backup and changes of accounts while it serves.
//!
//! Reads are open to whoever reaches the port, which is this machine unless the configuration says otherwise. What acts
//! needs the token of the admin note, which only who can read the data directory knows, and a connection from here.

mod accounts;
mod backup;

use std::sync::Arc;

use access::Accounts;
use bytes::Bytes;
use file::opens::Opens;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use net::Shutdown;
use rest::{BoxFuture, Known, Outcome, Request, Response, ResponseBody, Service, ServiceError};
use store::Store;
use types::ErrorCode;

pub(crate) use accounts::list as list_accounts;
pub(crate) use backup::Backups;

use crate::{engine::Opened, metrics::Metrics};

/// The name of the service.
pub(crate) const ADMIN: &str = "admin";
/// The header that carries the token of the admin note.
pub(crate) const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-lazuli-token");
/// Where accounts are listed, added, removed and given other keys.
pub(crate) const ACCOUNTS_PATH: &str = "/admin/accounts";
/// Where the keys of an account are read.
pub(crate) const KEYS_PATH: &str = "/admin/accounts/keys";
/// Where a backup is asked for.
pub(crate) const BACKUP_PATH: &str = "/admin/backup";

/// The service behind the admin port.
pub(crate) struct Admin {
    pub(crate) opened: Opened,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) token: String,
    pub(crate) shutdown: Shutdown,
    pub(crate) backups: Backups,
    pub(crate) store: Store,
    pub(crate) opens: Opens,
    pub(crate) accounts: Arc<Accounts>,
}

impl Service for Admin {
    fn name(&self) -> &'static str {
        ADMIN
    }

    fn call(&self, mut request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (operation, result) = match &*request.target.raw_path {
                ACCOUNTS_PATH | KEYS_PATH => ("Accounts", self.change_accounts(&mut request).await),
                _ => self.answer(&request),
            };
            Outcome::new(operation, result)
        })
    }
}

impl Admin {
    fn answer(&self, request: &Request) -> (&'static str, Result<Response, ServiceError>) {
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        match &*request.target.raw_path {
            "/healthz" if reads => ("Health", Ok(text(StatusCode::OK, "ok\n".into()))),
            "/readyz" if reads => ("Ready", Ok(self.ready())),
            "/metrics" if reads => ("Metrics", Ok(metrics(self.metrics.render(&self.opened, self.opens.census())))),
            BACKUP_PATH if request.method == Method::POST => ("Backup", self.backup(request)),
            "/healthz" | "/readyz" | "/metrics" | BACKUP_PATH => ("Unknown", Err(ServiceError::unsupported_verb())),
            _ => ("Unknown", Err(ServiceError::new(ErrorCode::ResourceNotFound, "There is nothing here."))),
        }
    }

    fn ready(&self) -> Response {
        let reason = if self.shutdown.is_requested() {
            Some("the server is stopping".to_owned())
        } else {
            self.opened.refusal()
        };
        match reason {
            None => text(StatusCode::OK, "ready\n".into()),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        }
    }

    async fn change_accounts(&self, request: &mut Request) -> Result<Response, ServiceError> {
        let known = self.trusted(request)?;
        accounts::answer(&self.store, &self.accounts, request, known).await
    }

    fn backup(&self, request: &Request) -> Result<Response, ServiceError> {
        self.trusted(request)?;
        let Some(to) = request.target.query.get("to") else { return Err(ServiceError::missing_query("to")) };
        self.backups.start(&self.opened, to)
    }

    /// Whoever acts is on this machine, and can read the data directory.
    fn trusted(&self, request: &Request) -> Result<Known, ServiceError> {
        let refused = |message| Err(ServiceError::new(ErrorCode::AuthorizationFailure, message));
        if !request.peer.ip().to_canonical().is_loopback() {
            return refused("This is asked for on the machine itself.");
        }
        let token = request.headers.get(TOKEN_HEADER).map_or(&[][..], rest::headers::Value::as_bytes);
        let known = Known::by_token(token, self.token.as_bytes());
        known.map_or_else(|| refused("The token of the admin note is missing or wrong."), Ok)
    }
}

fn text(status: StatusCode, text: String) -> Response {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Response::new(status).body(plain, ResponseBody::bytes(Bytes::from(text)))
}

fn metrics(exposition: String) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Response::new(StatusCode::OK).body(kind, ResponseBody::bytes(Bytes::from(exposition)))
}
