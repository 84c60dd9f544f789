//! The accounts that are served and their keys, as they are configured.
//!
//! Keys are secrets: they have no `Debug`, and the only place that shows one is the connection string at start.

use std::fmt;

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use types::AccountName;

use access::account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// One key of an account.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    fn parse(account: &str, text: &str) -> Result<Self> {
        // The text itself stays out of the message: it may be most of a real key.
        let bytes = BASE64_STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty());
        bytes.map(Self).with_context(|| format!("a key of the account {account} is not Base64"))
    }

    /// The bytes that signatures are made with.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text that belongs into a connection string.
    pub(crate) fn to_base64(&self) -> String {
        BASE64_STANDARD.encode(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: AccountName,
    /// One or two.
    pub(crate) keys: Vec<Key>,
}

impl Account {
    /// The development account.
    pub(crate) fn development() -> Result<Self> {
        Self::new(DEVELOPMENT_ACCOUNT, [DEVELOPMENT_KEY].into_iter())
    }

    /// True when one of its keys is the one that everybody knows.
    pub(crate) fn is_public(&self) -> bool {
        self.keys.iter().any(|key| key.to_base64() == DEVELOPMENT_KEY)
    }

    /// Reads `NAME=KEY1[,KEY2]`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let Some((name, keys)) = text.split_once('=') else {
            bail!("an account is written NAME=KEY1[,KEY2], and this one has no equals sign");
        };
        Self::new(name, keys.split(','))
    }

    /// Reads the form of `AZURITE_ACCOUNTS`: `name:key1[:key2];…`
    pub(crate) fn parse_azurite(text: &str) -> Result<Vec<Self>> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let parsed = entries.map(|entry| {
            let Some((name, keys)) = entry.split_once(':') else {
                bail!("an account in AZURITE_ACCOUNTS is written name:key1[:key2]");
            };
            Self::new(name, keys.split(':'))
        });
        parsed.collect()
    }

    fn new<'a>(name: &str, keys: impl Iterator<Item = &'a str>) -> Result<Self> {
        let parsed = AccountName::parse(name).with_context(|| format!("{name:?} cannot be an account"))?;
        let keys = keys.map(|key| Key::parse(name, key.trim())).collect::<Result<Vec<_>>>()?;
        if keys.len() > 2 {
            bail!("the account {name} has {} keys, and an account has one or two", keys.len());
        }
        Ok(Self { name: parsed, keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_accounts() {
        let table = [
            ("abc=AQI=", Some(1)),
            ("abc=AQI=,AwQ=", Some(2)),
            ("abc=AQI=,AwQ=,BQY=", None),
            ("abc=", None),
            ("abc=!!", None),
            ("abc", None),
            ("ABC=AQI=", None),
            ("a=AQI=", None),
        ];
        for (text, keys) in table {
            assert_eq!(Account::parse(text).ok().map(|account| account.keys.len()), keys, "{text}");
        }
        assert_eq!(Account::parse("abc=AQI=").unwrap().keys[0].bytes(), [1, 2]);
    }

    #[test]
    fn reads_the_form_of_azurite() {
        let accounts = Account::parse_azurite("abc:AQI=:AwQ=;def:AQI=;").unwrap();
        assert_eq!(accounts.iter().map(|account| account.keys.len()).collect::<Vec<_>>(), [2, 1]);
        assert!(Account::parse_azurite("abc").is_err());
    }

    #[test]
    fn no_message_and_no_debug_form_shows_a_key() {
        let account = Account::development().unwrap();
        assert!(account.is_public() && !format!("{account:?}").contains("Eby8"));
        let error = Account::parse("abc=secret!").unwrap_err();
        assert!(!format!("{error:#}").contains("secret"), "{error:#}");
    }
}
