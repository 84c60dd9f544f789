//! Signatures of messages (MS-SMB2 3.1.4.1): HMAC-SHA256 in 2.x, AES-128-CMAC in 3.x, AES-128-GMAC where 3.1.1 agreed on it.
//!
//! **Invariant.** Signatures are compared in constant time, over the whole message with its signature as zeros.

use crate::{
    NtStatus,
    wire::{
        contexts,
        header::{Command, HEADER, Header, SIGNATURE, flags},
        negotiate::dialect,
    },
};
use aws_lc_rs::{aead, cmac, hmac};
use subtle::ConstantTimeEq;

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3.1.7")]
pub enum Algorithm {
    HmacSha256,
    AesCmac,
    AesGmac,
}

impl Algorithm {
    /// What a dialect signs with. 3.1.1 has a choice when the client offers it.
    #[must_use]
    pub const fn of(dialect: u16, chosen: Option<u16>) -> Self {
        match (dialect, chosen) {
            (dialect::SMB_3_1_1, Some(contexts::signing::AES_GMAC)) => Self::AesGmac,
            (dialect::SMB_3_1_1, Some(contexts::signing::HMAC_SHA256)) => Self::HmacSha256,
            (dialect, _) if dialect >= dialect::SMB_3_0 => Self::AesCmac,
            _older => Self::HmacSha256,
        }
    }
}

/// Signs and verifies with the key of a session (or of a channel).
pub struct Signer(Kind);

enum Kind {
    Hmac(Box<hmac::Key>),
    Cmac(Box<cmac::Key>),
    Gmac(Box<aead::LessSafeKey>),
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::Hmac(_) => "Signer(HMAC-SHA256)",
            Kind::Cmac(_) => "Signer(AES-128-CMAC)",
            Kind::Gmac(_) => "Signer(AES-128-GMAC)",
        })
    }
}

impl Signer {
    /// One for a key.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn new(algorithm: Algorithm, key: &[u8; 16]) -> Result<Self, NtStatus> {
        Ok(Self(match algorithm {
            Algorithm::HmacSha256 => Kind::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, key))),
            Algorithm::AesCmac => {
                Kind::Cmac(Box::new(cmac::Key::new(cmac::AES_128, key).map_err(|_length| NtStatus::INTERNAL_ERROR)?))
            }
            Algorithm::AesGmac => {
                let key = aead::UnboundKey::new(&aead::AES_128_GCM, key).map_err(|_length| NtStatus::INTERNAL_ERROR)?;
                Kind::Gmac(Box::new(aead::LessSafeKey::new(key)))
            }
        }))
    }

    /// Signs a message that is in one piece: sets its flag and its signature.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: it has no header.
    pub fn sign(&self, message: &mut [u8]) -> Result<(), NtStatus> {
        prepare(message)?;
        let signature = self.signature(&[message])?;
        put(message, &signature)
    }

    /// Signs a message whose header is apart from the rest, such as the data of a READ: sets the flag and the signature in
    /// the header.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: it has no header.
    pub fn sign_parts(&self, head: &mut [u8], rest: &[&[u8]]) -> Result<(), NtStatus> {
        prepare(head)?;
        let mut parts: Vec<&[u8]> = Vec::with_capacity(rest.len().saturating_add(1));
        parts.push(head);
        parts.extend_from_slice(rest);
        let signature = self.signature(&parts)?;
        put(head, &signature)
    }

    /// Whether the signature of a message is right.
    #[must_use]
    pub fn verify(&self, message: &[u8]) -> bool {
        let Some((head, rest)) = message.split_first_chunk::<HEADER>() else { return false };
        let Some(sent) = head.get(SIGNATURE) else { return false };
        let mut unsigned = *head;
        let Some(field) = unsigned.get_mut(SIGNATURE) else { return false };
        field.fill(0);
        self.signature(&[&unsigned, rest]).is_ok_and(|expected| expected.ct_eq(sent).into())
    }

    /// The signature of a message whose header, which the first part begins with, has zeros in its place.
    fn signature(&self, parts: &[&[u8]]) -> Result<[u8; 16], NtStatus> {
        match &self.0 {
            Kind::Hmac(key) => {
                let mut context = hmac::Context::with_key(key);
                parts.iter().for_each(|part| context.update(part));
                context.sign().as_ref().first_chunk().copied().ok_or(NtStatus::INTERNAL_ERROR)
            }
            Kind::Cmac(key) => {
                let failed = |_unspecified| NtStatus::INTERNAL_ERROR;
                let mut context = cmac::Context::with_key(key);
                for part in parts {
                    context.update(part).map_err(failed)?;
                }
                let tag = context.sign().map_err(failed)?;
                tag.as_ref().first_chunk().copied().ok_or(NtStatus::INTERNAL_ERROR)
            }
            Kind::Gmac(key) => {
                let nonce = gmac_nonce(parts.first().copied().unwrap_or_default())?;
                let nonce = aead::Nonce::assume_unique_for_key(nonce);
                // Additional data must be in one piece: here alone parts are put together.
                let tag = match parts {
                    [whole] => key.seal_in_place_separate_tag(nonce, aead::Aad::from(*whole), &mut []),
                    parts => key.seal_in_place_separate_tag(nonce, aead::Aad::from(parts.concat()), &mut []),
                };
                let tag = tag.map_err(|_too_long| NtStatus::INTERNAL_ERROR)?;
                tag.as_ref().try_into().map_err(|_length| NtStatus::INTERNAL_ERROR)
            }
        }
    }
}

