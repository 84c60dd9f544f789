//! Golden bytes: what is in `testdata/rows.tsv` is in data directories. A line may be added, and never changed.

use store::golden::Golden;

use super::*;

fn metrics(include_apis: Option<bool>, days: Option<u32>) -> Metrics {
    Metrics { version: "1.0".to_owned(), enabled: true, include_apis, retention: RetentionPolicy { days } }
}

fn full() -> ServiceProperties {
    let list = |text: &str| text.split(',').map(str::to_owned).collect();
    let logging = Logging {
        version: "1.0".to_owned(),
        delete: true,
        read: false,
        write: true,
        retention: RetentionPolicy { days: Some(300) },
    };
    let rule = CorsRule {
        allowed_origins: list("http://a,*"),
        allowed_methods: list("GET,PUT"),
        allowed_headers: list("x-ms-*"),
        exposed_headers: Vec::new(),
        max_age_seconds: 258,
    };
    ServiceProperties {
        logging: Some(logging),
        hour_metrics: Some(metrics(Some(false), None)),
        minute_metrics: Some(metrics(None, Some(7))),
        cors: vec![rule, CorsRule::default()],
        default_service_version: ServiceVersion::parse("2021-12-02"),
        share_delete_retention: None,
        smb_encryption_required: None,
    }
}

#[test]
fn rows_are_written_and_read_as_the_golden_bytes() {
    let mut golden = Golden::new(include_str!("../../testdata/rows.tsv"));
    for (name, service) in
        [("blob", Service::Blob), ("queue", Service::Queue), ("table", Service::Table), ("file", Service::File)]
    {
        golden.check(&format!("key of {name}"), &key(UnitId::new(0x0102_0304_0506_0708), service));
    }
    let empty = ServiceProperties::default();
    let shares = |days| ServiceProperties { share_delete_retention: Some(RetentionPolicy { days }), ..full() };
    let smb = |required| ServiceProperties { smb_encryption_required: Some(required), ..shares(Some(7)) };
    golden.round_trip("service properties 4, none set", &encode(&empty), decode, &empty);
    golden.round_trip("service properties 4", &encode(&smb(true)), decode, &smb(true));
    golden.round_trip("service properties 4, not required", &encode(&smb(false)), decode, &smb(false));
    // Written no more, and read for ever.
    for (name, back) in [
        ("service properties 1, none set", &empty),
        ("service properties 1", &full()),
        ("service properties 2, none set", &empty),
        ("service properties 2", &full()),
        ("service properties 3, none set", &empty),
        ("service properties 3", &shares(Some(7))),
        ("service properties 3, shares not kept", &shares(None)),
    ] {
        assert_eq!(decode(&golden.bytes(name)).unwrap(), *back, "{name}");
    }
    golden.finish();
}

#[test]
fn a_version_of_the_future_and_half_a_row_are_refused() {
    let row = encode(&full());
    for length in 0..row.len() {
        assert!(decode(&row[..length]).is_err(), "{length}");
    }
    let future = decode(&[5, 0]).unwrap_err().to_string();
    assert!(future.contains("service properties has version 5, and this build reads versions up to 4"), "{future}");
}
