//! Bound ports, and what they hand on to their connections.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::net::{TcpListener, TcpSocket};

use crate::Tls;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// What the system keeps of answers that cannot be sent yet, for each connection.
const UNSENT_BYTES: u32 = 512 * 1024;

/// A bound port.
pub struct Listener {
    /// The socket that connections are accepted from.
    pub tcp: TcpListener,
    /// `Some` when its connections are encrypted.
    pub tls: Option<Arc<Tls>>,
}

/// Binds a port; with `only_ipv6`, one of IPv6 that leaves IPv4 alone.
///
/// # Errors
/// The port is in use, or the address is not one of this machine.
pub fn bind(address: SocketAddr, only_ipv6: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if address.is_ipv6() && only_ipv6 {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // What is left of connections to a server that has ended must not be in the way of the next.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    keep_little(&socket)?;
    socket.listen(BACKLOG)
}

/// Lets the system keep little that a client has no window for. A thousand clients that take nothing would otherwise be
/// given a thousand times some mebibytes, and everybody waits while that is copied. Connections get it from their listener.
fn keep_little(socket: &TcpSocket) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(socket).set_tcp_notsent_lowat(UNSENT_BYTES)?;
    #[cfg(not(target_os = "linux"))]
    let _has_no_such_option = (socket, UNSENT_BYTES);
    Ok(())
}
