//! What a request is about: the account, the resource behind it, and the parameters, raw **and** decoded.
//!
//! Signatures are made over the raw parts, look-ups by the decoded ones; both come from one parse, so they cannot
//! disagree. Names are not checked here: that is the business of the name types.

use std::{borrow::Cow, net::Ipv4Addr};

use crate::{Query, ServiceError, limits, percent};

/// Domains behind which accounts are always found: `account.blob.localhost`, and what the clients' defaults are.
const DOMAINS: [&str; 2] = ["localhost", "core.windows.net"];
/// What stands behind an account's name at its secondary location.
const SECONDARY: &str = "-secondary";
/// The container of blobs that are addressed without one.
const ROOT: &str = "$root";

/// The target of a request line, in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawTarget<'a> {
    /// A path with its query.
    Resource {
        /// The host, when the target is a whole URL; it wins over the header then.
        host: Option<&'a str>,
        /// The path; begins with a slash.
        path: &'a str,
        /// The query, without its question mark.
        query: &'a str,
    },
    /// `*`: the server as a whole.
    Everything,
}

impl<'a> RawTarget<'a> {
    /// Reads `/path?query`, `http://host/path?query` or `*`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn split(target: &'a str) -> Result<Self, ServiceError> {
        if target == "*" {
            return Ok(Self::Everything);
        }
        let (host, resource) = match target.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (host, resource) = rest.split_at_checked(end).unwrap_or((rest, ""));
                (Some(host), resource)
            }
            _ => (None, target),
        };
        // A fragment is for the client alone. Some send it all the same.
        let resource = resource.split_once('#').map_or(resource, |(before, _)| before);
        let (path, query) = resource.split_once('?').unwrap_or((resource, ""));
        let path = if path.is_empty() && host.is_some() { "/" } else { path };
        if !path.starts_with('/') || host.is_some_and(|host| host.is_empty() || host.contains('@')) {
            return Err(ServiceError::invalid_uri("the target is neither a path nor a URL"));
        }
        Ok(Self::Resource { host, path, query })
    }
}

/// The parsed target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The account as it was named, without the mark of the secondary location, not checked.
    pub account: String,
    /// True when the secondary location is addressed. It has the same data and takes no writes.
    pub secondary: bool,
    /// True when the account stands in the path (`/account/container`), false when it stands in the host name.
    pub path_style: bool,
    /// The path as sent, percent-encoded, with the account if that is where it stands. Begins with a slash.
    pub raw_path: String,
    /// The query as sent, without the question mark; empty when there is none.
    pub raw_query: String,
    /// The first segment behind the account, decoded: a container, queue, table or share.
    pub container: Option<String>,
    /// Everything behind the container's slash, decoded; may contain slashes.
    pub rest: Option<String>,
    /// The decoded parameters.
    pub query: Query,
}

impl Target {
    /// Reads a path-style target.
    ///
    /// # Errors
    /// Too long, a broken escape, or no account.
    pub fn parse(raw_path: &str, raw_query: &str) -> Result<Self, ServiceError> {
        Self::of(raw_path, raw_query, None)
    }

    /// Reads a target that came to this host. `account.blob.localhost`, `account.blob.core.windows.net` and
    /// `account.blob.` before one of the domains name an account of the service `blob`; behind every other host, and
    /// behind addresses, the account stands in the path.
    ///
    /// # Errors
    /// Too long, a broken escape, or no account.
    pub fn at(raw: RawTarget<'_>, host: &str, service: &str, domains: &[String]) -> Result<Self, ServiceError> {
        let RawTarget::Resource { host: named, path, query } = raw else {
            return Err(ServiceError::invalid_uri("the target is no resource"));
        };
        let account = account_of(named.unwrap_or(host), service, domains);
        Self::of(path, query, account.as_deref())
    }

