//! `lazuli sas`: prints a shared access signature, or a URL with one.

//! What cannot work is refused here, before it becomes a 403 somewhere else: letters without a meaning, an expiry that is
//! over, a URL that is for another account.

mod letters;

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
    cli::{Place, SasAnswers, SasCommon, SasResource},
    commands::account,
    failure::misconfigured,
    output,
};

pub(crate) fn run(resource: &SasResource) -> Result<()> {
    let now = ServerClock::new(SystemTime::default(), Timestamp::EPOCH).now();
    let request = Request::of(resource, now).map_err(misconfigured)?;
    let name = request.account();
    let key = match &request.common.account_key {
        Some(text) => account::parse_key(text)?,
        None => {
            let place = Place { data_dir: request.common.data_dir.clone(), config: request.common.config.clone() };
            account::first_key(&place, name)?
        }
    };
    let (container, path) = (request.container, request.path);
    let signed = sign(&key, request.service, name, container, path, &request.fields())
        .context("these flags do not make a signature")
        .map_err(misconfigured)?;
    let query: Vec<String> = signed.iter().map(|(name, value)| format!("{name}={}", encode(value, ""))).collect();
    let query = query.join("&");
    let line = match &request.common.url {
        None => format!("{query}\n"),
        Some(base) => {
            let parts = [container, path].into_iter().flatten().map(|part| format!("/{}", encode(part, "/")));
            format!("{}{}?{query}\n", base.trim_end_matches('/'), parts.collect::<String>())
        }
    };
    output::print(&line);
    Ok(())
}

/// What is signed, checked.
struct Request<'a> {
    service: Service,
    container: Option<&'a str>,
    path: Option<&'a str>,
    common: &'a SasCommon,
    policy: Option<&'a str>,
    answers: Option<&'a SasAnswers>,
    /// What is particular to the kind.
    own: Fields<'a>,
    permissions: Option<String>,
    services: Option<String>,
    resource_types: Option<String>,
    version: String,
    start: Option<String>,
    expiry: Option<String>,
}

impl<'a> Request<'a> {
    fn of(resource: &'a SasResource, now: Timestamp) -> Result<Self> {
        let kind = |letters| Fields { resource: Some(letters), ..Fields::default() };
        let (common, known, given) = match resource {
            SasResource::Account(sas) => (&sas.common, letters::ACCOUNT, Some(&sas.permissions)),
            SasResource::Container(sas) => (&sas.common, letters::CONTAINER, sas.permissions.as_ref()),
            SasResource::Blob(sas) => (&sas.common, letters::BLOB, sas.permissions.as_ref()),
            SasResource::Queue(sas) => (&sas.common, letters::QUEUE, sas.permissions.as_ref()),
            SasResource::Table(sas) => (&sas.common, letters::TABLE, sas.permissions.as_ref()),
            SasResource::Share(sas) => (&sas.common, letters::SHARE, sas.permissions.as_ref()),
            SasResource::File(sas) => (&sas.common, letters::FILE, sas.permissions.as_ref()),
        };
        // What all kinds have in common; what each adds comes below.
        let mut request = Self {
            service: Service::Blob,
            container: None,
            path: None,
            common,
            policy: None,
            answers: None,
            own: Fields::default(),
            permissions: given.map(|text| letters::ordered("permissions", known, text)).transpose()?,
            services: None,
            resource_types: None,
            version: ServiceVersion::NEWEST.to_string(),
            start: common.start.as_deref().map(|text| moment("start", text, now)).transpose()?,
            expiry: common.expiry.as_deref().map(|text| moment("expiry", text, now)).transpose()?,
        };
        match resource {
            SasResource::Account(sas) => {
                request.services = Some(letters::ordered("services", letters::SERVICES, &sas.services)?);
                let types = letters::ordered("resource-types", letters::RESOURCE_TYPES, &sas.resource_types)?;
                request.resource_types = Some(types);
            }
            SasResource::Container(sas) => {
                request.container = Some(&*sas.container);
                (request.policy, request.answers) = (sas.policy.policy.as_deref(), Some(&sas.answers));
                request.own = kind("c");
            }
            SasResource::Blob(sas) => {
                (request.container, request.path) = (Some(&*sas.container), Some(&*sas.blob));
                (request.policy, request.answers) = (sas.policy.policy.as_deref(), Some(&sas.answers));
                request.own = kind("b");
            }
            SasResource::Queue(sas) => {
                (request.service, request.container) = (Service::Queue, Some(&*sas.queue));
                request.policy = sas.policy.policy.as_deref();
            }
            SasResource::Table(sas) => {
                (request.service, request.container) = (Service::Table, Some(&*sas.table));
                request.policy = sas.policy.policy.as_deref();
                request.own = Fields {
                    table: Some(&sas.table),
                    start_partition: sas.start_partition.as_deref(),
                    start_row: sas.start_row.as_deref(),
                    end_partition: sas.end_partition.as_deref(),
                    end_row: sas.end_row.as_deref(),
                    ..Fields::default()
                };
            }
            SasResource::Share(sas) => {
                (request.service, request.container) = (Service::File, Some(&*sas.share));
                (request.policy, request.answers) = (sas.policy.policy.as_deref(), Some(&sas.answers));
                request.own = kind("s");
            }
            SasResource::File(sas) => {
                (request.service, request.container, request.path) =
                    (Service::File, Some(&*sas.share), Some(&*sas.path));
                (request.policy, request.answers) = (sas.policy.policy.as_deref(), Some(&sas.answers));
                request.own = kind("f");
            }
        }
        // Before anything is signed: a signature that opens nothing would be found out by its user, much later.
        request.check(known, now)?;
        Ok(request)
    }

