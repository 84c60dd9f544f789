//! The bytes of a connection, plain or encrypted.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

/// A byte stream, plain or encrypted.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {
    /// The client has shown a credential and takes a large answer: the system may keep as much of it as it thinks right,
    /// which saves waking up for each part. For strangers it keeps little.
    fn keep_more(&self) {}
}

impl<T: Io + ?Sized> Io for Box<T> {
    fn keep_more(&self) {
        (**self).keep_more();
    }
}

/// A stream inside of the process, for tests.
impl Io for tokio::io::DuplexStream {}

impl Io for TcpStream {
    fn keep_more(&self) {
        // Without the option it is only slower.
        #[cfg(target_os = "linux")]
        let _unchanged = socket2::SockRef::from(self).set_tcp_notsent_lowat(u32::MAX);
    }
}

/// The stream of an accepted connection.
pub enum Stream {
    /// Bytes as they are.
    Plain(TcpStream),
    /// Bytes within TLS. Boxed once here, so that a connection without TLS pays nothing for it.
    Encrypted(Box<Encrypted>),
}

/// A connection after its handshake.
pub struct Encrypted(TlsStream<TcpStream>);

impl Encrypted {
    pub(crate) const fn new(stream: TlsStream<TcpStream>) -> Self {
        Self(stream)
    }

    /// The protocol that both sides have agreed on in the handshake.
    #[must_use]
    pub fn agreed_protocol(&self) -> Option<&[u8]> {
        self.0.get_ref().1.alpn_protocol()
    }
}

impl Io for Encrypted {
    fn keep_more(&self) {
        self.0.get_ref().0.keep_more();
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
