//! The examples of MS-NLMP 4.2.4 and of Windows, and everything that must be refused.

use super::*;
use crate::hex;
use bytes::BufMut;
use proptest::{collection::vec, prelude::*};

const CHALLENGE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF];
const FLAGS: u32 = 0xE28A_8233;
const RANDOM_KEY: [u8; 16] = [0x55; 16];

fn target() -> Target {
    Target {
        computer: "LAZULI".into(),
        domain: "LAZULI".into(),
        dns_computer: "lazuli".into(),
        dns_domain: "lazuli".into(),
    }
}

fn negotiate() -> Vec<u8> {
    let mut out = b"NTLMSSP\0\x01\0\0\0".to_vec();
    out.put_u32_le(FLAGS);
    out.put_bytes(0, 24);
    out
}

/// What a client is told to do.
#[derive(Clone)]
struct Client {
    user: &'static str,
    domain: &'static str,
    password: &'static str,
    says_mic: bool,
    spoils_mic: bool,
    omits_mic: bool,
    flags: u32,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            user: "User",
            domain: "Domain",
            password: "Password",
            says_mic: true,
            spoils_mic: false,
            omits_mic: false,
            flags: FLAGS,
        }
    }
}

impl Client {
    fn response_key(&self) -> [u8; 16] {
        let identity = text::encode(&format!("{}{}", self.user.to_uppercase(), self.domain));
        hmac_md5(&*NtHash::of(self.password).0, &[&identity]).unwrap()
    }

    /// The response as in MS-NLMP 4.2.4.1.3, with flags.
    fn blob(&self) -> Vec<u8> {
        let mut blob = hex("0101000000000000 0000000000000000 aaaaaaaaaaaaaaaa 00000000");
        blob.extend(hex("02000c0044006f006d00610069006e00 01000c00530065007200760065007200"));
        if self.says_mic {
            blob.extend(hex("06000400 02000000"));
        }
        blob.extend(hex("00000000 00000000"));
        blob
    }

    fn respond(&self, server_challenge: [u8; 8]) -> (Vec<u8>, [u8; 16]) {
        let (key, blob) = (self.response_key(), self.blob());
        let proof = hmac_md5(&key, &[&server_challenge, &blob]).unwrap();
        let base = hmac_md5(&key, &[&proof]).unwrap();
        ([proof.as_slice(), &blob].concat(), base)
    }

    fn authenticate(&self, negotiate: &[u8], challenge: &[u8]) -> Vec<u8> {
        let server_challenge = challenge[24..32].try_into().unwrap();
        let (response, base) = self.respond(server_challenge);
        let mut encrypted = RANDOM_KEY;
        Rc4::<U16>::new(&base.into()).apply_keystream(&mut encrypted);
        let head = if self.omits_mic { 72 } else { 88 };
        let mut message = message_3(head, &response, self.domain, self.user, &encrypted, self.flags);
        if !self.omits_mic {
            let key = if self.flags & flags::KEY_EXCH == 0 { base } else { RANDOM_KEY };
            let mut mic = hmac_md5(&key, &[negotiate, challenge, &message]).unwrap();
            mic[3] ^= u8::from(self.spoils_mic);
            message[72..88].copy_from_slice(&mic);
        }
        message
    }
}

fn message_3(head: usize, response: &[u8], domain: &str, user: &str, key: &[u8], flags: u32) -> Vec<u8> {
    let parts = [
        vec![0; 24],
        response.to_vec(),
        text::encode(domain),
        text::encode(user),
        text::encode("COMPUTER"),
        key.to_vec(),
    ];
    let mut message = b"NTLMSSP\0\x03\0\0\0".to_vec();
    let mut offset = head;
    for part in &parts {
        let length = u16::try_from(part.len()).unwrap();
        message.put_u16_le(length);
        message.put_u16_le(length);
        message.put_u32_le(u32::try_from(offset).unwrap());
        offset += part.len();
    }
    message.put_u32_le(flags);
    message.put_slice(&hex("0501280a0000000f"));
    message.resize(head, 0);
    message.extend(parts.concat());
    message
}

