//! What the properties of a service do to every request: the default version of those that name none, which the answer
//! then names, and cross-origin resource sharing. Preflight requests are answered here, and the answers to actual requests get the headers that a
//! browser asks for. Which rule speaks is decided in `account`.
//!
//! CORS is no authorisation: an actual request is never refused here.

use access::{Accounts, need::Service};
use account::{
    ServiceProperties, Settings,
    cors::{self, Match},
};
use http::{HeaderName, Method, StatusCode, header};
use types::ErrorCode;

use crate::{Outcome, Request, Response, ServiceError, caller, headers};

const PREFLIGHT: &str = "PreflightRequest";
const UNKNOWN: &str = "Unknown";

/// Answers a request through `answer`, with CORS around it.
pub async fn around<F, Fut>(
    settings: &Settings,
    accounts: &Accounts,
    service: Service,
    mut request: Request,
    answer: F,
) -> Outcome
where
    F: FnOnce(Request) -> Fut,
    Fut: Future<Output = Outcome>,
{
    if request.method == Method::OPTIONS {
        return Outcome::new(PREFLIGHT, preflight(settings, accounts, service, &request).await);
    }
    // The only properties that a request is served by, besides the rules below.
    if request.version.is_none() && service == Service::Blob {
        match properties_of(settings, accounts, service, &request.target.account).await {
            Ok(properties) => request.default_version = properties.default_service_version,
            Err(error) => return Outcome::new(UNKNOWN, Err(error)),
        }
    }
    let origin = request.header(&header::ORIGIN).ok().flatten();
    let shared = origin.map(|origin| (origin.to_owned(), request.method.clone(), request.target.account.clone()));
    let unasked = request.version.is_none().then(|| caller::unasked_version(service, &request));
    let mut outcome = answer(request).await;
    if let Some((origin, method, account)) = shared {
        // Read after the request: a change that it waited for counts.
        match properties_of(settings, accounts, service, &account).await {
            Ok(properties) => share(&mut outcome.response, &properties, &origin, &method),
            Err(error) => outcome.response = error.into(),
        }
    }
    if let Some(version) = unasked {
        outcome.response.headers_mut().insert(headers::X_MS_VERSION, version.to_string());
    }
    outcome
}

async fn properties_of(
    settings: &Settings,
    accounts: &Accounts,
    service: Service,
    account: &str,
) -> Result<ServiceProperties, ServiceError> {
    // Nothing is told about accounts that do not exist.
    let Some(unit) = accounts.get(account).map(|account| account.unit) else {
        return Ok(ServiceProperties::default());
    };
    settings.in_force(unit, service).await.map_err(|error| ServiceError::from_store(&error))
}

async fn preflight(
    settings: &Settings,
    accounts: &Accounts,
    service: Service,
    request: &Request,
) -> Result<Response, ServiceError> {
    let required = |name: HeaderName| {
        request.header(&name)?.ok_or_else(|| {
            ServiceError::new(ErrorCode::InvalidHeaderValue, "A required CORS header is not present.")
                .with_detail("HeaderName", name.as_str())
        })
    };
    let origin = required(header::ORIGIN)?;
    let method = required(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    let headers = request.header(&header::ACCESS_CONTROL_REQUEST_HEADERS)?;
    let names = headers.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    let properties = properties_of(settings, accounts, service, &request.target.account).await?;
    if properties.cors.is_empty() {
        return Err(refused("CORS not enabled or no matching rule found for this request."));
    }
    let Some(found) = cors::preflight(&properties.cors, origin, method, names) else {
        return Err(refused("CORS not enabled or no matching rule found for this request."));
    };
    let mut response = Response::new(StatusCode::OK);
    allow_origin(&mut response, found, origin);
    response = response
        .text_header(header::ACCESS_CONTROL_ALLOW_METHODS, method)
        .number_header(header::ACCESS_CONTROL_MAX_AGE, found.rule.max_age_seconds.into());
    Ok(match headers {
        Some(headers) => response.text_header(header::ACCESS_CONTROL_ALLOW_HEADERS, headers),
        None => response,
    })
}

fn refused(message: &str) -> ServiceError {
    ServiceError::new(ErrorCode::CorsPreflightFailure, message)
}

fn share(response: &mut Response, properties: &ServiceProperties, origin: &str, method: &Method) {
    if properties.cors.is_empty() {
        return;
    }
    let Some(found) = cors::actual(&properties.cors, origin, method.as_str()) else {
        // Another origin may get another answer: caches must not mix them up.
        if matches!(*method, Method::GET | Method::HEAD) {
            response.headers_mut().insert(header::VARY, "Origin");
        }
        return;
    };
    allow_origin(response, found, origin);
    let exposed = exposed(response, &found.rule.exposed_headers);
    if let Some(exposed) = exposed {
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

fn allow_origin(response: &mut Response, found: Match<'_>, origin: &str) {
    let headers = response.headers_mut();
    if !found.exact {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        return;
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    headers.insert(header::VARY, "Origin");
}

/// What answers get behind this place: a wildcard stands for them too. Clients tell by some of them what went wrong.
const ADDED_LATER: [&str; 8] = [
    "x-ms-error-code",
    "x-ms-request-id",
    "x-ms-client-request-id",
    "x-ms-version",
    "content-type",
    "content-length",
    "date",
    "server",
];

/// The names that the rule exposes: a prefix stands for the headers of this answer that begin with it.
fn exposed(response: &Response, allowed: &[String]) -> Option<String> {
    let own = response.headers().iter().map(|(name, _)| name).filter(|name| !name.starts_with("access-control-"));
    let own: Vec<&str> = own.chain(ADDED_LATER).collect();
    let mut names: Vec<&str> = Vec::new();
    for allowed in allowed {
        let prefix = allowed.strip_suffix('*').map(str::to_ascii_lowercase);
        match &prefix {
            None => names.push(allowed),
            Some(prefix) => names.extend(own.iter().filter(|name| name.starts_with(prefix.as_str()))),
        }
    }
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    names.retain(|name| seen.insert(name.to_ascii_lowercase()));
    (!names.is_empty()).then(|| names.join(","))
}
