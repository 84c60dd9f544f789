//! The source of a copy as a request names it: its URL, where that is, and which range of it is meant.

use access::need::Service;
use http::header;
use rest::{Caller, CopySource, RawTarget, Request, ServiceError, Target, headers};

use crate::{
    Asking, SourceUse, Sources,
    header_names::{COPY_SOURCE, SOURCE_RANGE},
    here::{Address, word},
    refusals::answered,
};

/// Longest source that is taken, as documented.
const URL_MAX_BYTES: usize = 2 * 1024;

/// Where a source is.
#[derive(Debug)]
pub enum Place {
    /// On this server, in a service that can be read from.
    Here(Box<Local>),
    /// Somewhere else.
    Elsewhere,
}

/// Something of this server.
#[derive(Debug)]
pub struct Local {
    /// The service that it is in.
    pub service: Service,
    /// What its URL names.
    pub target: Target,
    /// Whether its URL begins with `https`.
    pub secure: bool,
}

/// A source as it was named.
#[derive(Debug)]
pub struct Source<'a> {
    /// The URL as sent. **Secret:** it may hold a signature.
    pub(crate) url: &'a str,
    /// What it is read for.
    pub usage: SourceUse,
    /// Where it is.
    pub place: Place,
}

impl<'a> Source<'a> {
    /// Reads `x-ms-copy-source` of a request to a service.
    ///
    /// # Errors
    /// There is none, or it is no URL.
    pub fn named(
        sources: &Sources,
        service: Service,
        request: &'a Request,
        has_account: impl Fn(&str) -> bool,
        usage: SourceUse,
    ) -> Result<Self, ServiceError> {
        let url = headers::required(&request.headers, &COPY_SOURCE)?;
        let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), &shown(url));
        if url.len() > URL_MAX_BYTES {
            return Err(refused());
        }
        let raw = RawTarget::split(url).map_err(|_| refused())?;
        let RawTarget::Resource { host, path, query } = raw else { return Err(refused()) };
        let local = match host {
            // As versions before 2012-02-12 write it: the account and what is in it.
            None => {
                let target = Target::parse(path, query).map_err(|_| refused())?;
                Some(Local { service, target, secure: request.secure })
            }
            Some(host) => {
                let secure = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
                let own = headers::text(&request.headers, &header::HOST)?.unwrap_or_default();
                let (address, own) = (Address::new(host, secure), Address::new(own, request.secure));
                match sources.here.find(address, (service, own), has_account) {
                    Some(service) if sources.reads(service) => {
                        let target = Target::at(raw, host, word(service), &sources.here.domains);
                        Some(Local { service, target: target.map_err(|_| refused())?, secure })
                    }
                    _ => None,
                }
            }
        };
        let place = match local {
            Some(mut local) => {
                sources.prepare(&mut local).map_err(|_| refused())?;
                Place::Here(Box::new(local))
            }
            None => Place::Elsewhere,
        };
        Ok(Self { url, usage, place })
    }

    /// The URL as it may be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(self.url)
    }

    /// The URL with whatever it takes to get the bytes. **Secret:** it may hold a signature.
    #[must_use]
    pub const fn secret_url(&self) -> &str {
        self.url
    }

    /// What it names when it is in this service of this server.
    #[must_use]
    pub fn here(&self, service: Service) -> Option<&Local> {
        match &self.place {
            Place::Here(local) if local.service == service => Some(local),
            _ => None,
        }
    }

    /// Who reads a source here: the credential that came for it. The read is then authorised like any other.
    ///
    /// # Errors
    /// The credential is not right.
    pub fn reader(&self, asking: Asking<'_>, local: &Local) -> Result<Caller, ServiceError> {
        // Only a copy that goes on by itself reads with the credential of its request.
        let by_caller = self.usage == SourceUse::Later;
        let source = CopySource { target: &local.target, secure: local.secure, by_caller };
        let reader = asking.caller.source(asking.accounts, local.service, asking.request, source);
        reader.map_err(|error| answered(&error))
    }
}

/// `x-ms-source-range`, end excluded; `None` for the whole source.
///
/// # Errors
/// It is no range of bytes.
pub fn range(request: &Request) -> Result<Option<(u64, u64)>, ServiceError> {
    let Some(text) = headers::text(&request.headers, &SOURCE_RANGE)? else { return Ok(None) };
    let range = text.strip_prefix("bytes=").and_then(|range| range.split_once('-')).and_then(|(first, last)| {
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < u64::MAX).then_some((first, last + 1))
    });
    range.map(Some).ok_or_else(|| ServiceError::invalid_header(SOURCE_RANGE.as_str(), text))
}

/// The URL without its signature, and without anything that could hide one.
fn shown(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
            ["snapshot", "versionid", "sharesnapshot"].iter().any(|known| name.eq_ignore_ascii_case(known))
        })
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signature_is_shown() {
        let table = [
            ("http://h/c/b", "http://h/c/b"),
            ("http://h/c/b?sv=1&sig=abc", "http://h/c/b"),
            ("http://h/c/b?snapshot=2026&sig=abc", "http://h/c/b?snapshot=2026"),
            ("http://h/c/b?s%69g=abc&code=x", "http://h/c/b"),
        ];
        for (url, expected) in table {
            assert_eq!(shown(url), expected);
        }
    }
}