fn logon(client: &Client, hashes: &[NtHash]) -> Result<Established, NtStatus> {
    let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 5).unwrap();
    let message = client.authenticate(&negotiate(), challenged.message());
    challenged.authenticate(&message)?.verify(hashes)
}

#[test]
fn the_example_of_ms_nlmp() {
    assert_eq!(*NtHash::of("Password").0, *hex("a4f49c406510bdcab6824ee7c30fd852"));
    let client = Client { says_mic: false, ..Client::default() };
    assert_eq!(client.response_key(), *hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let (response, base) = client.respond(CHALLENGE);
    assert_eq!(response[..16], *hex("68cd0ab851e51c96aabc927bebef6a1c"));
    assert_eq!(base, *hex("8de40ccadbc14a82f15cb0ad0de95ca3"));

    let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
    // The encrypted key of 4.2.4.2.3.
    let key = hex("c5dad2544fc9799094ce1ce90bc9d03e");
    let message = message_3(72, &response, "Domain", "User", &key, FLAGS);
    let claim = challenged.authenticate(&message).unwrap();
    assert_eq!((claim.user_name(), claim.domain_name(), claim.workstation()), ("User", "Domain", "COMPUTER"));
    let established = claim.verify(&[NtHash::of("Password")]).unwrap();
    assert_eq!(*established.session_key().as_bytes(), RANDOM_KEY);
}

#[test]
fn both_keys_of_an_account_and_any_domain() {
    let (first, second) = (NtHash::of("first"), NtHash::of("second"));
    for domain in ["", "AZURE", "localhost", "Dom\u{e4}ne"] {
        for password in ["first", "second"] {
            let client = Client { user: "account1", domain, password, ..Client::default() };
            let established = logon(&client, &[first.clone(), second.clone()]).unwrap();
            assert_eq!(established.session_key().as_bytes(), &RANDOM_KEY);
            assert_eq!((established.user_name(), established.domain_name()), ("account1", domain));
        }
    }
}

#[test]
fn who_is_refused() {
    let right = [NtHash::of("Password")];
    let good = Client::default();
    let refused = Some(NtStatus::LOGON_FAILURE);
    // what, client, hashes, status
    let table: &[(&str, Client, &[NtHash], Option<NtStatus>)] = &[
        ("good", good.clone(), &right, None),
        ("wrong password", Client { password: "password", ..good.clone() }, &right, refused),
        ("empty password", Client { password: "", ..good.clone() }, &right, refused),
        ("unknown user", good.clone(), &[], refused),
        ("no flag and no MIC", Client { says_mic: false, omits_mic: true, ..good.clone() }, &right, None),
        (
            "wrong password without a MIC",
            Client { password: "x", says_mic: false, omits_mic: true, ..good.clone() },
            &right,
            refused,
        ),
        ("unknown user without a MIC", Client { says_mic: false, omits_mic: true, ..good.clone() }, &[], refused),
        ("wrong MIC", Client { spoils_mic: true, ..good.clone() }, &right, refused),
        ("a MIC was promised", Client { omits_mic: true, ..good.clone() }, &right, refused),
        (
            "a wrong MIC that was not promised",
            Client { says_mic: false, spoils_mic: true, ..good.clone() },
            &right,
            None,
        ),
        ("without key exchange", Client { flags: FLAGS & !flags::KEY_EXCH, ..good.clone() }, &right, None),
        ("anonymous", Client { flags: FLAGS | flags::ANONYMOUS, ..good.clone() }, &right, refused),
        ("nobody", Client { user: "", ..good }, &right, refused),
    ];
    for (what, client, hashes, status) in table {
        assert_eq!(logon(client, hashes).err(), *status, "{what}");
    }
}

#[test]
fn an_unknown_user_is_not_let_in_with_the_hash_that_fills_up() {
    // The hash of all zeros, which stands for hashes that are not there.
    let client = Client::default();
    let key = hmac_md5(&[0; 16], &[&text::encode("USERDomain")]).unwrap();
    let blob = Client { says_mic: false, ..client }.blob();
    let proof = hmac_md5(&key, &[&CHALLENGE, &blob]).unwrap();
    let message = message_3(72, &[proof.as_slice(), &blob].concat(), "Domain", "User", &[0; 16], FLAGS);
    for hashes in [vec![], vec![NtHash::of("Password")]] {
        let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
        assert_eq!(challenged.authenticate(&message).unwrap().verify(&hashes).err(), Some(NtStatus::LOGON_FAILURE));
    }
}

#[test]
fn a_replayed_answer_does_not_fit_another_challenge() {
    let hashes = [NtHash::of("Password")];
    let client = Client { says_mic: false, omits_mic: true, ..Client::default() };
    let first = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
    let overheard = client.authenticate(&negotiate(), first.message());
    assert!(first.authenticate(&overheard).unwrap().verify(&hashes).is_ok());
    let second = Challenged::new(&negotiate(), &target(), [9; 8], 0).unwrap();
    let replayed = second.authenticate(&overheard).unwrap().verify(&hashes);
    assert_eq!(replayed.err(), Some(NtStatus::LOGON_FAILURE));
}

#[test]
fn a_changed_negotiation_does_not_fit_the_mic() {
    let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
    let mut weaker = negotiate();
    weaker[12] ^= 0x10;
    let message = Client::default().authenticate(&weaker, challenged.message());
    let result = challenged.authenticate(&message).unwrap().verify(&[NtHash::of("Password")]);
    assert_eq!(result.err(), Some(NtStatus::LOGON_FAILURE));
}

#[test]
fn old_responses_are_refused() {
    for response in [&[0; 24][..], &[], &[1; 16], &[1; 47], &[2; 60]] {
        let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
        let message = message_3(88, response, "Domain", "User", &[0; 16], FLAGS);
        assert_eq!(challenged.authenticate(&message).err(), Some(NtStatus::LOGON_FAILURE), "{response:?}");
    }
}

#[test]
fn truncated_messages_are_refused() {
    let hashes = [NtHash::of("Password")];
    let challenged = || Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
    let whole = Client::default().authenticate(&negotiate(), challenged().message());
    for end in 0..whole.len() {
        let result = challenged().authenticate(&whole[..end]).and_then(|claim| claim.verify(&hashes));
        assert!(result.is_err(), "{end}");
    }
    for end in 0..16 {
        assert!(Challenged::new(&negotiate()[..end], &target(), CHALLENGE, 0).is_err(), "{end}");
    }
    let mut oem = negotiate();
    oem[12] &= !1;
    assert_eq!(Challenged::new(&oem, &target(), CHALLENGE, 0).err(), Some(NtStatus::LOGON_FAILURE), "no Unicode");
    assert!(Challenged::new(&[negotiate(), vec![0; 9000]].concat(), &target(), CHALLENGE, 0).is_err(), "too long");
}

#[test]
fn a_challenge_has_what_windows_looks_for() {
    let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0x1122_3344_5566_7788).unwrap();
    let message = challenged.message();
    assert_eq!(message[24..32], CHALLENGE);
    let info = usize::from(message[44]);
    let pairs = &message[info..];
    assert!(pairs.windows(12).any(|pair| pair == hex("070008008877665544332211")), "the time");
    assert!(pairs.ends_with(&[0; 4]), "the end");
    assert!(av_pairs(pairs).is_ok());
}

