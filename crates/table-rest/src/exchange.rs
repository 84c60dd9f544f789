//! One request, or one part of a batch, as the operations see it: what it asks for, and where its answer goes.

use http::{HeaderName, Method, header};
use rest::{Caller, Headers, Query, Request, ServiceError, batch::EmbeddedRequest, headers, percent};
use types::{ErrorCode, ServiceVersion, names::TableName};

use crate::{address::Resource, format::Format};

const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const X_HTTP_METHOD: HeaderName = HeaderName::from_static("x-http-method");

/// The verbs of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Merge,
    Delete,
    Other,
}

impl Verb {
    fn of(method: &str) -> Self {
        match method {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "MERGE" | "PATCH" => Self::Merge,
            "DELETE" => Self::Delete,
            _ => Self::Other,
        }
    }

    /// The verb of a request: POST may carry another one in a header, for proxies that let nothing else through.
    pub(crate) fn asked(method: &Method, tunnelled: Option<&str>) -> Result<Self, ServiceError> {
        let Some(tunnelled) = tunnelled else { return Ok(Self::of(method.as_str())) };
        if method != Method::POST {
            return Err(ServiceError::new(
                ErrorCode::XMethodNotUsingPost,
                "The request uses X-HTTP-Method with an HTTP verb other than POST.",
            ));
        }
        match Self::of(tunnelled) {
            verb @ (Self::Put | Self::Merge | Self::Delete) => Ok(verb),
            _ => Err(ServiceError::new(ErrorCode::XMethodIncorrectValue, "The X-HTTP-Method specified is invalid.")
                .with_detail("HeaderValue", tunnelled)),
        }
    }
}

/// What a request or a part of a batch asks for. Borrowed from whichever it is.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) verb: Verb,
    pub(crate) resource: Resource,
    pub(crate) accept: Option<&'a str>,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) if_match: Option<&'a str>,
    pub(crate) sends_if_none_match: bool,
    pub(crate) prefer: Option<&'a str>,
}

impl<'a> Head<'a> {
    pub(crate) fn of_request(request: &'a Request, verb: Verb, resource: Resource) -> Result<Self, ServiceError> {
        Self::new(&request.headers, verb, resource)
    }

    pub(crate) fn of_part(part: &'a EmbeddedRequest, resource: Resource) -> Result<Self, ServiceError> {
        let verb = Verb::asked(&part.method, headers::text(&part.headers, &X_HTTP_METHOD)?)?;
        Self::new(&part.headers, verb, resource)
    }

    fn new(sent: &'a Headers, verb: Verb, resource: Resource) -> Result<Self, ServiceError> {
        Ok(Self {
            verb,
            resource,
            accept: headers::text(sent, &header::ACCEPT)?,
            content_type: headers::text(sent, &header::CONTENT_TYPE)?,
            if_match: headers::text(sent, &header::IF_MATCH)?,
            sends_if_none_match: headers::text(sent, &header::IF_NONE_MATCH)?.is_some(),
            prefer: headers::text(sent, &PREFER)?,
        })
    }

    /// Whether the answer carries what was made: `true` if that is said, or nothing is.
    pub(crate) fn wants_content(&self) -> Result<bool, ServiceError> {
        match self.prefer.map(str::trim) {
            None | Some("return-content" | "") => Ok(true),
            Some("return-no-content") => Ok(false),
            Some(other) => Err(ServiceError::invalid_header("Prefer", other)),
        }
    }
}

/// The surroundings of an answer.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) caller: &'a Caller,
    /// `http://host:port/account`, or without the account when it stands in the host's name.
    pub(crate) base: String,
    pub(crate) version: ServiceVersion,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(caller: &'a Caller, request: &Request) -> Self {
        let host = request.header(&header::HOST).ok().flatten().unwrap_or_default();
        let scheme = if request.secure { "https" } else { "http" };
        let account = caller.account.name.as_str();
        let base = match request.target.path_style {
            true => format!("{scheme}://{host}/{account}"),
            false => format!("{scheme}://{host}"),
        };
        // A signature says which version it was made for.
        let signed = request.version.is_none() && request.target.query.has("sv");
        Self { caller, base, version: if signed { caller.version } else { version(request) } }
    }

    pub(crate) fn account(&self) -> &str {
        self.caller.account.name.as_str()
    }

    /// The table of this name in the account.
    pub(crate) fn table(&self, name: &TableName) -> table::table::TableAddress {
        table::table::TableAddress::new(self.caller.unit(), name.clone())
    }
}

/// The version whose behaviour a request gets. Unlike in the other services, requests without one are of old clients.
pub(crate) fn version(request: &Request) -> ServiceVersion {
    request.version.unwrap_or(ServiceVersion::OLDEST)
}

/// The format that a request asks for.
pub(crate) fn format(head: &Head<'_>, query: &Query, version: ServiceVersion) -> Result<Format, ServiceError> {
    Format::asked(query.get("$format"), head.accept, version)
}

/// The resource of a part's URL: absolute or not, with the account in the path or in the host's name.
pub(crate) fn part_resource(url: &str, account: &str) -> Result<(Resource, Query), ServiceError> {
    let behind_host = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/"),
        None => url,
    };
    let (raw_path, raw_query) = behind_host.split_once('?').unwrap_or((behind_host, ""));
    let path = percent::decode(raw_path).ok_or_else(|| ServiceError::invalid_uri("a broken escape"))?;
    let path = path.strip_prefix('/').unwrap_or(&path);
    let path = match path.split_once('/') {
        Some((first, rest)) if first == account && !rest.is_empty() => rest,
        _ => path,
    };
    Ok((Resource::parse(path)?, Query::parse(raw_query)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_parts() {
        let table = Resource::Entities(TableName::parse("abc").unwrap());
        for (url, expected) in [
            ("http://127.0.0.1:10002/devstoreaccount1/abc", Some(&table)),
            ("https://devstoreaccount1.table.core.windows.net/abc()", Some(&table)),
            ("/devstoreaccount1/abc", Some(&table)),
            ("/abc", Some(&table)),
            ("abc?$format=json", Some(&table)),
            ("http://host/other/abc", None),
            ("http://host", None),
            ("/a%", None),
        ] {
            let read = part_resource(url, "devstoreaccount1").ok().map(|(resource, _)| resource);
            let read = read.filter(|resource| *resource != Resource::Service);
            assert_eq!(read.as_ref(), expected, "{url}");
        }
    }

    #[test]
    fn tunnelled_verbs() {
        use ErrorCode::{XMethodIncorrectValue, XMethodNotUsingPost};
        let table = [
            (Method::POST, None, Ok(Verb::Post)),
            (Method::PATCH, None, Ok(Verb::Merge)),
            (Method::from_bytes(b"MERGE").unwrap(), None, Ok(Verb::Merge)),
            (Method::POST, Some("MERGE"), Ok(Verb::Merge)),
            (Method::POST, Some("PUT"), Ok(Verb::Put)),
            (Method::POST, Some("DELETE"), Ok(Verb::Delete)),
            (Method::POST, Some("GET"), Err(XMethodIncorrectValue)),
            (Method::PUT, Some("MERGE"), Err(XMethodNotUsingPost)),
            (Method::HEAD, None, Ok(Verb::Other)),
        ];
        for (method, tunnelled, expected) in table {
            let asked = Verb::asked(&method, tunnelled).map_err(|error| error.code);
            assert_eq!(asked, expected, "{method} {tunnelled:?}");
        }
    }
}
