//! Logon: SPNEGO around NTLMv2, step by step, without waiting for anything. The caller looks up the user's hashes between
//! [`Step::Claim`] and [`Claim::verify`].

mod der;
pub mod ntlm;
pub mod spnego;
#[cfg(test)]
mod tests;

use crate::NtStatus;
use ntlm::{Authenticate, Challenged, Established, NtHash, Target};
use spnego::{NTLMSSP, NegState, NegTokenResp, Token};

/// The longest list of mechanisms that is remembered until the end.
const MAX_MECH_TYPES: usize = 1024;

/// The server's side of one logon.
#[derive(Debug, Default)]
pub struct Acceptor {
    /// The list of mechanisms as sent; `None` when NTLM is spoken bare.
    mech_types: Option<Vec<u8>>,
    challenged: Option<Challenged>,
    /// The client was told to use NTLM; its NEGOTIATE comes in an answer.
    is_chosen: bool,
}

/// What comes of a step.
#[derive(Debug)]
pub enum Step {
    /// `MORE_PROCESSING_REQUIRED` with this security buffer; the next one goes to the acceptor.
    Continue(Acceptor, Vec<u8>),
    /// The client says who it is.
    Claim(Claim),
}

impl Acceptor {
    /// Takes a security buffer. The eight bytes are random and never the same again; `now` is a FILETIME.
    ///
    /// # Errors
    /// The status to answer with. The logon is over.
    pub fn step(mut self, buffer: &[u8], target: &Target, random: [u8; 8], now: u64) -> Result<Step, NtStatus> {
        let (message, mic) = match Token::parse(buffer)? {
            Token::Ntlm(message) if self.mech_types.is_none() => (message, None),
            Token::Init(init) if self.challenged.is_none() && self.mech_types.is_none() => {
                if init.mech_types.len() > MAX_MECH_TYPES {
                    return Err(NtStatus::INVALID_PARAMETER);
                }
                self.mech_types = Some(init.mech_types.to_vec());
                let position = init.mechanisms().position(|mechanism| mechanism == NTLMSSP);
                match (position, init.mech_token) {
                    (None, _) => return Err(NtStatus::LOGON_FAILURE),
                    (Some(0), Some(message)) => (message, None),
                    // Its first choice, or its token, is of another mechanism.
                    (Some(_), _) => return Ok(self.choose()),
                }
            }
            Token::Response(response) if self.mech_types.is_some() && (self.challenged.is_some() || self.is_chosen) => {
                (response.response_token.ok_or(NtStatus::INVALID_PARAMETER)?, response.mech_list_mic)
            }
            _out_of_order => return Err(NtStatus::INVALID_PARAMETER),
        };
        if let Some(challenged) = self.challenged {
            let authenticate = challenged.authenticate(message)?;
            let mech_list_mic = mic.map(<[u8]>::to_vec);
            return Ok(Step::Claim(Claim { authenticate, mech_types: self.mech_types, mech_list_mic }));
        }
        let challenged = Challenged::new(message, target, random, now)?;
        let token = self.wrap(NegState::AcceptIncomplete, challenged.message());
        Ok(Step::Continue(Self { challenged: Some(challenged), ..self }, token))
    }

    fn choose(mut self) -> Step {
        self.is_chosen = true;
        let answer = NegTokenResp {
            neg_state: Some(NegState::AcceptIncomplete),
            supported_mech: Some(NTLMSSP),
            ..NegTokenResp::default()
        };
        Step::Continue(self, answer.encode())
    }

    fn wrap(&self, state: NegState, message: &[u8]) -> Vec<u8> {
        if self.mech_types.is_none() {
            return message.to_vec();
        }
        NegTokenResp {
            neg_state: Some(state),
            // The choice is told once.
            supported_mech: (!self.is_chosen).then_some(NTLMSSP),
            response_token: Some(message),
            mech_list_mic: None,
        }
        .encode()
    }
}

/// Who a client says that it is; nothing is shown yet.
#[derive(Debug)]
pub struct Claim {
    authenticate: Authenticate,
    mech_types: Option<Vec<u8>>,
    mech_list_mic: Option<Vec<u8>>,
}

impl Claim {
    /// The user, as sent.
    #[must_use]
    pub fn user_name(&self) -> &str {
        self.authenticate.user_name()
    }

    /// The domain, as sent.
    #[must_use]
    pub fn domain_name(&self) -> &str {
        self.authenticate.domain_name()
    }

    /// Checks everything that the client has sent against the hashes of the user (none when there is no such user), and gives
    /// the last security buffer.
    ///
    /// # Errors
    /// `LOGON_FAILURE`, whatever it was that did not fit.
    pub fn verify(self, hashes: &[NtHash]) -> Result<(Established, Vec<u8>), NtStatus> {
        let established = self.authenticate.verify(hashes)?;
        let Some(mech_types) = self.mech_types else { return Ok((established, Vec::new())) };
        let mut answer = NegTokenResp { neg_state: Some(NegState::AcceptCompleted), ..NegTokenResp::default() };
        let Some(mic) = self.mech_list_mic else {
            let buffer = answer.encode();
            return Ok((established, buffer));
        };
        if !established.client_mac()?.verify(&mech_types, &mic)? {
            return Err(NtStatus::LOGON_FAILURE);
        }
        let mic = established.server_mac()?.sign(&mech_types)?;
        answer.mech_list_mic = Some(&mic);
        let buffer = answer.encode();
        Ok((established, buffer))
    }
}
