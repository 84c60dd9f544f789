//! What is printed at start: endpoints, a connection string to paste, and where the data lives.

use std::{
    fmt::Write,
    io::{self, IsTerminal},
    net::{IpAddr, SocketAddr},
};

use crate::{config::Config, output, settings::Durability};

/// One service as it is reached.
pub(crate) struct Endpoint {
    pub(crate) name: &'static str,
    /// The key of a connection string.
    pub(crate) key: &'static str,
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Names of kept accounts that are shown.
const KEPT_SHOWN: usize = 10;

/// Prints it. Whoever started the server waits for the last line.
pub(crate) fn print(config: &Config, kept: &[String], endpoints: &[Endpoint], admin: SocketAddr) {
    let text = text(config, kept, endpoints, admin, io::stdout().is_terminal());
    // Its reader may be slow, or nobody; the server does not wait for that.
    let printed = std::thread::Builder::new().name("lazuli-banner".into()).spawn(move || output::print(&text));
    if let Err(error) = printed {
        tracing::warn!(%error, "cannot start a thread");
    }
}

fn text(config: &Config, kept: &[String], endpoints: &[Endpoint], admin: SocketAddr, terminal: bool) -> String {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let mut out = format!("Lazuli {}\n\n", env!("CARGO_PKG_VERSION"));
    let mut row = |name: &str, value: &str| {
        let _infallible = writeln!(out, "  {name:<8} {value}");
    };
    for endpoint in endpoints {
        for address in &endpoint.addresses {
            let scheme = if endpoint.name == "smb" { "smb" } else { scheme };
            row(endpoint.name, &format!("{scheme}://{address}"));
        }
    }
    row("admin", &format!("http://{admin}"));
    match config.durability {
        Durability::Memory => row("data", "in memory only: everything is lost at the end"),
        other => row("data", &format!("{} (durability: {})", config.data_dir.display(), other.name())),
    }
    if !kept.is_empty() {
        let shown = kept.iter().take(KEPT_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = kept.len().saturating_sub(KEPT_SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        row("kept", &format!("{shown}{more}; `lazuli account keys NAME` prints the keys of one"));
    }
    if let Some(reachable) = &config.reachable {
        let exposed = config.accounts.iter().find(|account| account.is_public());
        match exposed {
            Some(account) => {
                row("exposed", &format!("{}: everybody knows its key, and {reachable}", account.name.as_str()))
            }
            None if config.accounts.is_empty() => {
                row("without", &format!("the development account: everybody knows its key, and {reachable}"));
            }
            None => {}
        }
    }
    out.push('\n');
    for account in &config.accounts {
        // A key that is not public belongs to whoever sits at the terminal, not into the log of a service manager.
        let key = account.keys.first().filter(|_| terminal || account.is_public());
        let key = key.map_or_else(|| "<key>".to_owned(), crate::accounts::Key::to_base64);
        let name = account.name.as_str();
        let _infallible = write!(out, "DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};");
        for endpoint in endpoints.iter().filter(|endpoint| !endpoint.key.is_empty()) {
            if let Some(address) = endpoint.addresses.first() {
                let _infallible = write!(out, "{}={scheme}://{}/{name};", endpoint.key, reachable(*address));
            }
        }
        out.push('\n');
    }
    out.push_str("\nReady. Ctrl-C stops it.\n");
    out
}

/// An address that a client on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        other => other,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{origins::Origins, settings::Settings};

    fn shown(account: &[&str], terminal: bool) -> String {
        let account = account.iter().map(|text| (*text).to_owned()).collect();
        shown_with(Settings { account, ..Settings::default() }, &[], terminal)
    }

    fn shown_with(settings: Settings, kept: &[&str], terminal: bool) -> String {
        let config = Config::resolve(settings, None, None, Origins::default()).unwrap();
        let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let addresses = vec!["0.0.0.0:10000".parse().unwrap()];
        let endpoints = [Endpoint { name: "blob", key: "BlobEndpoint", addresses }];
        text(&config, &kept, &endpoints, "127.0.0.1:10009".parse().unwrap(), terminal)
    }

    #[test]
    fn shows_what_to_paste() {
        expect_test::expect![[r#"
            Lazuli 0.1.0

              blob     http://0.0.0.0:10000
              admin    http://127.0.0.1:10009
              data     ./lazuli-data (durability: sync)

            DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;

            Ready. Ctrl-C stops it.
        "#]]
        .assert_eq(&shown(&[], false));
    }

    #[test]
    fn a_real_key_is_shown_on_a_terminal_only() {
        assert!(shown(&["mine=AQI="], true).contains("AccountKey=AQI=;"));
        assert!(shown(&["mine=AQI="], false).contains("AccountKey=<key>;"));
    }

    #[test]
    fn kept_accounts_are_named() {
        let names: Vec<String> = (0..12).map(|number| format!("mine{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let of = |kept| shown_with(Settings::default(), kept, true);
        assert!(!of(&[]).contains("kept"));
        assert!(
            of(&names[..2]).contains("\n  kept     mine0, mine1; `lazuli account keys NAME`"),
            "{}",
            of(&names[..2])
        );
        assert!(of(&names).contains("mine9 and 2 more; "), "{}", of(&names));
    }

    #[test]
    fn it_says_what_becomes_of_the_development_account_where_others_can_reach_it() {
        let on = |expose| Settings {
            listen: vec!["0.0.0.0".parse().unwrap()],
            expose_development_account: Some(expose),
            ..Settings::default()
        };
        assert!(shown_with(on(true), &[], false).contains("  exposed  devstoreaccount1: "));
        let without = shown_with(on(false), &["mine"], false);
        assert!(without.contains("  without  the development account: ") && without.contains("--listen 0.0.0.0"));
    }
}
