//! Whole logons, with SPNEGO and without.

use super::{
    der::{element, tag},
    spnego::{NegTokenInit, ntlm_alone},
    *,
};
use crate::hex;

fn target() -> Target {
    Target { computer: "L".into(), domain: "L".into(), dns_computer: "l".into(), dns_domain: "l".into() }
}

const NEGOTIATE: &str = "4E544C4D5353500001000000978208E200000000000000000000000000000000060380250000000F";

fn step(acceptor: Acceptor, buffer: &[u8]) -> Result<Step, NtStatus> {
    acceptor.step(buffer, &target(), [1; 8], 0)
}

fn next(acceptor: Acceptor, buffer: &[u8]) -> (Acceptor, Vec<u8>) {
    match step(acceptor, buffer).unwrap() {
        Step::Continue(acceptor, answer) => (acceptor, answer),
        Step::Claim(claim) => panic!("{claim:?}"),
    }
}

#[test]
fn a_client_that_begins_with_ntlm_gets_its_challenge() {
    let init = NegTokenInit { mech_types: &ntlm_alone(), mech_token: Some(&hex(NEGOTIATE)), mech_list_mic: None };
    let (_acceptor, answer) = next(Acceptor::default(), &init.encode());
    let Ok(Token::Response(response)) = Token::parse(&answer) else { panic!("no response") };
    assert_eq!((response.neg_state, response.supported_mech), (Some(NegState::AcceptIncomplete), Some(NTLMSSP)));
    assert!(response.response_token.unwrap().starts_with(b"NTLMSSP\0\x02"));
}

#[test]
fn a_client_that_begins_with_another_mechanism_is_told_to_use_ntlm() {
    let list = [element(tag::OID, &[0x2A, 3]), element(tag::OID, NTLMSSP)].concat();
    let list = element(tag::SEQUENCE, &list);
    let init = NegTokenInit { mech_types: &list, mech_token: Some(b"ticket"), mech_list_mic: None };
    let (acceptor, answer) = next(Acceptor::default(), &init.encode());
    let Ok(Token::Response(response)) = Token::parse(&answer) else { panic!("no response") };
    assert_eq!((response.supported_mech, response.response_token), (Some(NTLMSSP), None));
    let message = hex(NEGOTIATE);
    let response = NegTokenResp { response_token: Some(&message), ..NegTokenResp::default() };
    let (_acceptor, answer) = next(acceptor, &response.encode());
    let Ok(Token::Response(response)) = Token::parse(&answer) else { panic!("no response") };
    assert!(response.supported_mech.is_none() && response.response_token.is_some());
}

#[test]
fn ntlm_without_spnego_is_answered_without_it() {
    let (_acceptor, answer) = next(Acceptor::default(), &hex(NEGOTIATE));
    assert!(answer.starts_with(b"NTLMSSP\0\x02"));
}

#[test]
fn what_is_out_of_order_is_refused() {
    let init = |mech_token| NegTokenInit { mech_types: &ntlm_alone(), mech_token, mech_list_mic: None }.encode();
    let response = NegTokenResp { response_token: Some(b"x"), ..NegTokenResp::default() }.encode();
    let negotiate = hex(NEGOTIATE);
    assert!(step(Acceptor::default(), &response).is_err(), "an answer first");
    let (acceptor, _challenge) = next(Acceptor::default(), &init(Some(&negotiate)));
    assert!(step(acceptor, &init(Some(&negotiate))).is_err(), "two first ones");
    let (acceptor, _challenge) = next(Acceptor::default(), &init(Some(&negotiate)));
    assert!(step(acceptor, &negotiate).is_err(), "bare in the middle");
    let (acceptor, _challenge) = next(Acceptor::default(), &negotiate);
    assert!(step(acceptor, &negotiate).is_err(), "NEGOTIATE again");
    let other = element(tag::SEQUENCE, &element(tag::OID, &[0x2A, 3]));
    let init = NegTokenInit { mech_types: &other, mech_token: None, mech_list_mic: None }.encode();
    assert_eq!(step(Acceptor::default(), &init).err(), Some(NtStatus::LOGON_FAILURE), "no NTLM");
}
