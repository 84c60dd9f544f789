//! The settings, checked and with their defaults: what the server runs by.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    accounts::Account,
    files,
    settings::{Durability, LogFormat, LogLevel, RequestLog, Settings},
};

/// Where the data lives when nobody says otherwise.
pub(crate) const DATA_DIR: &str = "./lazuli-data";

/// A checked configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) data_dir: PathBuf,
    pub(crate) listen: Vec<IpAddr>,
    pub(crate) ports: Ports,
    pub(crate) admin: (IpAddr, u16),
    pub(crate) durability: Durability,
    pub(crate) accounts: Vec<Account>,
    /// Certificate chain and private key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) log: LogFormat,
    pub(crate) log_level: LogLevel,
    pub(crate) request_log: RequestLog,
    pub(crate) workers: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_requests: usize,
    /// Domains behind which accounts are found, in lower case.
    pub(crate) domains: Vec<String>,
}

/// The port of each service; zero takes a free one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) blob: u16,
    pub(crate) queue: u16,
    pub(crate) table: u16,
    pub(crate) file: u16,
    pub(crate) smb: u16,
}

impl Config {
    /// Puts flags, environment and file together. `azurite_accounts` is the value of the variable of that name.
    pub(crate) fn resolve(flags: Settings, file: Option<&Path>, azurite_accounts: Option<&str>) -> Result<Self> {
        let settings = match file {
            Some(path) => flags.or(read(path)?),
            None => flags,
        };
        let accounts = accounts(&settings.account, azurite_accounts)?;
        let listen = non_empty(settings.listen, IpAddr::V4(Ipv4Addr::LOCALHOST));
        let exposed = settings.expose_development_account.unwrap_or_default();
        check_exposure(&listen, &accounts, exposed)?;
        let tls = match (settings.tls_cert, settings.tls_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => bail!("--tls-cert and --tls-key belong together"),
        };
        Ok(Self {
            data_dir: settings.data_dir.unwrap_or_else(|| PathBuf::from(DATA_DIR)),
            listen,
            ports: Ports {
                blob: settings.blob_port.unwrap_or(10000),
                queue: settings.queue_port.unwrap_or(10001),
                table: settings.table_port.unwrap_or(10002),
                file: settings.file_port.unwrap_or(10003),
                smb: settings.smb_port.unwrap_or(10445),
            },
            admin: (
                settings.admin_listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                settings.admin_port.unwrap_or(10009),
            ),
            durability: settings.durability.unwrap_or_default(),
            accounts,
            tls,
            log: settings.log.unwrap_or_default(),
            log_level: settings.log_level.unwrap_or_default(),
            request_log: settings.request_log.unwrap_or_default(),
            workers: settings.workers.map_or_else(default_workers, usize::from),
            max_connections: settings.max_connections.and_then(|count| count.try_into().ok()).unwrap_or(4096),
            max_requests: settings.max_requests.and_then(|count| count.try_into().ok()).unwrap_or(4096),
            domains: settings.domain.iter().map(|name| domain(name)).collect::<Result<_>>()?,
        })
    }
}

/// A domain without its edges: `.Example.com.` is `example.com`.
fn domain(name: &str) -> Result<String> {
    let bare = name.trim_matches('.').to_ascii_lowercase();
    let labels = bare
        .split('.')
        .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    if !labels {
        bail!("--domain {name} is no domain name");
    }
    Ok(bare)
}

/// The data directory of the commands that work on one.
pub(crate) fn data_dir(flag: Option<PathBuf>, file: Option<&Path>) -> Result<PathBuf> {
    let from_file = || file.map(read).transpose().map(|settings| settings.and_then(|settings| settings.data_dir));
    let found = match flag {
        Some(path) => Some(path),
        None => from_file()?,
    };
    Ok(found.unwrap_or_else(|| PathBuf::from(DATA_DIR)))
}

fn read(path: &Path) -> Result<Settings> {
    let text = files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    // The parser draws the place over several lines; one is enough.
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        anyhow::anyhow!("{}, line {line}: {}", path.display(), error.message())
    })
}

