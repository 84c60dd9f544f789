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
    compose::{self, Build},
    config::Config,
};

/// All ports of the server.
pub(crate) struct Bound {
    pub(crate) admin: TcpListener,
    pub(crate) services: Vec<BoundService>,
    /// Services that do not exist yet.
    pub(crate) closed: Vec<&'static str>,
}

/// The ports of one service.
pub(crate) struct BoundService {
    pub(crate) name: &'static str,
    pub(crate) endpoint: &'static str,
    pub(crate) build: Build,
    pub(crate) listeners: Vec<TcpListener>,
}

/// Binds the admin port, and the ports of every service that exists.
pub(crate) async fn bind_everything(config: &Config) -> Result<Bound> {
    let admin = bind(SocketAddr::from(config.admin), "admin").await?;
    let mut bound = Bound { admin, services: Vec::new(), closed: Vec::new() };
    for slot in compose::slots(config.ports) {
        let (name, endpoint) = (slot.name, slot.endpoint);
        match slot.build {
            None => bound.closed.push(name),
            Some(build) => {
                let listeners = bind_all(&config.listen, slot.port, name).await?;
                bound.services.push(BoundService { name, endpoint, build, listeners });
            }
        }
    }
    Ok(bound)
}

/// Binds a port on every address. With port 0 the first address gets a free one, and the others try the same.
async fn bind_all(addresses: &[IpAddr], port: u16, what: &str) -> Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for address in addresses {
        let port = match listeners.first() {
            Some(first) if port == 0 => first.local_addr()?.port(),
            _ => port,
        };
        listeners.push(bind(SocketAddr::new(*address, port), what).await?);
    }
    Ok(listeners)
}

/// Binds one port.
async fn bind(address: SocketAddr, what: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(plain).with_context(|| {
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
