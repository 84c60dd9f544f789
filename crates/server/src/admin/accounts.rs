//! Accounts while serving: `GET` lists them, `POST` adds one, `PUT` replaces a key, `DELETE` removes one; `GET` of the keys
//! shows them. Keys travel in bodies only, never in a target, which may be logged.

use access::{AccountChangeError, AccountKey, Accounts, Origin};
use http::{Method, StatusCode};
use rest::{Known, Request, Response, ServiceError};
use store::Store;
use types::{ErrorCode, names::AccountName};

use super::KEYS_PATH;

/// Most bytes of a body: two keys.
const BODY_MAX_BYTES: usize = 8 * 1024;

pub(super) async fn answer(
    store: &Store,
    accounts: &Accounts,
    request: &mut Request,
    known: Known,
) -> Result<Response, ServiceError> {
    let of_keys = request.target.raw_path == KEYS_PATH;
    if request.method == Method::GET && !of_keys {
        return Ok(done(list(accounts)));
    }
    let Some(text) = request.target.query.get("name") else { return Err(ServiceError::missing_query("name")) };
    let name =
        AccountName::parse(text).map_err(|error| ServiceError::invalid_query("name", text, &error.to_string()))?;
    let changed = match (&request.method, of_keys) {
        (&Method::GET, true) => return keys(accounts, &name).map(done),
        (&Method::POST, false) => {
            let keys = body(request, known).await?;
            accounts.add(store, &name, &keys).await
        }
        (&Method::PUT, false) => {
            let number = request.target.query.number("number", 1, 2)?.and_then(|number| usize::try_from(number).ok());
            let keys = body(request, known).await?;
            match (number, keys.as_slice()) {
                (Some(number), [key]) => accounts.rotate_key(store, &name, number, key).await,
                _ => Err(AccountChangeError::Keys),
            }
        }
        (&Method::DELETE, false) => accounts.remove(store, &name).await,
        _ => {
            let message = "The resource doesn't support the specified HTTP verb.";
            return Err(ServiceError::new(ErrorCode::UnsupportedHttpVerb, message));
        }
    };
    changed.map_err(|error| refused(&error))?;
    tracing::info!(account = name.as_str(), method = %request.method, "accounts changed");
    Ok(done("done\n".into()))
}

/// One a line: name, origin, number of keys.
pub(crate) fn list(accounts: &Accounts) -> String {
    let line = |name: &str, origin: Origin, keys: usize| {
        let origin = match origin {
            Origin::Configured => "configured",
            Origin::Stored => "stored",
        };
        format!("{name} {origin} {keys}\n")
    };
    accounts.list().iter().map(|account| line(account.name.as_str(), account.origin, account.keys.len())).collect()
}

fn keys(accounts: &Accounts, name: &AccountName) -> Result<String, ServiceError> {
    let account = accounts.get(name.as_str());
    let account = account.ok_or_else(|| refused(&AccountChangeError::NotFound(name.as_str().to_owned())))?;
    Ok(account.keys.iter().map(|key| format!("{}\n", &*key.to_base64())).collect())
}

/// Keys in Base64, one a line.
async fn body(request: &mut Request, known: Known) -> Result<Vec<AccountKey>, ServiceError> {
    let body = zeroize::Zeroizing::new(request.body.collect(known, BODY_MAX_BYTES).await?.to_vec());
    let text = std::str::from_utf8(&body).unwrap_or("?");
    let keys = text.lines().filter(|line| !line.is_empty()).map(AccountKey::parse).collect::<Result<_, _>>();
    keys.map_err(|_| ServiceError::new(ErrorCode::InvalidInput, "A key is not Base64."))
}

fn done(text: String) -> Response {
    super::text(StatusCode::OK, text)
}

fn refused(error: &AccountChangeError) -> ServiceError {
    let code = match error {
        AccountChangeError::Exists(_) => ErrorCode::AccountAlreadyExists,
        AccountChangeError::NotFound(_) => ErrorCode::ResourceNotFound,
        AccountChangeError::Configured(_)
        | AccountChangeError::Keys
        | AccountChangeError::PublicKey
        | AccountChangeError::TooMany => ErrorCode::InvalidInput,
        AccountChangeError::Store(error) => return ServiceError::from_store(error),
    };
    ServiceError::new(code, format!("{error}."))
}
