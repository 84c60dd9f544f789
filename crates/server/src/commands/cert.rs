//! `lazuli cert`: a self-signed certificate for development, with every name that the services have on one machine.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rest::dates;
use types::Timestamp;

use crate::{cli::CertArgs, files, output};

const NAMES: [&str; 8] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "*.blob.localhost",
    "*.queue.localhost",
    "*.table.localhost",
    "*.file.localhost",
    "*.dfs.localhost",
];
const DAY_SECONDS: u64 = 86_400;

/// Writes the pair.
pub(crate) fn run(arguments: &CertArgs) -> Result<()> {
    let CertArgs { cert, key, name, days, force } = arguments;
    if cert == key {
        bail!("certificate and key need different files, not {} for both", cert.display());
    }
    for path in [cert, key] {
        if !force && path.exists() {
            bail!("{} exists; --force replaces it", path.display());
        }
    }
    let (certificate, private) = pair(name, now(), *days)?;
    write(key, &private, *force, true)?;
    write(cert, &certificate, *force, false)?;
    output::print(&format!(
        "certificate  {cert}\nkey          {key}\n\nlazuli serve --tls-cert {cert} --tls-key {key}\n\n\
         Clients have to be told to trust it:\n  \
         REQUESTS_CA_BUNDLE={cert}   Python, Azure CLI\n  \
         SSL_CERT_FILE={cert}        Python with aio, Go, rclone\n  \
         NODE_EXTRA_CA_CERTS={cert}  Node\n",
        cert = cert.display(),
        key = key.display(),
    ));
    Ok(())
}

fn write(path: &Path, text: &str, replace: bool, secret: bool) -> Result<()> {
    files::write_text(path, text, replace, secret).with_context(|| format!("cannot write {}", path.display()))
}

/// Certificate and key in PEM.
fn pair(further: &[String], now: Timestamp, days: u16) -> Result<(String, String)> {
    let names = NAMES.iter().map(ToString::to_string).chain(further.iter().cloned());
    let mut parameters = CertificateParams::new(names.collect::<Vec<_>>()).context("--name is no host")?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, "Lazuli development");
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // From yesterday on, for clients whose clock is behind.
    let (year, month, day) = date(now.seconds().saturating_sub(DAY_SECONDS))?;
    parameters.not_before = rcgen::date_time_ymd(year, month, day);
    let (year, month, day) = date(now.seconds() + u64::from(days) * DAY_SECONDS)?;
    parameters.not_after = rcgen::date_time_ymd(year, month, day);
    let key = KeyPair::generate().context("cannot make a key")?;
    let certificate = parameters.self_signed(&key).context("cannot sign the certificate")?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Year, month and day.
fn date(seconds: u64) -> Result<(i32, u8, u8)> {
    let text = dates::iso8601(Timestamp::from_seconds(seconds));
    let mut numbers = text.split(['-', 'T']);
    let mut next = || numbers.next().unwrap_or_default();
    Ok((next().parse()?, next().parse()?, next().parse()?))
}

#[expect(clippy::disallowed_methods, reason = "a certificate begins today; no store is open")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_seconds(since.as_secs())
}
