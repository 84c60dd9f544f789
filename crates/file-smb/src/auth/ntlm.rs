//! NTLMv2 (MS-NLMP), the side that accepts: CHALLENGE for a client's NEGOTIATE, then proof, MIC and keys of its AUTHENTICATE.
//!
//! Three values, one for each step: [`Challenged`] becomes an [`Authenticate`] (what the client claims), and that an
//! [`Established`] (what it has shown) when one of the hashes that the caller knows for the user fits.
//!
//! **Invariant.** There is no way to an [`Established`] but a proof that fits, compared in constant time, over a challenge
//! that is used once. NTLMv1, LM, anonymous clients and guests are refused whatever they send.

use crate::{
    NtStatus,
    wire::{Reader, text},
};
use zeroize::Zeroizing;

mod message;
mod seal;
#[cfg(test)]
mod tests;

pub use message::{Target, flags};
pub use seal::Mac;

use hmac::{Hmac, Mac as _};
use md4::{Digest, Md4};
use md5::Md5;
use message::{Fields, av_pairs};
use rc4::{KeyInit, Rc4, StreamCipher, consts::U16};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// The longest message that is read: names and target information are short.
const MAX_MESSAGE: usize = 8 * 1024;
/// Hashes that are tried for a user: both keys of an account, and room.
const MAX_HASHES: usize = 4;
/// The smallest NTLMv2 response: proof, fixed part, end of the pairs.
const MIN_RESPONSE: usize = 16 + 28 + 4;
/// Where the MIC stands in AUTHENTICATE.
const MIC: std::ops::Range<usize> = 72..88;

/// MD4 of a password: as good as the password, so it is wiped and never shown.
#[derive(Clone)]
pub struct NtHash(Zeroizing<[u8; 16]>);

impl NtHash {
    /// The hash of a password; for an account its key as text.
    #[must_use]
    pub fn of(password: &str) -> Self {
        let utf16 = Zeroizing::new(text::encode(password));
        Self(Zeroizing::new(Md4::digest(&*utf16).into()))
    }
}

impl std::fmt::Debug for NtHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NtHash(…)")
    }
}

/// The key of a session: what signing and encryption keys are made from. Wiped and never shown.
#[derive(Clone)]
pub struct SessionKey(Zeroizing<[u8; 16]>);

impl SessionKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// A challenge was sent.
#[derive(Debug)]
pub struct Challenged {
    negotiate: Vec<u8>,
    message: Vec<u8>,
    server_challenge: [u8; 8],
    flags: u32,
}

