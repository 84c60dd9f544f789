//! The document of service properties, both ways.

use super::*;

const FULL: &str = "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read>\
    <Write>true</Write><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>\
    <HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs><RetentionPolicy>\
    <Enabled>false</Enabled></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>\
    <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors><CorsRule>\
    <AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>http://a,http://b</AllowedOrigins>\
    <AllowedHeaders>x-ms-*</AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds>\
    </CorsRule></Cors><DefaultServiceVersion>2021-12-02</DefaultServiceVersion>";

fn change(document: &str, service: Service) -> Result<PropertiesChange, ServiceError> {
    read(&xml::parse(document.as_bytes()).unwrap(), service)
}

#[test]
fn what_is_set_is_what_is_got() {
    let change = change(&format!("{FULL}</StorageServiceProperties>"), Service::Blob).unwrap();
    let properties = ServiceProperties {
        logging: change.logging,
        hour_metrics: change.hour_metrics,
        minute_metrics: change.minute_metrics,
        cors: change.cors.unwrap(),
        default_service_version: change.default_service_version,
        share_delete_retention: change.share_delete_retention,
        smb_encryption_required: change.smb_encryption_required,
    };
    let written = write(&properties, Service::Blob, ServiceVersion::NEWEST);
    let written = std::str::from_utf8(&written).unwrap();
    let tail = "<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy><StaticWebsite>\
        <Enabled>false</Enabled></StaticWebsite></StorageServiceProperties>";
    let expected = FULL.replace("<ExposedHeaders></ExposedHeaders>", "<ExposedHeaders />");
    let written = written.replace("<ExposedHeaders></ExposedHeaders>", "<ExposedHeaders />");
    assert!(written.ends_with(&format!("{expected}{tail}")), "{written}");
}

#[test]
fn deleted_shares_are_kept_as_the_file_service_was_told() {
    let policy = "<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></ShareDeleteRetentionPolicy>";
    let document = format!("<StorageServiceProperties>{policy}</StorageServiceProperties>");
    let share_delete_retention = change(&document, Service::File).unwrap().share_delete_retention;
    assert_eq!(share_delete_retention, Some(RetentionPolicy { days: Some(7) }));
    let properties = ServiceProperties { share_delete_retention, ..ServiceProperties::default() };
    let written = write(&properties, Service::File, ServiceVersion::NEWEST);
    assert!(std::str::from_utf8(&written).unwrap().contains(policy));
    let unset = write(&ServiceProperties::default(), Service::File, ServiceVersion::NEWEST);
    assert!(!std::str::from_utf8(&unset).unwrap().contains("ShareDelete"));
    assert!(change(&document, Service::Blob).is_err());
    assert!(change(&document.replace('7', "366"), Service::File).is_err());
}

#[test]
fn protocols_are_as_they_are() {
    let of = |smb: &str| {
        let settings = format!("<ProtocolSettings>{smb}</ProtocolSettings>");
        change(&format!("<StorageServiceProperties>{settings}</StorageServiceProperties>"), Service::File)
    };
    let table = [
        ("<SMB><Multichannel><Enabled>false</Enabled></Multichannel></SMB>", true),
        ("<SMB><Multichannel><Enabled>true</Enabled></Multichannel></SMB>", false),
        ("<SMB><EncryptionInTransit><Required>false</Required></EncryptionInTransit></SMB>", true),
        ("<SMB><EncryptionInTransit><Required>true</Required></EncryptionInTransit></SMB>", true),
        ("<SMB><EncryptionInTransit><Required>perhaps</Required></EncryptionInTransit></SMB>", false),
        ("<SMB><Other/></SMB>", false),
        ("<NFS><EncryptionInTransit><Required>false</Required></EncryptionInTransit></NFS>", false),
    ];
    for (smb, fine) in table {
        assert_eq!(of(smb).is_ok(), fine, "{smb}");
    }
    let written = write(&ServiceProperties::default(), Service::File, ServiceVersion::NEWEST);
    let written = std::str::from_utf8(&written).unwrap();
    assert!(written.contains("<SMB><Multichannel><Enabled>false</Enabled></Multichannel></SMB>"));
}

