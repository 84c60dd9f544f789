//! Accounts: their names, their keys, and the unit each has in the store.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use types::{UnitId, names::AccountName};
use zeroize::Zeroizing;

/// The account every tool knows, for development on loopback.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// Its well-known key: a secret to nobody.
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Longest key, in bytes; the service's own have 64.
const KEY_MAX_BYTES: usize = 1024;
/// The block of SHA-256, which a key of HMAC is brought to.
const BLOCK_BYTES: usize = 64;

/// A key of an account. Cheap to copy; compared in constant time; never printed by accident.
#[derive(Clone)]
pub struct AccountKey(Arc<Material>);

struct Material {
    bytes: Zeroizing<Vec<u8>>,
    /// HMAC with the key already in it: a signature then costs only its own text.
    keyed: Hmac<Sha256>,
}

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an account key is base64 of 1 to 1024 bytes")]
pub struct InvalidKey;

impl AccountKey {
    /// Reads the base64 text that clients have.
    ///
    /// # Errors
    /// It is not base64, empty, or too long.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let bytes = Zeroizing::new(STANDARD.decode(text).map_err(|_| InvalidKey)?);
        if bytes.is_empty() || bytes.len() > KEY_MAX_BYTES { Err(InvalidKey) } else { Ok(Self::new(&bytes)) }
    }

    /// The key with these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        // RFC 2104: a key longer than a block is hashed first, a shorter one is filled up with zeros.
        let mut block = Zeroizing::new([0; BLOCK_BYTES]);
        let digest: Zeroizing<[u8; 32]> = Zeroizing::new(Sha256::digest(bytes).into());
        let short: &[u8] = if bytes.len() > BLOCK_BYTES { &*digest } else { bytes };
        for (to, from) in block.iter_mut().zip(short) {
            *to = *from;
        }
        let keyed = <Hmac<Sha256> as hmac::digest::KeyInit>::new((&*block).into());
        Self(Arc::new(Material { bytes: Zeroizing::new(bytes.to_vec()), keyed }))
    }

    /// The signature of a text.
    #[must_use]
    pub fn sign(&self, text: &[u8]) -> [u8; 32] {
        let mut mac = self.0.keyed.clone();
        mac.update(text);
        mac.finalize().into_bytes().into()
    }

    /// The signature as it is sent.
    #[must_use]
    pub fn sign_base64(&self, text: &str) -> String {
        STANDARD.encode(self.sign(text.as_bytes()))
    }

    /// True when the signature is the one of this key, found out in constant time.
    pub(crate) fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        self.sign(text).as_slice().ct_eq(signature).into()
    }

    /// True for the same key.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.0.bytes.as_slice().ct_eq(other.0.bytes.as_slice()).into()
    }

    /// The text that belongs into a connection string. **Secret.**
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(&*self.0.bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// Where an account comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration: its keys change with it.
    Configured,
    /// A row of the store: added, rotated and removed while serving.
    Stored,
}

/// An account that is served.
#[derive(Clone, Debug)]
pub struct Account {
    /// What clients write into addresses and signatures.
    pub name: AccountName,
    /// Its unit in the store: what is in it is found by this, never by the name.
    pub unit: UnitId,
    /// Its keys; any of them opens it.
    pub keys: Vec<AccountKey>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Account {
    /// True for the account whose key everybody knows.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.name.as_str() == DEVELOPMENT_ACCOUNT
    }

    /// The key that made this signature. Every key is tried, whichever matches: the time it takes tells nothing.
    pub(crate) fn key_of(&self, text: &str, signature: &[u8]) -> Option<&AccountKey> {
        self.keys.iter().fold(None, |found, key| if key.signed(text.as_bytes(), signature) { Some(key) } else { found })
    }

    pub(crate) fn has(&self, key: &AccountKey) -> bool {
        self.keys.iter().any(|own| own.is(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hmac_sha256_for_keys_of_every_length() {
        // RFC 4231, test cases 1, 2 and 6.
        let table: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, expected) in table {
            let signature: String = AccountKey::new(key).sign(text).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(signature, expected);
        }
    }

    #[test]
    fn keys_are_base64_and_never_shown() {
        for (text, fine) in [("AQI=", true), ("", false), ("!", false), (&"AAAA".repeat(400), false)] {
            assert_eq!(AccountKey::parse(text).is_ok(), fine, "{text}");
        }
        let key = AccountKey::parse(DEVELOPMENT_KEY).unwrap();
        assert!(!format!("{key:?}").contains("Eby8") && *key.to_base64() == DEVELOPMENT_KEY);
        assert!(key.is(&key.clone()) && !key.is(&AccountKey::new(b"x")));
    }
}
