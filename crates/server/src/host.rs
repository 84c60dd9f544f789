//! What the listeners take from the program: wall time, fresh ids, and the record of each request, which becomes a
//! line of the log and a few numbers.
//!
//! Invariant: no signature and no key reaches the log. A record has no headers, and its target is shown redacted.

use std::sync::Arc;

use rest::{Commons, Host, Load, Record, RequestId, limits::Limits};
use store::Engine;
use types::Timestamp;

use crate::{admin::ADMIN, front_page, metrics::Metrics, randomness::RequestIds, settings::RequestLog};

/// The host of every listener.
pub(crate) struct ServerHost {
    /// Whose clock is shown. Not of an incarnation: a listener outlives it.
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) ids: RequestIds,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) request_log: RequestLog,
    pub(crate) domains: Vec<String>,
    pub(crate) commons: Arc<Commons>,
    pub(crate) admin_commons: Arc<Commons>,
}

impl Host for ServerHost {
    fn now(&self) -> Timestamp {
        self.engine.wall()
    }

    fn request_id(&self) -> RequestId {
        self.ids.next()
    }

    fn domains(&self) -> &[String] {
        &self.domains
    }

    fn front_page(&self, service: &'static str) -> Option<String> {
        Some(front_page::text(service))
    }

    fn load(&self, service: &'static str) -> Arc<Load> {
        self.metrics.load(service)
    }

    fn commons(&self, service: &'static str, _limits: &Limits) -> Arc<Commons> {
        // The admin port answers whatever goes on at the others.
        Arc::clone(if service == ADMIN { &self.admin_commons } else { &self.commons })
    }

    fn observe(&self, record: &Record<'_>) {
        self.metrics.request(record);
        // A download that its client broke off is no failure of ours; one that we broke off says so where it happens.
        let failed = record.server_failed;
        match self.request_log {
            RequestLog::All => {}
            RequestLog::Errors if failed => {}
            _ => return,
        }
        // The level is part of the event's type, so the fields stand here twice.
        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    request_id = %record.request_id,
                    service = record.service,
                    operation = record.operation,
                    method = record.verb,
                    target = record.target.to_string(),
                    status = record.status,
                    error_code = record.error_code,
                    duration_us = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
                    bytes_in = record.bytes_in,
                    bytes_out = record.bytes_out,
                    complete = record.complete,
                    "request"
                )
            };
        }
        if failed { log!(warn) } else { log!(info) }
    }
}
