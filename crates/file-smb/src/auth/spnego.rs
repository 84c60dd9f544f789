//! SPNEGO (RFC 4178, MS-SPNG): which mechanism is spoken. Of the mechanisms only NTLM is known; a message of NTLM without
//! SPNEGO around it is taken as well.

use super::der::{Elements, element, only, tag};
use crate::NtStatus;

/// 1.3.6.1.5.5.2.
const SPNEGO: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x02];
/// 1.3.6.1.4.1.311.2.2.10.
pub const NTLMSSP: &[u8] = &[0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A];
/// What a message of NTLM begins with.
pub const NTLM_SIGNATURE: &[u8] = b"NTLMSSP\0";
/// More mechanisms in one list are not looked at.
const MAX_MECHANISMS: usize = 32;

/// How far a negotiation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of RFC 4178")]
pub enum NegState {
    AcceptCompleted,
    AcceptIncomplete,
    Reject,
    RequestMic,
}

impl NegState {
    const ALL: [Self; 4] = [Self::AcceptCompleted, Self::AcceptIncomplete, Self::Reject, Self::RequestMic];

    const fn number(self) -> u8 {
        match self {
            Self::AcceptCompleted => 0,
            Self::AcceptIncomplete => 1,
            Self::Reject => 2,
            Self::RequestMic => 3,
        }
    }
}

/// What a security buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// The first one of a client.
    Init(NegTokenInit<'a>),
    /// One that answers.
    Response(NegTokenResp<'a>),
    /// A message of NTLM, bare.
    Ntlm(&'a [u8]),
}

/// The first token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegTokenInit<'a> {
    /// The list as it was sent: what `mechListMIC` is over.
    pub mech_types: &'a [u8],
    /// For the first mechanism of the list.
    pub mech_token: Option<&'a [u8]>,
    /// Over the list.
    pub mech_list_mic: Option<&'a [u8]>,
}

impl<'a> NegTokenInit<'a> {
    /// The mechanisms, the client's first choice first.
    pub fn mechanisms(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut list = Elements::new(only(self.mech_types, tag::SEQUENCE).unwrap_or_default());
        std::iter::from_fn(move || list.expect(tag::OID).ok()).take(MAX_MECHANISMS)
    }
}

/// A token that answers. Only what is there is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegTokenResp<'a> {
    /// How far the sender is.
    pub neg_state: Option<NegState>,
    /// The mechanism that was chosen.
    pub supported_mech: Option<&'a [u8]>,
    /// For the mechanism.
    pub response_token: Option<&'a [u8]>,
    /// Over the list of mechanisms.
    pub mech_list_mic: Option<&'a [u8]>,
}

impl<'a> Token<'a> {
    /// Reads a security buffer.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: neither SPNEGO nor NTLM.
    pub fn parse(buffer: &'a [u8]) -> Result<Self, NtStatus> {
        if buffer.starts_with(NTLM_SIGNATURE) {
            return Ok(Self::Ntlm(buffer));
        }
        match Elements::new(buffer).next()? {
            (tag::APPLICATION, content) => {
                let mut content = Elements::new(content);
                if content.expect(tag::OID)? != SPNEGO {
                    return Err(NtStatus::INVALID_PARAMETER);
                }
                init(content.expect(tag::context(0))?).map(Self::Init)
            }
            // Some clients leave out the header of GSS-API.
            (tag, content) if tag == tag::context(0) => init(content).map(Self::Init),
            (tag, content) if tag == tag::context(1) => response(content).map(Self::Response),
            _other => Err(NtStatus::INVALID_PARAMETER),
        }
    }
}

fn init(content: &[u8]) -> Result<NegTokenInit<'_>, NtStatus> {
    let mut fields = Elements::new(only(content, tag::SEQUENCE)?);
    let mut token = NegTokenInit::default();
    while !fields.is_empty() {
        match fields.next()? {
            (0xA0, list) => {
                only(list, tag::SEQUENCE)?;
                token.mech_types = list;
            }
            (0xA2, octets) => token.mech_token = Some(only(octets, tag::OCTET_STRING)?),
            // [3] is the MIC in RFC 4178 and hints in NegTokenInit2, which has the MIC in [4].
            (0xA3 | 0xA4, octets) => {
                if let Ok(mic) = only(octets, tag::OCTET_STRING) {
                    token.mech_list_mic = Some(mic);
                }
            }
            _flags => {}
        }
    }
    if token.mech_types.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(token)
}

fn response(content: &[u8]) -> Result<NegTokenResp<'_>, NtStatus> {
    let mut fields = Elements::new(only(content, tag::SEQUENCE)?);
    let mut token = NegTokenResp::default();
    while !fields.is_empty() {
        match fields.next()? {
            (0xA0, state) => {
                let state = only(state, tag::ENUMERATED)?;
                let state = NegState::ALL.into_iter().find(|known| state == [known.number()]);
                token.neg_state = Some(state.ok_or(NtStatus::INVALID_PARAMETER)?);
            }
            (0xA1, mech) => token.supported_mech = Some(only(mech, tag::OID)?),
            (0xA2, octets) => token.response_token = Some(only(octets, tag::OCTET_STRING)?),
            (0xA3, octets) => token.mech_list_mic = Some(only(octets, tag::OCTET_STRING)?),
            _unknown => {}
        }
    }
    Ok(token)
}

impl NegTokenInit<'_> {
    /// Its bytes, as a client would send them. The list is the element that `mech_types` says.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = element(tag::context(0), self.mech_types);
        octets(&mut fields, 2, self.mech_token);
        octets(&mut fields, 3, self.mech_list_mic);
        gss(&element(tag::context(0), &element(tag::SEQUENCE, &fields)))
    }
}

