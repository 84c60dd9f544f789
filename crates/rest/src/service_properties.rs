//! The documents about a service as a whole: Get and Set Service Properties, Get Service Stats, Get Account Information.
//! The four services share them.

use access::need::Service;
use account::{
    CorsRule, GetServiceProperties, GetServiceStats, Logging, Metrics, PropertiesChange, PropertiesError,
    RetentionPolicy, ServiceProperties, SetServiceProperties, Settings,
};
use http::{HeaderName, StatusCode};
use types::{ErrorCode, ServiceVersion};

use crate::{
    Caller, Request, Response, ServiceError, caller, dates,
    xml::{self, Element, XmlWriter},
};

/// Largest document that is read.
const MAX_BYTES: usize = 64 * 1024;
const CORS_RULES_MAX: usize = 5;
const CORS_MAX_BYTES: usize = 2 * 1024;
const CORS_ORIGINS_MAX: usize = 64;
const CORS_NAME_MAX: usize = 256;
const CORS_LITERALS_MAX: usize = 64;
const CORS_PREFIXES_MAX: usize = 2;
const RETENTION_DAYS_MAX: u32 = 365;
const METHODS: &[&str] = &["DELETE", "GET", "HEAD", "MERGE", "OPTIONS", "PATCH", "POST", "PUT"];
const ANALYTICS_VERSION: &str = "1.0";

/// Get Service Properties.
///
/// # Errors
/// The caller may not, or the store failed.
pub async fn get(settings: &Settings, service: Service, caller: &Caller) -> Result<Response, ServiceError> {
    let asked = caller.ask(GetServiceProperties { account: caller.unit(), service });
    let found = settings.get(&asked).await.map_err(|error| failed(&error, caller))?;
    Ok(Response::new(StatusCode::OK).xml(write(&found, service, caller.version)))
}

/// Set Service Properties.
///
/// # Errors
/// The document is not one, the caller may not, or the store failed.
pub async fn set(
    settings: &Settings,
    service: Service,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let body = request.body.collect(caller.known()?, MAX_BYTES).await?;
    let change = read(&xml::parse(&body)?, service)?;
    let asked = caller.ask(SetServiceProperties { account: caller.unit(), service, change });
    settings.set(&asked).await.map_err(|error| failed(&error, caller))?;
    Ok(Response::new(StatusCode::ACCEPTED))
}

/// Get Service Stats: there is one copy, and it is always current. The secondary location is where it is asked for.
///
/// # Errors
/// The caller may not, or asks the primary location.
pub async fn stats(
    settings: &Settings,
    service: Service,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(GetServiceStats { account: caller.unit(), service });
    settings.stats(&asked).await.map_err(|error| failed(&error, caller))?;
    if !request.target.secondary {
        return Err(ServiceError::invalid_query("comp", "stats", "the secondary location tells it"));
    }
    let mut xml = XmlWriter::document();
    xml.open("StorageServiceStats");
    xml.open("GeoReplication");
    xml.element("Status", "live");
    xml.element("LastSyncTime", &dates::rfc1123(request.received_at));
    xml.close("GeoReplication");
    xml.close("StorageServiceStats");
    Ok(Response::new(StatusCode::OK).xml(xml.finish()))
}

/// Get Account Information: what kind of account it is.
#[must_use]
pub fn account_information() -> Response {
    Response::new(StatusCode::OK)
        .text_header(HeaderName::from_static("x-ms-sku-name"), "Standard_LRS")
        .text_header(HeaderName::from_static("x-ms-account-kind"), "StorageV2")
        .text_header(HeaderName::from_static("x-ms-is-hns-enabled"), "false")
}

fn failed(error: &PropertiesError, caller: &Caller) -> ServiceError {
    match error {
        PropertiesError::Denied(denied) => caller.explain(caller::denied_answer(denied)),
        PropertiesError::Store(error) => ServiceError::from_store(error),
    }
}