impl Challenged {
    /// Reads a client's NEGOTIATE and makes the CHALLENGE. The eight bytes are random, and never the same again; `now` is a
    /// FILETIME.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: it is no NEGOTIATE; `LOGON_FAILURE`: the client cannot speak NTLMv2.
    pub fn new(negotiate: &[u8], target: &Target, server_challenge: [u8; 8], now: u64) -> Result<Self, NtStatus> {
        if negotiate.len() > MAX_MESSAGE {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let mut reader = message::begin(negotiate, 1)?;
        let flags = message::answered_flags(reader.u32()?)?;
        let message = message::challenge(flags, target, server_challenge, now);
        Ok(Self { negotiate: negotiate.to_vec(), message, server_challenge, flags })
    }

    /// The CHALLENGE, to be sent.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Reads the client's AUTHENTICATE. Takes the challenge: it answers one only.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed; `LOGON_FAILURE`: anonymous, NTLMv1 or LM.
    pub fn authenticate(self, message: &[u8]) -> Result<Authenticate, NtStatus> {
        if message.len() > MAX_MESSAGE {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let mut reader = message::begin(message, 3)?;
        let [_lm, nt, domain, user, workstation, key] = Fields::six(&mut reader)?;
        let sent = reader.u32()?;
        let flags = sent & self.flags;
        let (domain, user) = (domain.of(message)?.to_vec(), user.of(message)?.to_vec());
        let response = nt.of(message)?;
        if user.is_empty() || response.len() < MIN_RESPONSE || sent & flags::ANONYMOUS != 0 {
            return Err(NtStatus::LOGON_FAILURE);
        }
        let mut blob = Reader::at(response, 16)?;
        // Both versions of the response: 1.
        if blob.array()? != [1, 1] {
            return Err(NtStatus::LOGON_FAILURE);
        }
        blob.skip(26)?;
        let has_mic = av_pairs(blob.rest())?.flags & 2 != 0;
        if has_mic && message.len() < MIC.end {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let exchanged = match (flags & flags::KEY_EXCH != 0, key.of(message)?) {
            (true, key) => Some(key.try_into().map_err(|_length| NtStatus::INVALID_PARAMETER)?),
            (false, _unused) => None,
        };
        // Names are shown and looked up, so they must be text.
        let text = |name: &[u8]| text::decode(name).map_err(|_no_text| NtStatus::LOGON_FAILURE);
        let names = (text(&user)?, text(&domain)?, text(workstation.of(message)?).unwrap_or_default());
        Ok(Authenticate {
            user_name: names.0,
            domain_name: names.1,
            workstation: names.2,
            domain,
            response: response.to_vec(),
            has_mic,
            exchanged,
            flags,
            message: message.to_vec(),
            challenged: self,
        })
    }
}

/// Who a client says that it is. Nothing is shown yet.
#[derive(Debug)]
pub struct Authenticate {
    user_name: String,
    domain_name: String,
    workstation: String,
    domain: Vec<u8>,
    response: Vec<u8>,
    has_mic: bool,
    exchanged: Option<[u8; 16]>,
    flags: u32,
    message: Vec<u8>,
    challenged: Challenged,
}

impl Authenticate {
    /// The user, as sent.
    #[must_use]
    pub fn user_name(&self) -> &str {
        &self.user_name
    }

    /// The domain, as sent.
    #[must_use]
    pub fn domain_name(&self) -> &str {
        &self.domain_name
    }

    /// The client's name for itself.
    #[must_use]
    pub fn workstation(&self) -> &str {
        &self.workstation
    }

    /// Checks the proof against each hash that is known for the user; none for a user who is not known, which takes as long.
    ///
    /// # Errors
    /// `LOGON_FAILURE`, whatever it was that did not fit.
    pub fn verify(self, hashes: &[NtHash]) -> Result<Established, NtStatus> {
        let (proof, blob) = self.response.split_first_chunk::<16>().ok_or(NtStatus::LOGON_FAILURE)?;
        let mut found = Choice::from(0);
        let mut number = 0_u8;
        let mut base_key = Zeroizing::new([0_u8; 16]);
        for position in 0..MAX_HASHES {
            // What is not there is tried too, with a hash that never counts: time says nothing about the number.
            let hash = Zeroizing::new(hashes.get(position).map_or([0; 16], |hash| *hash.0));
            let key = Zeroizing::new(self.response_key(&hash)?);
            let expected = hmac_md5(&*key, &[&self.challenged.server_challenge, blob])?;
            let candidate = Zeroizing::new(hmac_md5(&*key, &[&expected])?);
            let fits = expected.ct_eq(proof) & Choice::from(u8::from(position < hashes.len()));
            for (byte, new) in base_key.iter_mut().zip(candidate.iter()) {
                byte.conditional_assign(new, fits);
            }
            number.conditional_assign(&u8::try_from(position).unwrap_or_default(), fits);
            found |= fits;
        }
        if !bool::from(found) {
            return Err(NtStatus::LOGON_FAILURE);
        }
        let mut key = base_key;
        if let Some(exchanged) = self.exchanged {
            let mut cipher = Rc4::<U16>::new(&(*key).into());
            let mut session_key = Zeroizing::new(exchanged);
            cipher.apply_keystream(&mut *session_key);
            key = session_key;
        }
        if self.has_mic && !self.mic_fits(&key)? {
            return Err(NtStatus::LOGON_FAILURE);
        }
        Ok(Established {
            user_name: self.user_name,
            domain_name: self.domain_name,
            workstation: self.workstation,
            hash: usize::from(number),
            session_key: SessionKey(key),
            flags: self.flags,
        })
    }

    /// NTOWFv2: the user in capitals, the domain as sent.
    fn response_key(&self, hash: &[u8; 16]) -> Result<[u8; 16], NtStatus> {
        hmac_md5(hash, &[&text::encode(&capitals(&self.user_name)), &self.domain])
    }

    fn mic_fits(&self, key: &[u8; 16]) -> Result<bool, NtStatus> {
        let (Some(before), Some(sent), Some(after)) =
            (self.message.get(..MIC.start), self.message.get(MIC), self.message.get(MIC.end..))
        else {
            return Ok(false);
        };
        let parts = [&self.challenged.negotiate, self.challenged.message.as_slice(), before, &[0; 16], after];
        Ok(hmac_md5(key, &parts)?.ct_eq(sent).into())
    }
}

/// A client that has shown who it is.
#[derive(Debug)]
pub struct Established {
    user_name: String,
    domain_name: String,
    workstation: String,
    hash: usize,
    session_key: SessionKey,
    flags: u32,
}

impl Established {
    /// The user, as sent.
    #[must_use]
    pub fn user_name(&self) -> &str {
        &self.user_name
    }

    /// The domain, as sent.
    #[must_use]
    pub fn domain_name(&self) -> &str {
        &self.domain_name
    }

    /// The client's name for itself.
    #[must_use]
    pub fn workstation(&self) -> &str {
        &self.workstation
    }

    /// Which of the hashes it was.
    #[must_use]
    pub const fn hash(&self) -> usize {
        self.hash
    }

    /// The key of the session.
    #[must_use]
    pub const fn session_key(&self) -> &SessionKey {
        &self.session_key
    }

    /// What signs the client's messages of SPNEGO.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn client_mac(&self) -> Result<Mac, NtStatus> {
        Mac::new(self.session_key.as_bytes(), self.flags, true)
    }

    /// What signs the server's.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn server_mac(&self) -> Result<Mac, NtStatus> {
        Mac::new(self.session_key.as_bytes(), self.flags, false)
    }
}

/// Text in capitals, letter by letter: as Windows does it, no letter becomes two.
fn capitals(text: &str) -> String {
    let capital = |letter: char| {
        let mut capitals = letter.to_uppercase();
        match (capitals.next(), capitals.next()) {
            (Some(one), None) => one,
            _several => letter,
        }
    };
    text.chars().map(capital).collect()
}

/// HMAC-MD5 over parts. The length of a key never is an error.
fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> Result<[u8; 16], NtStatus> {
    let mut mac = <Hmac<Md5> as hmac::Mac>::new_from_slice(key).map_err(|_length| NtStatus::INTERNAL_ERROR)?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac.finalize().into_bytes().into())
}
