//! What a session signs and encrypts with.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{
    NtStatus,
    auth::ntlm::SessionKey,
    encryption::{Cipher, Opener, Sealer},
    keys::{Preauth, SessionKeys},
    negotiate::Negotiated,
    signing::{Algorithm, Signer},
    wire::{frame::PREFIX, header::HEADER, transform::TRANSFORM},
};

/// The keys of a session, ready to be used.
pub(crate) struct Secrets {
    signer: Signer,
    /// `None` where nothing is encrypted.
    cipher: Option<(Sealer, Opener)>,
}

impl Secrets {
    /// Those that come of a logon.
    pub(crate) fn new(
        how: &Negotiated,
        session_id: u64,
        key: &SessionKey,
        preauth: &Preauth,
    ) -> Result<Self, NtStatus> {
        let cipher = Cipher::numbered(how.cipher);
        let keys = SessionKeys::derive(key, how.dialect, preauth, cipher)?;
        let signer = Signer::new(Algorithm::of(how.dialect, Some(how.signing)), keys.signing())?;
        let cipher = match cipher {
            Some(cipher) => {
                let sealer = Sealer::new(cipher, keys.from_server(), session_id)?;
                Some((sealer, Opener::new(cipher, keys.from_client())?))
            }
            None => None,
        };
        Ok(Self { signer, cipher })
    }

    /// Signs a message, of which the last part may be apart.
    pub(crate) fn sign(&self, message: &mut [u8], payload: &[Bytes]) -> Option<()> {
        if payload.is_empty() {
            return self.signer.sign(message).ok();
        }
        let (head, rest) = message.split_at_mut_checked(HEADER)?;
        let parts: Vec<&[u8]> = std::iter::once(&*rest).chain(payload.iter().map(|piece| &**piece)).collect();
        self.signer.sign_parts(head, &parts).ok()
    }

    /// Whether the signature of a message is right.
    pub(crate) fn verify(&self, message: &[u8]) -> bool {
        self.signer.verify(message)
    }

    /// Encrypts a frame that has room for its prefix; the same with the header before it.
    pub(crate) fn seal(&self, frame: &mut [u8]) -> Option<[u8; TRANSFORM]> {
        let (sealer, _) = self.cipher.as_ref()?;
        sealer.seal(frame).ok()
    }

    /// What an encrypted frame holds.
    pub(crate) fn unseal(&self, mut frame: BytesMut) -> Option<BytesMut> {
        let (_, opener) = self.cipher.as_ref()?;
        opener.open(&mut frame).ok()?;
        frame.advance(TRANSFORM);
        Some(frame)
    }
}

/// The bytes before the messages of an encrypted frame.
pub(crate) const SEALED_HEAD: usize = PREFIX + TRANSFORM;
