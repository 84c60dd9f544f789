//! The stored record of service properties. It begins with its format; a new format is a new struct and a conversion.

use access::need::Service;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{StoreError, key::KeyBuilder, space::Space};
use types::{ServiceVersion, UnitId};

use crate::{
    cors::CorsRule,
    properties::{Logging, Metrics, RetentionPolicy, ServiceProperties},
};

/// `(account, service)`: pinned for ever, beside the kinds of `access` in the same space.
const SERVICE_PROPERTIES: u8 = 0x10;
/// The first format, which had no retention of deleted shares.
const WITHOUT_SHARES: u8 = 1;
const FORMAT: u8 = 2;

pub(crate) fn key(account: UnitId, service: Service) -> Bytes {
    KeyBuilder::new(Space::Account, SERVICE_PROPERTIES).number(account.number()).number(service.ordinal()).build()
}

#[derive(Serialize, Deserialize)]
struct PropertiesRecord {
    logging: Option<LoggingRecord>,
    hour_metrics: Option<MetricsRecord>,
    minute_metrics: Option<MetricsRecord>,
    cors: Vec<CorsRecord>,
    default_service_version: Option<String>,
}

/// What follows the record of the first format since the second.
#[derive(Serialize, Deserialize)]
struct SharesRecord {
    /// `Some(None)` when it was switched off.
    delete_retention_days: Option<Option<u32>>,
}

#[derive(Serialize, Deserialize)]
struct LoggingRecord {
    version: String,
    delete: bool,
    read: bool,
    write: bool,
    retention_days: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct MetricsRecord {
    version: String,
    enabled: bool,
    include_apis: Option<bool>,
    retention_days: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct CorsRecord {
    allowed_origins: Vec<String>,
    allowed_methods: Vec<String>,
    allowed_headers: Vec<String>,
    exposed_headers: Vec<String>,
    max_age_seconds: u32,
}

pub(crate) fn encode(properties: &ServiceProperties) -> Result<Bytes, StoreError> {
    let ServiceProperties {
        logging,
        hour_metrics,
        minute_metrics,
        cors,
        default_service_version,
        share_delete_retention,
    } = properties;
    let record = PropertiesRecord {
        logging: logging.as_ref().map(|logging| LoggingRecord {
            version: logging.version.clone(),
            delete: logging.delete,
            read: logging.read,
            write: logging.write,
            retention_days: logging.retention.days,
        }),
        hour_metrics: hour_metrics.as_ref().map(metrics_record),
        minute_metrics: minute_metrics.as_ref().map(metrics_record),
        cors: cors.iter().map(cors_record).collect(),
        default_service_version: default_service_version.map(|version| version.to_string()),
    };
    let shares = SharesRecord { delete_retention_days: share_delete_retention.map(|policy| policy.days) };
    let encoded = postcard::to_extend(&record, vec![FORMAT]);
    let encoded = encoded.and_then(|encoded| postcard::to_extend(&shares, encoded));
    encoded.map(Bytes::from).map_err(|error| StoreError::corrupt(format!("a record cannot be written: {error}")))
}

pub(crate) fn decode(row: &[u8]) -> Result<ServiceProperties, StoreError> {
    let malformed = || StoreError::corrupt("the row of service properties");
    let Some((format @ &(WITHOUT_SHARES | FORMAT), record)) = row.split_first() else { return Err(malformed()) };
    let (record, rest): (PropertiesRecord, _) = postcard::take_from_bytes(record).map_err(|_| malformed())?;
    let share_delete_retention = if *format == WITHOUT_SHARES {
        None
    } else {
        let shares: SharesRecord = postcard::from_bytes(rest).map_err(|_| malformed())?;
        shares.delete_retention_days.map(|days| RetentionPolicy { days })
    };
    Ok(ServiceProperties {
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
        share_delete_retention,
    })
}

fn metrics_record(metrics: &Metrics) -> MetricsRecord {
    MetricsRecord {
        version: metrics.version.clone(),
        enabled: metrics.enabled,
        include_apis: metrics.include_apis,
        retention_days: metrics.retention.days,
    }
}

fn metrics(record: MetricsRecord) -> Metrics {
    Metrics {
        version: record.version,
        enabled: record.enabled,
        include_apis: record.include_apis,
        retention: RetentionPolicy { days: record.retention_days },
    }
}

fn cors_record(rule: &CorsRule) -> CorsRecord {
    CorsRecord {
        allowed_origins: rule.allowed_origins.clone(),
        allowed_methods: rule.allowed_methods.clone(),
        allowed_headers: rule.allowed_headers.clone(),
        exposed_headers: rule.exposed_headers.clone(),
        max_age_seconds: rule.max_age_seconds,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_first_format_is_read() {
        let old = [1, 0, 0, 0, 0, 0];
        assert_eq!(decode(&old).unwrap(), ServiceProperties::default());
        let kept = [None, Some(RetentionPolicy { days: None }), Some(RetentionPolicy { days: Some(7) })];
        for share_delete_retention in kept {
            let properties = ServiceProperties { share_delete_retention, ..ServiceProperties::default() };
            assert_eq!(decode(&encode(&properties).unwrap()).unwrap(), properties);
        }
        assert!(decode(&[3, 0, 0, 0, 0, 0]).is_err(), "a format of the future");
    }
}
