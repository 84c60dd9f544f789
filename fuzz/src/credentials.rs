//! Credentials: what is signed is accepted, and what means something else is not, whatever the parts are.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, OnceLock},
};

use access::{
    Account, AccountKey, Accounts,
    bearer::{Bearer, BearerSettings, Keys},
    need::Service,
    sas::{self, Fields, SasRefusal, SignedTarget},
    shared_key::{self, Scheme, SignedParts},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rest::{Headers, Query};
use types::{ServiceVersion, Timestamp, names::AccountName};

const ACCOUNT: &str = "lazuli";
/// 2026-11-15T00:00:00Z
const NOW: Timestamp = Timestamp::from_seconds(1_794_700_800);

struct Door {
    accounts: Accounts,
    account: Arc<Account>,
    key: AccountKey,
    /// Believes tokens without a signature.
    trusting: Bearer,
    /// Believes those of a key whose private half nobody kept.
    strict: Bearer,
}

fn door() -> &'static Door {
    static DOOR: OnceLock<Door> = OnceLock::new();
    DOOR.get_or_init(|| {
        let key = AccountKey::new(b"a key that is in no corpus");
        let configured = [(AccountName::parse(ACCOUNT).expect("a name"), vec![key.clone()])];
        let store = store_memory::MemoryEngine::new(store::clock::SystemTime::default()).store();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let accounts = runtime.block_on(Accounts::open(&store, configured)).expect("an empty store");
        let account = accounts.get(ACCOUNT).expect("it is configured");
        let settings =
            |unsigned| BearerSettings { issuers: vec!["issuer".into()], unsigned, ..BearerSettings::default() };
        let strict = Bearer::new(settings(false));
        // The public key of RFC 7515, A.3.
        let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
        let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
        let keys = format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}]}}"#);
        strict.set_keys(&keys).expect("a key set");
        Door { accounts, account, key, trusting: Bearer::new(settings(true)), strict }
    })
}

const SERVICES: [Service; 4] = [Service::Blob, Service::Queue, Service::Table, Service::File];

fn service(byte: u8) -> Service {
    SERVICES.get(usize::from(byte) % SERVICES.len()).copied().unwrap_or(Service::Blob)
}

/// The text with one byte changed; `None` when that is no text, or no change.
fn changed(text: &str, place: u8, bits: u8) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let place = usize::from(place).checked_rem(bytes.len())?;
    let byte = bytes.get_mut(place)?;
    *byte ^= bits;
    String::from_utf8(bytes).ok().filter(|changed| changed != text)
}

type Pairs = Vec<(String, String)>;

fn borrowed(pairs: &Pairs) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (&**name, &**value)).collect()
}

#[derive(Clone)]
struct Signed {
    method: String,
    path: String,
    query: Pairs,
    headers: Pairs,
}

