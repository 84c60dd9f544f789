//! Every rule of the audit, with a fault that it must find. The same rows without a fault are clean.

use access::{Asked, need::Service};
use account::{PropertiesChange, RetentionPolicy, SetServiceProperties, Settings};
use store::{Scope, StoreError, Txn, key::KeyBuilder, space::Space};
use store_memory::MemoryEngine;
use types::{CopyState, FilePath, HttpHeaders, Metadata, ShareName, Timestamp};

use super::*;
use crate::{
    Files, Preconditions, SmbChange,
    create::{CreateDirectory, CreateFile},
    object::Address,
    properties::SetProperties,
    ranges::PutRange,
    rename::Rename,
    share::{CreateShare, ShareAddress, ShareSettings},
    share_delete::{DeleteShare, DeleteShareSnapshots},
    share_properties::SharePreconditions,
    share_snapshot::SnapshotShare,
};

const ACCOUNT: UnitId = UnitId::new(7);

/// All rows of the service, in order.
struct Rows(Vec<(Bytes, Bytes)>);

/// What a fault writes or deletes.
type Fault = Vec<(Bytes, Option<Bytes>)>;

impl Rows {
    fn of_kind(&self, kind: u8) -> impl Iterator<Item = &(Bytes, Bytes)> {
        self.0.iter().filter(move |(key, _)| key.get(1) == Some(&kind))
    }

    /// The first row of a kind.
    fn row(&self, kind: u8) -> (Bytes, Bytes) {
        self.of_kind(kind).next().cloned().unwrap_or_else(|| panic!("there is no row of kind {kind:#04x}"))
    }

    fn share(&self) -> (Bytes, Share) {
        let (key, value) = self.row(keys::SHARE);
        (key, Share::decode(&value).unwrap())
    }

    /// The entry with this name.
    fn entry(&self, name: &str) -> (Bytes, Entry) {
        let mut entries = self.of_kind(keys::ENTRY).map(|(key, value)| (key.clone(), Entry::decode(value).unwrap()));
        entries.find(|(_, entry)| entry.name == name).unwrap()
    }

    /// The node that an entry of this name means.
    fn node(&self, name: &str) -> (Bytes, Node) {
        let inode = self.entry(name).1.inode;
        let mut nodes = self.of_kind(keys::NODE).map(|(key, value)| (key.clone(), Node::decode(value).unwrap()));
        nodes.find(|(_, node)| node.inode == inode).unwrap()
    }

    /// The share with another state.
    fn with_share(&self, change: impl FnOnce(&mut Share)) -> Fault {
        let (key, mut share) = self.share();
        change(&mut share);
        vec![(key, Some(share.encode()))]
    }

    fn with_node(&self, name: &str, change: impl FnOnce(&mut Node)) -> Fault {
        let (key, mut node) = self.node(name);
        change(&mut node);
        vec![(key, Some(node.encode()))]
    }

    fn with_file(&self, name: &str, change: impl FnOnce(&mut File)) -> Fault {
        self.with_node(name, |node| change(node.file.as_mut().unwrap()))
    }

    fn with_entry(&self, name: &str, change: impl FnOnce(&mut Entry)) -> Fault {
        let (key, mut entry) = self.entry(name);
        change(&mut entry);
        vec![(key, Some(entry.encode()))]
    }

    fn without(&self, kind: u8) -> Fault {
        vec![(self.row(kind).0, None)]
    }
}

fn asked<Op>(operation: Op) -> Asked<Op> {
    Asked::for_tests(operation)
}

fn share_address(name: &str, snapshot: Option<Timestamp>) -> ShareAddress {
    ShareAddress { account: ACCOUNT, name: ShareName::parse(name).unwrap(), snapshot }
}

fn address(path: &str) -> Address {
    Address::new(share_address("abc", None), Some(FilePath::parse(path).unwrap()))
}

async fn create_share(files: &Files, name: &str) {
    let (name, settings) = (ShareName::parse(name).unwrap(), ShareSettings::default());
    let create = CreateShare { account: ACCOUNT, name, metadata: Metadata::new(), settings };
    files.create_share(&asked(create)).await.unwrap();
}

async fn delete_share(files: &Files, name: &str, snapshot: Option<Timestamp>) {
    let (share, preconditions) = (share_address(name, snapshot), SharePreconditions::default());
    let delete = DeleteShare { share, preconditions, snapshots: DeleteShareSnapshots::Refuse };
    files.delete_share(&asked(delete)).await.unwrap();
}

