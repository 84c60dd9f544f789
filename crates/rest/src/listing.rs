//! What listings in XML share: what they are asked with, and the elements that all of them have.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use concurrency::lease::LeaseProperties;
use http::{StatusCode, header};
use types::{Metadata, Timestamp, limits::LIST_PAGE_MAX};

use crate::{Caller, Request, Response, ServiceError, dates, headers, xml::XmlWriter};

/// A name as a marker: opaque to clients, and safe for names that XML cannot carry.
#[must_use]
pub fn marker(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

/// The name in a marker.
///
/// # Errors
/// It is none that was given out.
pub fn read_marker(raw: &str) -> Result<String, ServiceError> {
    let name = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| not_given_out(raw))
}

/// A marker that nobody gave out.
#[must_use]
pub fn not_given_out(marker: &str) -> ServiceError {
    ServiceError::invalid_query("marker", marker, "it is not one that was given out")
}

/// When it last changed, and its ETag.
pub fn stamps(xml: &mut XmlWriter, etag: &str, last_modified: Timestamp) {
    xml.element("Last-Modified", &dates::rfc1123(last_modified));
    xml.element("Etag", etag);
}

/// What it says about its lease.
pub fn lease(xml: &mut XmlWriter, lease: LeaseProperties) {
    xml.element("LeaseStatus", lease.status());
    xml.element("LeaseState", lease.state.as_str());
    xml.optional("LeaseDuration", lease.duration());
}

/// Its metadata.
pub fn metadata(xml: &mut XmlWriter, metadata: &Metadata) {
    xml.open("Metadata");
    for (name, value) in metadata {
        xml.element(name, value);
    }
    xml.close("Metadata");
}

/// The address of the account, with a slash at its end.
#[must_use]
pub fn endpoint(caller: &Caller, request: &Request) -> String {
    let host = headers::text(&request.headers, &header::HOST).ok().flatten().unwrap_or_default();
    let scheme = if request.secure { "https" } else { "http" };
    if request.target.path_style {
        format!("{scheme}://{host}/{}/", caller.account.name.as_str())
    } else {
        format!("{scheme}://{host}/")
    }
}

/// What listings are asked with.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Only names that begin with this.
    pub prefix: &'a str,
    /// What names are put together by.
    pub delimiter: Option<&'a str>,
    /// Where to go on.
    pub marker: Option<&'a str>,
    /// How many were asked for.
    pub max_results: Option<usize>,
    /// How many there are at most.
    pub limit: usize,
}

impl<'a> Page<'a> {
    /// What the query of a request says.
    ///
    /// # Errors
    /// A number is none.
    pub fn new(request: &'a Request) -> Result<Self, ServiceError> {
        let query = &request.target.query;
        let max_results = max_results(request)?;
        Ok(Self {
            prefix: query.get("prefix").unwrap_or_default(),
            delimiter: query.get("delimiter").filter(|delimiter| !delimiter.is_empty()),
            marker: query.get("marker").filter(|marker| !marker.is_empty()),
            max_results,
            limit: max_results.unwrap_or(LIST_PAGE_MAX).min(LIST_PAGE_MAX),
        })
    }

    /// What was asked for stands in the answer again.
    pub fn repeat(&self, xml: &mut XmlWriter) {
        if !self.prefix.is_empty() {
            xml.element("Prefix", self.prefix);
        }
        xml.optional("Marker", self.marker);
        xml.optional("MaxResults", self.max_results.map(|number| number.to_string()).as_deref());
        xml.optional("Delimiter", self.delimiter);
    }
}

/// `maxresults`, which is at least one.
///
/// # Errors
/// It is less, or no number.
pub fn max_results(request: &Request) -> Result<Option<usize>, ServiceError> {
    let number = request.target.query.number("maxresults", 1, u64::from(u32::MAX))?;
    Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

/// The end of a listing, with where to go on.
#[must_use]
pub fn end(mut xml: XmlWriter, next: Option<String>) -> Response {
    xml.element("NextMarker", next.as_deref().unwrap_or_default());
    xml.close("EnumerationResults");
    Response::new(StatusCode::OK).xml(xml.finish())
}

/// The parts that `include` asks for.
#[derive(Clone, Debug)]
pub struct Includes<'a>(Vec<&'a str>);

impl Includes<'_> {
    /// Whether it asks for this part.
    #[must_use]
    pub fn has(&self, part: &str) -> bool {
        self.0.iter().any(|sent| sent.eq_ignore_ascii_case(part))
    }
}

/// Reads `include`. Parts that nothing has are accepted, as by a service where the feature is off; unknown ones are refused.
///
/// # Errors
/// A part is unknown.
pub fn includes<'a>(request: &'a Request, known: &[&str]) -> Result<Includes<'a>, ServiceError> {
    let mut parts = Vec::new();
    for value in request.target.query.all("include") {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(part)) {
                return Err(ServiceError::invalid_query("include", value, "one of its parts is unknown"));
            }
            parts.push(part);
        }
    }
    Ok(Includes(parts))
}
