//! Which addresses are this server: what a copy from there reads is in the store, and a signature in such a URL never leaves
//! the machine.
//!
//! **Invariant.** Every name under which an account of this server is always served is here. An account of the public cloud
//! that this server does not have, or that is named as remote, is not.

use std::net::{IpAddr, SocketAddr};

use access::need::Service;
use rest::account_of;

/// The domain of the public cloud, which is always served.
const PUBLIC_CLOUD: &str = "core.windows.net";

/// What is known of this server's own addresses.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// Domains of its own behind which its accounts are found.
    pub domains: Vec<String>,
    /// Where its services listen.
    pub listeners: Vec<(Service, SocketAddr)>,
    /// Accounts of the public cloud that are not those of the same name here: for a migration.
    pub remote: Vec<String>,
}

/// A host and port, as they stand in a URL or in a Host header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'a> {
    name: &'a str,
    port: u16,
}

impl<'a> Address<'a> {
    pub(crate) fn new(host: &'a str, secure: bool) -> Self {
        let usual = if secure { 443 } else { 80 };
        let split = host.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port) = split.unwrap_or((host, usual));
        Self { name: name.strip_suffix('.').unwrap_or(name), port }
    }

    /// The address in the name, when it is one.
    fn ip(&self) -> Option<IpAddr> {
        self.name.trim_matches(['[', ']']).parse().ok()
    }

    fn is_loopback(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        name == "localhost" || name.ends_with(".localhost") || self.ip().is_some_and(|ip| ip.is_loopback())
    }

    /// `a.blob.example.com` and `b.blob.example.com` are behind the same one.
    fn domain(&self, service: Service) -> Option<String> {
        let (_, domain) = self.name.split_once('.')?;
        let domain = domain.to_ascii_lowercase();
        domain.strip_prefix(word(service))?.strip_prefix('.').map(str::to_owned)
    }
}

/// How a service is called in the names of hosts.
pub(crate) const fn word(service: Service) -> &'static str {
    match service {
        Service::Blob => "blob",
        Service::Queue => "queue",
        Service::Table => "table",
        Service::File => "file",
    }
}

/// The services that have something to copy.
const COPIED_FROM: [Service; 2] = [Service::Blob, Service::File];

impl Here {
    /// The service of this server that the source is an address of; `own` is how it was just addressed, `has` whether it has
    /// an account.
    pub(crate) fn find(
        &self,
        source: Address<'_>,
        own: (Service, Address<'_>),
        has: impl Fn(&str) -> bool,
    ) -> Option<Service> {
        if self.is(own.0, source, Some(own.1), &has) {
            return Some(own.0);
        }
        COPIED_FROM.into_iter().find(|service| *service != own.0 && self.is(*service, source, None, &has))
    }

    fn is(&self, service: Service, source: Address<'_>, own: Option<Address<'_>>, has: impl Fn(&str) -> bool) -> bool {
        if let Some(account) = account_of(source.name, word(service), &self.domains) {
            let account = account.strip_suffix("-secondary").unwrap_or(&account);
            if source.domain(service).as_deref() == Some(PUBLIC_CLOUD) {
                return has(account) && !self.remote.iter().any(|remote| remote.eq_ignore_ascii_case(account));
            }
            let known_port = matches!(source.port, 80 | 443)
                || own.is_some_and(|own| source.port == own.port)
                || self.listeners(service).any(|listener| listener.port() == source.port);
            if known_port && has(account) {
                return true;
            }
        }
        self.is_listener(service, source) || own.is_some_and(|own| is_same(service, source, own))
    }

    fn listeners(&self, service: Service) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().filter(move |(of, _)| *of == service).map(|(_, listener)| *listener)
    }

    /// An address that is listened on, with the account in the path.
    fn is_listener(&self, service: Service, source: Address<'_>) -> bool {
        self.listeners(service).any(|listener| {
            let reaches_loopback = listener.ip().is_loopback() || listener.ip().is_unspecified();
            listener.port() == source.port
                && (source.ip() == Some(listener.ip()) || (reaches_loopback && source.is_loopback()))
        })
    }
}

