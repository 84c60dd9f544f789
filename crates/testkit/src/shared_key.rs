//! Shared Key, written from the documentation and not from `access`, so that both must be right.

use access::account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The account of all tests.
pub const ACCOUNT: &str = DEVELOPMENT_ACCOUNT;
/// Its key.
pub const KEY: &str = DEVELOPMENT_KEY;

/// The Authorization header of a request to this service: `target` is path and query as they are sent.
#[must_use]
pub fn authorization(service: &str, method: &str, target: &str, headers: &[(String, String)]) -> String {
    let value = |name: &str| {
        let found = headers.iter().find(|(sent, _)| sent.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parameters: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name).to_lowercase(), decode(value)))
        .collect();
    parameters.sort();
    let text = if service == "table" {
        let date = if value("x-ms-date").is_empty() { value("date") } else { value("x-ms-date") };
        let component = parameters.iter().find(|(name, _)| name == "comp");
        let component = component.map(|(_, value)| format!("?comp={value}")).unwrap_or_default();
        let (md5, kind) = (value("content-md5"), value("content-type"));
        format!("{method}\n{md5}\n{kind}\n{date}\n/{ACCOUNT}{path}{component}")
    } else {
        let length = Some(value("content-length")).filter(|length| *length != "0").unwrap_or_default();
        let standard = [
            "content-encoding",
            "content-language",
            "",
            "content-md5",
            "content-type",
            "",
            "if-modified-since",
            "if-match",
            "if-none-match",
            "if-unmodified-since",
            "range",
        ];
        let mut text = format!("{method}\n");
        for (line, name) in standard.iter().enumerate() {
            text.push_str(if line == 2 { length } else { value(name) });
            text.push('\n');
        }
        let mut ours: Vec<_> = headers.iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
        ours.retain(|(name, _)| name.starts_with("x-ms-"));
        ours.sort();
        for (name, value) in ours {
            text.push_str(&format!("{name}:{}\n", value.trim()));
        }
        text.push_str(&format!("/{ACCOUNT}{path}"));
        for (name, value) in parameters {
            text.push_str(&format!("\n{name}:{value}"));
        }
        text
    };
    format!("SharedKey {ACCOUNT}:{}", sign(&text))
}

/// The signature of a text with the key of the account.
fn sign(text: &str) -> String {
    let key = STANDARD.decode(KEY).unwrap_or_default();
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return String::new() };
    mac.update(text.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

fn decode(text: &str) -> String {
    rest::percent::decode(text).map_or_else(|| text.to_owned(), Into::into)
}
