//! Encryption of frames (MS-SMB2 3.1.4.3): AES in GCM or CCM, in place, with the transform header before them.
//!
//! **Invariant.** No nonce is used twice with a key: it is a counter, and when that is used up nothing is sealed any more.

use crate::{
    NtStatus,
    wire::{
        contexts,
        transform::{AUTHENTICATED, TRANSFORM, TransformHeader},
    },
};
use aes::{Aes128, Aes256};
use aws_lc_rs::aead;
use ccm::{
    Ccm,
    aead::{AeadInPlace, KeyInit},
    consts::{U11, U16},
};
use std::sync::atomic::{AtomicU64, Ordering};

/// What frames are encrypted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3.1.2")]
pub enum Cipher {
    Aes128Ccm,
    Aes128Gcm,
    Aes256Ccm,
    Aes256Gcm,
}

impl Cipher {
    /// The cipher with the number.
    #[must_use]
    pub const fn numbered(number: u16) -> Option<Self> {
        match number {
            contexts::cipher::AES_128_CCM => Some(Self::Aes128Ccm),
            contexts::cipher::AES_128_GCM => Some(Self::Aes128Gcm),
            contexts::cipher::AES_256_CCM => Some(Self::Aes256Ccm),
            contexts::cipher::AES_256_GCM => Some(Self::Aes256Gcm),
            _unknown => None,
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Aes128Ccm => contexts::cipher::AES_128_CCM,
            Self::Aes128Gcm => contexts::cipher::AES_128_GCM,
            Self::Aes256Ccm => contexts::cipher::AES_256_CCM,
            Self::Aes256Gcm => contexts::cipher::AES_256_GCM,
        }
    }

    /// The bytes of its keys.
    #[must_use]
    pub const fn key_length(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }

    /// The bytes of its nonces.
    const fn nonce_length(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes256Ccm => 11,
            Self::Aes128Gcm | Self::Aes256Gcm => 12,
        }
    }
}

/// A key of one direction.
enum Key {
    Gcm(Box<aead::LessSafeKey>),
    Ccm128(Box<Ccm<Aes128, U16, U11>>),
    Ccm256(Box<Ccm<Aes256, U16, U11>>),
}

impl Key {
    fn new(cipher: Cipher, key: &[u8]) -> Result<Self, NtStatus> {
        let gcm = |algorithm| {
            let key = aead::UnboundKey::new(algorithm, key).map_err(|_length| NtStatus::INTERNAL_ERROR)?;
            Ok(Self::Gcm(Box::new(aead::LessSafeKey::new(key))))
        };
        match cipher {
            Cipher::Aes128Gcm => gcm(&aead::AES_128_GCM),
            Cipher::Aes256Gcm => gcm(&aead::AES_256_GCM),
            Cipher::Aes128Ccm => {
                Ok(Self::Ccm128(Box::new(Ccm::new_from_slice(key).map_err(|_length| NtStatus::INTERNAL_ERROR)?)))
            }
            Cipher::Aes256Ccm => {
                Ok(Self::Ccm256(Box::new(Ccm::new_from_slice(key).map_err(|_length| NtStatus::INTERNAL_ERROR)?)))
            }
        }
    }

    /// Encrypts in place and gives the tag.
    fn seal(&self, nonce: &[u8; 16], authenticated: &[u8], text: &mut [u8]) -> Option<[u8; 16]> {
        let (short, long) = (nonce.first_chunk::<11>()?, nonce.first_chunk::<12>()?);
        match self {
            Self::Gcm(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*long);
                let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(authenticated), text).ok()?;
                tag.as_ref().try_into().ok()
            }
            Self::Ccm128(key) => key.encrypt_in_place_detached(short.into(), authenticated, text).ok().map(Into::into),
            Self::Ccm256(key) => key.encrypt_in_place_detached(short.into(), authenticated, text).ok().map(Into::into),
        }
    }

    /// Decrypts in place when the tag is right.
    fn open(&self, nonce: &[u8; 16], authenticated: &[u8], tag: [u8; 16], text: &mut [u8]) -> Option<()> {
        let (short, long) = (nonce.first_chunk::<11>()?, nonce.first_chunk::<12>()?);
        match self {
            Self::Gcm(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*long);
                let authenticated = aead::Aad::from(authenticated);
                key.open_in_place_separate_tag(nonce, authenticated, &tag, text).ok().map(drop)
            }
            Self::Ccm128(key) => key.decrypt_in_place_detached(short.into(), authenticated, text, &tag.into()).ok(),
            Self::Ccm256(key) => key.decrypt_in_place_detached(short.into(), authenticated, text, &tag.into()).ok(),
        }
    }
}

