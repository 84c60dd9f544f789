//! Settings that are set and got, and a credential that is gone by then.

use access::{
    Accounts,
    account::AccountKey,
    shared_key::{self, Scheme, SignedParts},
};
use store_memory::{ManualTime, MemoryEngine};
use types::{ServiceVersion, names::AccountName};

use super::*;
use crate::{CorsRule, Logging, Metrics, PropertiesChange, RetentionPolicy};

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
    let settings = Settings::new(MemoryEngine::new(ManualTime::default()).store());
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
        PropertiesChange { share_delete_retention: Some(RetentionPolicy { days: Some(3) }), ..Default::default() },
        PropertiesChange { smb_encryption_required: Some(true), ..Default::default() },
    ];
    for change in changes {
        let request = SetServiceProperties { account: ACCOUNT, service: Service::Queue, change };
        settings.set(&Asked::for_tests(request)).await.unwrap();
    }
    let found = settings.in_force(ACCOUNT, Service::Queue).await.unwrap();
    let expected = ServiceProperties {
        logging: Some(logging()),
        hour_metrics: Some(metrics),
        minute_metrics: None,
        cors: vec![rule],
        default_service_version: ServiceVersion::parse("2021-12-02"),
        share_delete_retention: Some(RetentionPolicy { days: Some(3) }),
        smb_encryption_required: Some(true),
    };
    assert_eq!(found, expected);
    let other = settings.in_force(ACCOUNT, Service::Blob).await.unwrap();
    assert_eq!(other, ServiceProperties::default());

    let change = PropertiesChange { cors: Some(Vec::new()), ..PropertiesChange::default() };
    let request = SetServiceProperties { account: ACCOUNT, service: Service::Queue, change };
    settings.set(&Asked::for_tests(request)).await.unwrap();
    let found = settings.in_force(ACCOUNT, Service::Queue).await.unwrap();
    assert_eq!(found, ServiceProperties { cors: Vec::new(), ..expected });
}

#[tokio::test]
async fn a_key_that_is_rotated_after_the_request_arrived_opens_nothing() {
    let store = MemoryEngine::new(ManualTime::default()).store();
    let (name, old) = (AccountName::parse("contoso").unwrap(), AccountKey::new(b"old"));
    let accounts = Accounts::open(&store, []).await.unwrap();
    accounts.add(&store, &name, std::slice::from_ref(&old)).await.unwrap();
    let account = accounts.get("contoso").unwrap();
    let now = store.wall();
    let parts = SignedParts {
        service: Service::Blob,
        method: "GET",
        raw_path: "/",
        path_style: false,
        query: &[],
        headers: &[],
        version: ServiceVersion::NEWEST,
        date: Some(now),
    };
    let signature = old.sign_base64(&shared_key::string_to_sign("contoso", Scheme::SharedKey, &parts));
    let authorization = format!("contoso:{signature}");
    let grant = shared_key::verify(&accounts, &account, Scheme::SharedKey, &authorization, &parts, now).unwrap();

    let settings = Settings::new(store.clone());
    let (unit, service) = (account.unit, Service::Blob);
    let get = grant.ask(GetServiceProperties { account: unit, service });
    let stats = grant.ask(GetServiceStats { account: unit, service });
    let change = PropertiesChange { cors: Some(vec![CorsRule::default()]), ..PropertiesChange::default() };
    let set = grant.ask(SetServiceProperties { account: unit, service, change });
    settings.get(&get).await.unwrap();
    settings.stats(&stats).await.unwrap();

    accounts.rotate_key(&store, &name, 1, &AccountKey::new(b"new")).await.unwrap();
    let refused = |result: Result<(), PropertiesError>| {
        assert!(matches!(result, Err(PropertiesError::Denied(Denied::Authentication(_)))), "{result:?}");
    };
    refused(settings.get(&get).await.map(drop));
    refused(settings.stats(&stats).await);
    refused(settings.set(&set).await);
    assert_eq!(settings.in_force(unit, service).await.unwrap(), ServiceProperties::default(), "nothing was set");
}