    fn of(raw_path: &str, raw_query: &str, named: Option<&str>) -> Result<Self, ServiceError> {
        if raw_path.len() > limits::PATH_MAX_BYTES {
            return Err(ServiceError::invalid_uri("the path is too long"));
        }
        let Some(path) = raw_path.strip_prefix('/') else {
            return Err(ServiceError::invalid_uri("the path does not begin with a slash"));
        };
        let (account, resource) = match named {
            Some(account) => (Cow::Borrowed(account), path),
            None => {
                let (account, resource) = path.split_once('/').unwrap_or((path, ""));
                (percent::decode(account).ok_or_else(broken_escape)?, resource)
            }
        };
        let (account, secondary) = match account.strip_suffix(SECONDARY) {
            Some(account) => (account, true),
            None => (&*account, false),
        };
        if account.is_empty() {
            return Err(ServiceError::invalid_uri("the path names no account"));
        }
        let (container, rest) = resource.split_once('/').unwrap_or((resource, ""));
        Ok(Self {
            account: account.to_owned(),
            secondary,
            path_style: named.is_none(),
            raw_path: raw_path.to_owned(),
            raw_query: raw_query.to_owned(),
            container: decode(container)?,
            rest: decode(rest)?,
            query: Query::parse(raw_query)?,
        })
    }

    /// Reads the target of a request that came inside this one, to the same account. Its host, if it has one, says
    /// nothing: it came where the batch came.
    ///
    /// # Errors
    /// Too long, a broken escape, or no account.
    pub fn sibling(&self, target: &str) -> Result<Self, ServiceError> {
        let RawTarget::Resource { path, query, .. } = RawTarget::split(target)? else {
            return Err(ServiceError::invalid_uri("the target is no resource"));
        };
        let mut sibling = Self::of(path, query, (!self.path_style).then_some(&*self.account))?;
        sibling.secondary |= self.secondary;
        Ok(sibling)
    }

    /// Takes a single segment for the name of a blob in the container `$root`. For the Blob service to call, when
    /// nothing says that a container is meant.
    pub fn default_to_root(&mut self) {
        if self.rest.is_none() && self.container.as_deref().is_some_and(|name| name != ROOT) {
            self.rest = self.container.replace(ROOT.to_owned());
        }
    }

    /// Takes every backslash behind the account for a slash, as the Blob service does. For it to call, before anything is
    /// looked up or a signature's resource is compared; what was sent stays as it is for Shared Key.
    ///
    /// # Errors
    /// A broken escape.
    pub fn backslashes_are_slashes(&mut self) -> Result<(), ServiceError> {
        let has = |part: &Option<String>| part.as_ref().is_some_and(|text| text.contains('\\'));
        if !has(&self.container) && !has(&self.rest) {
            return Ok(());
        }
        let resource = self.raw_resource_path().replace("%5c", "/").replace("%5C", "/").replace('\\', "/");
        let resource = resource.strip_prefix('/').unwrap_or(&resource);
        let (container, rest) = resource.split_once('/').unwrap_or((resource, ""));
        (self.container, self.rest) = (decode(container)?, decode(rest)?);
        Ok(())
    }

    /// The container and what is behind it, decoded.
    #[must_use]
    pub fn segments(&self) -> (Option<&str>, Option<&str>) {
        (self.container.as_deref(), self.rest.as_deref())
    }

    /// The path behind the account as sent: what the string to sign calls the resource's encoded URI path. Begins with a
    /// slash, or is empty when nothing stands behind the account.
    #[must_use]
    pub fn raw_resource_path(&self) -> &str {
        if !self.path_style {
            return &self.raw_path;
        }
        let behind = self.raw_path.strip_prefix('/').and_then(|path| path.find('/'));
        behind.and_then(|slash| self.raw_path.get(slash + 1..)).unwrap_or("")
    }
}

/// `None` for nothing, so that a trailing slash names the same resource as none.
fn decode(raw: &str) -> Result<Option<String>, ServiceError> {
    let text = percent::decode(raw).ok_or_else(broken_escape)?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}

