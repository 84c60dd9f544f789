//! A connection that sends prepared requests and reads answers, as little work as can be: the load generator shares the
//! machine with what it measures.

use std::io::IoSlice;

use anyhow::{Context, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const TABLE_VERSION: &str = "2019-02-02";
const VERSION: &str = "2021-12-02";

/// Signs with the development account's key.
#[derive(Clone)]
pub(crate) struct Signer(Hmac<Sha256>);

impl Signer {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(Hmac::new_from_slice(&STANDARD.decode(KEY)?)?))
    }

    /// The head of a request to the account, signed. `query` is sorted `name=value` pairs; of what needs an escape, values
    /// hold at most the characters of base64.
    pub(crate) fn head(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        length: usize,
        extra: &[(&str, &str)],
    ) -> String {
        self.signed(method, path, query, length, "", extra)
    }

    /// The same for an empty body, under a condition.
    pub(crate) fn conditional_head(&self, method: &str, path: &str, if_match: &str, extra: &[(&str, &str)]) -> String {
        self.signed(method, path, &[], 0, if_match, extra)
    }

    /// The code that signatures are made with.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        self.0.clone()
    }

    fn signed(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        length: usize,
        if_match: &str,
        extra: &[(&str, &str)],
    ) -> String {
        let date = now_rfc1123();
        let path = format!("/{ACCOUNT}{path}");
        let mut ours: Vec<(&str, &str)> = extra.to_vec();
        ours.push(("x-ms-date", &date));
        ours.push(("x-ms-version", VERSION));
        ours.sort_unstable();
        let signed_length = if length == 0 { String::new() } else { length.to_string() };
        let mut text = format!("{method}\n\n\n{signed_length}\n\n\n\n\n{if_match}\n\n\n\n");
        for (name, value) in &ours {
            text.push_str(&format!("{name}:{value}\n"));
        }
        text.push_str(&format!("/{ACCOUNT}{path}"));
        for (name, value) in query {
            text.push_str(&format!("\n{name}:{value}"));
        }
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut url = path;
        for (number, (name, value)) in query.iter().enumerate() {
            let value = value.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
            url.push_str(&format!("{}{name}={value}", if number == 0 { '?' } else { '&' }));
        }
        let mut head = format!("{method} {url} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n");
        for (name, value) in &ours {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !if_match.is_empty() {
            head.push_str(&format!("If-Match: {if_match}\r\n"));
        }
        head.push_str(&format!("Authorization: SharedKey {ACCOUNT}:{signature}\r\n\r\n"));
        head
    }
}

impl Signer {
    /// The head of a request to the Table service, signed. The path is encoded; its query is not signed.
    pub(crate) fn table_head(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        length: usize,
        extra: &[(&str, &str)],
    ) -> String {
        let date = now_rfc1123();
        let url = format!("/{ACCOUNT}{path}");
        let resource = url.split('?').next().unwrap_or_default();
        let mut mac = self.0.clone();
        mac.update(format!("{method}\n\n{content_type}\n{date}\n/{ACCOUNT}{resource}").as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut head = format!(
            "{method} {url} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\nx-ms-date: {date}\r\n\
             x-ms-version: {TABLE_VERSION}\r\nDataServiceVersion: 3.0\r\n\
             Authorization: SharedKey {ACCOUNT}:{signature}\r\n"
        );
        if !content_type.is_empty() {
            head.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        for (name, value) in extra {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }
}

fn now_rfc1123() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, seconds) = (now / 86_400, now % 86_400);
    // Civil date from days since 1970 (Howard Hinnant's algorithm).
    let z = days as i64 + 719_468;
    let era = z / 146_097;
    let doe = z - era * 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let name = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month as usize - 1];
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{weekday}, {day:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// One kept connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Sends a request and reads its answer to the end. Returns the status and the bytes of the body.
    pub(crate) async fn call(&mut self, head: &str, body: &[u8]) -> anyhow::Result<(u16, usize)> {
        let both = [IoSlice::new(head.as_bytes()), IoSlice::new(body)];
        let written = self.stream.write_vectored(&both).await?;
        let (head, body) =
            (&head.as_bytes()[written.min(head.len())..], &body[written.saturating_sub(head.len()).min(body.len())..]);
        self.stream.write_all(head).await?;
        self.stream.write_all(body).await?;
        let mut filled = 0;
        let (head_end, status, length) = loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            if count == 0 {
                bail!("the connection was closed");
            }
            filled += count;
            if let Some(end) = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.buffer[..end])?;
                let status: u16 = head.get(9..12).context("no status")?.parse()?;
                break (end + 4, status, content_length(head)?);
            }
        };
        let mut got = filled - head_end;
        match length {
            Some(length) => {
                while got < length {
                    let count = self.stream.read(&mut self.buffer).await?;
                    if count == 0 {
                        bail!("the body was cut off");
                    }
                    got += count;
                }
            }
            None => {
                // Chunked: read until the last chunk. Good enough for measuring a listing.
                let mut tail: Vec<u8> = self.buffer[head_end..filled].to_vec();
                while !tail.ends_with(b"0\r\n\r\n") {
                    let count = self.stream.read(&mut self.buffer).await?;
                    if count == 0 {
                        bail!("the body was cut off");
                    }
                    got += count;
                    tail.extend_from_slice(&self.buffer[..count]);
                    let keep = tail.len().saturating_sub(16);
                    tail.drain(..keep);
                }
            }
        }
        Ok((status, got))
    }

    /// Sends a request without a body whose answer has an ETag and no body, and returns the ETag.
    pub(crate) async fn call_for_etag(&mut self, head: &str) -> anyhow::Result<String> {
        self.stream.write_all(head.as_bytes()).await?;
        let mut filled = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            anyhow::ensure!(count > 0, "the connection was closed");
            filled += count;
            let Some(end) = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let answer = std::str::from_utf8(&self.buffer[..end])?;
            anyhow::ensure!(answer.get(9..12) == Some("201"), "answered {}", answer.get(9..12).unwrap_or_default());
            let etag = answer.split("\r\n").find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("etag").then(|| value.trim().to_owned())
            });
            return etag.context("no ETag");
        }
    }

    /// Sends a request and reads a small answer whose body is wanted. Returns the status and the body.
    pub(crate) async fn call_for_text(&mut self, head: &str, body: &[u8]) -> anyhow::Result<(u16, String)> {
        self.stream.write_all(&[head.as_bytes(), body].concat()).await?;
        let mut answer = Vec::new();
        loop {
            let count = self.stream.read(&mut self.buffer).await?;
            anyhow::ensure!(count > 0, "the connection was closed");
            answer.extend_from_slice(&self.buffer[..count]);
            let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&answer[..end])?;
            let status = head.get(9..12).context("no status")?.parse()?;
            let body = &answer[end + 4..];
            let complete = match content_length(head)? {
                Some(length) => body.len() >= length,
                None => status == 204 || body.ends_with(b"0\r\n\r\n"),
            };
            if complete {
                return Ok((status, String::from_utf8_lossy(body).into_owned()));
            }
        }
    }
}

fn content_length(head: &str) -> anyhow::Result<Option<usize>> {
    for line in head.split("\r\n").skip(1) {
        if let Some((name, value)) = line.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                return Ok(Some(value.trim().parse()?));
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Ok(None);
            }
        }
    }
    Ok(Some(0))
}
