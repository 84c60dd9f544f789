//! Binding ports, with one clear line when that fails.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

/// Binds a port on every address. With port 0 the first address gets a free one, and the others try the same.
pub(crate) async fn bind_all(addresses: &[IpAddr], port: u16, what: &str) -> Result<Vec<TcpListener>> {
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
pub(crate) async fn bind(address: SocketAddr, what: &str) -> Result<TcpListener> {
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
