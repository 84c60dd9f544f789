//! What a request is about: the account, the resource behind it, and the parameters, raw **and** decoded.
//!
//! Signatures are made over the raw parts, look-ups by the decoded ones; both come from one parse, so they cannot
//! disagree. Names are not checked here: that is the business of the name types.

use crate::{Query, ServiceError, limits, percent};

/// The parsed target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The account as it was named, not checked.
    pub account: String,
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
    /// Reads a path-style target. The host-style one, told by the `Host` header, joins here.
    ///
    /// # Errors
    /// Too long, a broken escape, or no account.
    pub fn parse(raw_path: &str, raw_query: &str) -> Result<Self, ServiceError> {
        if raw_path.len() > limits::PATH_MAX_BYTES {
            return Err(ServiceError::invalid_uri("the path is too long"));
        }
        let Some(path) = raw_path.strip_prefix('/') else {
            return Err(ServiceError::invalid_uri("the path does not begin with a slash"));
        };
        let (account, resource) = path.split_once('/').unwrap_or((path, ""));
        if account.is_empty() {
            return Err(ServiceError::invalid_uri("the path names no account"));
        }
        let (container, rest) = resource.split_once('/').unwrap_or((resource, ""));
        Ok(Self {
            account: decode(account)?.unwrap_or_default(),
            path_style: true,
            raw_path: raw_path.to_owned(),
            raw_query: raw_query.to_owned(),
            container: decode(container)?,
            rest: decode(rest)?,
            query: Query::parse(raw_query)?,
        })
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
    let text = percent::decode(raw).ok_or_else(|| ServiceError::invalid_uri("a broken escape"))?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
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

    #[test]
    fn refuses_broken_targets() {
        let long = format!("/a/{}", "x".repeat(limits::PATH_MAX_BYTES));
        for raw in ["", "*", "/", "//c", "a/b", "/a/%", "/a/c/%e4", "/a/c/%2", &long] {
            assert_eq!(Target::parse(raw, "").unwrap_err().code, ErrorCode::InvalidUri, "{raw}");
        }
        assert!(Target::parse("/a", "x=%").is_err());
    }
}