#[test]
fn an_account_says_whether_smb_clients_must_encrypt() {
    for required in [true, false] {
        let setting = format!("<EncryptionInTransit><Required>{required}</Required></EncryptionInTransit>");
        let settings = format!("<ProtocolSettings><SMB>{setting}</SMB></ProtocolSettings>");
        let document = format!("<StorageServiceProperties>{settings}</StorageServiceProperties>");
        let smb_encryption_required = change(&document, Service::File).unwrap().smb_encryption_required;
        assert_eq!(smb_encryption_required, Some(required));
        let properties = ServiceProperties { smb_encryption_required, ..ServiceProperties::default() };
        let written = |version| write(&properties, Service::File, version);
        assert!(std::str::from_utf8(&written(ServiceVersion::NEWEST)).unwrap().contains(&setting));
        assert!(!std::str::from_utf8(&written(ServiceVersion::new(2025, 11, 5))).unwrap().contains("InTransit"));
    }
}

#[test]
fn old_versions_have_their_own_names() {
    let written = write(&ServiceProperties::default(), Service::Queue, ServiceVersion::new(2012, 2, 12));
    let written = std::str::from_utf8(&written).unwrap();
    assert!(
        written.contains("<Metrics>") && !written.contains("HourMetrics") && !written.contains("Cors"),
        "{written}"
    );
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let rule = |methods: &str, origins: &str, headers: &str, age: &str| {
        format!(
            "<Cors><CorsRule><AllowedMethods>{methods}</AllowedMethods><AllowedOrigins>{origins}</AllowedOrigins>\
             <AllowedHeaders>{headers}</AllowedHeaders><ExposedHeaders/><MaxAgeInSeconds>{age}</MaxAgeInSeconds>\
             </CorsRule></Cors>"
        )
    };
    let good = rule("GET", "*", "*", "1");
    let six = format!("<Cors>{}</Cors>", good.replace("<Cors>", "").replace("</Cors>", "").repeat(6));
    let four =
        rule("GET", &"http://abcdefgh,".repeat(40), "", "1").replace("<Cors>", "").replace("</Cors>", "").repeat(4);
    let long = format!("<Cors>{four}</Cors>");
    assert!(change(&document(&good), Service::File).is_ok());
    let table = [
        (rule("FETCH", "*", "", "1"), "AllowedMethods"),
        (rule("", "*", "", "1"), "AllowedMethods"),
        (rule("GET", "", "", "1"), "AllowedOrigins"),
        (rule("GET", "*", "a*,b*,c*", "1"), "AllowedHeaders"),
        (rule("GET", "*", "", "-1"), "MaxAgeInSeconds"),
        (rule("GET", "*", "", "soon"), "MaxAgeInSeconds"),
        (six, "Cors"),
        (long, "Cors"),
        ("<Logging><Read>maybe</Read></Logging>".into(), "Delete"),
        ("<HourMetrics><Version>1.0</Version><Enabled>true</Enabled></HourMetrics>".into(), "IncludeAPIs"),
        ("<DefaultServiceVersion>now</DefaultServiceVersion>".into(), "DefaultServiceVersion"),
        (
            "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy>".into(),
            "DeleteRetentionPolicy",
        ),
        ("<Colour>blue</Colour>".into(), "Colour"),
    ];
    for (part, node) in table {
        let error = change(&document(&part), Service::Blob).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidXmlNodeValue, "{part}");
        assert_eq!(error.details.first(), Some(&("XmlNodeName", node.to_owned())), "{part}");
    }
}

fn document(part: &str) -> String {
    format!("<StorageServiceProperties>{part}</StorageServiceProperties>")
}