fn broken_escape() -> ServiceError {
    ServiceError::invalid_uri("a broken escape")
}

/// The account in a host name, in lower case; `None` when it stands in the path.
#[must_use]
pub fn account_of(host: &str, service: &str, domains: &[String]) -> Option<String> {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    // The usual hosts are told apart without a copy.
    if !name.contains('.') || name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let account = DOMAINS
        .into_iter()
        .chain(domains.iter().map(String::as_str))
        .find_map(|domain| name.strip_suffix(domain)?.strip_suffix('.')?.strip_suffix(service)?.strip_suffix('.'))?;
    (!account.is_empty() && !account.contains('.')).then(|| account.to_owned())
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn splits_account_container_and_rest() {
        let table = [
            ("/a", "a", None, None, ""),
            ("/a/", "a", None, None, "/"),
            ("/a/c", "a", Some("c"), None, "/c"),
            ("/a/c/", "a", Some("c"), None, "/c/"),
            ("/a/c/b", "a", Some("c"), Some("b"), "/c/b"),
            ("/a/c/b/d%2Fe//", "a", Some("c"), Some("b/d/e//"), "/c/b/d%2Fe//"),
            ("/a/c%2Fd/b", "a", Some("c/d"), Some("b"), "/c%2Fd/b"),
            ("/a/%24root/x%20y", "a", Some("$root"), Some("x y"), "/%24root/x%20y"),
            ("/a//b", "a", None, Some("b"), "//b"),
        ];
        for (raw, account, container, rest, resource) in table {
            let target = Target::parse(raw, "").unwrap();
            assert_eq!((&*target.account, target.segments()), (account, (container, rest)), "{raw}");
            assert_eq!((target.raw_resource_path(), &*target.raw_path), (resource, raw), "{raw}");
        }
    }

    fn at(host: &str, target: &str) -> Result<Target, ServiceError> {
        Target::at(RawTarget::split(target)?, host, "blob", &["example.com".into(), "corp".into()])
    }

    #[test]
    fn a_host_names_an_account_or_the_path_does() {
        let table = [
            ("127.0.0.1:10000", "/a/c/b", "a", true, "c"),
            ("[::1]:10000", "/a/c/b", "a", true, "c"),
            ("localhost:10000", "/a/c/b", "a", true, "c"),
            ("storage", "/a/c/b", "a", true, "c"),
            ("", "/a/c/b", "a", true, "c"),
            ("a.blob.localhost:10000", "/c/b", "a", false, "c"),
            ("A.BLOB.LocalHost.", "/c/b", "a", false, "c"),
            ("a.blob.core.windows.net", "/c/b", "a", false, "c"),
            ("a.blob.example.com:443", "/c/b", "a", false, "c"),
            ("a.blob.corp", "/c/b", "a", false, "c"),
            ("a.queue.core.windows.net", "/x/c/b", "x", true, "c"),
            ("a.b.blob.localhost", "/x/c/b", "x", true, "c"),
            (".blob.localhost", "/x/c/b", "x", true, "c"),
            ("ablob.localhost", "/x/c/b", "x", true, "c"),
            ("a.blob.evil-localhost", "/x/c/b", "x", true, "c"),
            ("my.server.org", "/x/c/b", "x", true, "c"),
            ("127.0.0.1", "http://a.blob.localhost:10000/c/b", "a", false, "c"),
            ("a.blob.localhost", "http://127.0.0.1/x/c/b", "x", true, "c"),
        ];
        for (host, target, account, path_style, container) in table {
            let found = at(host, target).unwrap();
            let parts = (&*found.account, found.path_style, found.container.as_deref(), found.rest.as_deref());
            assert_eq!(parts, (account, path_style, Some(container), Some("b")), "{host} {target}");
            assert_eq!(found.raw_resource_path(), "/c/b", "{host} {target}");
        }
        let account = at("a.blob.localhost", "/?comp=list").unwrap();
        assert_eq!((account.segments(), account.query.get("comp")), ((None, None), Some("list")));
    }

    #[test]
    fn the_secondary_location_is_marked() {
        for (host, target) in [("x", "/a-secondary/c"), ("a-secondary.blob.localhost", "/c")] {
            let found = at(host, target).unwrap();
            assert_eq!((&*found.account, found.secondary, found.container.as_deref()), ("a", true, Some("c")));
        }
        assert!(!at("x", "/a/c-secondary").unwrap().secondary);
        assert!(at("x", "/-secondary/c").is_err());
    }

    #[test]
    fn a_single_segment_can_be_a_blob_in_the_root_container() {
        let table = [
            ("/a/b", (Some("$root"), Some("b"))),
            ("/a/$root", (Some("$root"), None)),
            ("/a/c/b", (Some("c"), Some("b"))),
            ("/a", (None, None)),
        ];
        for (target, expected) in table {
            let mut found = at("x", target).unwrap();
            found.default_to_root();
            assert_eq!(found.segments(), expected, "{target}");
        }
    }

    #[test]
    fn a_backslash_is_a_slash() {
        let table = [
            ("x", "/a/c/b%5Cd%5ce", (Some("c"), Some("b/d/e"))),
            ("x", "/a/c\\b", (Some("c"), Some("b"))),
            ("x", "/a/c%5Cb", (Some("c"), Some("b"))),
            ("x", "/a/c/b%255C", (Some("c"), Some("b%5C"))),
            ("a.blob.localhost", "/c/b%5Cd", (Some("c"), Some("b/d"))),
        ];
        for (host, target, expected) in table {
            let mut found = at(host, target).unwrap();
            found.backslashes_are_slashes().unwrap();
            assert_eq!((found.segments(), &*found.raw_path), (expected, target), "{target}");
        }
    }

    #[test]
    fn parts_of_a_batch_are_addressed_as_the_batch_is() {
        for (host, batch, part) in [
            ("x", "/a?comp=batch", "/a/c/b?"),
            ("x", "/a?comp=batch", "http://elsewhere/a/c/b"),
            ("a.blob.localhost", "/?comp=batch", "/c/b"),
            ("a.blob.localhost", "/?comp=batch", "http://a.blob.localhost/c/b"),
        ] {
            let found = at(host, batch).unwrap().sibling(part).unwrap();
            assert_eq!((&*found.account, found.segments()), ("a", (Some("c"), Some("b"))), "{host} {part}");
        }
    }

    #[test]
    fn targets_have_three_forms() {
        let resource = |host, path, query| Some(RawTarget::Resource { host, path, query });
        let table = [
            ("*", Some(RawTarget::Everything)),
            ("/a?b?c", resource(None, "/a", "b?c")),
            ("/a#b?c", resource(None, "/a", "")),
            ("/a://b", resource(None, "/a://b", "")),
            ("HTTP://h:1/a?b", resource(Some("h:1"), "/a", "b")),
            ("https://h", resource(Some("h"), "/", "")),
            ("https://h?b", resource(Some("h"), "/", "b")),
            ("ftp://h/a", None),
            ("http:///a", None),
            ("http://user@h/a", None),
            ("a/b", None),
            ("", None),
            ("?a", None),
        ];
        for (target, expected) in table {
            assert_eq!(RawTarget::split(target).ok(), expected, "{target}");
        }
    }

    #[test]
    fn refuses_broken_targets() {
        let long = format!("/a/{}", "x".repeat(limits::PATH_MAX_BYTES));
        for raw in ["", "*", "/", "//c", "a/b", "/a/%", "/a/c/%e4", "/a/c/%2", &long] {
            assert_eq!(Target::parse(raw, "").unwrap_err().code, ErrorCode::InvalidUri, "{raw}");
        }
        assert!(Target::parse("/a", "x=%").is_err());
    }
}
