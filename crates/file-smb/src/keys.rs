//! Keys of a session (MS-SMB2 3.1.4.2) and the chain of preauth hashes that those of 3.1.1 depend on.
//!
//! **Invariant.** Keys are wiped when they are dropped and never shown.

use crate::{NtStatus, auth::ntlm::SessionKey, encryption::Cipher, wire::negotiate::dialect};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

/// A hash over every NEGOTIATE and SESSION_SETUP message but the last response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preauth([u8; 64]);

impl Default for Preauth {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Preauth {
    /// Takes a message, header and body, as it is on the wire.
    pub fn update(&mut self, message: &[u8]) {
        self.0 = Sha512::new().chain_update(self.0).chain_update(message).finalize().into();
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// The keys of a session, seen from the server.
#[derive(Clone)]
pub struct SessionKeys {
    signing: Zeroizing<[u8; 16]>,
    application: Zeroizing<[u8; 16]>,
    /// Empty when there is no encryption.
    from_client: Zeroizing<Vec<u8>>,
    from_server: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKeys(…)")
    }
}

impl SessionKeys {
    /// The keys for a dialect: of 2.x the session key itself, of 3.x derived ones, of 3.1.1 bound to the preauth hash.
    ///
    /// # Errors
    /// `INTERNAL_ERROR`: never.
    pub fn derive(
        session_key: &SessionKey,
        dialect: u16,
        preauth: &Preauth,
        cipher: Option<Cipher>,
    ) -> Result<Self, NtStatus> {
        let key = session_key.as_bytes();
        if dialect < dialect::SMB_3_0 {
            return Ok(Self {
                signing: Zeroizing::new(*key),
                application: Zeroizing::new(*key),
                from_client: Zeroizing::default(),
                from_server: Zeroizing::default(),
            });
        }
        // Label and context of: signing, application, client to server, server to client. All labels end with a zero.
        let hash: &[u8] = preauth.as_bytes();
        let table: [(&[u8], &[u8]); 4] = if dialect >= dialect::SMB_3_1_1 {
            [
                (b"SMBSigningKey\0", hash),
                (b"SMBAppKey\0", hash),
                (b"SMBC2SCipherKey\0", hash),
                (b"SMBS2CCipherKey\0", hash),
            ]
        } else {
            [
                (b"SMB2AESCMAC\0", b"SmbSign\0"),
                (b"SMB2APP\0", b"SmbRpc\0"),
                (b"SMB2AESCCM\0", b"ServerIn \0"),
                (b"SMB2AESCCM\0", b"ServerOut\0"),
            ]
        };
        let [signing, application, from_client, from_server] = table;
        let half = |(label, context): (&[u8], &[u8])| -> Result<Zeroizing<[u8; 16]>, NtStatus> {
            let long = kdf(key, label, context, 128)?;
            long.first_chunk().map(|half| Zeroizing::new(*half)).ok_or(NtStatus::INTERNAL_ERROR)
        };
        let sealing = |(label, context): (&[u8], &[u8])| -> Result<Zeroizing<Vec<u8>>, NtStatus> {
            let Some(cipher) = cipher else { return Ok(Zeroizing::default()) };
            let length = cipher.key_length();
            let bits = u32::try_from(length.saturating_mul(8)).unwrap_or_default();
            let long = kdf(key, label, context, bits)?;
            Ok(Zeroizing::new(long.get(..length).unwrap_or_default().to_vec()))
        };
        Ok(Self {
            signing: half(signing)?,
            application: half(application)?,
            from_client: sealing(from_client)?,
            from_server: sealing(from_server)?,
        })
    }

    /// What messages are signed with, both ways.
    #[must_use]
    pub fn signing(&self) -> &[u8; 16] {
        &self.signing
    }

    /// For protocols above.
    #[must_use]
    pub fn application(&self) -> &[u8; 16] {
        &self.application
    }

    /// What the client encrypts with. Empty when there is no encryption.
    #[must_use]
    pub fn from_client(&self) -> &[u8] {
        &self.from_client
    }