/// What Windows sent, from Microsoft's walk through preauth integrity.
mod windows {
    use super::*;

    const KEY: &str = "270E1BA896585EEB7AF3472D3B4C75A7";
    const MECH_TYPES: &str = "300C060A2B06010401823702020A";
    const FLAGS: u32 = 0xE288_8215;
    const NEGOTIATE: &str = "4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F";
    const CHALLENGE: &str = "4E544C4D53535000020000000C000C003800000015828AE20D1D8BA31179D008\
        000000000000000050005000440000000A0092270000000F53005500540033003100310002000C005300550054003300\
        3100310001000C0053005500540033003100310004000C0053005500540033003100310003000C005300550054003300\
        3100310007000800A1A1F5ADCBAED00100000000";
    const AUTHENTICATE: &str = "4E544C4D535350000300\
        0000180018009000 0000EE00EE00A80000000C000C00580000001A001A0064000000120012007E0000\
        001000100096010000158288E2060380250000000FECAC77A5F385A8BF9C38C706EEEDDCD3530055\
        005400330031003100610064006D0069006E006900730074007200610074006F0072004400520049\
        0056004500520033003100310000000000000000000000000000000000000000000000000063078E\
        B639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223CC90F000000\
        0002000C0053005500540033003100310001000C0053005500540033003100310004000C00530055\
        00540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED001060004\
        00020000000800300030000000000000000000000000300000B61FEFCAA857EA57BF1EDCEBF8974B\
        8E0EBA5A6DFD9D07A31D11B548F8C9D0CC0A00100000000000000000000000000000000000090016\
        0063006900660073002F005300550054003300310031000000000000000000000000003B9BDFF38F\
        5EE8F9663F11A0F4C03A78";