/// Encrypts what the server sends in a session. One for a key: two would use the same nonces.
pub struct Sealer {
    key: Key,
    cipher: Cipher,
    session_id: u64,
    next: AtomicU64,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer({:?})", self.cipher)
    }
}

/// After so many messages a key has been used enough.
const LAST_NONCE: u64 = 1 << 63;

impl Sealer {
    /// One for a fresh key.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: the key has not the length of the cipher's.
    pub fn new(cipher: Cipher, key: &[u8], session_id: u64) -> Result<Self, NtStatus> {
        Ok(Self { key: Key::new(cipher, key)?, cipher, session_id, next: AtomicU64::new(1) })
    }

    /// Encrypts a frame in place and gives the header that goes before it.
    ///
    /// # Errors
    /// `INSUFFICIENT_RESOURCES`: the key has been used enough; the session must log on again.
    pub fn seal(&self, frame: &mut [u8]) -> Result<[u8; TRANSFORM], NtStatus> {
        let step = |next: u64| (next < LAST_NONCE).then(|| next.saturating_add(1));
        let counter = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        let counter = counter.map_err(|_used_up| NtStatus::INSUFFICIENT_RESOURCES)?;
        let mut nonce = [0; 16];
        for (place, byte) in nonce.iter_mut().take(self.cipher.nonce_length()).zip(counter.to_le_bytes()) {
            *place = byte;
        }
        seal(&self.key, nonce, self.session_id, frame).ok_or(NtStatus::INTERNAL_ERROR)
    }
}

fn seal(key: &Key, nonce: [u8; 16], session_id: u64, frame: &mut [u8]) -> Option<[u8; TRANSFORM]> {
    let original_message_size = u32::try_from(frame.len()).ok()?;
    let mut header = TransformHeader { signature: [0; 16], nonce, original_message_size, flags: 1, session_id };
    header.signature = key.seal(&nonce, header.encode().get(AUTHENTICATED)?, frame)?;
    Some(header.encode())
}

/// Decrypts what the client sends in a session.
pub struct Opener {
    key: Key,
    cipher: Cipher,
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opener({:?})", self.cipher)
    }
}

impl Opener {
    /// One for a key.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: the key has not the length of the cipher's.
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, NtStatus> {
        Ok(Self { key: Key::new(cipher, key)?, cipher })
    }

