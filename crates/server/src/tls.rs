//! TLS on the service ports: rustls with the certificate and key that were configured.

use std::{io, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use rest::{BoxFuture, Handshake, Io};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::files;

/// The server's side of TLS.
struct Tls(TlsAcceptor);

impl Handshake for Tls {
    fn accept(&self, stream: TcpStream) -> BoxFuture<'_, io::Result<Box<dyn Io>>> {
        Box::pin(async move {
            let stream = self.0.accept(stream).await?;
            let stream: Box<dyn Io> = Box::new(stream);
            Ok(stream)
        })
    }
}

/// Reads certificate and key.
pub(crate) fn load(certificate: &Path, key: &Path) -> Result<Arc<dyn Handshake>> {
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
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(Tls(TlsAcceptor::from(Arc::new(config)))))
}

fn text(path: &Path) -> Result<String> {
    files::read_text(path).with_context(|| format!("cannot read {}", path.display()))
}
