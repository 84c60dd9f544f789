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

/// Prints it. Whoever started the server waits for the last line.
pub(crate) fn print(config: &Config, endpoints: &[Endpoint], closed: &[&str], admin: SocketAddr) {
    let text = text(config, endpoints, closed, admin, io::stdout().is_terminal());
    // Its reader may be slow, or nobody; the server does not wait for that.
    let printed = std::thread::Builder::new().name("lazuli-banner".into()).spawn(move || output::print(&text));
    if let Err(error) = printed {
        tracing::warn!(%error, "cannot start a thread");
    }
}

fn text(config: &Config, endpoints: &[Endpoint], closed: &[&str], admin: SocketAddr, terminal: bool) -> String {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let mut out = format!("Lazuli {}\n\n", env!("CARGO_PKG_VERSION"));
    let mut row = |name: &str, value: &str| {
        let _infallible = writeln!(out, "  {name:<8} {value}");
    };
    for endpoint in endpoints {
        for address in &endpoint.addresses {
            row(endpoint.name, &format!("{scheme}://{address}"));
        }
    }
    row("admin", &format!("http://{admin}"));
    match config.durability {
        Durability::Memory => row("data", "in memory only: everything is lost at the end"),
        other => row("data", &format!("{} (durability: {})", config.data_dir.display(), other.name())),
    }
    if !closed.is_empty() {
        row("not yet", &closed.join(", "));
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
    use crate::settings::Settings;

    fn shown(account: &[&str], terminal: bool) -> String {
        let account = account.iter().map(|text| (*text).to_owned()).collect();
        let config = Config::resolve(Settings { account, ..Settings::default() }, None, None).unwrap();
        let addresses = vec!["0.0.0.0:10000".parse().unwrap()];
        let endpoints = [Endpoint { name: "blob", key: "BlobEndpoint", addresses }];
        text(&config, &endpoints, &["queue"], "127.0.0.1:10009".parse().unwrap(), terminal)
    }

    #[test]
    fn shows_what_to_paste() {
        expect_test::expect![[r#"
            Lazuli 0.1.0

              blob     http://0.0.0.0:10000
              admin    http://127.0.0.1:10009
              data     ./lazuli-data (durability: sync)
              not yet  queue

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
}
