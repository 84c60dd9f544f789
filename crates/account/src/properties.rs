//! The properties of a service: read whole, changed part by part. A part that a change leaves out stays as it is.

use access::{
    Authorized, Denied, Operation,
    need::{Action, Need, Permissions, Place, Rule, Service},
};
use store::{Read, StoreError, Txn};
use types::{ServiceVersion, UnitId};

use crate::{cors::CorsRule, record};

/// How long something is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// The days; `None` when it is switched off.
    pub days: Option<u32>,
}

/// Analytics logging, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The version of Storage Analytics that the setting is of.
    pub version: String,
    /// Log deletes.
    pub delete: bool,
    /// Log reads.
    pub read: bool,
    /// Log writes.
    pub write: bool,
    /// How long logs are kept.
    pub retention: RetentionPolicy,
}

/// Analytics metrics, as they were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// The version of Storage Analytics that the setting is of.
    pub version: String,
    /// Whether they are taken.
    pub enabled: bool,
    /// Whether each operation has its own.
    pub include_apis: Option<bool>,
    /// How long they are kept.
    pub retention: RetentionPolicy,
}

/// The properties of one service of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceProperties {
    /// Logging; `None` until it was set.
    pub logging: Option<Logging>,
    /// Metrics by the hour; `None` until they were set.
    pub hour_metrics: Option<Metrics>,
    /// Metrics by the minute; `None` until they were set.
    pub minute_metrics: Option<Metrics>,
    /// At most five rules.
    pub cors: Vec<CorsRule>,
    /// What a request without a version gets.
    pub default_service_version: Option<ServiceVersion>,
    /// How long deleted shares can be restored; `None` until it was set. File only.
    pub share_delete_retention: Option<RetentionPolicy>,
    /// Whether SMB clients must encrypt; `None` until it was set: then the server's setting decides. File only.
    pub smb_encryption_required: Option<bool>,
}

/// The parts that a change names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesChange {
    /// Logging.
    pub logging: Option<Logging>,
    /// Metrics by the hour.
    pub hour_metrics: Option<Metrics>,
    /// Metrics by the minute.
    pub minute_metrics: Option<Metrics>,
    /// All rules; an empty list removes them.
    pub cors: Option<Vec<CorsRule>>,
    /// What a request without a version gets.
    pub default_service_version: Option<ServiceVersion>,
    /// How long deleted shares can be restored.
    pub share_delete_retention: Option<RetentionPolicy>,
    /// Whether SMB clients must encrypt.
    pub smb_encryption_required: Option<bool>,
}

/// Why properties were not read or changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PropertiesError {
    /// The credential does not allow it.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What it takes to be told about a service as a whole.
const READ: Rule = Rule::new(Action::Read, Permissions::READ).account_only();

/// Get Service Properties.
#[derive(Clone, Copy, Debug)]
pub struct GetServiceProperties {
    /// The account whose service is asked.
    pub account: UnitId,
    /// The service that is asked.
    pub service: Service,
}

impl Operation for GetServiceProperties {
    fn need(&self) -> Need<'_> {
        Need { account: self.account, service: self.service, place: Place::Service, rule: READ }
    }
}

/// Get Service Stats.
#[derive(Clone, Copy, Debug)]
pub struct GetServiceStats {
    /// The account whose service is asked.
    pub account: UnitId,
    /// The service that is asked.
    pub service: Service,
}

impl Operation for GetServiceStats {
    fn need(&self) -> Need<'_> {
        Need { account: self.account, service: self.service, place: Place::Service, rule: READ }
    }
}

/// What an account has set for a service, or what it is without that.
pub(crate) async fn of(rows: &impl Read, account: UnitId, service: Service) -> Result<ServiceProperties, StoreError> {
    match rows.get(&record::key(account, service)).await? {
        Some(row) => record::decode(&row),
        None => Ok(ServiceProperties::default()),
    }
}

/// How many days a deleted share of the account can be restored, for the transaction that deletes it; `None` when it cannot.
///
/// # Errors
/// The store failed.
pub async fn share_retention_days(rows: &impl Read, account: UnitId) -> Result<Option<u32>, StoreError> {
    let properties = of(rows, account, Service::File).await?;
    Ok(properties.share_delete_retention.and_then(|policy| policy.days))
}

/// Whether SMB clients of the account must encrypt; `None` when the account says nothing about it.
///
/// # Errors
/// The store failed.
pub async fn smb_encryption_required(rows: &impl Read, account: UnitId) -> Result<Option<bool>, StoreError> {
    Ok(of(rows, account, Service::File).await?.smb_encryption_required)
}

/// Set Service Properties.
#[derive(Clone, Debug)]
pub struct SetServiceProperties {
    /// The account whose service is set up.
    pub account: UnitId,
    /// The service that is set up.
    pub service: Service,
    /// The parts that become different.
    pub change: PropertiesChange,
}

impl Operation for SetServiceProperties {
    fn need(&self) -> Need<'_> {
        const RULE: Rule = Rule::new(Action::Manage, Permissions::WRITE).account_only();
        Need { account: self.account, service: self.service, place: Place::Service, rule: RULE }
    }
}

/// Changes the parts that are named.
pub(crate) async fn set(txn: &Txn, request: &Authorized<'_, SetServiceProperties>) -> Result<(), PropertiesError> {
    let mut properties = of(txn, request.account, request.service).await?;
    let PropertiesChange {
        logging,
        hour_metrics,
        minute_metrics,
        cors,
        default_service_version,
        share_delete_retention,
        smb_encryption_required,
    } = request.change.clone();
    properties.logging = logging.or(properties.logging);
    properties.hour_metrics = hour_metrics.or(properties.hour_metrics);
    properties.minute_metrics = minute_metrics.or(properties.minute_metrics);
    properties.cors = cors.unwrap_or(properties.cors);
    properties.default_service_version = default_service_version.or(properties.default_service_version);
    properties.share_delete_retention = share_delete_retention.or(properties.share_delete_retention);
    properties.smb_encryption_required = smb_encryption_required.or(properties.smb_encryption_required);
    txn.put(record::key(request.account, request.service), record::encode(&properties));
    Ok(())
}
