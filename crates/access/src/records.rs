//! The stored rows of accounts and of access control lists, apart from what they are read into: keys, and conversions from
//! and to bytes by [`store::record`], so that a field can be added under a new version while old rows stay readable.
//! Golden bytes of all of them are in `testdata/rows.tsv`.
//!
//! Accounts of version 2 and lists of version 1 have postcard behind their version. They are read for ever and written no more.

use bytes::Bytes;
use serde::Deserialize;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    record::{Reader, Writer},
    space::Space,
};
use types::{Timestamp, UnitId, names::AccountName};

use crate::{
    acl::{Acl, Holder, StoredAccessPolicy},
    need::PublicAccess,
};

/// Kinds of keys, pinned for ever. `account` has its own in the same space.
const NAME: u8 = 1;
const ACL: u8 = 2;

/// The newest version of each record, and the last one in postcard.
const ACCOUNT_VERSION: u8 = 3;
const ACCOUNT_POSTCARD: u8 = 2;
const ACL_VERSION: u8 = 2;
const ACL_POSTCARD: u8 = 1;

const ACCOUNT_ROW: &str = "the row of an account";
const ACL_ROW: &str = "the row of an access control list";

/// The key of an account's row.
pub(crate) fn account_key(name: &AccountName) -> Bytes {
    KeyBuilder::new(Space::Account, NAME).bytes(name.as_str().as_bytes()).build()
}

/// The rows of all accounts.
pub(crate) fn accounts() -> KeyRange {
    KeyBuilder::new(Space::Account, NAME).range()
}

pub(crate) fn parse_account_key(key: &[u8]) -> Result<AccountName, StoreError> {
    let malformed = || StoreError::corrupt("the key of an account");
    let mut parser = KeyParser::new(key, Space::Account, NAME)?;
    let name = String::from_utf8(parser.bytes()?.into_owned()).map_err(|_| malformed())?;
    parser.end()?;
    AccountName::parse(&name).map_err(|_| malformed())
}

/// The key of a list's row.
pub(crate) fn acl_key(holder: &Holder<'_>) -> Bytes {
    KeyBuilder::new(Space::Account, ACL)
        .number(holder.account.number())
        .number(holder.service.ordinal())
        .bytes(holder.name.as_bytes())
        .build()
}

/// An account as its row has it. Its name stands in the key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccountRecord {
    pub(crate) unit: UnitId,
    /// None for an account that is configured, or was removed. **Secret.**
    pub(crate) keys: Vec<Vec<u8>>,
}

impl AccountRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(ACCOUNT_VERSION).number(self.unit.number()).count(self.keys.len());
        self.keys.iter().fold(writer, |writer, key| writer.bytes(key)).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Postcard {
            unit: u64,
            keys: Vec<Vec<u8>>,
        }
        if let Some((&ACCOUNT_POSTCARD, record)) = row.split_first() {
            let Postcard { unit, keys } = postcard::from_bytes(record).map_err(|_| StoreError::corrupt(ACCOUNT_ROW))?;
            return Ok(Self { unit: UnitId::new(unit), keys });
        }
        let mut reader = Reader::since(ACCOUNT_ROW, row, ACCOUNT_POSTCARD + 1, ACCOUNT_VERSION)?;
        let unit = UnitId::new(reader.number()?);
        let mut keys = Vec::new();
        for _ in 0..reader.small()? {
            keys.push(reader.bytes()?.to_vec());
        }
        reader.end()?;
        Ok(Self { unit, keys })
    }
}

/// The number of a level in rows, pinned for ever.
const fn level(access: PublicAccess) -> u8 {
    match access {
        PublicAccess::Private => 0,
        PublicAccess::Blob => 1,
        PublicAccess::Container => 2,
    }
}

fn level_of(number: u8) -> Result<PublicAccess, StoreError> {
    match number {
        0 => Ok(PublicAccess::Private),
        1 => Ok(PublicAccess::Blob),
        2 => Ok(PublicAccess::Container),
        other => Err(StoreError::corrupt(format!("{ACL_ROW} has a level of public access of {other}"))),
    }
}

pub(crate) fn encode_acl(acl: &Acl) -> Bytes {
    let writer = Writer::new(ACL_VERSION).byte(level(acl.public_access)).count(acl.policies.len());
    let policy = |writer: Writer, policy: &StoredAccessPolicy| {
        writer
            .text(&policy.id)
            .optional(policy.start, |writer, time| writer.number(time.ticks()))
            .optional(policy.expiry, |writer, time| writer.number(time.ticks()))
            .optional(policy.permissions.as_deref(), Writer::text)
    };
    acl.policies.iter().fold(writer, policy).build()
}