async fn retain(engine: &MemoryEngine, days: Option<u32>) {
    let share_delete_retention = Some(RetentionPolicy { days });
    let change = PropertiesChange { share_delete_retention, ..PropertiesChange::default() };
    let set = SetServiceProperties { account: ACCOUNT, service: Service::File, change };
    Settings::new(engine.store()).set(&asked(set)).await.unwrap();
}

async fn create_file(files: &Files, path: &str) {
    let create = CreateFile {
        address: address(path),
        preconditions: Preconditions::default(),
        metadata: Metadata::new(),
        smb: SmbChange::default(),
        headers: HttpHeaders::default(),
        length: 100,
    };
    files.create_file(&asked(create), None).await.unwrap();
}

async fn write(files: &Files, path: &str) {
    let (address, preconditions) = (address(path), Preconditions::default());
    let put = asked(PutRange { address, preconditions, start: 10, end: 20, written: None });
    let mut writer = files.begin_put_range(&put, Some(10)).await.unwrap().writer(10).unwrap();
    writer.write(Bytes::from_static(b"0123456789")).await.unwrap();
    files.put_range(&put, &writer.finish().await.unwrap()).await.unwrap();
}

async fn snapshot(files: &Files) -> Timestamp {
    let take = SnapshotShare { share: share_address("abc", None), metadata: None };
    files.snapshot_share(&asked(take)).await.unwrap().snapshot
}

/// Rows of every kind: directories and files with a past, snapshots, a share that can be restored, one that is swept.
async fn everything() -> MemoryEngine {
    let engine = MemoryEngine::default();
    let files = Files::new(engine.store());
    create_share(&files, "abc").await;
    let create = CreateDirectory { address: address("d"), metadata: Metadata::new(), smb: SmbChange::default() };
    files.create_directory(&asked(create)).await.unwrap();
    for path in ["d/f", "d/old", "short"] {
        create_file(&files, path).await;
        write(&files, path).await;
    }
    let gone = snapshot(&files).await;
    snapshot(&files).await;
    snapshot(&files).await;
    delete_share(&files, "abc", Some(gone)).await; // a walk over what it kept
    write(&files, "d/f").await; // what it was
    let (source, destination) = (address("d/old"), address("d/new"));
    let rename = Rename {
        source: source.clone(),
        destination,
        is_directory: false,
        replaces: false,
        ignores_read_only: false,
        source_lease: None,
        destination_lease: None,
        smb: SmbChange::default(),
        metadata: None,
        content_type: None,
    };
    let read = crate::properties::GetProperties {
        address: source,
        preconditions: Preconditions::default(),
        is_directory: false,
    };
    files.rename(&asked(rename), &asked(read)).await.unwrap(); // what a name meant
    let shorter = SetProperties {
        address: address("short"),
        preconditions: Preconditions::default(),
        is_directory: false,
        smb: SmbChange::default(),
        headers: None,
        length: Some(5),
    };
    files.set_properties(&asked(shorter)).await.unwrap();
    create_share(&files, "kept").await;
    create_share(&files, "swept").await;
    delete_share(&files, "swept", None).await;
    retain(&engine, Some(3)).await;
    delete_share(&files, "kept", None).await;
    engine
}

async fn rows(engine: &MemoryEngine) -> Rows {
    let view = engine.store().snapshot();
    let mut scan = view.scan(keys::everything(), Direction::Ascending);
    let mut found = Vec::new();
    while let Some(row) = scan.next().await.unwrap() {
        found.push((row.key, row.value));
    }
    Rows(found)
}

/// What the audit says with a fault.
async fn planted(fault: impl FnOnce(&Rows) -> Fault) -> Vec<String> {
    let engine = everything().await;
    let fault = &fault(&rows(&engine).await);
    let store = engine.store();
    let done = store.transact(Scope::new(), |txn: Txn| async move {
        for (key, value) in fault {
            match value {
                Some(value) => txn.put(key.clone(), value.clone()),
                None => txn.delete(key.clone()),
            }
        }
        Ok::<_, StoreError>(())
    });
    done.await.unwrap();
    audit(&store.snapshot()).await.unwrap().problems
}