/// The address by which this server was just addressed, or another name of it.
fn is_same(service: Service, source: Address<'_>, own: Address<'_>) -> bool {
    source.port == own.port
        && (source.name.eq_ignore_ascii_case(own.name)
            || (source.is_loopback() && own.is_loopback())
            || source.domain(service).is_some_and(|domain| own.domain(service) == Some(domain)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_addresses_are_this_server() {
        let here = Here {
            domains: vec!["example.com".to_owned()],
            listeners: vec![
                (Service::Blob, "127.0.0.1:10000".parse().unwrap()),
                (Service::Blob, "10.0.0.7:10000".parse().unwrap()),
                (Service::File, "127.0.0.1:10004".parse().unwrap()),
            ],
            remote: vec!["moved".to_owned()],
        };
        let has = |account: &str| ["a", "b", "moved"].contains(&account);
        let table = [
            // As it was addressed, and on loopback under any name.
            ("127.0.0.1:10000", "127.0.0.1:10000", true),
            ("localhost:10000", "127.0.0.1:10000", true),
            ("[::1]:10000", "localhost:10000", true),
            ("127.0.0.1:10003", "127.0.0.1:10000", false),
            ("STORE:80", "store", true),
            ("store", "other", false),
            ("a.example.org", "b.example.org", false),
            ("x.blob.example.org", "y.blob.example.org", true),
            // Its listeners, however it was addressed.
            ("127.0.0.1:10000", "store", true),
            ("10.0.0.7:10000", "store", true),
            ("10.0.0.8:10000", "store", false),
            ("10.0.0.1:10000", "127.0.0.1:10000", false),
            // The names that are always served, of accounts that it has.
            ("a.blob.core.windows.net", "127.0.0.1:10000", true),
            ("A.BLOB.core.windows.net:443", "127.0.0.1:10000", true),
            ("a-secondary.blob.core.windows.net", "127.0.0.1:10000", true),
            ("other.blob.core.windows.net", "127.0.0.1:10000", false),
            ("other.blob.core.windows.net", "a.blob.core.windows.net", false),
            ("moved.blob.core.windows.net", "127.0.0.1:10000", false),
            ("moved.blob.core.windows.net", "moved.blob.core.windows.net", false),
            ("a.queue.core.windows.net", "127.0.0.1:10000", false),
            ("a.blob.localhost:10000", "store", true),
            ("moved.blob.localhost:10000", "store", true),
            ("a.blob.localhost", "store", true),
            ("a.blob.localhost:20000", "store", false),
            ("a.blob.example.com", "127.0.0.1:10000", true),
            ("b.blob.example.com", "a.blob.example.com", true),
            ("other.blob.example.com", "127.0.0.1:10000", false),
        ];
        for (source, own, expected) in table {
            let found = here.find(Address::new(source, false), (Service::Blob, Address::new(own, false)), has);
            assert_eq!(found, expected.then_some(Service::Blob), "{source} {own}");
        }
        let own = (Service::Blob, Address::new("store", false));
        assert_eq!(here.find(Address::new("store", true), own, has), None, "another port");
        // Other services of it are, by names and ports of their own.
        for (source, expected) in [
            ("127.0.0.1:10004", Some(Service::File)),
            ("a.file.core.windows.net", Some(Service::File)),
            ("moved.file.core.windows.net", None),
            ("other.file.core.windows.net", None),
            ("a.file.localhost:10004", Some(Service::File)),
            ("a.file.localhost:10000", Some(Service::Blob)),
            ("a.file.example.com", Some(Service::File)),
            ("x.file.example.org", None),
        ] {
            let own = (Service::Blob, Address::new("y.blob.example.org", false));
            assert_eq!(here.find(Address::new(source, false), own, has), expected, "{source}");
        }
    }
}
