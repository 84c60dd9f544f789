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
    /// Its version.
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
    /// Their version.
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

/// Get Service Properties.
#[derive(Clone, Copy, Debug)]
pub struct GetServiceProperties {
    /// The account.
    pub account: UnitId,
    /// The service.
    pub service: Service,
}

impl Operation for GetServiceProperties {
    fn need(&self) -> Need<'_> {
        const RULE: Rule = Rule::new(Action::Read, Permissions::READ).account_only();
        Need { account: self.account, service: self.service, place: Place::Service, rule: RULE }
    }
}

/// Reads the properties.
///
/// # Errors
/// The store failed.
pub async fn get(
    rows: &impl Read,
    request: &Authorized<GetServiceProperties>,
) -> Result<ServiceProperties, PropertiesError> {
    Ok(of(rows, request.account, request.service).await?)
}

/// The properties that a service acts by. No credential: it asks for itself.
///
/// # Errors
/// The store failed.
pub async fn of(rows: &impl Read, account: UnitId, service: Service) -> Result<ServiceProperties, StoreError> {
    match rows.get(&record::key(account, service)).await? {
        Some(row) => record::decode(&row),
        None => Ok(ServiceProperties::default()),
    }
}

/// Set Service Properties.
#[derive(Clone, Debug)]
pub struct SetServiceProperties {
    /// The account.
    pub account: UnitId,
    /// The service.
    pub service: Service,
    /// What changes.
    pub change: PropertiesChange,
}

impl Operation for SetServiceProperties {
    fn need(&self) -> Need<'_> {
        const RULE: Rule = Rule::new(Action::Manage, Permissions::WRITE).account_only();
        Need { account: self.account, service: self.service, place: Place::Service, rule: RULE }
    }
}

/// Changes the properties. They act on the very next request.
///
/// # Errors
/// The credential was revoked, or the store failed.
pub async fn set(txn: &Txn, request: &Authorized<SetServiceProperties>) -> Result<(), PropertiesError> {
    request.confirm(txn).await?;
    let mut properties = of(txn, request.account, request.service).await?;
    let PropertiesChange { logging, hour_metrics, minute_metrics, cors, default_service_version } =
        request.change.clone();
    properties.logging = logging.or(properties.logging);
    properties.hour_metrics = hour_metrics.or(properties.hour_metrics);
    properties.minute_metrics = minute_metrics.or(properties.minute_metrics);
    properties.cors = cors.unwrap_or(properties.cors);
    properties.default_service_version = default_service_version.or(properties.default_service_version);
    txn.put(record::key(request.account, request.service), record::encode(&properties)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use store::Scope;
    use store_memory::MemoryEngine;

    use super::*;

    const ACCOUNT: UnitId = UnitId::new(7);

    fn logging() -> Logging {
        Logging {
            version: "1.0".into(),
            delete: true,
            read: false,
            write: true,
            retention: RetentionPolicy { days: Some(7) },
        }
    }

    #[tokio::test]
    async fn what_a_change_leaves_out_stays() {
        let store = MemoryEngine::new(store_memory::ManualTime::default()).store();
        let metrics = Metrics {
            version: "1.0".into(),
            enabled: true,
            include_apis: Some(false),
            retention: RetentionPolicy::default(),
        };
        let rule = CorsRule { allowed_origins: vec!["*".into()], max_age_seconds: 5, ..CorsRule::default() };
        let changes = [
            PropertiesChange { logging: Some(logging()), ..PropertiesChange::default() },
            PropertiesChange { cors: Some(vec![rule.clone()]), ..PropertiesChange::default() },
            PropertiesChange { hour_metrics: Some(metrics.clone()), ..PropertiesChange::default() },
            PropertiesChange { default_service_version: ServiceVersion::parse("2021-12-02"), ..Default::default() },
        ];
        for change in changes {
            let request = SetServiceProperties { account: ACCOUNT, service: Service::Queue, change };
            let request = &Authorized::for_tests(request);
            store.transact(Scope::new(), |txn| async move { set(&txn, request).await }).await.unwrap();
        }
        let found = of(&store.snapshot(), ACCOUNT, Service::Queue).await.unwrap();
        let expected = ServiceProperties {
            logging: Some(logging()),
            hour_metrics: Some(metrics),
            minute_metrics: None,
            cors: vec![rule],
            default_service_version: ServiceVersion::parse("2021-12-02"),
        };
        assert_eq!(found, expected);
        let other = of(&store.snapshot(), ACCOUNT, Service::Blob).await.unwrap();
        assert_eq!(other, ServiceProperties::default());

        let change = PropertiesChange { cors: Some(Vec::new()), ..PropertiesChange::default() };
        let request =
            &Authorized::for_tests(SetServiceProperties { account: ACCOUNT, service: Service::Queue, change });
        store.transact(Scope::new(), |txn| async move { set(&txn, request).await }).await.unwrap();
        let found = of(&store.snapshot(), ACCOUNT, Service::Queue).await.unwrap();
        assert_eq!(found, ServiceProperties { cors: Vec::new(), ..expected });
    }
}