pub(crate) fn decode_acl(row: &[u8]) -> Result<Acl, StoreError> {
    if let Some((&ACL_POSTCARD, record)) = row.split_first() {
        return decode_acl_postcard(record);
    }
    let mut reader = Reader::since(ACL_ROW, row, ACL_POSTCARD + 1, ACL_VERSION)?;
    let public_access = level_of(reader.byte()?)?;
    let mut policies = Vec::new();
    for _ in 0..reader.small()? {
        policies.push(StoredAccessPolicy {
            id: reader.text()?.to_owned(),
            start: reader.optional(Reader::number)?.map(Timestamp::from_ticks),
            expiry: reader.optional(Reader::number)?.map(Timestamp::from_ticks),
            permissions: reader.optional(Reader::text)?.map(str::to_owned),
        });
    }
    reader.end()?;
    Ok(Acl { public_access, policies })
}

fn decode_acl_postcard(record: &[u8]) -> Result<Acl, StoreError> {
    #[derive(Deserialize)]
    struct Postcard {
        public_access: u8,
        policies: Vec<Policy>,
    }
    #[derive(Deserialize)]
    struct Policy {
        id: String,
        start: Option<u64>,
        expiry: Option<u64>,
        permissions: Option<String>,
    }
    let record: Postcard = postcard::from_bytes(record).map_err(|_| StoreError::corrupt(ACL_ROW))?;
    let policy = |policy: Policy| StoredAccessPolicy {
        id: policy.id,
        start: policy.start.map(Timestamp::from_ticks),
        expiry: policy.expiry.map(Timestamp::from_ticks),
        permissions: policy.permissions,
    };
    let public_access = level_of(record.public_access)?;
    Ok(Acl { public_access, policies: record.policies.into_iter().map(policy).collect() })
}

#[cfg(test)]
mod tests {
    use store::golden::Golden;

    use super::*;
    use crate::need::Service;

    impl std::fmt::Debug for AccountRecord {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{:?} with {} keys", self.unit, self.keys.len())
        }
    }

    fn account(keys: usize) -> AccountRecord {
        let keys = (1..=keys).map(|number| vec![u8::try_from(number).unwrap(); 5]).collect();
        AccountRecord { unit: UnitId::new(0x0102_0304_0506_0708), keys }
    }

    fn acl() -> Acl {
        let full = StoredAccessPolicy {
            id: "pölicy".to_owned(),
            start: Some(Timestamp::from_ticks(0x1112_1314_1516_1718)),
            expiry: Some(Timestamp::from_ticks(300)),
            permissions: Some("rwd".to_owned()),
        };
        let empty = StoredAccessPolicy { id: "e".to_owned(), start: None, expiry: None, permissions: None };
        Acl { public_access: PublicAccess::Container, policies: vec![full, empty] }
    }

    #[test]
    fn rows_are_written_and_read_as_the_golden_bytes() {
        let mut golden = Golden::new(include_str!("../testdata/rows.tsv"));
        let name = AccountName::parse("myaccount1").unwrap();
        golden.round_trip("key of an account", &account_key(&name), parse_account_key, &name);
        for (number, service) in [Service::Blob, Service::Queue, Service::Table, Service::File].into_iter().enumerate()
        {
            let holder = Holder { service, account: UnitId::new(0x0102_0304_0506_0708), name: "things" };
            golden.check(&format!("key of an access control list of service {}", number + 1), &acl_key(&holder));
        }
        for (name, keys) in [("account 3 without keys", 0), ("account 3", 2)] {
            golden.round_trip(name, &account(keys).encode(), AccountRecord::decode, &account(keys));
        }
        for (name, public_access) in [
            ("access control list 2, private", PublicAccess::Private),
            ("access control list 2, blob", PublicAccess::Blob),
            ("access control list 2, container", PublicAccess::Container),
        ] {
            let acl = Acl { public_access, ..acl() };
            golden.round_trip(name, &encode_acl(&acl), decode_acl, &acl);
        }
        // Written no more, and read for ever.
        for (name, keys) in [("account 2 without keys", 0), ("account 2", 2)] {
            assert_eq!(AccountRecord::decode(&golden.bytes(name)).unwrap(), account(keys), "{name}");
        }
        assert_eq!(decode_acl(&golden.bytes("access control list 1")).unwrap(), acl());
        golden.finish();
    }

    #[test]
    fn a_version_of_the_future_and_half_a_row_are_refused() {
        let (account, acl) = (account(2).encode(), encode_acl(&acl()));
        for length in 0..account.len() {
            assert!(AccountRecord::decode(&account[..length]).is_err(), "{length}");
        }
        for length in 0..acl.len() {
            assert!(decode_acl(&acl[..length]).is_err(), "{length}");
        }
        for (read, future) in [
            (
                AccountRecord::decode(&[4, 0]).map(|_| ()),
                "an account has version 4, and this build reads versions up to 3",
            ),
            (decode_acl(&[3, 0]).map(|_| ()), "list has version 3, and this build reads versions up to 2"),
            (decode_acl(&[2, 3, 0, 0, 0, 0]).map(|_| ()), "a level of public access of 3"),
            (AccountRecord::decode(&[1, 0]).map(|_| ()), "an account has version 1"),
        ] {
            let said = read.unwrap_err().to_string();
            assert!(said.contains(future), "{said}");
        }
    }
}
