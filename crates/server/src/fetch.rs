//! One small document from an http or https URL that the configuration names. Follows no redirects.

use std::{io, sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// Longest answer.
const MAX_BYTES: u64 = 512 * 1024;
/// For all of it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Fetches a document.
pub(crate) async fn text(url: &str) -> io::Result<String> {
    tokio::time::timeout(PATIENCE, get(url)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn get(url: &str) -> io::Result<String> {
    let (secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return Err(invalid("it is neither http nor https")),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| invalid("its port is none"))?),
        _ => (authority, if secure { 443 } else { 80 }),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, port)).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\naccept: application/json\r\nconnection: close\r\n\r\n");
    if secure {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| invalid("its host is none"))?;
        exchange(connector()?.connect(name, stream).await?, &request).await
    } else {
        exchange(stream, &request).await
    }
}

/// TLS with the certificates that this machine trusts.
fn connector() -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    match stream.take(MAX_BYTES).read_to_end(&mut answer).await {
        // Some servers end TLS without saying so; a cut document is no JSON and is found out.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        other => drop(other?),
    }
    document(&answer)
}

/// The body of an answer of status 200.
fn document(answer: &[u8]) -> io::Result<String> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(|| invalid("the answer is cut"))?;
    let (head, body) = answer.split_at(end);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let body = body.get(4..).unwrap_or_default();
    if head.split(' ').nth(1) != Some("200") {
        return Err(invalid(head.lines().next().unwrap_or("no answer")));
    }
    let chunked = head.lines().any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"));
    let body = if chunked { unchunked(body).ok_or_else(|| invalid("the answer is cut"))? } else { body.to_vec() };
    String::from_utf8(body).map_err(|_| invalid("the answer is not UTF-8"))
}

fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(body.get(..end)?).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let rest = body.get(end + 2..)?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(..size)?);
        body = rest.get(size.checked_add(2)?..)?;
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_found_in_answers() {
        let table: [(&str, Option<&str>); 5] = [
            ("HTTP/1.1 200 OK\r\na: b\r\n\r\n{}", Some("{}")),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x\r\n}\r\n0\r\n\r\n", Some("{}")),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", None),
            ("HTTP/1.1 302 Found\r\n\r\n{}", None),
            ("HTTP/1.1 200", None),
        ];
        for (answer, expected) in table {
            assert_eq!(document(answer.as_bytes()).ok().as_deref(), expected, "{answer}");
        }
    }
}