/// Sets the flag in a header and takes away its signature.
fn prepare(head: &mut [u8]) -> Result<(), NtStatus> {
    // The lowest byte of the flags, which has the bit.
    let flag = head.get_mut(16).ok_or(NtStatus::INTERNAL_ERROR)?;
    *flag |= u8::try_from(flags::SIGNED).unwrap_or_default();
    put(head, &[0; 16])
}

fn put(head: &mut [u8], signature: &[u8; 16]) -> Result<(), NtStatus> {
    head.get_mut(SIGNATURE).ok_or(NtStatus::INTERNAL_ERROR)?.copy_from_slice(signature);
    Ok(())
}

/// The message id, then who sends it (1 is the server) and whether it is a CANCEL (2).
fn gmac_nonce(head: &[u8]) -> Result<[u8; 12], NtStatus> {
    let header = Header::parse(head)?;
    let role = u8::from(header.has(flags::SERVER_TO_REDIR));
    let cancel = u8::from(header.command == Command::Cancel.number());
    let mut nonce = [0; 12];
    let (id, last) = nonce.split_at_mut(8);
    id.copy_from_slice(&header.message_id.to_le_bytes());
    if let Some(bits) = last.first_mut() {
        *bits = role | cancel << 1;
    }
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hex, wire::header::HEADER};

    #[test]
    fn algorithms_of_dialects() {
        let table = [
            (0x0202, None, Algorithm::HmacSha256),
            (0x0210, Some(2), Algorithm::HmacSha256),
            (0x0300, None, Algorithm::AesCmac),
            (0x0302, Some(2), Algorithm::AesCmac),
            (0x0311, None, Algorithm::AesCmac),
            (0x0311, Some(1), Algorithm::AesCmac),
            (0x0311, Some(2), Algorithm::AesGmac),
            (0x0311, Some(0), Algorithm::HmacSha256),
        ];
        for (dialect, chosen, expected) in table {
            assert_eq!(Algorithm::of(dialect, chosen), expected, "{dialect:#x} {chosen:?}");
        }
    }

    #[test]
    fn a_message_of_windows_with_cmac() {
        // The last SESSION_SETUP response of Microsoft's walk through preauth integrity.
        let mut message = hex("FE534D4240000100000000000100800009000000000000000300000000000000FFFE000000000000\
            1900000000100000EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A01\
            00A3120410010000003B453CDC3524164200000000");
        let key: [u8; 16] = hex("73FE7A9A77BEF0BDE49C650D8CCB5F76").try_into().unwrap();
        let signer = Signer::new(Algorithm::AesCmac, &key).unwrap();
        let before = message.clone();
        assert!(signer.verify(&message));
        assert_eq!(message, before);
        message[48..64].fill(7);
        signer.sign(&mut message).unwrap();
        assert_eq!(message, before);
    }

    #[test]
    fn gmac_is_gcm_without_a_text() {
        // NIST's test case 1 has neither text nor additional data; with the nonce of a message the rest is the same.
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &[0; 16]).unwrap());
        let nonce = aead::Nonce::assume_unique_for_key([0; 12]);
        let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::empty(), &mut []).unwrap();
        assert_eq!(tag.as_ref(), hex("58e2fccefa7e3061367f1d57a4e7455a"));
    }

    #[test]
    fn nonces_of_gmac() {
        let table = [
            (Header { message_id: 5, ..Header::default() }, [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (Header { message_id: 5, flags: 1, ..Header::default() }, [5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
            (Header { message_id: 5, command: 12, ..Header::default() }, [5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]),
        ];
        for (header, expected) in table {
            let mut head = Vec::new();
            header.encode(&mut head);
            assert_eq!(gmac_nonce(&head), Ok(expected));
        }
    }

    #[test]
    fn one_changed_bit_is_noticed() {
        for algorithm in [Algorithm::HmacSha256, Algorithm::AesCmac, Algorithm::AesGmac] {
            let signer = Signer::new(algorithm, &[3; 16]).unwrap();
            let mut message = Vec::new();
            Header { message_id: 9, ..Header::default() }.encode(&mut message);
            message.extend_from_slice(b"body of the message");
            let mut head = message[..HEADER].to_vec();
            signer.sign_parts(&mut head, &[b"body of ", b"the message"]).unwrap();
            signer.sign(&mut message).unwrap();
            assert_eq!(head, message[..HEADER], "in parts and whole: {algorithm:?}");
            assert!(Header::parse(&message).unwrap().has(flags::SIGNED));
            assert!(signer.verify(&message), "{algorithm:?}");
            for position in 0..message.len() {
                message[position] ^= 1;
                assert!(!signer.verify(&message), "{algorithm:?} {position}");
                message[position] ^= 1;
            }
            let other = Signer::new(algorithm, &[4; 16]).unwrap();
            assert!(!other.verify(&message), "another key: {algorithm:?}");
        }
    }
}
