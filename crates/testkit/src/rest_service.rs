//! A REST service on the reference engine, called as a function.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use access::{Accounts, account::AccountKey, bearer::Bearer};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::Method;
use rest::{Exchange, Headers, Host, Record, RequestId, Service, dates};
use store::{Store, StoreError};
use store_memory::{ManualTime, MemoryEngine};
use types::{Timestamp, names::AccountName};

use crate::{
    Answer,
    shared_key::{ACCOUNT, KEY, authorization},
};

/// The service version of requests that name none.
pub(crate) const VERSION: &str = "2021-12-02";

/// What a service is made of.
pub struct Parts {
    /// Where the service is to keep everything.
    pub store: Store,
    /// The development account alone.
    pub accounts: Arc<Accounts>,
}

/// A service, its store and its clock.
pub struct RestService {
    /// The clock of a service on a store of its own: it moves only when it is told to.
    pub time: ManualTime,
    /// The store behind the service.
    pub store: Store,
    engine: MemoryEngine,
    exchange: Exchange,
    name: &'static str,
}

impl RestService {
    /// The service that `build` makes, on an empty store.
    ///
    /// # Errors
    /// The store failed.
    pub async fn new(build: impl FnOnce(Parts) -> Arc<dyn Service>) -> Result<Self, StoreError> {
        Self::with_tokens(Bearer::disabled(), build).await
    }

    /// The same, with issuers of bearer tokens.
    ///
    /// # Errors
    /// The store failed.
    pub async fn with_tokens(
        bearer: Bearer,
        build: impl FnOnce(Parts) -> Arc<dyn Service>,
    ) -> Result<Self, StoreError> {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        Self::on(time, engine, bearer, build).await
    }

    /// The service again, after a crash and a new start of the server.
    ///
    /// # Errors
    /// The store failed.
    pub async fn restart(&self, build: impl FnOnce(Parts) -> Arc<dyn Service>) -> Result<Self, StoreError> {
        Self::on(self.time.clone(), self.engine.restart(), Bearer::disabled(), build).await
    }

    /// The service that `build` makes, on a store that the test has made, with a clock of its own.
    ///
    /// # Errors
    /// The store failed.
    pub async fn over(store: Store, build: impl FnOnce(Parts) -> Arc<dyn Service>) -> Result<Self, StoreError> {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        Self::with(time, engine, store, Bearer::disabled(), build).await
    }

    async fn on(
        time: ManualTime,
        engine: MemoryEngine,
        bearer: Bearer,
        build: impl FnOnce(Parts) -> Arc<dyn Service>,
    ) -> Result<Self, StoreError> {
        let store = engine.store();
        Self::with(time, engine, store, bearer, build).await
    }

    async fn with(
        time: ManualTime,
        engine: MemoryEngine,
        store: Store,
        bearer: Bearer,
        build: impl FnOnce(Parts) -> Arc<dyn Service>,
    ) -> Result<Self, StoreError> {
        let key = AccountKey::new(&STANDARD.decode(KEY).unwrap_or_default());
        let configured = AccountName::parse(ACCOUNT).map(|name| (name, vec![key]));
        let accounts = Accounts::open(&store, configured).await?.with_bearer(Arc::new(bearer));
        let service = build(Parts { store: store.clone(), accounts: Arc::new(accounts) });
        let name = service.name();
        let host = Arc::new(TestHost { store: store.clone(), ids: AtomicU64::new(0) });
        Ok(Self { time, store, engine, exchange: Exchange::new(service, host), name })
    }

    /// The answer to a request that is signed with the account's key. `target` is path and query behind the account,
    /// encoded. `x-ms-version` and `x-ms-date` are added where they are not given; an empty value leaves them out.
    pub async fn call(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let target = format!("/{ACCOUNT}{target}");
        let mut headers = self.complete(headers, body);
        let authorization = authorization(self.name, method, &target, &headers);
        headers.push(("Authorization".to_owned(), authorization));
        self.raw(method, &target, &headers, body).await
    }

    /// The same without a credential; a signature may stand in the query.
    pub async fn unsigned(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.raw(method, &format!("/{ACCOUNT}{target}"), &self.complete(headers, body), body).await
    }

    /// The answer to a request with just these headers.
    pub async fn raw(&self, method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let headers: Headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);
        let answered = self.exchange.call(method, target, headers, Bytes::copy_from_slice(body), peer).await;
        Answer { status: answered.status.as_u16(), headers: answered.headers, body: answered.body }
    }

    fn complete(&self, headers: &[(&str, &str)], body: &[u8]) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let date = dates::rfc1123(self.store.wall());
        for (name, value) in [
            ("x-ms-version", VERSION.to_owned()),
            ("x-ms-date", date),
            ("Content-Length", body.len().to_string()),
            ("Host", "127.0.0.1".to_owned()),
        ] {
            match all.iter().position(|(sent, _)| sent.eq_ignore_ascii_case(name)) {
                Some(place) if all.get(place).is_some_and(|(_, value)| value.is_empty()) => drop(all.remove(place)),
                Some(_) => {}
                None => all.push((name.to_owned(), value)),
            }
        }
        all
    }
}

struct TestHost {
    store: Store,
    ids: AtomicU64,
}

impl Host for TestHost {
    fn now(&self) -> Timestamp {
        self.store.wall()
    }

    fn request_id(&self) -> RequestId {
        RequestId::new(u128::from(self.ids.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn observe(&self, _: &Record<'_>) {}
}
