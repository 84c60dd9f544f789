//! Signatures of messages with the session's key (MS-NLMP 3.4.4.2, extended session security): SPNEGO's `mechListMIC`.

use super::{flags, hmac_md5};
use crate::NtStatus;
use md5::{Digest, Md5};
use rc4::{KeyInit, Rc4, StreamCipher, consts::U16};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Signs messages of one direction.
pub struct Mac {
    signing_key: Zeroizing<[u8; 16]>,
    /// With key exchange, checksums are encrypted.
    cipher: Option<Rc4<U16>>,
    sequence: u32,
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mac(…)")
    }
}

impl Mac {
    /// For messages of the client or of the server.
    pub(super) fn new(key: &[u8; 16], negotiated: u32, from_client: bool) -> Result<Self, NtStatus> {
        let (signing, sealing): (&[u8], &[u8]) = if from_client {
            (
                b"session key to client-to-server signing key magic constant\0",
                b"session key to client-to-server sealing key magic constant\0",
            )
        } else {
            (
                b"session key to server-to-client signing key magic constant\0",
                b"session key to server-to-client sealing key magic constant\0",
            )
        };
        let strength = match negotiated {
            negotiated if negotiated & flags::KEY_128 != 0 => 16,
            negotiated if negotiated & flags::KEY_56 != 0 => 7,
            _neither => 5,
        };
        let derive = |key: &[u8], label: &[u8]| -> [u8; 16] {
            Md5::new().chain_update(key).chain_update(label).finalize().into()
        };
        let cipher = (negotiated & flags::KEY_EXCH != 0).then(|| {
            let sealing_key = Zeroizing::new(derive(key.get(..strength).unwrap_or(key), sealing));
            Rc4::new(&(*sealing_key).into())
        });
        Ok(Self { signing_key: Zeroizing::new(derive(key, signing)), cipher, sequence: 0 })
    }

    /// The signature of the next message.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn sign(&mut self, message: &[u8]) -> Result<[u8; 16], NtStatus> {
        let sequence = self.sequence.to_le_bytes();
        self.sequence = self.sequence.wrapping_add(1);
        let [mut checksum @ .., _, _, _, _, _, _, _, _] = hmac_md5(&*self.signing_key, &[&sequence, message])?;
        if let Some(cipher) = &mut self.cipher {
            cipher.apply_keystream(&mut checksum);
        }
        let mut signature = [0; 16];
        let (version, rest) = signature.split_at_mut(4);
        let (sum, last) = rest.split_at_mut(8);
        version.copy_from_slice(&[1, 0, 0, 0]);
        sum.copy_from_slice(&checksum);
        last.copy_from_slice(&sequence);
        Ok(signature)
    }

    /// Whether this is the signature of the next message. In constant time.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<bool, NtStatus> {
        Ok(self.sign(message)?.ct_eq(signature).into())
    }
}
