//! The strings that are signed, part by part, and the forms in which libraries differ.

use std::{borrow::Cow, cmp::Ordering, fmt::Write};

use super::{Scheme, SignedParts};
use crate::need::Service;

/// The name of the read-only endpoint: the account's, and this.
const SECONDARY: &str = "-secondary";

/// How the names of headers are put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorting {
    /// By their bytes, as the documentation says.
    Bytes,
    /// As the service's own culture sorts: hyphens count only where nothing else differs, and symbols come before digits.
    /// The newer official libraries sort like this. It differs for names such as `x-ms-meta-a-b` and `x-ms-meta-ab`.
    Culture,
}

/// The string for one path and one way of sorting.
pub(super) fn string_to_sign(
    account: &str,
    scheme: Scheme,
    parts: &SignedParts<'_>,
    path: &str,
    sorting: Sorting,
) -> String {
    let mut text = String::with_capacity(512);
    let header =
        |name: &str| parts.headers.iter().find(|(sent, _)| *sent == name).map_or("", |(_, value)| value.trim());
    let ms_date = header("x-ms-date");
    // Blob, Queue and File sign x-ms-date among the headers; Table has it in the place of Date.
    let date = match (parts.service, ms_date) {
        (_, "") => header("date"),
        (Service::Table, sent) => sent,
        _ => "",
    };
    match (parts.service, scheme) {
        (Service::Table, Scheme::SharedKeyLite) => lines(&mut text, &[date]),
        (Service::Table, Scheme::SharedKey) => {
            lines(&mut text, &[parts.method, header("content-md5"), header("content-type"), date]);
        }
        (_, Scheme::SharedKeyLite) => {
            lines(&mut text, &[parts.method, header("content-md5"), header("content-type"), date]);
            headers(&mut text, parts.headers, sorting);
        }
        (_, Scheme::SharedKey) => {
            let content_length = match header("content-length") {
                // From 2015-02-21 on a length of zero is signed as nothing.
                "0" if parts.version.at_least(2015, 2, 21) => "",
                length => length,
            };
            let signed = [
                parts.method,
                header("content-encoding"),
                header("content-language"),
                content_length,
                header("content-md5"),
                header("content-type"),
                date,
                header("if-modified-since"),
                header("if-match"),
                header("if-none-match"),
                header("if-unmodified-since"),
                header("range"),
            ];
            lines(&mut text, &signed);
            headers(&mut text, parts.headers, sorting);
        }
    }
    text.push('/');
    text.push_str(account);
    text.push_str(path);
    if scheme == Scheme::SharedKey && parts.service != Service::Table {
        parameters(&mut text, parts)
    } else {
        comp(&mut text, parts)
    }
    text
}

/// The other forms that libraries sign. Made only when the usual one did not match.
pub(super) fn other_forms<'a>(
    account: &'a str,
    scheme: Scheme,
    parts: &'a SignedParts<'a>,
) -> impl Iterator<Item = String> + 'a {
    let signs_headers = parts.service != Service::Table;
    let sortings = [Sorting::Bytes, Sorting::Culture].into_iter().filter(move |sorting| {
        *sorting == Sorting::Bytes
            || (signs_headers && in_order(parts.headers, *sorting) != in_order(parts.headers, Sorting::Bytes))
    });
    sortings.flat_map(move |sorting| {
        let usual = (sorting == Sorting::Culture).then_some(Cow::Borrowed(parts.raw_path));
        let paths = usual.into_iter().chain(other_paths(account, parts));
        paths.map(move |path| string_to_sign(account, scheme, parts, &path, sorting))
    })
}

/// With the account in the path: the path without the mark of the secondary endpoint, and the path behind the account,
/// which is what is signed when the account stands in the host name.
fn other_paths<'a>(account: &'a str, parts: &SignedParts<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
    let first = parts.path_style.then(|| parts.raw_path.strip_prefix('/')).flatten();
    let (first, behind) = first.map_or(("", ""), |path| path.split_at(path.find('/').unwrap_or(path.len())));
    let primary = first.strip_suffix(SECONDARY).filter(|primary| *primary == account);
    let without_mark = primary.map(|primary| Cow::Owned(format!("/{primary}{behind}")));
    let known = first == account || primary.is_some();
    without_mark.into_iter().chain(known.then_some(Cow::Borrowed(if behind.is_empty() { "/" } else { behind })))
}

fn lines(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

fn in_order<'a>(headers: &[(&'a str, &'a str)], sorting: Sorting) -> Vec<(&'a str, &'a str)> {
    let mut ours: Vec<_> = headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).copied().collect();
    match sorting {
        Sorting::Bytes => ours.sort_by_key(|(name, _)| *name),
        Sorting::Culture => ours.sort_by(|(left, _), (right, _)| by_culture(left, right)),
    }
    ours
}

fn headers(text: &mut String, headers: &[(&str, &str)], sorting: Sorting) {
    let mut last = "";
    for (name, value) in in_order(headers, sorting) {
        if name == last {
            text.pop();
            text.push(',');
        } else {
            text.push_str(name);
            text.push(':');
        }
        text.push_str(value.trim());
        text.push('\n');
        last = name;
    }
}

/// Symbols, digits, letters; hyphens and apostrophes decide only between names that are otherwise the same.
fn by_culture(left: &str, right: &str) -> Ordering {
    const SYMBOLS: &[u8] = b"!#$%&*.^_`|~+";
    let rank = |byte: u8| match byte {
        b'-' | b'\'' => None,
        _ => SYMBOLS.iter().position(|symbol| *symbol == byte).map(|place| (0, place)).or(Some((1, usize::from(byte)))),
    };
    let ranks = |name: &str| name.bytes().filter_map(rank).collect::<Vec<_>>();
    let small = |byte: u8| match byte {
        b'\'' => 1,
        b'-' => 2,
        _ => 0,
    };
    ranks(left).cmp(&ranks(right)).then_with(|| left.bytes().map(small).cmp(right.bytes().map(small)))
}

/// Every parameter, by name in lower case; the values of a repeated one sorted and joined.
fn parameters(text: &mut String, parts: &SignedParts<'_>) {
    let mut query: Vec<(String, &str)> =
        parts.query.iter().map(|(name, value)| (name.to_ascii_lowercase(), *value)).collect();
    query.sort();
    let mut last = None;
    for (name, value) in &query {
        if last == Some(name) {
            text.push(',');
            text.push_str(value);
        } else {
            // Writing to a string cannot fail.
            let _written = write!(text, "\n{name}:{value}");
        }
        last = Some(name);
    }
}

/// Lite and Table sign one parameter only.
fn comp(text: &mut String, parts: &SignedParts<'_>) {
    if let Some((_, value)) = parts.query.iter().find(|(name, _)| name.eq_ignore_ascii_case("comp")) {
        text.push_str("?comp=");
        text.push_str(value);
    }
}
