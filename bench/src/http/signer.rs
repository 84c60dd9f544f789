//! Requests signed with the development account's key.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use access::account::{DEVELOPMENT_ACCOUNT as ACCOUNT, DEVELOPMENT_KEY as KEY};
use types::Timestamp;

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
        let date = now();
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

    /// The head of a request to the Table service, signed. The path is encoded; its query is not signed.
    pub(crate) fn table_head(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        length: usize,
        extra: &[(&str, &str)],
    ) -> String {
        let date = now();
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

fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    rest::dates::rfc1123(Timestamp::from_seconds(seconds))
}
