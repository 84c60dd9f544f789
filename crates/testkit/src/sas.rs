//! Account SAS for tests.

use access::{
    account::AccountKey,
    need::Service,
    sas::{Fields, sign},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rest::percent;

use crate::shared_key::{ACCOUNT, KEY};

/// The query of an account SAS with these parameters, signed with the key of the account; empty when they make none.
#[must_use]
pub fn account_sas(parameters: &[(&str, &str)]) -> String {
    let mut unsigned = parameters.to_vec();
    unsigned.push(("sig", "none"));
    let Ok(Some(fields)) = Fields::find(&unsigned) else { return String::new() };
    let fields = Fields { signature: None, ..fields };
    let key = AccountKey::new(&STANDARD.decode(KEY).unwrap_or_default());
    let signed = sign::sign(&key, Service::Blob, ACCOUNT, None, None, &fields).unwrap_or_default();
    let pairs = signed.iter().map(|(name, value)| format!("{name}={}", percent::encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}
