//! Tokens of test issuers: what is accepted, what is not, and that no changed token is.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::need::{Action, Service};

const NOW: Timestamp = Timestamp::from_seconds(1_794_700_800);
const ISSUER: &str = "https://issuer.test/tenant-1/";

/// An issuer with one P-256 key.
struct Issuer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
        Self { key, random }
    }

    fn jwks(&self) -> String {
        let point = self.key.public_key().as_ref();
        let part = |range| URL_SAFE_NO_PAD.encode(&point[range]);
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "e1", "x": part(1..33), "y": part(33..65) }] })
            .to_string()
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.key.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn bearer(jwks: &str, unsigned: bool) -> Bearer {
    let bearer = Bearer::new(BearerSettings {
        issuers: vec![ISSUER.to_owned()],
        audiences: vec!["api://mine".to_owned()],
        unsigned,
        ..BearerSettings::default()
    });
    bearer.set_keys(jwks).unwrap();
    bearer
}

fn claims(more: &Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": "https://storage.azure.com", "exp": NOW.seconds() + 60, "oid": "oid-1", "tid": "tenant-1",
        "roles": ["Storage Blob Data Contributor"],
    });
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

#[test]
fn claims_decide() {
    let issuer = Issuer::new();
    let bearer = bearer(&issuer.jwks(), false);
    let seconds = NOW.seconds();
    let table = [
        (json!({}), Ok(())),
        (json!({ "aud": ["other", "https://storage.azure.com/"] }), Ok(())),
        (json!({ "aud": "api://mine" }), Ok(())),
        (json!({ "aud": "https://mine.blob.core.windows.net" }), Ok(())),
        (json!({ "aud": "https://other.blob.core.windows.net" }), Err(TokenRefusal::Audience)),
        (json!({ "aud": "https://mine.evil.net" }), Err(TokenRefusal::Audience)),
        (json!({ "aud": null }), Err(TokenRefusal::Claim("aud"))),
        (json!({ "iss": "https://issuer.test/tenant-2/" }), Err(TokenRefusal::Issuer)),
        (json!({ "iss": null }), Err(TokenRefusal::Claim("iss"))),
        (json!({ "exp": seconds - 299 }), Ok(())),
        (json!({ "exp": seconds - 300 }), Err(TokenRefusal::Lifetime)),
        (json!({ "exp": null }), Err(TokenRefusal::Claim("exp"))),
        (json!({ "nbf": seconds + 300 }), Ok(())),
        (json!({ "nbf": seconds + 301 }), Err(TokenRefusal::Lifetime)),
        (json!({ "oid": null, "sub": "s" }), Ok(())),
        (json!({ "oid": null }), Err(TokenRefusal::Claim("oid"))),
    ];
    for (more, expected) in table {
        let token = issuer.token(&json!({ "alg": "ES256", "kid": "e1" }), &claims(&more));
        let twice = [bearer.verify(&token, "mine", NOW), bearer.verify(&token, "mine", NOW)];
        for found in twice {
            assert_eq!(found.map(|_| ()), expected, "{more}");
        }
    }
}

#[test]
fn roles_and_scopes_decide_what_is_allowed() {
    let issuer = Issuer::new();
    let bearer = bearer(&issuer.jwks(), false);
    let table = [
        (json!({ "roles": ["Storage Blob Data Reader"] }), true, false),
        (json!({ "roles": "Storage Blob Data Owner" }), true, true),
        (json!({ "roles": null, "scp": "user_impersonation" }), false, false),
        (json!({ "roles": [] }), false, false),
    ];
    for (more, reads, writes) in table {
        let token = issuer.token(&json!({ "alg": "ES256" }), &claims(&more));
        let actions = bearer.verify(&token, "mine", NOW).unwrap().actions(Service::Blob);
        assert_eq!((actions.allows(Action::Read), actions.allows(Action::Write)), (reads, writes), "{more}");
    }
}