    fn claim() -> Authenticate {
        let challenge = hex(CHALLENGE);
        let challenged = Challenged {
            negotiate: hex(NEGOTIATE),
            server_challenge: challenge[24..32].try_into().unwrap(),
            message: challenge,
            flags: 0xE28A_8215,
        };
        challenged.authenticate(&hex(AUTHENTICATE)).unwrap()
    }

    #[test]
    fn its_mic_fits() {
        let claim = claim();
        assert_eq!(
            (claim.user_name(), claim.domain_name(), claim.workstation()),
            ("administrator", "SUT311", "DRIVER311")
        );
        assert!(claim.has_mic);
        let key: [u8; 16] = hex(KEY).try_into().unwrap();
        assert_eq!(claim.mic_fits(&key), Ok(true));
        assert_eq!(claim.mic_fits(&[0; 16]), Ok(false));
        assert_eq!(claim.verify(&[NtHash::of("guess")]).err(), Some(NtStatus::LOGON_FAILURE));
    }

    #[test]
    fn its_key_is_exchanged() {
        let base: [u8; 16] = hex("B4CF22566926B1C069ACD80E4D73C814").try_into().unwrap();
        let mut key = claim().exchanged.unwrap();
        Rc4::<U16>::new(&base.into()).apply_keystream(&mut key);
        assert_eq!(key, *hex(KEY));
    }

    #[test]
    fn both_signatures_of_its_mechanisms_fit() {
        let (key, list): ([u8; 16], _) = (hex(KEY).try_into().unwrap(), hex(MECH_TYPES));
        let client = Mac::new(&key, FLAGS, true).unwrap().sign(&list).unwrap();
        assert_eq!(client, *hex("0100000063775A9A5FD97F0600000000"));
        let server = Mac::new(&key, FLAGS, false).unwrap().sign(&list).unwrap();
        assert_eq!(server, *hex("010000003B453CDC3524164200000000"));
    }
}

