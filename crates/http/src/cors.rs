//! What the properties of a service do to every request: the default version of those that name none, and cross-origin
//! resource sharing. Preflight requests are answered here, and the answers to actual requests get the headers that a
//! browser asks for. Which rule speaks is decided in `account`.
//!
//! CORS is no authorisation: an actual request is never refused here.

use access::{Accounts, need::Service};
use account::{
    ServiceProperties,
    cors::{self, Match},
    properties,
};
use http::{HeaderName, Method, StatusCode, header};
use store::Store;
use types::ErrorCode;

use crate::{Outcome, Request, Response, ServiceError};

const PREFLIGHT: &str = "PreflightRequest";
const UNKNOWN: &str = "Unknown";

/// Answers a request through `answer`, with CORS around it.
pub async fn around<F, Fut>(
    store: &Store,
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
        return Outcome::new(PREFLIGHT, preflight(store, accounts, service, &request).await);
    }
    // The only properties that a request is served by, besides the rules below.
    if request.version.is_none() && service == Service::Blob {
        match properties_of(store, accounts, service, &request.target.account).await {
            Ok(properties) => request.default_version = properties.default_service_version,
            Err(error) => return Outcome::new(UNKNOWN, Err(error)),
        }
    }
    let Ok(Some(origin)) = request.header(&header::ORIGIN) else { return answer(request).await };
    let (origin, method) = (origin.to_owned(), request.method.clone());
    let account = request.target.account.clone();
    let mut outcome = answer(request).await;
    // Read after the request: a change that it waited for counts.
    match properties_of(store, accounts, service, &account).await {
        Ok(properties) => share(&mut outcome.response, &properties, &origin, &method),
        Err(error) => outcome.response = error.into(),
    }
    outcome
}

async fn properties_of(
    store: &Store,
    accounts: &Accounts,
    service: Service,
    account: &str,
) -> Result<ServiceProperties, ServiceError> {
    // Nothing is told about accounts that do not exist.
    let Some(unit) = accounts.get(account).map(|account| account.unit) else {
        return Ok(ServiceProperties::default());
    };
    properties::of(&store.snapshot(), unit, service).await.map_err(|error| ServiceError::from_store(&error))
}

async fn preflight(
    store: &Store,
    accounts: &Accounts,
    service: Service,
    request: &Request,
) -> Result<Response, ServiceError> {
    let required = |name: HeaderName| {
        let value = request.header(&name)?;
        value.filter(|value| !value.is_empty()).ok_or_else(|| ServiceError::missing_header(name.as_str()))
    };
    let origin = required(header::ORIGIN)?;
    let method = required(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    let headers = request.header(&header::ACCESS_CONTROL_REQUEST_HEADERS)?;
    let names = headers.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
    let properties = properties_of(store, accounts, service, &request.target.account).await?;
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

/// The names that the rule exposes: a prefix stands for the headers of this answer that begin with it.
fn exposed(response: &Response, allowed: &[String]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for allowed in allowed {
        match allowed.strip_suffix('*') {
            None => names.push(allowed),
            Some(prefix) => {
                let prefix = prefix.to_ascii_lowercase();
                names.extend(response.headers().iter().map(|(name, _)| name).filter(|name| name.starts_with(&prefix)));
            }
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}