    /// What the server encrypts with. Empty when there is no encryption.
    #[must_use]
    pub fn from_server(&self) -> &[u8] {
        &self.from_server
    }
}

/// SP800-108 in counter mode with HMAC-SHA256: one round, enough for 256 bits.
fn kdf(key: &[u8], label: &[u8], context: &[u8], bits: u32) -> Result<Zeroizing<[u8; 32]>, NtStatus> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_length| NtStatus::INTERNAL_ERROR)?;
    mac.update(&1_u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&bits.to_be_bytes());
    Ok(Zeroizing::new(mac.finalize().into_bytes().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    fn session_key(text: &str) -> SessionKey {
        SessionKey::new(hex(text).try_into().unwrap())
    }

    #[test]
    fn keys_of_3_0() {
        // Microsoft: the anatomy of signing and cryptographic keys, told by a client; encryption in SMB 3.0, where the first
        // of the two is the key of a WRITE.
        let table = [
            (
                "7CD451825D0450D235424E44BA6E78CC",
                "0B7E9C5CAC36C0F6EA9AB275298CEDCE",
                "FAD27796665B313EBB578F388632B4F7",
                "B0F0427F7CEB416D1D9DCC0CD4F99447",
            ),
            (
                "B4546771B515F766A86735532DD6C4F0",
                "",
                "261B72350558F2E9DCF613070383EDBF",
                "8FE2B57EC34D2DB5B1A9727F526BBDB5",
            ),
        ];
        for (key, signing, from_client, from_server) in table {
            for dialect in [dialect::SMB_3_0, dialect::SMB_3_0_2] {
                let cipher = Some(Cipher::Aes128Ccm);
                let keys = SessionKeys::derive(&session_key(key), dialect, &Preauth::default(), cipher).unwrap();
                if !signing.is_empty() {
                    assert_eq!(*keys.signing(), *hex(signing));
                }
                assert_eq!(keys.from_client(), hex(from_client), "{key}");
                assert_eq!(keys.from_server(), hex(from_server), "{key}");
            }
        }
    }

    #[test]
    fn keys_of_3_1_1() {
        let hash = "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB7928622DDDAD522D97\
                    51640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01";
        let preauth = Preauth(hex(hash).try_into().unwrap());
        let key = session_key("270E1BA896585EEB7AF3472D3B4C75A7");
        let keys = SessionKeys::derive(&key, dialect::SMB_3_1_1, &preauth, Some(Cipher::Aes128Gcm)).unwrap();
        assert_eq!(*keys.signing(), *hex("73FE7A9A77BEF0BDE49C650D8CCB5F76"));
        assert_eq!(*keys.application(), *hex("6D7AD7954E9EC61E907B4D473DC178FF"));
        // Told by a client: its encryption key, then its decryption key.
        assert_eq!(keys.from_client(), hex("629BCBC54422A0F572B97F45989B6073"));
        assert_eq!(keys.from_server(), hex("E2AF0DCEFAC68DA71A0DFBD0D1350D74"));
        let longer = SessionKeys::derive(&key, dialect::SMB_3_1_1, &preauth, Some(Cipher::Aes256Gcm)).unwrap();
        assert_eq!(longer.from_client().len(), 32);
        assert_ne!(longer.from_client()[..16], *keys.from_client());
        let none = SessionKeys::derive(&key, dialect::SMB_3_1_1, &preauth, None).unwrap();
        assert!(none.from_client().is_empty() && none.from_server().is_empty());
    }

    #[test]
    fn the_key_of_a_write_in_3_1_1() {
        let hash = "B23F3CBFD69487D9832B79B1594A367CDD950909B774C3A4C412B4FCEA9EDDDBA7DB256BA2EA30E9\
                    77F11F9B113247578E0E915C6D2A513B8F2FCA5707DC8770";
        let preauth = Preauth(hex(hash).try_into().unwrap());
        let key = session_key("419FDDF34C1E001909D362AE7FB6AF79");
        let keys = SessionKeys::derive(&key, dialect::SMB_3_1_1, &preauth, Some(Cipher::Aes128Gcm)).unwrap();
        assert_eq!(keys.from_client(), hex("A2F5E80E5D59103034F32E52F698E5EC"));
    }

    #[test]
    fn the_key_of_2_1_is_that_of_the_session() {
        let key = session_key("000102030405060708090A0B0C0D0E0F");
        let keys = SessionKeys::derive(&key, dialect::SMB_2_1, &Preauth::default(), None).unwrap();
        assert_eq!(keys.signing(), key.as_bytes());
    }

    #[test]
    fn the_chain_of_hashes() {
        let mut preauth = Preauth::default();
        // NEGOTIATE of the same walk.
        preauth.update(&hex("FE534D4240000100000000000000800000000000000000000100000000000000FFFE000000000000\
            00000000000000000000000000000000000000000000000024000500000000003F000000ECD86F32\
            6276024F9F7752B89BB33F3A70000000020000000202100200030203110300000100260000000000\
            010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A118225C15887F32FF0000\
            0200060000000000020002000100"));
        let expected = "DD94EFC5321BB618A2E208BA8920D2F422992526947A409B5037DE1E0FE8C7362B8C47122594CDE0\
                        CE26AA9DFC8BCDBDE0621957672623351A7540F1E54A0426";
        assert_eq!(preauth.as_bytes().to_vec(), hex(expected));
    }
}
