//! Golden bytes: what is in `testdata/records.tsv` is in data directories. A line may be added, and never changed.

use std::fmt::Debug;

use access::acl::StoredAccessPolicy;
use concurrency::lease::{Leasable, LeaseDuration, LeaseId, LeaseOperation};
use store::golden::Golden;
use types::{ContentMd5, CopyState, CopyStatus, HttpHeaders, Timestamp};

use super::*;
use crate::{permission, usage::Stripe};

const fn time(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn leased() -> Lease {
    let (fresh, duration) = (LeaseId::from_u128(0x0102_0304), LeaseDuration::Infinite);
    let acquire = LeaseOperation::Acquire { proposed: None, fresh, duration };
    Lease::default().apply(Leasable::Share, acquire, time(5)).unwrap().lease
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn plain_share() -> Share {
    Share {
        unit: UnitId::new(3),
        root: Inode::new(4),
        etag: ETag::new(9),
        last_modified: time(300),
        lease: Lease::default(),
        metadata: Vec::new(),
        settings: ShareSettings::default(),
        epoch: 0,
        newest_snapshot: None,
        snapshots: 0,
        last_snapshot: Timestamp::EPOCH,
    }
}

fn full_share() -> Share {
    Share {
        lease: leased(),
        metadata: pairs(&[("Colour", "grün")]),
        settings: ShareSettings {
            quota_gib: 5,
            tier: ShareTier::Premium,
            tier_changed: Some(time(310)),
            provisioned_iops: Some(1),
            provisioned_bandwidth_mibps: Some(2),
            paid_bursting: true,
            paid_bursting_max_iops: Some(3),
            paid_bursting_max_bandwidth_mibps: Some(4),
            snapshot_virtual_directory: Some(true),
            smb_directory_lease: Some(false),
        },
        epoch: 7,
        newest_snapshot: Some(6),
        snapshots: 2,
        last_snapshot: time(320),
        ..plain_share()
    }
}

fn directory() -> Node {
    Node {
        since: 2,
        inode: Inode::new(5),
        parent: Inode::new(4),
        etag: ETag::new(11),
        last_modified: time(400),
        smb: SmbProperties {
            attributes: FileAttributes::DIRECTORY,
            created: time(401).into(),
            written: time(402).into(),
            changed: time(403).into(),
            accessed: time(404).into(),
            permission: PermissionKey([8; 16]),
        },
        metadata: Vec::new(),
        file: None,
    }
}

fn full_file() -> Node {
    let text = |text: &str| Some(text.to_owned());
    let headers = HttpHeaders {
        content_type: text("text/plain"),
        content_encoding: text("gzip"),
        content_language: text("de"),
        content_disposition: text("inline"),
        cache_control: text("no-cache"),
        content_md5: Some(ContentMd5::Md5([9; 16])),
    };
    let copy = CopyState {
        id: "id".to_owned(),
        source: "http://h/f".to_owned(),
        status: CopyStatus::Pending,
        description: text("why"),
        copied: 5,
        total: 6,
        completed: Some(time(600)),
    };
    let file = File {
        content: ContentId::new(6),
        length: 4096,
        allocated: 512,
        epoch: 3,
        newest_shared_epoch: Some(2),
        untrimmed: true,
        headers,
        lease: leased(),
        copy: Some(copy),
    };
    Node { metadata: pairs(&[("a", "1"), ("b", "")]), file: Some(Box::new(file)), ..directory() }
}

/// A record is written and read as ever, and neither a part of it nor more than it is read.
fn check<T: Debug + PartialEq>(
    golden: &mut Golden,
    name: &str,
    record: &T,
    encode: impl Fn(&T) -> Bytes,
    decode: impl Fn(&[u8]) -> Result<T, StoreError>,
) {
    let written = encode(record);
    golden.round_trip(name, &written, &decode, record);
    for cut in 1..written.len() {
        assert!(decode(&written[..cut]).is_err(), "{name} is read though only {cut} bytes of it are left");
    }
    assert!(decode(&[&*written, &[0]].concat()).is_err(), "{name} is read though it is longer");
}

macro_rules! check_all {
    ($golden:ident: $($name:literal $kind:ident $record:expr;)*) => {
        $(check(&mut $golden, $name, &$record, $kind::encode, $kind::decode);)*
    };
}

#[test]
fn records_are_written_as_ever() {
    let policy = |id: &str, start, permissions: Option<&str>| StoredAccessPolicy {
        id: id.to_owned(),
        start,
        expiry: None,
        permissions: permissions.map(str::to_owned),
    };
    let deleted = DeletedShare {
        share: full_share(),
        deleted: time(700),
        until: time(800),
        retention_days: 7,
        policies: vec![policy("one", Some(time(1)), Some("rw")), policy("two", None, None)],
    };
    let entry = Entry { since: 2, inode: Inode::new(5), is_directory: true, name: "Straße".to_owned() };
    let place = DeletedUnit { account: UnitId::new(1), name: "things".to_owned(), version: time(700) };
    let copy = |source| CopyJob {
        account: UnitId::new(1),
        id: "id".to_owned(),
        started: time(900),
        staged: ContentId::new(12),
        total: 10,
        copied: 5,
        held: 4,
        source,
    };
    let elsewhere = CopySource::Foreign { url: "http://h/f?sig=1".to_owned(), etag: Some("\"1\"".to_owned()) };
    let (share, inode, content) = (UnitId::new(3), Inode::new(5), ContentId::new(6));
    let map = CopySource::Map { share, inode, content, epoch: 2, next: 5 };
    let mut golden = Golden::new(include_str!("../../testdata/records.tsv"));
    check_all! { golden:
        "share 1, plain" Share plain_share();
        "share 1, everything" Share full_share();
        "entry 1" Entry entry;
        "node 1, directory" Node directory();
        "node 1, file with everything" Node full_file();
        "unit 1" UnitRecord UnitRecord { account: UnitId::new(1), name: "things".to_owned() };
        "deleted share 1" DeletedShare deleted;
        "deleted unit 1" DeletedUnit place;
        "walk 1" WalkRecord WalkRecord { stage: 1, reached: vec![1, 2, 3] };
        "prune map 1" PruneMapRecord PruneMapRecord { from: 512 };
        "copy 1, elsewhere" CopyJob copy(elsewhere);
        "copy 1, map" CopyJob copy(map);
        "copy source 1" CopySourceRecord CopySourceRecord { share, inode };
    }
    let stripe = Stripe { held: 7, promised: 0, quota_gib: 0 };
    assert_eq!(Stripe::decode(&golden.bytes("usage 1")).unwrap(), stripe);
    let stripe = Stripe { held: 7, promised: 1 << 40, quota_gib: 5120 };
    check(&mut golden, "usage 2", &stripe, Stripe::encode, Stripe::decode);
    let descriptor = vec![1, 2, 3];
    let decode = |row: &[u8]| permission::decode(row).map(<[u8]>::to_vec);
    check(&mut golden, "permission 1", &descriptor, |bytes| permission::encode(bytes), decode);
    golden.finish();
    assert_eq!(PruneMapRecord::decode(&[]).unwrap(), PruneMapRecord::default(), "one that has not begun");
}

#[test]
fn a_record_of_the_future_is_refused_by_name() {
    let mut row = directory().encode().to_vec();
    row[0] += 1;
    let refused = Node::decode(&row).unwrap_err().to_string();
    let expected = "the row of a directory or a file has version 2, and this build reads versions up to 1";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn what_has_a_history_begins_with_since() {
    assert_eq!(crate::history::since(&directory().encode()).unwrap(), 2);
    let entry = Entry { since: 3, inode: Inode::new(5), is_directory: false, name: "a".to_owned() };
    assert_eq!(crate::history::since(&entry.encode()).unwrap(), 3);
}
