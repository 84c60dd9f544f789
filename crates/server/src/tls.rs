//! TLS on the service ports: rustls with the certificate and key that were configured, read again when asked to.

use std::{
    io::{self, IoSlice},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll},
};

use anyhow::{Context as _, Result};
use rest::{BoxFuture, Handshake, Io, Secured};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::files;

/// What is encrypted and not yet taken, for each connection.
const BUFFER_BYTES: usize = 32 * 1024;

/// The server's side of TLS.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

impl Handshake for Tls {
    fn accept(&self, stream: TcpStream) -> BoxFuture<'_, io::Result<Secured>> {
        let config = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        Box::pin(async move {
            let mut stream = TlsAcceptor::from(config).accept(stream).await?;
            stream.get_mut().1.set_buffer_limit(Some(BUFFER_BYTES));
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            Ok(Secured { io: Box::new(Encrypted(stream)), http2 })
        })
    }
}

/// A connection after its handshake.
struct Encrypted(TlsStream<TcpStream>);

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

impl Tls {
    /// Reads certificate and key.
    pub(crate) fn load(certificate: &Path, key: &Path) -> Result<Arc<Self>> {
        let current = RwLock::new(read(certificate, key)?);
        Ok(Arc::new(Self { certificate: certificate.to_owned(), key: key.to_owned(), current }))
    }

    /// Reads them again. What cannot be used changes nothing; connections that exist keep what they have.
    pub(crate) fn reload(&self) -> Result<()> {
        let config = read(&self.certificate, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(text(certificate)?.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .ok()
        .filter(|chain| !chain.is_empty())
        .with_context(|| format!("{} holds no certificate in PEM", certificate.display()))?;
    let private = PrivateKeyDer::from_pem_slice(text(key)?.as_bytes())
        .ok()
        .with_context(|| format!("{} holds no private key in PEM", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .context("the certificate and its key cannot be used")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn text(path: &Path) -> Result<String> {
    files::read_text(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::TlsConnector;

    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "writes the files that the server will read")]
    async fn a_certificate_and_its_key_make_a_secure_port() {
        let pair = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        std::fs::write(&certificate, pair.cert.pem()).unwrap();
        std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
        assert!(Tls::load(&key, &certificate).is_err(), "the wrong way round");
        let tls = Tls::load(&certificate, &key).unwrap();
        std::fs::write(&key, "no key").unwrap();
        assert!(tls.reload().is_err(), "what is in use stays in use");

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async {
            let mut stream = tls.accept(listener.accept().await.unwrap().0).await.unwrap().io;
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let client = async {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(pair.cert.der().clone()).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
            let stream = TcpStream::connect(address).await.unwrap();
            let name = "localhost".try_into().unwrap();
            let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text
        };
        let ((), text) = tokio::join!(server, client);
        assert_eq!(text, "hello");
    }
}