fn write(found: &ServiceProperties, service: Service, version: ServiceVersion) -> bytes::Bytes {
    let mut xml = XmlWriter::document();
    xml.open("StorageServiceProperties");
    if service != Service::File {
        write_logging(&mut xml, found.logging.as_ref());
    }
    // Metrics by the minute, CORS and the name HourMetrics came with 2013-08-15.
    if version.at_least(2013, 8, 15) {
        write_metrics(&mut xml, "HourMetrics", found.hour_metrics.as_ref());
        write_metrics(&mut xml, "MinuteMetrics", found.minute_metrics.as_ref());
        write_cors(&mut xml, &found.cors);
    } else {
        write_metrics(&mut xml, "Metrics", found.hour_metrics.as_ref());
    }
    if let Some(version) = found.default_service_version {
        xml.element("DefaultServiceVersion", &version.to_string());
    }
    if service == Service::Blob && version.at_least(2017, 7, 29) {
        xml.open("DeleteRetentionPolicy");
        xml.element("Enabled", "false");
        xml.close("DeleteRetentionPolicy");
    }
    if service == Service::Blob && version.at_least(2018, 3, 28) {
        xml.open("StaticWebsite");
        xml.element("Enabled", "false");
        xml.close("StaticWebsite");
    }
    if service == Service::File && found.share_delete_retention.is_some() {
        write_policy(&mut xml, "ShareDeleteRetentionPolicy", found.share_delete_retention);
    }
    if service == Service::File && version.at_least(2020, 2, 10) {
        write_protocols(&mut xml, found, version);
    }
    xml.close("StorageServiceProperties");
    xml.finish()
}

/// What SMB does: one connection a session, and whether a client must encrypt, where the account says so.
fn write_protocols(xml: &mut XmlWriter, found: &ServiceProperties, version: ServiceVersion) {
    xml.open("ProtocolSettings");
    xml.open("SMB");
    xml.open("Multichannel");
    xml.element("Enabled", "false");
    xml.close("Multichannel");
    if let Some(required) = found.smb_encryption_required.filter(|_| version.at_least(2026, 2, 6)) {
        xml.open("EncryptionInTransit");
        xml.element("Required", boolean(required));
        xml.close("EncryptionInTransit");
    }
    xml.close("SMB");
    xml.close("ProtocolSettings");
}

fn write_logging(xml: &mut XmlWriter, logging: Option<&Logging>) {
    xml.open("Logging");
    xml.element("Version", logging.map_or(ANALYTICS_VERSION, |logging| &logging.version));
    xml.element("Delete", boolean(logging.is_some_and(|logging| logging.delete)));
    xml.element("Read", boolean(logging.is_some_and(|logging| logging.read)));
    xml.element("Write", boolean(logging.is_some_and(|logging| logging.write)));
    write_retention(xml, logging.map(|logging| logging.retention));
    xml.close("Logging");
}

fn write_metrics(xml: &mut XmlWriter, name: &str, metrics: Option<&Metrics>) {
    xml.open(name);
    xml.element("Version", metrics.map_or(ANALYTICS_VERSION, |metrics| &metrics.version));
    xml.element("Enabled", boolean(metrics.is_some_and(|metrics| metrics.enabled)));
    xml.optional("IncludeAPIs", metrics.and_then(|metrics| metrics.include_apis).map(boolean));
    write_retention(xml, metrics.map(|metrics| metrics.retention));
    xml.close(name);
}

fn write_retention(xml: &mut XmlWriter, retention: Option<RetentionPolicy>) {
    write_policy(xml, "RetentionPolicy", retention);
}

fn write_policy(xml: &mut XmlWriter, name: &str, retention: Option<RetentionPolicy>) {
    let days = retention.and_then(|retention| retention.days);
    xml.open(name);
    xml.element("Enabled", boolean(days.is_some()));
    xml.optional("Days", days.map(|days| days.to_string()).as_deref());
    xml.close(name);
}

fn write_cors(xml: &mut XmlWriter, rules: &[CorsRule]) {
    xml.open("Cors");
    for rule in rules {
        xml.open("CorsRule");
        xml.element("AllowedMethods", &rule.allowed_methods.join(","));
        xml.element("AllowedOrigins", &rule.allowed_origins.join(","));
        xml.element("AllowedHeaders", &rule.allowed_headers.join(","));
        xml.element("ExposedHeaders", &rule.exposed_headers.join(","));
        xml.element("MaxAgeInSeconds", &rule.max_age_seconds.to_string());
        xml.close("CorsRule");
    }
    xml.close("Cors");
}

