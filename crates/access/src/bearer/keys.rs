//! The keys of issuers: a JSON Web Key Set, with the RSA and P-256 keys in it that can verify signatures.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

/// Most keys of a set.
const KEYS_MAX: usize = 64;
/// Most bytes of a set.
const BYTES_MAX: usize = 256 * 1024;

/// Why a text is no set of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeys {
    /// Too much of it.
    #[error("a key set has at most {KEYS_MAX} keys and {BYTES_MAX} bytes")]
    TooLarge,
    /// Not one.
    #[error("not a JSON Web Key Set: {0}")]
    Malformed(String),
    /// Nothing in it can be used.
    #[error("the key set has no RSA key of at least 2048 bits and no P-256 key")]
    Empty,
}

/// The algorithms that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }
}

/// The keys that signatures are checked with.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    public: Public,
}

#[derive(Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Reads a JSON Web Key Set. Keys of other kinds are passed over.
    ///
    /// # Errors
    /// It is none, too large, or without a usable key.
    pub fn parse(text: &str) -> Result<Self, InvalidKeys> {
        if text.len() > BYTES_MAX {
            return Err(InvalidKeys::TooLarge);
        }
        let set: Set = serde_json::from_str(text).map_err(|error| InvalidKeys::Malformed(error.to_string()))?;
        if set.keys.len() > KEYS_MAX {
            return Err(InvalidKeys::TooLarge);
        }
        let keys: Vec<Key> = set.keys.into_iter().filter_map(Entry::key).collect();
        if keys.is_empty() { Err(InvalidKeys::Empty) } else { Ok(Self(keys)) }
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// True when one of the keys made the signature. A token that names its key is checked with that one only.
    pub(super) fn signed(&self, algorithm: Algorithm, id: Option<&str>, message: &[u8], signature: &[u8]) -> bool {
        let named = |key: &&Key| id.is_none() || key.id.is_none() || key.id.as_deref() == id;
        self.0.iter().filter(named).any(|key| match (&key.public, algorithm) {
            (Public::Rsa { n, e }, Algorithm::Rs256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Public::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            _ => false,
        })
    }
}

impl Entry {
    fn key(self) -> Option<Key> {
        if self.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let public = match (&*self.kty, self.crv.as_deref()) {
            ("RSA", _) => {
                let (n, e) = (bytes(self.n)?, bytes(self.e)?);
                let n: Vec<u8> = n.into_iter().skip_while(|byte| *byte == 0).collect();
                if n.len() < 256 {
                    return None;
                }
                Public::Rsa { n, e }
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(self.x)?, bytes(self.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                Public::P256([&[4], &*x, &*y].concat())
            }
            _ => return None,
        };
        Some(Key { id: self.kid, public })
    }
}
