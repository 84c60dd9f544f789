//! The server's side of TLS: rustls with a certificate and key that can be exchanged while it serves. Files are read by
//! whoever has them.
//!
//! Invariants: a certificate that cannot be used never replaces one that can; what is encrypted and not yet taken is
//! bounded for each connection. How long a handshake may take is bounded where connections are accepted.

use std::{
    io,
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::stream::Encrypted;

/// What is encrypted and not yet taken, for each connection.
const BUFFER_BYTES: usize = 32 * 1024;

/// Why a certificate and its key cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TlsError {
    /// There is no certificate in the text.
    #[error("there is no certificate in PEM")]
    NoCertificate,
    /// There is no private key in the text.
    #[error("there is no private key in PEM")]
    NoKey,
    /// They do not belong together, or are of a kind that is not known.
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The server's side of TLS.
#[derive(Debug)]
pub struct Tls {
    protocols: Vec<Vec<u8>>,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// With a certificate and its key, both in PEM. `protocols` are what is spoken here, the preferred first, by their
    /// registered names (`h2`).
    ///
    /// # Errors
    /// They cannot be used.
    pub fn new(certificate: &str, key: &str, protocols: &[&[u8]]) -> Result<Self, TlsError> {
        let protocols: Vec<Vec<u8>> = protocols.iter().map(|name| name.to_vec()).collect();
        let current = RwLock::new(configure(certificate, key, &protocols)?);
        Ok(Self { protocols, current })
    }

    /// Uses another certificate and key from here on; connections that exist keep what they have.
    ///
    /// # Errors
    /// They cannot be used, and the old ones stay in use.
    pub fn replace(&self, certificate: &str, key: &str) -> Result<(), TlsError> {
        let config = configure(certificate, key, &self.protocols)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Does the server's side of the handshake.
    ///
    /// # Errors
    /// The connection failed, or the client does not speak TLS as we do.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<Encrypted> {
        let config = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        let mut stream = TlsAcceptor::from(config).accept(stream).await?;
        stream.get_mut().1.set_buffer_limit(Some(BUFFER_BYTES));
        Ok(Encrypted::new(stream))
    }
}

fn configure(certificate: &str, key: &str, protocols: &[Vec<u8>]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(TlsError::NoCertificate)?;
    let private = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| TlsError::NoKey)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)?;
    config.alpn_protocols = protocols.to_vec();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::TlsConnector;

    use super::*;

    #[tokio::test]
    async fn a_certificate_and_its_key_make_a_secure_port() {
        let pair = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let (certificate, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
        assert!(matches!(Tls::new(&key, &certificate, &[]), Err(TlsError::NoCertificate)), "the wrong way round");
        assert!(matches!(Tls::new(&certificate, &certificate, &[]), Err(TlsError::NoKey)));
        let other = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let foreign = other.signing_key.serialize_pem();
        assert!(matches!(Tls::new(&certificate, &foreign, &[]), Err(TlsError::Unusable(_))));
        let tls = Tls::new(&certificate, &key, &[b"echo"]).unwrap();
        assert!(tls.replace(&certificate, "no key").is_err(), "what is in use stays in use");

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async {
            let mut stream = tls.accept(listener.accept().await.unwrap().0).await.unwrap();
            assert_eq!(stream.agreed_protocol(), Some(&b"echo"[..]));
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let client = async {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(pair.cert.der().clone()).unwrap();
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"echo".to_vec()];
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