    fn account(&self) -> &'a str {
        self.common.account.as_deref().unwrap_or(DEVELOPMENT_ACCOUNT)
    }

    fn check(&self, known: letters::Letters, now: Timestamp) -> Result<()> {
        if self.policy.is_none() && self.expiry.is_none() {
            bail!("--expiry is needed{}", if self.services.is_some() { "" } else { ", or a --policy that has it" });
        }
        if self.policy.is_none() && self.permissions.is_none() {
            bail!("--permissions is needed, or a --policy that has them; the letters are {}", letters::listed(known));
        }
        let expiry = self.expiry.as_deref().and_then(instant::parse);
        let start = self.start.as_deref().and_then(instant::parse);
        if let (Some(expiry), Some(text)) = (expiry, &self.expiry)
            && expiry <= now
        {
            bail!("--expiry {text} is over: the signature would open nothing");
        }
        if let (Some(start), Some(expiry)) = (start, expiry)
            && start >= expiry
        {
            bail!("--start is not before --expiry: the signature would open nothing");
        }
        if let Some(url) = &self.common.url {
            check_url(url, self.account(), self.common.protocol.as_deref())?;
        }
        Ok(())
    }

    fn fields(&self) -> Fields<'_> {
        let answers = self.answers;
        Fields {
            version: Some(&self.version),
            permissions: self.permissions.as_deref(),
            services: self.services.as_deref(),
            resource_types: self.resource_types.as_deref(),
            start: self.start.as_deref(),
            expiry: self.expiry.as_deref(),
            policy: self.policy,
            addresses: self.common.ip.as_deref(),
            protocols: self.common.protocol.as_deref(),
            cache_control: answers.and_then(|answers| answers.cache_control.as_deref()),
            content_disposition: answers.and_then(|answers| answers.content_disposition.as_deref()),
            content_encoding: answers.and_then(|answers| answers.content_encoding.as_deref()),
            content_language: answers.and_then(|answers| answers.content_language.as_deref()),
            content_type: answers.and_then(|answers| answers.content_type.as_deref()),
            ..self.own
        }
    }
}

/// The endpoint of an account: `http://HOST/ACCOUNT`, or `http://ACCOUNT.HOST`.
fn check_url(url: &str, account: &str, protocol: Option<&str>) -> Result<()> {
    let wrong = || format!("--url {url} is no endpoint of the account {account}");
    let uri: http::Uri = url.parse().ok().with_context(|| format!("{}: it is no URL", wrong()))?;
    let (Some(scheme @ ("http" | "https")), Some(host)) = (uri.scheme_str(), uri.host()) else {
        bail!("{}: it begins with http:// or https:// and a host", wrong());
    };
    if uri.query().is_some() || url.contains('#') {
        bail!("{}: it has a query of its own", wrong());
    }
    let of_account = |name: &str| name == account || name.strip_suffix("-secondary") == Some(account);
    let first = host.split_once('.').map(|(first, _)| first);
    let good = match uri.path().trim_matches('/') {
        "" => first.is_some_and(of_account),
        path => of_account(path),
    };
    if !good {
        bail!("{}: the account stands behind the host, http://HOST/{account}, or begins it", wrong());
    }
    if scheme == "http" && protocol == Some("https") {
        bail!("--protocol https and --url {url} do not go together: the signature would not open it");
    }
    Ok(())
}

/// An instant as it is, or so long from now: `30m`, `2h`, `7d`.
fn moment(flag: &str, text: &str, now: Timestamp) -> Result<String> {
    if instant::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let wrong = || {
        format!("--{flag}: {text:?} is neither a time such as 2030-11-15T08:00:00Z nor a duration such as 30m, 2h, 7d")
    };
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
            assert_eq!(moment("expiry", text, now).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_survive_the_url() {
        assert_eq!(encode("a b/ä+", "/"), "a%20b/%C3%A4%2B");
        assert_eq!(encode("a/b=", ""), "a%2Fb%3D");
    }

    #[test]
    fn a_url_is_an_endpoint_of_the_account() {
        let table = [
            ("http://127.0.0.1:10000/mine", true),
            ("http://127.0.0.1:10000/mine/", true),
            ("https://[::1]:10000/mine", true),
            ("http://mine.blob.localhost:10000", true),
            ("https://mine-secondary.blob.core.windows.net/", true),
            ("http://127.0.0.1:10000", false),
            ("http://127.0.0.1:10000/other", false),
            ("http://127.0.0.1:10000/mine/photos", false),
            ("http://127.0.0.1:10000/mine?x=1", false),
            ("http://127.0.0.1:10000/mine#x", false),
            ("http://other.blob.localhost", false),
            ("ftp://127.0.0.1/mine", false),
            ("127.0.0.1:10000/mine", false),
            ("mine", false),
            ("", false),
        ];
        for (url, good) in table {
            assert_eq!(check_url(url, "mine", None).is_ok(), good, "{url}");
        }
        assert!(check_url("http://x/mine", "mine", Some("https")).is_err());
        assert!(check_url("https://x/mine", "mine", Some("https")).is_ok());
        assert!(check_url("http://x/mine", "mine", Some("https,http")).is_ok());
    }
}
