//! Version 1 of the row, which had postcard behind its version: only its reader is left.

use serde::Deserialize;
use types::ServiceVersion;

use crate::{
    cors::CorsRule,
    properties::{Logging, Metrics, RetentionPolicy, ServiceProperties},
};

#[derive(Deserialize)]
struct PropertiesRecord {
    logging: Option<LoggingRecord>,
    hour_metrics: Option<MetricsRecord>,
    minute_metrics: Option<MetricsRecord>,
    cors: Vec<CorsRecord>,
    default_service_version: Option<String>,
}

#[derive(Deserialize)]
struct LoggingRecord {
    version: String,
    delete: bool,
    read: bool,
    write: bool,
    retention_days: Option<u32>,
}

#[derive(Deserialize)]
struct MetricsRecord {
    version: String,
    enabled: bool,
    include_apis: Option<bool>,
    retention_days: Option<u32>,
}

#[derive(Deserialize)]
struct CorsRecord {
    allowed_origins: Vec<String>,
    allowed_methods: Vec<String>,
    allowed_headers: Vec<String>,
    exposed_headers: Vec<String>,
    max_age_seconds: u32,
}

pub(super) fn decode(record: &[u8]) -> Option<ServiceProperties> {
    let record: PropertiesRecord = ::postcard::from_bytes(record).ok()?;
    Some(ServiceProperties {
        logging: record.logging.map(|record| Logging {
            version: record.version,
            delete: record.delete,
            read: record.read,
            write: record.write,
            retention: RetentionPolicy { days: record.retention_days },
        }),
        hour_metrics: record.hour_metrics.map(metrics),
        minute_metrics: record.minute_metrics.map(metrics),
        cors: record.cors.into_iter().map(cors_rule).collect(),
        default_service_version: record.default_service_version.as_deref().and_then(ServiceVersion::parse),
        share_delete_retention: None,
        smb_encryption_required: None,
    })
}

fn metrics(record: MetricsRecord) -> Metrics {
    Metrics {
        version: record.version,
        enabled: record.enabled,
        include_apis: record.include_apis,
        retention: RetentionPolicy { days: record.retention_days },
    }
}

fn cors_rule(record: CorsRecord) -> CorsRule {
    CorsRule {
        allowed_origins: record.allowed_origins,
        allowed_methods: record.allowed_methods,
        allowed_headers: record.allowed_headers,
        exposed_headers: record.exposed_headers,
        max_age_seconds: record.max_age_seconds,
    }
}