impl NegTokenResp<'_> {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        if let Some(state) = self.neg_state {
            fields.extend(element(tag::context(0), &element(tag::ENUMERATED, &[state.number()])));
        }
        if let Some(mech) = self.supported_mech {
            fields.extend(element(tag::context(1), &element(tag::OID, mech)));
        }
        octets(&mut fields, 2, self.response_token);
        octets(&mut fields, 3, self.mech_list_mic);
        element(tag::context(1), &element(tag::SEQUENCE, &fields))
    }
}

/// The list that says NTLM alone.
#[must_use]
pub fn ntlm_alone() -> Vec<u8> {
    element(tag::SEQUENCE, &element(tag::OID, NTLMSSP))
}

/// What NEGOTIATE's answer says: NTLM is spoken here.
#[must_use]
pub fn hint() -> Vec<u8> {
    // NegTokenInit2 with the text that RFC 4178 and Windows have there.
    let name = element(tag::context(0), &element(tag::GENERAL_STRING, b"not_defined_in_RFC4178@please_ignore"));
    let mut fields = element(tag::context(0), &ntlm_alone());
    fields.extend(element(tag::context(3), &element(tag::SEQUENCE, &name)));
    gss(&element(tag::context(0), &element(tag::SEQUENCE, &fields)))
}

fn octets(fields: &mut Vec<u8>, number: u8, content: Option<&[u8]>) {
    if let Some(content) = content {
        fields.extend(element(tag::context(number), &element(tag::OCTET_STRING, content)));
    }
}

fn gss(token: &[u8]) -> Vec<u8> {
    element(tag::APPLICATION, &[element(tag::OID, SPNEGO).as_slice(), token].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn tokens_of_windows() {
        // From Microsoft's walk through preauth integrity.
        let first = hex("604806062B0601050502A03E303CA00E300C060A2B06010401823702020AA22A04284E544C4D5353500001000000\
                         978208E200000000000000000000000000000000060380250000000F");
        let Ok(Token::Init(init)) = Token::parse(&first) else { panic!("no init") };
        assert_eq!(init.mech_types, ntlm_alone());
        assert_eq!(init.mechanisms().collect::<Vec<_>>(), [NTLMSSP]);
        assert!(init.mech_token.unwrap().starts_with(NTLM_SIGNATURE));
        assert_eq!(init.encode(), first);

        let last = hex("A11B3019A0030A0100A3120410010000003B453CDC3524164200000000");
        let mic = hex("010000003B453CDC3524164200000000");
        let response = NegTokenResp {
            neg_state: Some(NegState::AcceptCompleted),
            mech_list_mic: Some(&mic),
            ..NegTokenResp::default()
        };
        assert_eq!(Token::parse(&last), Ok(Token::Response(response)));
        assert_eq!(response.encode(), last);
    }

    #[test]
    fn the_hint_says_ntlm_alone() {
        let hint = hint();
        let Ok(Token::Init(init)) = Token::parse(&hint) else { panic!("no init") };
        assert_eq!(init, NegTokenInit { mech_types: &ntlm_alone(), mech_token: None, mech_list_mic: None });
    }

    #[test]
    fn a_client_that_would_rather_have_kerberos() {
        let kerberos = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02];
        let list = [element(tag::OID, &kerberos), element(tag::OID, NTLMSSP)].concat();
        let list = element(tag::SEQUENCE, &list);
        let sent = NegTokenInit { mech_types: &list, mech_token: Some(b"ticket"), mech_list_mic: Some(b"mic") };
        let bytes = sent.encode();
        assert_eq!(Token::parse(&bytes), Ok(Token::Init(sent)));
        assert_eq!(sent.mechanisms().collect::<Vec<_>>(), [kerberos.as_slice(), NTLMSSP]);
    }

    #[test]
    fn tokens_that_are_refused() {
        let good = NegTokenInit { mech_types: &ntlm_alone(), mech_token: Some(b"x"), mech_list_mic: None }.encode();
        for end in 0..good.len() {
            assert_eq!(Token::parse(&good[..end]), Err(NtStatus::INVALID_PARAMETER), "{end}");
        }
        let mut other = good.clone();
        other[4] ^= 1;
        assert!(Token::parse(&other).is_err(), "another mechanism around it");
        let empty = element(tag::context(0), &element(tag::SEQUENCE, &[]));
        assert!(Token::parse(&empty).is_err(), "no list");
        let state = element(tag::context(0), &element(tag::ENUMERATED, &[9]));
        assert!(Token::parse(&element(tag::context(1), &element(tag::SEQUENCE, &state))).is_err(), "no such state");
    }

    #[test]
    fn many_elements_in_each_other_are_not_followed() {
        let mut bytes = Vec::new();
        for _ in 0..2000 {
            bytes = element(tag::context(0), &bytes);
        }
        assert!(Token::parse(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn responses_are_read_as_they_are_written(
            state in 0_usize..5,
            mech in proptest::option::of(vec(any::<u8>(), 0..20)),
            token in proptest::option::of(vec(any::<u8>(), 0..400)),
            mic in proptest::option::of(vec(any::<u8>(), 0..20)),
        ) {
            let response = NegTokenResp {
                neg_state: NegState::ALL.get(state).copied(),
                supported_mech: mech.as_deref(),
                response_token: token.as_deref(),
                mech_list_mic: mic.as_deref(),
            };
            let bytes = response.encode();
            prop_assert_eq!(Token::parse(&bytes), Ok(Token::Response(response)));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200)) {
            if let Ok(Token::Init(init)) = Token::parse(&bytes) {
                let _count = init.mechanisms().count();
            }
        }
    }
}