fn accounts(configured: &[String], azurite_accounts: Option<&str>) -> Result<Vec<Account>> {
    let mut accounts = configured.iter().map(|text| Account::parse(text)).collect::<Result<Vec<_>>>()?;
    if accounts.is_empty() {
        accounts = Account::parse_azurite(azurite_accounts.unwrap_or_default())?;
    }
    if accounts.is_empty() {
        accounts.push(Account::development()?);
    }
    for (position, account) in accounts.iter().enumerate() {
        if accounts.iter().take(position).any(|earlier| earlier.name == account.name) {
            bail!("the account {} is configured twice", account.name.as_str());
        }
    }
    Ok(accounts)
}

/// A key that everybody knows must not open a door that everybody can reach.
fn check_exposure(listen: &[IpAddr], accounts: &[Account], exposed: bool) -> Result<()> {
    let public = accounts.iter().find(|account| account.is_public());
    let reachable = listen.iter().find(|address| !address.to_canonical().is_loopback());
    if let (Some(account), Some(address), false) = (public, reachable, exposed) {
        bail!(
            "refusing to serve the development account {} on {address}: its key is public; configure --account, or say \
             --expose-development-account if you mean it",
            account.name.as_str()
        );
    }
    Ok(())
}

fn non_empty<T>(values: Vec<T>, default: T) -> Vec<T> {
    if values.is_empty() { vec![default] } else { values }
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(settings: Settings, azurite: Option<&str>) -> Result<Config, String> {
        Config::resolve(settings, None, azurite).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn without_settings_it_is_the_development_account_on_loopback() {
        let config = resolve(Settings::default(), None).unwrap();
        assert_eq!(config.listen, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
        assert!(config.accounts[0].is_public() && config.accounts.len() == 1);
        assert_eq!((config.ports.blob, config.admin.1), (10000, 10009));
    }

    #[test]
    fn domains_are_names() {
        let with = |name: &str| resolve(Settings { domain: vec![name.into()], ..Settings::default() }, None);
        for (name, expected) in [("example.com", "example.com"), (".My-Storage.CORP.", "my-storage.corp")] {
            assert_eq!(with(name).unwrap().domains, [expected]);
        }
        for name in ["", ".", "a..b", "a/b", "http://a", "a:80"] {
            assert!(with(name).unwrap_err().contains("--domain"), "{name}");
        }
    }

    #[test]
    fn the_development_account_stays_on_loopback() {
        let on = |address: &str, account: &str, expose: Option<bool>| {
            let account = if account.is_empty() { vec![] } else { vec![account.to_owned()] };
            let listen = vec![address.parse().unwrap()];
            resolve(Settings { listen, account, expose_development_account: expose, ..Settings::default() }, None)
        };
        assert!(on("127.0.0.9", "", None).is_ok());
        assert!(on("::1", "", None).is_ok());
        assert!(on("::ffff:127.0.0.1", "", None).is_ok());
        assert!(on("0.0.0.0", "mine=AQI=", None).is_ok());
        assert!(on("0.0.0.0", "", Some(true)).is_ok());
        let same_key = "mine=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
        for (address, account) in [("0.0.0.0", ""), ("::", ""), ("10.0.0.1", ""), ("0.0.0.0", same_key)] {
            let error = on(address, account, None).unwrap_err();
            assert!(error.contains("--expose-development-account"), "{error}");
        }
    }

    #[test]
    fn accounts_come_from_the_flag_or_else_from_azurites_variable() {
        let names = |settings, azurite| -> Vec<String> {
            let config = resolve(settings, azurite).unwrap();
            config.accounts.iter().map(|account| account.name.as_str().to_owned()).collect()
        };
        let flag = Settings { account: vec!["abc=AQI=".into()], ..Settings::default() };
        assert_eq!(names(flag, Some("def:AQI=")), ["abc"]);
        assert_eq!(names(Settings::default(), Some("def:AQI=;ghi:AQI=")), ["def", "ghi"]);
        let twice = Settings { account: vec!["abc=AQI=".into(), "abc=AwQ=".into()], ..Settings::default() };
        assert!(resolve(twice, None).unwrap_err().contains("twice"));
        assert!(resolve(Settings { tls_cert: Some("x".into()), ..Settings::default() }, None).is_err());
    }
}
