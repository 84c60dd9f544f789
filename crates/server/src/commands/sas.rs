//! `lazuli sas`: prints a shared access signature, or a URL with one.

use std::time::Duration;

use access::{
    account::DEVELOPMENT_ACCOUNT,
    instant,
    need::Service,
    sas::{Fields, sign::sign},
};
use anyhow::{Context as _, Result, bail};
use store::clock::{ServerClock, SystemTime};
use types::{ServiceVersion, Timestamp};

use crate::{
    cli::{SasArgs, SasResource},
    commands::account,
    output,
};

pub(crate) fn run(arguments: SasArgs) -> Result<()> {
    let name = arguments.account.as_deref().unwrap_or(DEVELOPMENT_ACCOUNT);
    let key = match &arguments.account_key {
        Some(text) => account::parse_key(text)?,
        None => account::first_key(&arguments.place, name)?,
    };
    let now = ServerClock::new(SystemTime::default(), Timestamp::EPOCH).now();
    let version = ServiceVersion::NEWEST.to_string();
    let expiry = match (&arguments.expiry, &arguments.policy) {
        (Some(text), _) => Some(moment(text, now)?),
        (None, Some(_)) => None,
        (None, None) => bail!("--expiry is needed, unless --policy names a stored access policy that has it"),
    };
    let start = arguments.start.as_deref().map(|text| moment(text, now)).transpose()?;
    let resource = Resource::of(&arguments.resource);
    let fields = Fields {
        version: Some(&version),
        permissions: arguments.permissions.as_deref(),
        start: start.as_deref(),
        expiry: expiry.as_deref(),
        policy: arguments.policy.as_deref(),
        addresses: arguments.ip.as_deref(),
        protocols: arguments.protocol.as_deref(),
        cache_control: arguments.cache_control.as_deref(),
        content_disposition: arguments.content_disposition.as_deref(),
        content_encoding: arguments.content_encoding.as_deref(),
        content_language: arguments.content_language.as_deref(),
        content_type: arguments.content_type.as_deref(),
        ..resource.fields
    };
    let path = resource.path.as_deref();
    let signed = sign(&key, resource.service, name, resource.container, path, &fields)
        .context("these flags do not make a signature")?;
    let query: Vec<String> = signed.iter().map(|(name, value)| format!("{name}={}", encode(value, ""))).collect();
    let query = query.join("&");
    let line = match &arguments.url {
        None => format!("{query}\n"),
        Some(base) => {
            let parts = [resource.container, path].into_iter().flatten().map(|part| format!("/{}", encode(part, "/")));
            format!("{}{}?{query}\n", base.trim_end_matches('/'), parts.collect::<String>())
        }
    };
    output::print(&line);
    Ok(())
}

/// What is signed.
struct Resource<'a> {
    service: Service,
    container: Option<&'a str>,
    path: Option<String>,
    fields: Fields<'a>,
}

impl<'a> Resource<'a> {
    fn of(resource: &'a SasResource) -> Self {
        let new = |service, container, path: Option<&str>, fields| Self {
            service,
            container: Some(container),
            path: path.map(str::to_owned),
            fields,
        };
        let kind = |letters| Fields { resource: Some(letters), ..Fields::default() };
        match resource {
            SasResource::Account { services, resource_types } => {
                let fields =
                    Fields { services: Some(services), resource_types: Some(resource_types), ..Fields::default() };
                Self { service: Service::Blob, container: None, path: None, fields }
            }
            SasResource::Container { container } => new(Service::Blob, container, None, kind("c")),
            SasResource::Blob { container, blob } => new(Service::Blob, container, Some(blob), kind("b")),
            SasResource::Queue { queue } => new(Service::Queue, queue, None, Fields::default()),
            SasResource::Table { table, start_partition, start_row, end_partition, end_row } => {
                let fields = Fields {
                    table: Some(table),
                    start_partition: start_partition.as_deref(),
                    start_row: start_row.as_deref(),
                    end_partition: end_partition.as_deref(),
                    end_row: end_row.as_deref(),
                    ..Fields::default()
                };
                new(Service::Table, table, None, fields)
            }
            SasResource::Share { share } => new(Service::File, share, None, kind("s")),
            SasResource::File { share, path } => new(Service::File, share, Some(path), kind("f")),
        }
    }
}

/// An instant as it is, or so long from now: `30m`, `2h`, `7d`.
fn moment(text: &str, now: Timestamp) -> Result<String> {
    if instant::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let wrong =
        || format!("{text:?} is neither a time such as 2026-11-15T08:00:00Z nor a duration such as 30m, 2h, 7d");
    let unit = match text.chars().next_back() {
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => bail!(wrong()),
    };
    let count: u32 = text.get(..text.len() - 1).unwrap_or_default().parse().with_context(wrong)?;
    Ok(instant::format(now.saturating_add(Duration::from_secs(u64::from(count) * unit))))
}

/// Percent-encodes everything but letters, digits, `-_.~` and what else is left.
fn encode(text: &str, left: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || left.as_bytes().contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_or_durations() {
        let now = Timestamp::from_seconds(1_794_700_800);
        let table = [
            ("2026-11-16", Some("2026-11-16")),
            ("30m", Some("2026-11-15T00:30:00Z")),
            ("2h", Some("2026-11-15T02:00:00Z")),
            ("7d", Some("2026-11-22T00:00:00Z")),
            ("7w", None),
            ("-1d", None),
            ("d", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(moment(text, now).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_survive_the_url() {
        assert_eq!(encode("a b/ä+", "/"), "a%20b/%C3%A4%2B");
        assert_eq!(encode("a/b=", ""), "a%2Fb%3D");
    }
}