const fn boolean(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Reads the document of a change.
fn read(root: &Element, service: Service) -> Result<PropertiesChange, ServiceError> {
    if root.name != "StorageServiceProperties" {
        return Err(invalid_node(&root.name, "", "the document is not StorageServiceProperties"));
    }
    let mut change = PropertiesChange::default();
    for part in &root.children {
        match (part.name.as_str(), service) {
            ("Logging", Service::Blob | Service::Queue | Service::Table) => change.logging = Some(read_logging(part)?),
            ("HourMetrics" | "Metrics", _) => change.hour_metrics = Some(read_metrics(part)?),
            ("MinuteMetrics", _) => change.minute_metrics = Some(read_metrics(part)?),
            ("Cors", _) => change.cors = Some(read_cors(part)?),
            ("DefaultServiceVersion", Service::Blob) => {
                let version = ServiceVersion::parse(part.text.trim()).filter(|it| *it >= ServiceVersion::OLDEST);
                let refused = || invalid_node(&part.name, &part.text, "it is no service version");
                change.default_service_version = Some(version.ok_or_else(refused)?);
            }
            // Switched off is how it is; switched on would be a promise that nothing keeps.
            ("DeleteRetentionPolicy" | "StaticWebsite", Service::Blob) => {
                if flag(part, "Enabled")? {
                    return Err(invalid_node(&part.name, "true", "this feature is not supported"));
                }
            }
            ("ShareDeleteRetentionPolicy", Service::File) => change.share_delete_retention = Some(read_policy(part)?),
            ("ProtocolSettings", Service::File) => {
                change.smb_encryption_required = read_protocols(part)?.or(change.smb_encryption_required);
            }
            (_, _) => return Err(invalid_node(&part.name, &part.text, "the element is unknown to this service")),
        }
    }
    Ok(change)
}

/// Whether SMB clients must encrypt. What else there is to set is accepted as it is, and refused when it asks for
/// something else.
fn read_protocols(settings: &Element) -> Result<Option<bool>, ServiceError> {
    let mut encryption_required = None;
    for protocol in &settings.children {
        if protocol.name != "SMB" {
            return Err(invalid_node(&protocol.name, "", "this protocol is not supported"));
        }
        for setting in &protocol.children {
            match setting.name.as_str() {
                "EncryptionInTransit" => encryption_required = Some(flag(setting, "Required")?),
                "Multichannel" if flag(setting, "Enabled")? => {
                    return Err(invalid_node(&setting.name, "true", "this feature is not supported"));
                }
                "Multichannel" => {}
                _ => return Err(invalid_node(&setting.name, "", "the setting is unknown")),
            }
        }
    }
    Ok(encryption_required)
}

fn read_logging(part: &Element) -> Result<Logging, ServiceError> {
    Ok(Logging {
        version: analytics_version(part)?,
        delete: flag(part, "Delete")?,
        read: flag(part, "Read")?,
        write: flag(part, "Write")?,
        retention: read_retention(part)?,
    })
}

fn read_metrics(part: &Element) -> Result<Metrics, ServiceError> {
    let enabled = flag(part, "Enabled")?;
    let include_apis = part.child("IncludeAPIs").map(|_| flag(part, "IncludeAPIs")).transpose()?;
    if enabled && include_apis.is_none() {
        return Err(invalid_node("IncludeAPIs", "", "it is required when metrics are enabled"));
    }
    Ok(Metrics {
        version: analytics_version(part)?,
        enabled,
        include_apis: include_apis.filter(|_| enabled),
        retention: read_retention(part)?,
    })
}

fn analytics_version(part: &Element) -> Result<String, ServiceError> {
    match part.text_of("Version").map(str::trim) {
        None => Ok(ANALYTICS_VERSION.to_owned()),
        Some(version) if matches!(version, "1.0" | "2.0") => Ok(version.to_owned()),
        Some(other) => Err(invalid_node("Version", other, "the versions of analytics are 1.0 and 2.0")),
    }
}

fn read_retention(part: &Element) -> Result<RetentionPolicy, ServiceError> {
    part.child("RetentionPolicy").map_or_else(|| Ok(RetentionPolicy::default()), read_policy)
}

fn read_policy(retention: &Element) -> Result<RetentionPolicy, ServiceError> {
    if !flag(retention, "Enabled")? {
        return Ok(RetentionPolicy::default());
    }
    let text = retention.text_of("Days").unwrap_or_default().trim();
    let days = text.parse().ok().filter(|days| (1..=RETENTION_DAYS_MAX).contains(days));
    let refused = || invalid_node("Days", text, "a retention is 1 to 365 days");
    Ok(RetentionPolicy { days: Some(days.ok_or_else(refused)?) })
}

fn flag(part: &Element, name: &str) -> Result<bool, ServiceError> {
    let text = part.text_of(name).unwrap_or_default().trim();
    match text {
        _ if text.eq_ignore_ascii_case("true") => Ok(true),
        _ if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(invalid_node(name, text, "it is true or false")),
    }
}

fn read_cors(part: &Element) -> Result<Vec<CorsRule>, ServiceError> {
    let rules = part.children.iter().map(read_rule).collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = part.children.iter().flat_map(|rule| &rule.children).map(|leaf| leaf.text.len()).sum();
    if rules.len() > CORS_RULES_MAX {
        return Err(invalid_node("Cors", &rules.len().to_string(), "a service has at most 5 rules"));
    }
    if bytes > CORS_MAX_BYTES {
        return Err(invalid_node("Cors", &bytes.to_string(), "all rules together have at most 2 KiB"));
    }
    Ok(rules)
}

fn read_rule(rule: &Element) -> Result<CorsRule, ServiceError> {
    if rule.name != "CorsRule" {
        return Err(invalid_node(&rule.name, "", "it is not a CorsRule"));
    }
    let list = |name: &str| -> Vec<String> {
        let text = rule.text_of(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (origins, methods) = (list("AllowedOrigins"), list("AllowedMethods"));
    let (headers, exposed) = (list("AllowedHeaders"), list("ExposedHeaders"));
    if origins.is_empty() || origins.len() > CORS_ORIGINS_MAX || origins.iter().any(|it| it.len() > CORS_NAME_MAX) {
        let reason = "a rule has 1 to 64 origins of at most 256 characters";
        return Err(invalid_node("AllowedOrigins", &origins.join(","), reason));
    }
    let unknown = methods.iter().find(|method| !METHODS.contains(&method.to_ascii_uppercase().as_str()));
    if methods.is_empty() || unknown.is_some() {
        return Err(invalid_node("AllowedMethods", &methods.join(","), "a rule has methods, and only known ones"));
    }
    for (name, names) in [("AllowedHeaders", &headers), ("ExposedHeaders", &exposed)] {
        let prefixes = names.iter().filter(|name| name.ends_with('*')).count();
        let long = names.iter().any(|name| name.len() > CORS_NAME_MAX);
        if long || prefixes > CORS_PREFIXES_MAX || names.len() - prefixes > CORS_LITERALS_MAX {
            let reason = "a rule has at most 64 names and 2 prefixes of at most 256 characters";
            return Err(invalid_node(name, &names.join(","), reason));
        }
    }
    let age = rule.text_of("MaxAgeInSeconds").unwrap_or_default().trim();
    let max_age_seconds = age.parse::<u32>().ok().filter(|seconds| i32::try_from(*seconds).is_ok());
    Ok(CorsRule {
        allowed_origins: origins,
        allowed_methods: methods,
        allowed_headers: headers,
        exposed_headers: exposed,
        max_age_seconds: max_age_seconds
            .ok_or_else(|| invalid_node("MaxAgeInSeconds", age, "it is a number of seconds"))?,
    })
}

fn invalid_node(name: &str, value: &str, reason: &str) -> ServiceError {
    ServiceError::new(
        ErrorCode::InvalidXmlNodeValue,
        "The value provided for one of the XML nodes in the request body was not in the correct format.",
    )
    .with_detail("XmlNodeName", name)
    .with_detail("XmlNodeValue", value)
    .with_detail("Reason", reason)
}

#[cfg(test)]
mod tests;
