//! The stored row of service properties, apart from what it is read into: its key, and conversions from and to bytes by
//! [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes are in
//! `testdata/rows.tsv`.
//!
//! Rows of version 1 have postcard behind their version. They are read for ever and written no more (`record/postcard.rs`).

mod postcard;

use access::need::Service;
use bytes::Bytes;
use store::{
    StoreError,
    key::KeyBuilder,
    record::{Reader, Writer},
    space::Space,
};
use types::{ServiceVersion, UnitId};

use crate::{
    cors::CorsRule,
    properties::{Logging, Metrics, RetentionPolicy, ServiceProperties},
};

/// `(account, service)`: pinned for ever, beside the kinds of `access` in the same space.
const SERVICE_PROPERTIES: u8 = 0x10;
/// The newest version, and the last one in postcard.
const VERSION: u8 = 4;
/// Since then there is a retention of deleted shares.
const WITH_SHARES: u8 = 3;
/// Since then an account can say whether SMB clients must encrypt.
const WITH_SMB: u8 = 4;
const POSTCARD: u8 = 1;
const ROW: &str = "the row of service properties";

pub(crate) fn key(account: UnitId, service: Service) -> Bytes {
    KeyBuilder::new(Space::Account, SERVICE_PROPERTIES).number(account.number()).number(service.ordinal()).build()
}

pub(crate) fn encode(properties: &ServiceProperties) -> Bytes {
    let ServiceProperties {
        logging,
        hour_metrics,
        minute_metrics,
        cors,
        default_service_version,
        share_delete_retention,
        smb_encryption_required,
    } = properties;
    let writer = Writer::new(VERSION)
        .optional(logging.as_ref(), put_logging)
        .optional(hour_metrics.as_ref(), put_metrics)
        .optional(minute_metrics.as_ref(), put_metrics)
        .count(cors.len());
    let writer = cors.iter().fold(writer, put_rule);
    writer
        .optional(default_service_version.as_ref(), |writer, version| writer.text(&version.to_string()))
        .optional(*share_delete_retention, |writer, policy| writer.optional(policy.days, Writer::small))
        .optional(*smb_encryption_required, Writer::flag)
        .build()
}

pub(crate) fn decode(row: &[u8]) -> Result<ServiceProperties, StoreError> {
    if let Some((&POSTCARD, record)) = row.split_first() {
        return postcard::decode(record).ok_or_else(|| StoreError::corrupt(ROW));
    }
    let mut reader = Reader::since(ROW, row, POSTCARD + 1, VERSION)?;
    let logging = reader.optional(logging)?;
    let (hour_metrics, minute_metrics) = (reader.optional(metrics)?, reader.optional(metrics)?);
    let mut cors = Vec::new();
    for _ in 0..reader.small()? {
        cors.push(rule(&mut reader)?);
    }
    let default_service_version = reader.optional(Reader::text)?.and_then(ServiceVersion::parse);
    let share_delete_retention = if reader.version() >= WITH_SHARES { reader.optional(retention)? } else { None };
    let smb_encryption_required = if reader.version() >= WITH_SMB { reader.optional(Reader::flag)? } else { None };
    reader.end()?;
    Ok(ServiceProperties {
        logging,
        hour_metrics,
        minute_metrics,
        cors,
        default_service_version,
        share_delete_retention,
        smb_encryption_required,
    })
}

fn put_logging(writer: Writer, logging: &Logging) -> Writer {
    let writer = writer.text(&logging.version).flag(logging.delete).flag(logging.read).flag(logging.write);
    writer.optional(logging.retention.days, Writer::small)
}

fn logging(reader: &mut Reader<'_>) -> Result<Logging, StoreError> {
    Ok(Logging {
        version: reader.text()?.to_owned(),
        delete: reader.flag()?,
        read: reader.flag()?,
        write: reader.flag()?,
        retention: retention(reader)?,
    })
}

fn put_metrics(writer: Writer, metrics: &Metrics) -> Writer {
    let writer = writer.text(&metrics.version).flag(metrics.enabled).optional(metrics.include_apis, Writer::flag);
    writer.optional(metrics.retention.days, Writer::small)
}

fn metrics(reader: &mut Reader<'_>) -> Result<Metrics, StoreError> {
    Ok(Metrics {
        version: reader.text()?.to_owned(),
        enabled: reader.flag()?,
        include_apis: reader.optional(Reader::flag)?,
        retention: retention(reader)?,
    })
}

fn retention(reader: &mut Reader<'_>) -> Result<RetentionPolicy, StoreError> {
    Ok(RetentionPolicy { days: reader.optional(Reader::small)? })
}

fn put_rule(writer: Writer, rule: &CorsRule) -> Writer {
    let lists = [&rule.allowed_origins, &rule.allowed_methods, &rule.allowed_headers, &rule.exposed_headers];
    let writer = lists
        .into_iter()
        .fold(writer, |writer, list| list.iter().fold(writer.count(list.len()), |writer, text| writer.text(text)));
    writer.small(rule.max_age_seconds)
}

fn rule(reader: &mut Reader<'_>) -> Result<CorsRule, StoreError> {
    Ok(CorsRule {
        allowed_origins: texts(reader)?,
        allowed_methods: texts(reader)?,
        allowed_headers: texts(reader)?,
        exposed_headers: texts(reader)?,
        max_age_seconds: reader.small()?,
    })
}

fn texts(reader: &mut Reader<'_>) -> Result<Vec<String>, StoreError> {
    let mut texts = Vec::new();
    for _ in 0..reader.small()? {
        texts.push(reader.text()?.to_owned());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests;
