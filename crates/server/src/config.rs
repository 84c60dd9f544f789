//! The settings, checked and with their defaults: what the server runs by.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use access::bearer::{BearerSettings, RoleTable};
use anyhow::{Context as _, Result, bail};
use types::names::AccountName;

use crate::{
    accounts::Account,
    failure::misconfigured,
    files,
    origins::Origins,
    settings::{CopySources, Durability, LogFormat, LogLevel, RequestLog, Settings, SmbEncryption},
};

/// Where the data lives when nobody says otherwise.
pub(crate) const DATA_DIR: &str = "./lazuli-data";

/// Most threads that answer requests.
const WORKERS_MAX: u32 = 1024;
/// Most connections or requests at once.
const AT_ONCE_MAX: u32 = 1_000_000;

/// A checked configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) data_dir: PathBuf,
    /// For the services that have no addresses of their own.
    listen: Vec<IpAddr>,
    /// The addresses of services that have their own.
    own_listen: [(&'static str, Vec<IpAddr>); 3],
    /// An address that others can reach, and what set it: `--listen 0.0.0.0`.
    pub(crate) reachable: Option<String>,
    pub(crate) ports: Ports,
    pub(crate) ports_file: Option<PathBuf>,
    pub(crate) admin: (IpAddr, u16),
    /// Nobody chose the admin port.
    pub(crate) admin_port_is_default: bool,
    /// True when nobody said which port the File service has.
    pub(crate) file_port_is_default: bool,
    pub(crate) smb_port_is_default: bool,
    /// Whether SMB clients must encrypt.
    pub(crate) smb_encryption: bool,
    pub(crate) durability: Durability,
    /// Free bytes of the disk below which writes are refused; `None` leaves it to the engine.
    pub(crate) disk_reserve: Option<u64>,
    /// Those of the configuration; the stored ones join them.
    pub(crate) accounts: Vec<Account>,
    pub(crate) public_access: bool,
    pub(crate) bearer: BearerConfig,
    /// Certificate chain and private key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) log: LogFormat,
    pub(crate) log_level: LogLevel,
    pub(crate) request_log: RequestLog,
    pub(crate) copy_sources: CopySources,
    /// Accounts of the public cloud that are not those of the same name here.
    pub(crate) copy_sources_remote: Vec<String>,
    pub(crate) workers: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_requests: usize,
    /// Domains behind which accounts are found, in lower case.
    pub(crate) domains: Vec<String>,
}

/// Whose tokens are accepted.
#[derive(Debug)]
pub(crate) struct BearerConfig {
    pub(crate) settings: BearerSettings,
    /// Where the keys are.
    pub(crate) keys: Option<String>,
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
    /// Puts flags, environment and file together. `azurite_accounts` is the value of the variable of that name: a part of
    /// the environment, so it gives way to `--account` and `LAZULI_ACCOUNT`, and the file gives way to it.
    pub(crate) fn resolve(
        flags: Settings,
        file: Option<&Path>,
        azurite_accounts: Option<&str>,
        origins: Origins,
    ) -> Result<Self> {
        let origins = origins.and_file(file);
        let azurite_accounts = azurite_accounts.filter(|_| flags.account.is_empty());
        let settings = match file {
            Some(path) => flags.or(read(path, &origins.name("config"))?),
            None => flags,
        };
        let mut accounts = accounts(&settings.account, azurite_accounts, &origins)?;
        let listen = distinct(non_empty(settings.listen, IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let own_listen =
            [("blob", settings.blob_listen), ("queue", settings.queue_listen), ("table", settings.table_listen)]
                .map(|(service, addresses)| (service, distinct(addresses)));
        let reachable = reachable(&listen, &own_listen, &origins);
        let exposed = settings.expose_development_account.unwrap_or_default();
        check_exposure(reachable.as_deref(), &accounts, exposed)?;
        // Where others can reach it, the development account is served only on demand. Whether there is any other account
        // is known when the data directory is open.
        if accounts.is_empty() && (exposed || reachable.is_none()) {
            accounts.push(Account::development()?);
        }
        let bearer = bearer(
            settings.bearer_issuer,
            settings.bearer_audience,
            &settings.bearer_role,
            settings.bearer_keys,
            settings.bearer_unsigned.unwrap_or_default(),
            &origins,
        )?;
        if let (true, Some(address)) = (bearer.settings.unsigned, &reachable) {
            let name = origins.name("bearer-unsigned");
            bail!("refusing {name} with {address}: anybody who reaches it could make tokens; it is for loopback only");
        }
        let tls = match (settings.tls_cert, settings.tls_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => bail!("{} needs --tls-key", origins.name("tls-cert")),
            (None, Some(_)) => bail!("{} needs --tls-cert", origins.name("tls-key")),
        };
        let smb_encryption = match settings.smb_encryption {
            Some(SmbEncryption::Required) => true,
            Some(SmbEncryption::Optional) => false,
            None => !listen.iter().all(IpAddr::is_loopback),
        };
        Ok(Self {
            data_dir: settings.data_dir.unwrap_or_else(|| PathBuf::from(DATA_DIR)),
            listen,
            own_listen,
            reachable,
            ports_file: settings.ports_file,
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
            admin_port_is_default: settings.admin_port.is_none(),
            file_port_is_default: settings.file_port.is_none(),
            smb_port_is_default: settings.smb_port.is_none(),
            smb_encryption,
            durability: settings.durability.unwrap_or_default(),
            disk_reserve: settings.disk_reserve.map(|size| size.0),
            accounts,
            public_access: settings.public_access.unwrap_or(true),
            bearer,
            tls,
            log: settings.log.unwrap_or_default(),
            log_level: settings.log_level.unwrap_or_default(),
            request_log: settings.request_log.unwrap_or_default(),
            copy_sources: settings.copy_sources.unwrap_or_default(),
            copy_sources_remote: settings
                .copy_sources_remote
                .into_iter()
                .map(|name| remote_account(name, &origins))
                .collect::<Result<_>>()?,
            workers: count(&origins, "workers", settings.workers, WORKERS_MAX)?.unwrap_or_else(default_workers),
            max_connections: count(&origins, "max-connections", settings.max_connections, AT_ONCE_MAX)?.unwrap_or(4096),
            max_requests: count(&origins, "max-requests", settings.max_requests, AT_ONCE_MAX)?.unwrap_or(4096),
            domains: settings.domain.iter().map(|name| domain(name, &origins)).collect::<Result<_>>()?,
        })
    }

    /// The addresses of a service.
    pub(crate) fn listen(&self, service: &str) -> &[IpAddr] {
        let own = self.own_listen.iter().find(|(name, addresses)| *name == service && !addresses.is_empty());
        own.map_or(&self.listen, |(_, addresses)| addresses)
    }
}

/// The name of an account of the public cloud.
fn remote_account(name: String, origins: &Origins) -> Result<String> {
    match AccountName::parse(&name) {
        Ok(_) => Ok(name),
        Err(error) => bail!("{}: {name:?}: {error}", origins.name("copy-sources-remote")),
    }
}

/// A domain without its edges: `.Example.com.` is `example.com`.
fn domain(name: &str, origins: &Origins) -> Result<String> {
    let bare = name.trim_matches('.').to_ascii_lowercase();
    let labels = bare
        .split('.')
        .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    if !labels {
        bail!("{}: {name:?} is no domain name", origins.name("domain"));
    }
    Ok(bare)
}

/// The data directory of the commands that work on one.
pub(crate) fn data_dir(flag: Option<PathBuf>, file: Option<&Path>) -> Result<PathBuf> {
    let from_file = || file.map(|file| read(file, "--config")).transpose();
    let found = match flag {
        Some(path) => Some(path),
        None => from_file().map_err(misconfigured)?.and_then(|settings| settings.data_dir),
    };
    Ok(found.unwrap_or_else(|| PathBuf::from(DATA_DIR)))
}

fn read(path: &Path, named_by: &str) -> Result<Settings> {
    let text =
        files::read_text(path).with_context(|| format!("cannot read {}, named by {named_by}", path.display()))?;
    // The parser draws the place over several lines; one is enough.
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        // The key, not the line: that may hold a key of an account.
        let key = text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
        let key = key.map(|key| format!(", {key}")).unwrap_or_default();
        anyhow::anyhow!("{}, line {line}{key}: {}", path.display(), error.message())
    })
}

fn accounts(configured: &[String], azurite_accounts: Option<&str>, origins: &Origins) -> Result<Vec<Account>> {
    let mut accounts = Account::parse_azurite(azurite_accounts.unwrap_or_default()).context("AZURITE_ACCOUNTS")?;
    if accounts.is_empty() {
        let parsed = configured.iter().map(|text| Account::parse(text)).collect::<Result<Vec<_>>>();
        accounts = parsed.with_context(|| origins.name("account"))?;
    }
    for (position, account) in accounts.iter().enumerate() {
        if accounts.iter().take(position).any(|earlier| earlier.name == account.name) {
            bail!("the account {} is configured twice", account.name.as_str());
        }
    }
    Ok(accounts)
}

/// A key that everybody knows must not open a door that everybody can reach.
fn check_exposure(reachable: Option<&str>, accounts: &[Account], exposed: bool) -> Result<()> {
    let public = accounts.iter().find(|account| account.is_public());
    if let (Some(account), Some(address), false) = (public, reachable, exposed) {
        bail!(
            "refusing to serve the development account {} with {address}: its key is public; give the account another \
             one, or say --expose-development-account (LAZULI_EXPOSE_DEVELOPMENT_ACCOUNT=true) if you mean it",
            account.name.as_str()
        );
    }
    Ok(())
}

/// An address that others can reach, and what set it.
fn reachable(listen: &[IpAddr], own: &[(&'static str, Vec<IpAddr>)], origins: &Origins) -> Option<String> {
    let named = [("listen".to_owned(), listen)].into_iter();
    let named = named.chain(own.iter().map(|(service, addresses)| (format!("{service}-listen"), addresses.as_slice())));
    let mut all = named.flat_map(|(flag, addresses)| addresses.iter().map(move |address| (flag.clone(), address)));
    let found = all.find(|(_, address)| !address.to_canonical().is_loopback());
    found.map(|(flag, address)| format!("{} {address}", origins.name(&flag)))
}

fn bearer(
    issuers: Vec<String>,
    audiences: Vec<String>,
    roles: &[String],
    keys: Option<String>,
    unsigned: bool,
    origins: &Origins,
) -> Result<BearerConfig> {
    let mut table = RoleTable::default();
    roles.iter().try_for_each(|role| table.add(role)).with_context(|| origins.name("bearer-role"))?;
    match (issuers.is_empty(), keys.is_some()) {
        (false, false) if !unsigned => bail!("{} needs --bearer-keys", origins.name("bearer-issuer")),
        (true, true) => bail!("{} needs --bearer-issuer", origins.name("bearer-keys")),
        _ => {}
    }
    Ok(BearerConfig { settings: BearerSettings { issuers, audiences, roles: table, unsigned }, keys })
}

fn non_empty<T>(values: Vec<T>, default: T) -> Vec<T> {
    if values.is_empty() { vec![default] } else { values }
}

/// Each value once.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut distinct = Vec::with_capacity(values.len());
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// A count, if it is set: at least one.
fn count(origins: &Origins, flag: &str, set: Option<u32>, most: u32) -> Result<Option<usize>> {
    match set {
        Some(count) if !(1..=most).contains(&count) => {
            bail!("{}: {count} is not between 1 and {most}", origins.name(flag))
        }
        set => Ok(set.map(usize::try_from).transpose()?),
    }
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(settings: Settings, azurite: Option<&str>) -> Result<Config, String> {
        Config::resolve(settings, None, azurite, Origins::default()).map_err(|error| format!("{error:#}"))
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
    fn remote_sources_are_names_of_accounts() {
        let with =
            |name: &str| resolve(Settings { copy_sources_remote: vec![name.into()], ..Settings::default() }, None);
        assert_eq!(with("mine").unwrap().copy_sources_remote, ["mine"]);
        for name in ["", "Mine", "mine.blob.core.windows.net"] {
            assert!(with(name).unwrap_err().contains("--copy-sources-remote"), "{name}");
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
        for address in ["0.0.0.0", "::", "10.0.0.1"] {
            assert!(on(address, "", None).unwrap().accounts.is_empty(), "left to the stored accounts");
            let error = on(address, same_key, None).unwrap_err();
            assert!(error.contains("--expose-development-account"), "{error}");
        }
    }

    #[test]
    fn tokens_need_issuers_and_keys_or_loopback() {
        let with = |issuer: &str, keys: &str, unsigned: bool, address: &str| {
            let list = |text: &str| if text.is_empty() { vec![] } else { vec![text.to_owned()] };
            let settings = Settings {
                bearer_issuer: list(issuer),
                bearer_keys: list(keys).pop(),
                bearer_unsigned: Some(unsigned),
                account: vec!["mine=AQI=".into()],
                listen: vec![address.parse().unwrap()],
                ..Settings::default()
            };
            resolve(settings, None).err()
        };
        assert_eq!(with("https://i", "keys.json", false, "0.0.0.0"), None);
        assert_eq!(with("", "", true, "127.0.0.1"), None);
        assert!(with("https://i", "", false, "127.0.0.1").unwrap().contains("--bearer-keys"));
        assert!(with("", "keys.json", false, "127.0.0.1").unwrap().contains("--bearer-issuer"));
        assert!(with("", "", true, "0.0.0.0").unwrap().contains("--bearer-unsigned"));
        let role = Settings { bearer_role: vec!["x".into()], ..Settings::default() };
        assert!(resolve(role, None).unwrap_err().contains("NAME=ROLE"));
    }

    #[test]
    fn counts_are_at_least_one() {
        let with = |workers, max_connections, max_requests| {
            let settings = Settings { workers, max_connections, max_requests, ..Settings::default() };
            resolve(settings, None).map(|config| (config.workers, config.max_connections, config.max_requests))
        };
        assert_eq!(with(Some(3), Some(1), Some(1_000_000)), Ok((3, 1, 1_000_000)));
        assert!(with(Some(0), None, None).unwrap_err().contains("--workers: 0"));
        assert!(with(Some(1025), None, None).unwrap_err().contains("--workers: 1025"));
        assert!(with(None, Some(0), None).unwrap_err().contains("--max-connections: 0"));
        assert!(with(None, None, Some(0)).unwrap_err().contains("--max-requests: 0"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes the file that is read")]
    fn a_bad_value_is_blamed_on_the_file_and_the_key_that_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lazuli.toml");
        let table = [
            ("workers = 0", "lazuli.toml, workers: 0 is not"),
            ("domain = ['a/b']", "lazuli.toml, domain: \"a/b\""),
            ("account = 'mine=secret!'", "lazuli.toml, account: a key of the account mine"),
            ("bearer-role = 'x'", "lazuli.toml, bearer-role: "),
            ("tls-cert = 'x'", "lazuli.toml, tls-cert needs --tls-key"),
            ("\nblob-port = 'x'", "lazuli.toml, line 2, blob-port: "),
            ("listen = '0.0.0.0'\nbearer-unsigned = true\naccount = 'mine=AQI='", "lazuli.toml, listen 0.0.0.0"),
        ];
        for (text, blamed) in table {
            std::fs::write(&file, text).unwrap();
            let error = Config::resolve(Settings::default(), Some(&file), None, Origins::default()).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(blamed) && !error.contains("secret"), "{text}: {error}");
        }
        let error = Config::resolve(Settings::default(), None, Some("mine:secret!"), Origins::default()).unwrap_err();
        assert!(format!("{error:#}").starts_with("AZURITE_ACCOUNTS: "), "{error:#}");
    }

    #[test]
    fn services_can_have_addresses_of_their_own() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let settings = Settings {
            listen: vec![ip("127.0.0.3")],
            blob_listen: vec![ip("127.0.0.2"), ip("::1"), ip("::1")],
            table_listen: vec![ip("10.0.0.1")],
            ..Settings::default()
        };
        let config = resolve(settings, None).unwrap();
        assert_eq!(config.listen("blob"), [ip("127.0.0.2"), ip("::1")]);
        assert_eq!(config.listen("queue"), [ip("127.0.0.3")]);
        assert_eq!(config.listen("table"), [ip("10.0.0.1")]);
        assert_eq!(config.reachable.as_deref(), Some("--table-listen 10.0.0.1"));
        assert!(config.accounts.is_empty(), "one of them can be reached by others");
    }

    #[test]
    fn an_address_that_is_named_twice_is_one() {
        let listen = ["::1", "127.0.0.1", "::1"].map(|address| address.parse().unwrap()).to_vec();
        let config = resolve(Settings { listen, ..Settings::default() }, None).unwrap();
        assert_eq!(config.listen.iter().map(ToString::to_string).collect::<Vec<_>>(), ["::1", "127.0.0.1"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes the file that is read")]
    fn azurites_variable_wins_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lazuli.toml");
        std::fs::write(&file, "account = 'fromfile=AQI='").unwrap();
        let name = |settings, azurite| {
            let config = Config::resolve(settings, Some(&file), azurite, Origins::default()).unwrap();
            config.accounts[0].name.as_str().to_owned()
        };
        let flag = Settings { account: vec!["fromflag=AQI=".into()], ..Settings::default() };
        assert_eq!(name(flag, Some("azurite:AQI=")), "fromflag");
        assert_eq!(name(Settings::default(), Some("azurite:AQI=")), "azurite");
        assert_eq!(name(Settings::default(), Some("")), "fromfile");
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