#[tokio::test]
async fn without_a_fault_there_are_rows_of_many_kinds_and_no_problem() {
    let engine = everything().await;
    let found = audit(&engine.store().snapshot()).await.unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    let rows = rows(&engine).await;
    let kinds: std::collections::BTreeSet<u8> = rows.0.iter().filter_map(|(key, _)| key.get(1).copied()).collect();
    let expected = [
        keys::SHARE,
        keys::SHARE_SNAPSHOT,
        keys::UNIT,
        keys::ENTRY,
        keys::ENTRY_HISTORY,
        keys::NODE,
        keys::NODE_HISTORY,
        keys::PERMISSION,
        keys::USAGE,
        keys::SWEEP,
        keys::PRUNE,
        keys::DELETED_SHARE,
        keys::DELETED_SHARE_DEADLINE,
        keys::DELETED_UNIT,
    ];
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{kinds:x?}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_found_whatever_its_kind() {
    for kind in [
        keys::SHARE,
        keys::SHARE_SNAPSHOT,
        keys::UNIT,
        keys::ENTRY,
        keys::ENTRY_HISTORY,
        keys::NODE,
        keys::NODE_HISTORY,
        keys::PERMISSION,
        keys::USAGE,
        keys::SWEEP,
        keys::PRUNE,
        keys::DELETED_SHARE,
        keys::DELETED_UNIT,
    ] {
        let problems = planted(|rows| vec![(rows.row(kind).0, Some(Bytes::from_static(b"\xff\xff")))]).await;
        assert!(!problems.is_empty(), "kind {kind:#04x}");
    }
    let share = UnitId::new(1);
    let unknown = KeyBuilder::new(Space::File, 0x7f).number(1).build();
    let long = |kind| KeyBuilder::new(Space::File, kind).number(share.number()).number(2).number(3).number(4).build();
    for key in [unknown, long(keys::TRIM), long(keys::COPY), long(keys::SWEEP), long(keys::PRUNE_MAP)] {
        let problems = planted(|_| vec![(key.clone(), Some(Bytes::new()))]).await;
        assert!(!problems.is_empty(), "{key:?}");
    }
}

/// A rule with a fault that breaks it, and what must be said.
type Case = (&'static str, fn(&Rows) -> Fault);

async fn found(table: &[Case]) {
    for (expected, fault) in table {
        let problems = planted(fault).await;
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
    }
}

#[tokio::test]
async fn faults_of_shares_are_found() {
    found(&[
        ("its unit has another name", |rows| {
            let (_, share) = rows.share();
            let other = UnitRecord { account: ACCOUNT, name: "other".to_owned() };
            vec![(keys::unit(share.unit), Some(other.encode()))]
        }),
        ("its topmost directory has no row", |rows| {
            let (_, share) = rows.share();
            vec![(keys::node(keys::NODE, share.unit, share.root).build(), None)]
        }),
        ("it has other snapshots", |rows| rows.with_share(|share| share.snapshots += 1)),
        ("it has other snapshots", |rows| rows.without(keys::SHARE_SNAPSHOT)),
        ("its newest snapshot is another", |rows| rows.with_share(|share| share.newest_snapshot = Some(0))),
        ("its newest snapshot is not before its epoch", |rows| rows.with_share(|share| share.epoch = 0)),
        ("its snapshots are not in order", |rows| {
            let found: Vec<_> = rows.of_kind(keys::SHARE_SNAPSHOT).cloned().collect();
            let [(first, one), (second, other)] = found.as_slice() else { panic!("two snapshots: {found:?}") };
            vec![(first.clone(), Some(other.clone())), (second.clone(), Some(one.clone()))]
        }),
        ("its share does not exist", |rows| rows.without(keys::SHARE)),
        ("its share has no row", |rows| {
            let (key, share) = rows.share();
            vec![(key, None), (keys::unit(share.unit), None)]
        }),
        ("it is of another share", |rows| {
            let (key, value) = rows.row(keys::SHARE_SNAPSHOT);
            let other = Share { unit: UnitId::new(1 << 40), ..Share::decode(&value).unwrap() };
            vec![(key, Some(other.encode()))]
        }),
        ("its unit stands elsewhere", |rows| rows.without(keys::DELETED_UNIT)),
        ("its deadline has no row", |rows| rows.without(keys::DELETED_SHARE_DEADLINE)),
        ("its share has another deadline", |rows| rows.without(keys::DELETED_SHARE)),
        ("its share does not exist", |rows| rows.without(keys::DELETED_SHARE)),
        ("its key is another", |rows| {
            let (key, value) = rows.row(keys::PERMISSION);
            let mut other = value.to_vec();
            *other.last_mut().unwrap() ^= 1;
            vec![(key, Some(other.into()))]
        }),
        ("it is no stripe", |rows| {
            let (_, value) = rows.row(keys::USAGE);
            vec![(keys::usage(rows.share().1.unit, usage::STRIPES), Some(value))]
        }),
        ("bytes, and files hold", |rows| rows.without(keys::USAGE)),
    ])
    .await;
}

#[tokio::test]
async fn faults_of_directories_and_files_are_found() {
    found(&[
        ("it stands under another name", |rows| rows.with_entry("f", |entry| entry.name = "g".to_owned())),
        ("what it names does not exist", |rows| rows.with_entry("f", |entry| entry.inode = Inode::new(1 << 40))),
        ("what it names is of another kind", |rows| rows.with_entry("f", |entry| entry.is_directory = true)),
        ("what it names is in another directory", |rows| {
            let root = rows.share().1.root;
            rows.with_node("f", |node| node.parent = root)
        }),
        ("its directory does not exist", |rows| {
            let (share, file) = (rows.share().1.unit, rows.node("f").1);
            let (_, entry) = rows.entry("new");
            vec![(keys::entry(keys::ENTRY, share, file.inode, "NEW").build(), Some(entry.encode()))]
        }),
        ("directories and what says that it is in them do not agree", |rows| vec![(rows.entry("f").0, None)]),
        ("directories and what says that it is in them do not agree", |rows| {
            // Two entries of one file.
            let (share, directory) = (rows.share().1.unit, rows.node("d").1);
            let (_, entry) = rows.entry("f");
            let again = Entry { name: "again".to_owned(), ..entry };
            vec![(keys::entry(keys::ENTRY, share, directory.inode, "AGAIN").build(), Some(again.encode()))]
        }),
        ("it is about another inode", |rows| rows.with_node("f", |node| node.inode = Inode::new(1 << 40))),
        ("its security descriptor has no row", |rows| rows.with_node("f", |node| node.smb.permission.0 = [9; 16])),
        ("its trim has no row", |rows| rows.with_file("f", |file| file.untrimmed = true)),
        ("its copy has no row", |rows| rows.with_file("f", |file| file.copy = Some(pending()))),
        ("its map holds more or less than it says", |rows| rows.with_file("f", |file| file.allocated += 1)),
        ("its map reaches behind its end", |rows| rows.with_file("f", |file| file.length = 15)),
    ])
    .await;
}

/// A copy that runs.
fn pending() -> CopyState {
    CopyState {
        id: "00000000-0000-0000-0000-000000000001".to_owned(),
        source: "http://a/b".to_owned(),
        status: CopyStatus::Pending,
        description: None,
        copied: 0,
        total: 0,
        completed: None,
    }
}

#[tokio::test]
async fn faults_of_the_past_are_found() {
    found(&[
        ("it stands under another name", |rows| {
            let (key, value) = rows.row(keys::ENTRY_HISTORY);
            let other = Entry { name: "other".to_owned(), ..Entry::decode(&value).unwrap() };
            vec![(key, Some(other.encode()))]
        }),
        ("it ended before it began", |rows| {
            let (key, value) = rows.row(keys::ENTRY_HISTORY);
            let until = keys::parse_entry_history(&key).unwrap().3;
            let other = Entry { since: until, ..Entry::decode(&value).unwrap() };
            vec![(key, Some(other.encode()))]
        }),
        ("it is about another inode", |rows| {
            let (key, value) = rows.row(keys::NODE_HISTORY);
            let other = Node { inode: Inode::new(1 << 40), ..Node::decode(&value).unwrap() };
            vec![(key, Some(other.encode()))]
        }),
        ("it ended before it began", |rows| {
            let (key, value) = rows.row(keys::NODE_HISTORY);
            let until = keys::parse_node_history(&key).unwrap().2;
            let other = Node { since: until, ..Node::decode(&value).unwrap() };
            vec![(key, Some(other.encode()))]
        }),
        ("it ended after the next one began", |rows| {
            let (key, _) = rows.row(keys::NODE_HISTORY);
            let (_, inode, _) = keys::parse_node_history(&key).unwrap();
            let (key, value) = rows
                .of_kind(keys::NODE)
                .find(|(key, _)| keys::parse_two(key, keys::NODE).unwrap().1 == inode.number())
                .unwrap();
            let earlier = Node { since: 0, ..Node::decode(value).unwrap() };
            vec![(key.clone(), Some(earlier.encode()))]
        }),
    ])
    .await;
}