impl Signed {
    /// Lines: the method, the path, the query, then headers; only what the reader of requests lets through.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let (method, path, query) = (lines.next()?, lines.next()?, lines.next()?);
        let query = Query::parse(query).ok()?;
        let mut headers = Headers::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            headers.append(name, value).then_some(())?;
        }
        let text = |(name, value): (&str, rest::headers::Value<'_>)| {
            value.to_str().ok().map(|value| (name.to_owned(), value.to_owned()))
        };
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            headers: headers.iter().map(text).collect::<Option<_>>()?,
        })
    }

    /// Changes one byte of one part.
    fn change(&self, part: usize, place: u8, bits: u8) -> Option<Self> {
        let mut other = self.clone();
        let pairs = other.query.iter_mut().chain(&mut other.headers).flat_map(|(name, value)| [name, value]);
        let mut parts: Vec<&mut String> = [&mut other.method, &mut other.path].into_iter().chain(pairs).collect();
        let part = parts.get_mut(part)?;
        **part = changed(part, place, bits)?;
        // Lines end where they end, and names of headers are in lower case: the reader of requests sees to it.
        let broken = |text: &String| text.contains(['\r', '\n', '\0']);
        let texts = || other.headers.iter().flat_map(|(name, value)| [name, value]).chain([&other.method, &other.path]);
        let whole = !texts().any(broken);
        let odd_name = other.headers.iter().any(|(name, _)| name.bytes().any(|byte| byte.is_ascii_uppercase()));
        (whole && !odd_name).then_some(other)
    }

    /// What a signature is about, in a form that has nothing to do with the one that is signed.
    fn meaning(&self, service: Service, scheme: Scheme, version: ServiceVersion) -> Vec<(String, String)> {
        const STANDARD: [&str; 10] = [
            "content-encoding",
            "content-language",
            "content-length",
            "content-md5",
            "content-type",
            "if-modified-since",
            "if-match",
            "if-none-match",
            "if-unmodified-since",
            "range",
        ];
        let table = service == Service::Table;
        let full = scheme == Scheme::SharedKey && !table;
        let header = |name: &str| {
            let found = self.headers.iter().find(|(sent, _)| sent == name);
            found.map_or("", |(_, value)| value.trim())
        };
        let mut meaning = vec![("path".to_owned(), self.path.clone())];
        if !table || scheme == Scheme::SharedKey {
            meaning.push(("method".to_owned(), self.method.clone()));
            for name in STANDARD {
                let zero = name == "content-length" && header(name) == "0" && version.at_least(2015, 2, 21);
                if full || matches!(name, "content-md5" | "content-type") {
                    meaning.push((name.to_owned(), if zero { "" } else { header(name) }.to_owned()));
                }
            }
        }
        let date = if header("x-ms-date").is_empty() { header("date") } else { header("x-ms-date") };
        meaning.push(("date".to_owned(), date.to_owned()));
        if !table {
            let ours = self.headers.iter().filter(|(name, _)| name.starts_with("x-ms-"));
            let mut ours: Pairs = ours.map(|(name, value)| (name.clone(), value.trim().to_owned())).collect();
            ours.sort_by(|(left, _), (right, _)| left.cmp(right));
            meaning.append(&mut ours);
        }
        let query = self.query.iter().map(|(name, value)| (format!("?{}", name.to_ascii_lowercase()), value.clone()));
        if full {
            let mut query: Pairs = query.collect();
            query.sort();
            meaning.append(&mut query);
        } else {
            meaning.extend(query.into_iter().find(|(name, _)| name == "?comp"));
        }
        meaning
    }
}

/// Shared Key: what is signed is accepted, and one changed byte is refused unless it says the same.
///
/// The first three bytes choose the scheme and the change; behind them stand the parts, line by line.
pub(crate) fn shared_key(data: &[u8]) {
    let Some((&[how, place, bits], text)) = data.split_first_chunk::<3>() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    // The value of the header itself.
    if let Some((scheme, authorization)) = Scheme::split(text) {
        let parts = SignedParts {
            service: service(how),
            method: "GET",
            raw_path: "/",
            path_style: false,
            query: &[],
            headers: &[],
            version: ServiceVersion::NEWEST,
            date: Some(NOW),
        };
        let door = door();
        let found = shared_key::verify(&door.accounts, &door.account, scheme, authorization, &parts, NOW);
        assert!(found.is_err(), "nobody can sign");
    }
    let Some(signed) = Signed::read(text) else { return };
    let service = service(how);
    let scheme = if how & 4 == 0 { Scheme::SharedKey } else { Scheme::SharedKeyLite };
    let version = if how & 8 == 0 { ServiceVersion::NEWEST } else { ServiceVersion::new(2014, 2, 14) };
    let door = door();
    let with = |signed: &Signed, check: &dyn Fn(&SignedParts<'_>) -> bool| {
        let (query, headers) = (borrowed(&signed.query), borrowed(&signed.headers));
        check(&SignedParts {
            service,
            method: &signed.method,
            raw_path: &signed.path,
            path_style: how & 16 != 0,
            query: &query,
            headers: &headers,
            version,
            date: Some(NOW),
        })
    };
    let authorization = std::cell::RefCell::new(String::new());
    with(&signed, &|parts| {
        let text = shared_key::string_to_sign(ACCOUNT, scheme, parts);
        *authorization.borrow_mut() = format!("{ACCOUNT}:{}", door.key.sign_base64(&text));
        true
    });
    let authorization = authorization.into_inner();
    let accepted = |authorization: &str, signed: &Signed| {
        with(signed, &|parts| {
            shared_key::verify(&door.accounts, &door.account, scheme, authorization, parts, NOW).is_ok()
        })
    };
    assert!(accepted(&authorization, &signed), "what is signed is accepted");
    let parts = 2 + 2 * (signed.query.len() + signed.headers.len());
    for other in (0..parts).filter_map(|part| signed.change(part, place, bits)) {
        let same = other.meaning(service, scheme, version) == signed.meaning(service, scheme, version);
        assert_eq!(accepted(&authorization, &other), same, "{:?} {:?}", other.query, other.headers);
    }
    if let Some(other) = changed(&authorization, place, bits).filter(|other| other.trim() == authorization.trim()) {
        assert!(accepted(&other, &signed));
    } else if let Some(other) = changed(&authorization, place, bits) {
        assert!(!accepted(&other, &signed), "a changed signature");
    }
}