    /// Decrypts an encrypted frame (transform header and text) in place. What it was stands behind the first
    /// [`TRANSFORM`] bytes. The caller found the session by the header's id, which is authenticated here.
    ///
    /// # Errors
    /// `ACCESS_DENIED`: it was not encrypted with this key, or was changed. The connection is to be closed.
    pub fn open(&self, frame: &mut [u8]) -> Result<(), NtStatus> {
        let header = TransformHeader::parse(frame)?;
        let (head, text) = frame.split_at_mut_checked(TRANSFORM).ok_or(NtStatus::INVALID_PARAMETER)?;
        let authenticated = head.get(AUTHENTICATED).ok_or(NtStatus::INVALID_PARAMETER)?;
        let opened = self.key.open(&header.nonce, authenticated, header.signature, text);
        opened.ok_or(NtStatus::ACCESS_DENIED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    const ALL: [Cipher; 4] = [Cipher::Aes128Ccm, Cipher::Aes128Gcm, Cipher::Aes256Ccm, Cipher::Aes256Gcm];

    /// Microsoft's examples: key, nonce, session, what was sent and its encryption.
    #[test]
    fn frames_of_windows() {
        let text_3_0 = "FE534D4240000100000000000900400008000000000000000400000000000000\
            FFFE0000010000001100001400E4080000000000000000000000000000000000\
            3100700017000000000000000000000015010000390000020100000039020000\
            00000000000000007000000000000000536D623320656E6372797074696F6E20\
            74657374696E67";
        let frame_3_0 = "FD534D4281A286535415445DAE393921E44FA42E66E69A111892584FB5ED524A\
            744DA3EE87000000000001001100001400E4080025C8FEE16605A437832D1CD5\
            2DA9F4645333482A175FE5384563F45FCDAFAEF38BC62BA4D5C62897996625A4\
            4C29BE5658DE2E6117585779E7B59FFD971278D08580D7FA899E410E910EABF5\
            AA1DB43050B33B49182637759AC15D84BFCDF5B6B238993C0F4CF4D6012023F6\
            C627297075D84B7803912D0A9639634453595EF3E33FFE4E7AC2AB";
        let mut frame = hex(frame_3_0);
        let opener = Opener::new(Cipher::Aes128Ccm, &hex("261B72350558F2E9DCF613070383EDBF")).unwrap();
        opener.open(&mut frame).unwrap();
        assert_eq!(frame[TRANSFORM..], hex(text_3_0));

        let mut text = hex(text_3_0);
        let nonce = hex("66E69A111892584FB5ED524A744DA3EE").try_into().unwrap();
        let header = seal(&opener.key, nonce, 0x0008_E400_1400_0011, &mut text).unwrap();
        assert_eq!([header.as_slice(), &text].concat(), hex(frame_3_0));

        // 3.1.1 with GCM.
        let mut text = hex("FE534D4240000100000000000900010008000000000000000500000000000000FFFE000001000000\
            25000000001000000000000000000000000000000000000031007000170000000000000000000000\
            0600000004000000010000000400000000000000000000007000000000000000536D623320656E63\
            72797074696F6E2074657374696E67");
        let key = Key::new(Cipher::Aes128Gcm, &hex("A2F5E80E5D59103034F32E52F698E5EC")).unwrap();
        let nonce = hex("C7D6822D269CAF48904C664C00000000").try_into().unwrap();
        seal(&key, nonce, 0x1000_0000_0025, &mut text).unwrap();
        assert_eq!(
            text,
            hex("6ECDD2A7AFC7B47763057A041B8FD4DAFFE990B70C9E09D36C084E02D14EF247F8BDE38ACF6256F8\
            B1D3B56F77FBDEB312FEA5E92CBCC1ED8FB2EBBFAA75E49A4A394BB44576545567C24D4C014D47C9\
            FBDFDAFD2C4F9B72F8D256452620A299F48E29E53D6B61D1C13A19E91AF013F00D17E3ABC2FC3D36\
            C8C1B6B93973253852DBD442E46EE8")
        );
    }

    #[test]
    fn what_is_sealed_is_opened_and_one_changed_bit_is_noticed() {
        for cipher in ALL {
            let key = vec![5; cipher.key_length()];
            let sealer = Sealer::new(cipher, &key, 77).unwrap();
            let opener = Opener::new(cipher, &key).unwrap();
            let mut text = b"a frame with several messages".to_vec();
            let header = sealer.seal(&mut text).unwrap();
            let sealed = [header.as_slice(), &text].concat();
            let mut opened = sealed.clone();
            opener.open(&mut opened).unwrap();
            assert_eq!(&opened[TRANSFORM..], b"a frame with several messages", "{cipher:?}");
            for position in 0..sealed.len() {
                // What is neither read nor authenticated by the header: the reserved field is authenticated, so nothing.
                let mut changed = sealed.clone();
                changed[position] ^= 1;
                assert!(opener.open(&mut changed).is_err(), "{cipher:?} {position}");
            }
            let other = Opener::new(cipher, &vec![6; cipher.key_length()]).unwrap();
            assert_eq!(other.open(&mut sealed.clone()), Err(NtStatus::ACCESS_DENIED));
            for end in 0..sealed.len() {
                assert!(opener.open(&mut sealed[..end].to_vec()).is_err(), "{cipher:?} {end}");
            }
        }
    }

    #[test]
    fn nonces_never_repeat_and_run_out() {
        for cipher in ALL {
            let sealer = Sealer::new(cipher, &vec![5; cipher.key_length()], 77).unwrap();
            let nonce = |header: [u8; TRANSFORM]| header[20..36].to_vec();
            let first = nonce(sealer.seal(&mut [0; 64]).unwrap());
            let second = nonce(sealer.seal(&mut [0; 64]).unwrap());
            assert_ne!(first, second);
            assert!(second[cipher.nonce_length()..].iter().all(|byte| *byte == 0));
            sealer.next.store(LAST_NONCE - 1, Ordering::Relaxed);
            assert!(sealer.seal(&mut [0; 64]).is_ok());
            for _ in 0..2 {
                assert_eq!(sealer.seal(&mut [0; 64]).err(), Some(NtStatus::INSUFFICIENT_RESOURCES));
            }
        }
    }

    #[test]
    fn numbers_and_lengths() {
        for cipher in ALL {
            assert_eq!(Cipher::numbered(cipher.number()), Some(cipher));
            assert!(Sealer::new(cipher, &[0; 15], 0).is_err(), "a key of another length");
        }
        assert_eq!(Cipher::numbered(0), None);
    }
}
