//! Binding ports, with one clear line when that fails.
//!
//! Everything is bound before the store is opened: a start that fails leaves nothing behind.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

use crate::{
    compose::{self, Spoken},
    config::Config,
};

/// All ports of the server.
pub(crate) struct Bound {
    pub(crate) admin: TcpListener,
    pub(crate) services: Vec<BoundService>,
}

/// The ports of one service.
pub(crate) struct BoundService {
    pub(crate) name: &'static str,
    pub(crate) endpoint: &'static str,
    pub(crate) spoken: Spoken,
    pub(crate) listeners: Vec<TcpListener>,
}

/// Binds the admin port, and the ports of every service that exists.
pub(crate) fn bind_everything(config: &Config) -> Result<Bound> {
    let admin = bind(SocketAddr::from(config.admin), false, "admin")?;
    let mut bound = Bound { admin, services: Vec::new() };
    for slot in compose::slots(config.ports) {
        let (name, endpoint, spoken) = (slot.name, slot.endpoint, slot.spoken);
        let listeners = bind_all(config.listen(name), slot.port, name)?;
        bound.services.push(BoundService { name, endpoint, spoken, listeners });
    }
    Ok(bound)
}

/// Binds a port on every address. With port 0 the first address gets a free one, and the others try the same.
///
/// The address `::` takes IPv4 too, unless that has an address of its own: both could not have the same port then.
fn bind_all(addresses: &[IpAddr], port: u16, what: &str) -> Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let apart = addresses.iter().any(IpAddr::is_ipv4);
    for address in addresses {
        let port = match listeners.first() {
            Some(first) if port == 0 => first.local_addr()?.port(),
            _ => port,
        };
        listeners.push(bind(SocketAddr::new(*address, port), apart, what)?);
    }
    Ok(listeners)
}

/// Binds one port; of IPv6 one that leaves IPv4 alone, when the families are apart.
fn bind(address: SocketAddr, apart: bool, what: &str) -> Result<TcpListener> {
    net::bind(address, apart).map_err(plain).with_context(|| {
        format!("cannot listen on {address} for {what} (choose another port with --{what}-port, 0 for a free one)")
    })
}

/// The usual reason in plain words.
fn plain(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => anyhow::anyhow!("the port is in use"),
        io::ErrorKind::AddrNotAvailable => anyhow::anyhow!("this machine does not have the address"),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_of_both_families_can_have_the_same_port() {
        for addresses in [["0.0.0.0", "::"], ["::", "0.0.0.0"], ["::", "127.0.0.1"], ["::1", "127.0.0.1"]] {
            let addresses = addresses.map(|address| address.parse().unwrap());
            let bound = bind_all(&addresses, 0, "blob").unwrap();
            let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
            assert_eq!(port(&bound[0]), port(&bound[1]), "{addresses:?}");
        }
    }

    #[tokio::test]
    async fn the_unspecified_address_of_ipv6_alone_takes_ipv4_too() {
        let bound = bind_all(&["::".parse().unwrap()], 0, "blob").unwrap();
        let port = bound[0].local_addr().unwrap().port();
        assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok());
    }
}