/// What three clients sent with the well-known account and key, and the key of the session that they made.
#[test]
fn clients_in_python() {
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let hashes = [NtHash::of("another key"), NtHash::of(key)];
    let table = [
        (
            "pyspnego",
            "4e544c4d5353500001000000378208e200000000280000000000000028000000000c04000000000f",
            "4e544c4d5353500003000000180018005800000098009800700000001200120008010000200020001a010000040004003a01\
             0000100010003e01000035828ae2000c04000000000f6ee85db8f07aa81e6dfb3a7ffdbf38c9000000000000000000000000\
             00000000000000000000000021018a6cad1094ef1d794dd8f3bb63ea0101000000000000000000000000c01df5a860364eb5\
             e0610000000002000c004c0041005a0055004c00490001000c004c0041005a0055004c00490004000c006c0061007a007500\
             6c00690003000c006c0061007a0075006c00690007000800000000000000c01d09000c0063006900660073002f0068000600\
             04000200000000000000000000006c006f00630061006c0068006f0073007400640065007600730074006f00720065006100\
             630063006f0075006e007400310056004d002c1d313abb9b051d73b229e9c323674f",
            "97386acdea3a5df473b9865c78bbbc64",
        ),
        (
            "impacket",
            "4e544c4d5353500001000000358288e000000000000000000000000000000000",
            "4e544c4d5353500003000000180018006a00000096009600820000000a000a0040000000200020004a000000000000006a00\
             00001000100018010000358288e041005a00550052004500640065007600730074006f00720065006100630063006f007500\
             6e0074003100a6c7c79d3dfa60c420822ed0c12c459e6d684f564a774978614f1e274cd524f0b8c4971fe603704e01010000\
             00000000000000000000c01d6d684f564a7749780000000002000c004c0041005a0055004c00490001000c004c0041005a00\
             55004c00490004000c006c0061007a0075006c00690003000c006c0061007a0075006c00690007000800000000000000c01d\
             0900160063006900660073002f006c0061007a0075006c00690000000000b5e3ea988ca4511330572768b013ef80",
            "31476679586f4e4d6a574f555a6c5132",
        ),
        (
            "pysmb",
            "4e544c4d53535000010000001582886200000000000000000000000000000000060072170000000f",
            "4e544c4d535350000300000018001800400000007c007c005800000000000000d400000020002000d400000004000400f400\
             000010001000f800000015828a600ee915a84d01b714c43910553b4168eabfbd711bba78c956cfd9fb33b4bbfa9e50ecb2f2\
             30f69e6901010000000000000000000000000000bfbd711bba78c9560000000002000c004c0041005a0055004c0049000100\
             0c004c0041005a0055004c00490004000c006c0061007a0075006c00690003000c006c0061007a0075006c00690007000800\
             000000000000c01d00000000640065007600730074006f00720065006100630063006f0075006e0074003100500043009c10\
             dd3633cc3930e97c2d0b07b6172a",
            "5837625354484946436e506962596d72",
        ),
    ];
    for (client, negotiate, authenticate, session_key) in table {
        let logon = |bytes: &[u8], hashes: &[NtHash]| {
            let challenged = Challenged::new(&hex(negotiate), &target(), CHALLENGE, 0x1DC0_0000_0000_0000).unwrap();
            challenged.authenticate(bytes)?.verify(hashes)
        };
        let whole = hex(authenticate);
        let established = logon(&whole, &hashes).unwrap();
        assert_eq!(established.user_name(), "devstoreaccount1", "{client}");
        assert_eq!(*established.session_key().as_bytes(), *hex(session_key), "{client}");
        assert_eq!(logon(&whole, &hashes[..1]).err(), Some(NtStatus::LOGON_FAILURE), "another key: {client}");
        // Each byte of the response counts: proof, pairs and what is between them.
        let response = usize::from(whole[24]);
        for position in response..response + usize::from(whole[20]) {
            let mut changed = whole.clone();
            changed[position] ^= 1;
            assert!(logon(&changed, &hashes).is_err(), "{client} {position}");
        }
    }
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?} {:?}", NtHash::of("Password"), SessionKey::new(RANDOM_KEY));
    assert_eq!(shown, "NtHash(…) SessionKey(…)");
}

proptest! {
    #[test]
    fn arbitrary_messages_never_log_on(bytes in vec(any::<u8>(), 0..300), typed in any::<bool>()) {
        let mut bytes = bytes;
        if typed && bytes.len() > 12 {
            bytes[..12].copy_from_slice(b"NTLMSSP\0\x03\0\0\0");
        }
        let challenged = Challenged::new(&negotiate(), &target(), CHALLENGE, 0).unwrap();
        let result = challenged.authenticate(&bytes).and_then(|claim| claim.verify(&[NtHash::of("Password")]));
        prop_assert!(result.is_err());
        let _either = Challenged::new(&bytes, &target(), CHALLENGE, 0);
    }
}