/// Shared access signatures: any query is read or refused; what `sign` makes is never a mismatch; one changed byte of a
/// field is refused.
///
/// The first three bytes choose the service and the change; then lines: the container, the path, the query.
pub(crate) fn sas(data: &[u8]) {
    let Some((&[how, place, bits], text)) = data.split_first_chunk::<3>() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let mut lines = text.splitn(3, '\n');
    let (Some(container), Some(path), Some(query)) = (lines.next(), lines.next(), lines.next()) else { return };
    let Ok(query) = Query::parse(query) else { return };
    let (service, door) = (service(how), door());
    let present = |text: &'_ &str| !text.is_empty();
    let (container, path) = (Some(container).filter(present), Some(path).filter(present));
    let verify = |query: &[(&str, &str)]| {
        let target = SignedTarget {
            service,
            account: ACCOUNT,
            container,
            path,
            query,
            headers: &[("x-ms-one", "1"), ("x-ms-two", "2")],
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            secure: how & 4 != 0,
        };
        let fields = Fields::find(query)?.ok_or(SasRefusal::Field("sig"))?;
        sas::verify(&door.accounts, &door.account, &target, &fields, None, NOW).map(|_| ()).inspect_err(|refusal| {
            assert!(!refusal.to_string().is_empty());
        })
    };
    let sent: Vec<(&str, &str)> = query.iter().collect();
    assert!(verify(&sent).is_err(), "nobody can sign");

    let with_signature: Vec<(&str, &str)> = sent.iter().copied().chain([("sig", "x")]).collect();
    let Ok(Some(mut fields)) = Fields::find(&with_signature) else { return };
    fields.signature = None;
    let Ok(pairs) = sas::sign::sign(&door.key, service, ACCOUNT, container, path, &fields) else { return };
    let signed: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, &**value)).collect();
    let whole = verify(&signed);
    let about_signature = |refusal: &SasRefusal| {
        matches!(refusal, SasRefusal::Mismatch { .. } | SasRefusal::Unsigned(_) | SasRefusal::Repeated(_))
    };
    assert!(!whole.as_ref().is_err_and(about_signature), "{whole:?}");

    for (index, (name, value)) in signed.iter().enumerate() {
        let Some(other) = changed(value, place, bits) else { continue };
        let unsigned = match *name {
            // These services have one kind of resource, so it says nothing.
            "sr" => matches!(service, Service::Queue | Service::Table),
            "tn" => other.eq_ignore_ascii_case(value),
            _ => false,
        };
        let mut tampered = signed.clone();
        if let Some(pair) = tampered.get_mut(index) {
            pair.1 = &other;
        }
        assert!(unsigned || verify(&tampered).is_err(), "{name}: {value:?} as {other:?}");
    }
}

/// Bearer tokens: a text as it is; lines of a header and of claims as a token; a text as a set of keys.
pub(crate) fn bearer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _either_way = Keys::parse(text);
    let (header, claims) = text.split_once('\n').unwrap_or((r#"{"alg":"ES256"}"#, text));
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let built = format!("{}.{}.{}", part(header), part(claims), part(&"x".repeat(64)));
    let door = door();
    for token in [text, &built] {
        assert!(door.strict.verify(token, ACCOUNT, NOW).is_err(), "nobody can sign");
        let first = door.trusting.verify(token, ACCOUNT, NOW);
        assert_eq!(first, door.trusting.verify(token, ACCOUNT, NOW), "a remembered token says the same");
        if let Ok(identity) = first {
            let claims: serde_json::Value = serde_json::from_str(claims).unwrap_or_default();
            assert!(token != built || claims.get("exp").is_some_and(serde_json::Value::is_u64));
            assert!(SERVICES.iter().all(|service| identity.actions(*service) == identity.roles.of(*service)));
        }
    }
}