#[test]
fn the_algorithm_is_not_the_tokens_choice() {
    let issuer = Issuer::new();
    let bearer = bearer(&issuer.jwks(), false);
    let table = [
        (json!({ "alg": "none" }), TokenRefusal::Algorithm),
        (json!({ "alg": "HS256" }), TokenRefusal::Algorithm),
        (json!({ "alg": "es256" }), TokenRefusal::Algorithm),
        (json!({ "alg": "RS256" }), TokenRefusal::Signature),
        (json!({ "alg": "ES256", "kid": "e2" }), TokenRefusal::Signature),
        (json!({ "alg": "ES256", "crit": ["x"] }), TokenRefusal::Malformed("it has critical extensions")),
    ];
    for (header, expected) in table {
        let token = issuer.token(&header, &claims(&json!({})));
        assert_eq!(bearer.verify(&token, "mine", NOW).err(), Some(expected), "{header}");
    }
    let stranger = Issuer::new().token(&json!({ "alg": "ES256" }), &claims(&json!({})));
    assert_eq!(bearer.verify(&stranger, "mine", NOW).err(), Some(TokenRefusal::Signature));
    for malformed in ["", "a.b", "a.b.c.d", "!.!.!", "e30.e30.", &"x".repeat(20_000)] {
        assert!(bearer.verify(malformed, "mine", NOW).is_err(), "{malformed}");
    }
    let token = issuer.token(&json!({ "alg": "ES256" }), &claims(&json!({})));
    assert_eq!(Bearer::disabled().verify(&token, "mine", NOW).err(), Some(TokenRefusal::Disabled));
}

#[test]
fn a_withdrawn_key_counts_at_once() {
    let (old, new) = (Issuer::new(), Issuer::new());
    let bearer = bearer(&old.jwks(), false);
    let token = old.token(&json!({ "alg": "ES256" }), &claims(&json!({})));
    assert!(bearer.verify(&token, "mine", NOW).is_ok());
    assert!(bearer.set_keys("{}").is_err() && bearer.verify(&token, "mine", NOW).is_ok(), "nothing changed");
    bearer.set_keys(&new.jwks()).unwrap();
    assert_eq!(bearer.verify(&token, "mine", NOW).err(), Some(TokenRefusal::Signature));
}

#[test]
fn in_development_no_signature_is_needed_but_the_claims_are() {
    let issuer = Issuer::new();
    let bearer = bearer(&issuer.jwks(), true);
    let unsigned = |more: &Value| {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", part(&json!({ "alg": "none" })), part(&claims(more)))
    };
    let anybody = bearer.verify(&unsigned(&json!({ "roles": null })), "mine", NOW).unwrap();
    assert!(anybody.actions(Service::Queue).allows(Action::Process));
    let reader = bearer.verify(&unsigned(&json!({ "roles": ["Storage Blob Data Reader"] })), "mine", NOW).unwrap();
    assert!(!reader.actions(Service::Blob).allows(Action::Write));
    assert_eq!(bearer.verify(&unsigned(&json!({ "exp": 1 })), "mine", NOW).err(), Some(TokenRefusal::Lifetime));
    assert_eq!(bearer.verify(&unsigned(&json!({ "iss": "x" })), "mine", NOW).err(), Some(TokenRefusal::Issuer));
}

fn rs256() -> (Bearer, String) {
    let file: Value = serde_json::from_str(include_str!("../../testdata/rs256.json")).unwrap();
    (bearer(&file["jwks"].to_string(), false), file["token"].as_str().unwrap().to_owned())
}

#[test]
fn an_rsa_token_of_another_library_is_accepted() {
    let (bearer, token) = rs256();
    let identity = bearer.verify(&token, "mine", NOW).unwrap();
    assert_eq!((&*identity.object, &*identity.tenant), ("oid-1", "tenant-1"));
}

#[test]
fn key_sets_have_limits() {
    let weak = json!({ "keys": [{ "kty": "RSA", "n": "AQAB", "e": "AQAB" }] }).to_string();
    let many = json!({ "keys": vec![json!({ "kty": "oct" }); 65] }).to_string();
    for (text, expected) in [(&*weak, "Empty"), ("{\"keys\":[]}", "Empty"), (&many, "TooLarge"), ("[]", "Malformed")] {
        let error = format!("{:?}", Keys::parse(text).err());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_challenge_says_where_tokens_come_from() {
    let at = |issuer: &str| {
        Bearer::new(BearerSettings { issuers: vec![issuer.to_owned()], ..BearerSettings::default() }).challenge()
    };
    let expected =
        "Bearer authorization_uri=https://login.test/t1/oauth2/authorize resource_id=https://storage.azure.com";
    for issuer in ["https://login.test/t1", "https://login.test/t1/", "https://login.test/t1/v2.0"] {
        assert_eq!(at(issuer).as_deref(), Some(expected), "{issuer}");
    }
    assert_eq!(Bearer::disabled().challenge(), None);
}

proptest! {
    /// Flip any bit of a valid token: never accepted.
    #[test]
    fn no_flipped_token_is_accepted(place in 0_usize..10_000, bit in 0_u8..7) {
        let (bearer, token) = rs256();
        let mut bytes = token.clone().into_bytes();
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        let changed = String::from_utf8(bytes).unwrap();
        prop_assert!(bearer.verify(&changed, "mine", NOW).is_err(), "{changed}");
    }
}
