//! The files of TLS: certificate and key, read at the start and again when asked to. What is done with them is in `net`.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, Result};
use net::{Tls, TlsError};

use crate::files;

/// Where certificate and key are, and what was made of them.
pub(crate) struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    tls: Arc<Tls>,
}

impl Certificate {
    /// Reads certificate and key.
    pub(crate) fn load(certificate: PathBuf, key: PathBuf) -> Result<Self> {
        let (chain, private) = (text(&certificate)?, text(&key)?);
        let tls = Tls::new(&chain, &private, rest::serve::PROTOCOLS);
        let tls = Arc::new(tls.map_err(|error| explain(error, &certificate, &key))?);
        Ok(Self { certificate, key, tls })
    }

    /// What ports use.
    pub(crate) fn tls(&self) -> Arc<Tls> {
        Arc::clone(&self.tls)
    }

    /// Reads them again. What cannot be used changes nothing; connections that exist keep what they have.
    pub(crate) fn reload(&self) -> Result<()> {
        let replaced = self.tls.replace(&text(&self.certificate)?, &text(&self.key)?);
        replaced.map_err(|error| explain(error, &self.certificate, &self.key))
    }
}

/// The reason with the file that it is about.
fn explain(error: TlsError, certificate: &std::path::Path, key: &std::path::Path) -> anyhow::Error {
    match error {
        TlsError::NoCertificate => anyhow::anyhow!("{} holds no certificate in PEM", certificate.display()),
        TlsError::NoKey => anyhow::anyhow!("{} holds no private key in PEM", key.display()),
        TlsError::Unusable(error) => anyhow::Error::new(error).context("the certificate and its key cannot be used"),
    }
}

fn text(path: &std::path::Path) -> Result<String> {
    files::read_text(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes the files that the server will read")]
    fn a_refusal_names_the_file_and_changes_nothing() {
        let pair = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        std::fs::write(&certificate, pair.cert.pem()).unwrap();
        std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
        let wrong = Certificate::load(key.clone(), certificate.clone()).err().unwrap().to_string();
        assert!(wrong.ends_with("key.pem holds no certificate in PEM"), "{wrong}");
        let loaded = Certificate::load(certificate, key.clone()).unwrap();
        loaded.reload().unwrap();
        std::fs::write(&key, "no key").unwrap();
        let error = loaded.reload().unwrap_err().to_string();
        assert!(error.ends_with("key.pem holds no private key in PEM"), "{error}");
    }
}
