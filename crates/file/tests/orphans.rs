//! Handles whose clients are gone, with the files below them: bytes, deletes and REST. And the parts of files that hold nothing.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use concurrency::{
    delete_pending::DeleteIntent,
    durable::Kind,
    file_open::{OpenRequest, Reach},
    oplock::{CacheGrant, OplockLevel},
    range_lock::{ByteRange, LockKind},
    rest_open::RestRefusal,
    share_mode::{Access, OpenMode, ShareMode},
};
use file::{
    FileAttributes, SmbChange,
    handle_ranges::Allocated,
    open::{Action, Disposition, OpenFile, Opened},
    opens::{Census, FileKey, HandleId, Keeping, Locking, Owner},
};
use support::*;

const SHARES_NOTHING: OpenMode = OpenMode { access: Access::ALL, share: ShareMode::NONE };
const SHARES_ALL: OpenMode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
const MINUTE: Duration = Duration::from_mins(1);

fn owner(session: u64) -> Arc<Owner> {
    let client = ([127, 0, 0, 1], 5000).into();
    Arc::new(Owner { session, client, client_name: "client".into(), notify: Box::new(|_| {}) })
}

/// Opens with a batch oplock.
async fn opened(world: &World, path: &str, mode: OpenMode, delete_on_close: bool) -> Opened {
    let open = OpenFile {
        address: address(path, None),
        disposition: Disposition::OpenIf,
        is_directory: Some(false),
        request: OpenRequest {
            mode,
            reach: Reach::File,
            overwrites: false,
            delete: DeleteIntent { delete_on_close, delete_access: true },
        },
        smb: SmbChange::default(),
        cache: CacheGrant::Oplock(OplockLevel::Batch),
        lease_key: None,
        epoch: None,
        owner: owner(1),
    };
    world.files.open(&asked(open)).await.unwrap()
}

fn leave(world: &World, opened: Opened) -> (FileKey, HandleId) {
    let (file, id) = (opened.handle.file(), opened.handle.id());
    let until = world.files.now().saturating_add(MINUTE);
    opened.handle.leave(&Keeping { account: ACCOUNT, until, kind: Kind::Durable, keeper: owner(1) }).unwrap();
    (file, id)
}

async fn write(world: &World, opened: &Opened, bytes: &'static [u8]) {
    world.files.write_at(&opened.handle, 0, Bytes::from_static(bytes), false).await.unwrap();
}

#[test]
fn a_client_that_comes_back_finds_what_it_wrote_and_locked() {
    run(async {
        let world = World::new().await;
        let first = opened(&world, "a", SHARES_NOTHING, false).await;
        write(&world, &first, b"written").await;
        let range = ByteRange::new(0, 4).unwrap();
        let locked = first.handle.lock(&[(range, LockKind::Exclusive)], false, world.files.now()).unwrap();
        assert!(matches!(locked, Locking::Locked));
        let (file, id) = leave(&world, first);
        world.files.flush_left(file).await.unwrap();
        let back = world.files.opens().take_back(file, id, &owner(2), world.files.now()).unwrap();
        assert_eq!(&world.files.read_at(&back, 0, 100).await.unwrap()[..], b"written");
        assert!(back.unlock(range).is_ok());
        world.files.close(back).await.unwrap();
        assert_eq!(world.read("a", None).await.unwrap(), b"written");
    });
}

#[test]
fn what_nobody_takes_back_is_closed_with_everything_a_close_does() {
    run(async {
        let (world, time) = World::timed().await;
        let (kept, gone) = (opened(&world, "a", SHARES_ALL, false).await, opened(&world, "b", SHARES_ALL, true).await);
        write(&world, &kept, b"written").await;
        leave(&world, kept);
        leave(&world, gone);
        let pending = world.read("b", None).await.unwrap_err();
        assert!(matches!(pending, FileError::Open(RestRefusal::DeletePending)), "{pending:?}");
        time.advance(Duration::from_secs(59));
        world.files.tend_opens().await.unwrap();
        assert_eq!(world.files.opens().census().orphans, 2);
        time.advance(Duration::from_secs(2));
        while world.files.tend_opens().await.unwrap() {}
        assert_eq!(world.files.opens().census(), Census::default());
        assert_eq!(world.read("a", None).await.unwrap(), b"written");
        assert_eq!(world.names("", None).await, ["a"], "the other was to be deleted");
        world.audit().await;
    });
}

#[test]
fn the_name_of_a_file_that_an_orphan_deletes_is_free_for_who_wants_it() {
    run(async {
        let world = World::new().await;
        let first = opened(&world, "a", SHARES_NOTHING, true).await;
        write(&world, &first, b"x").await;
        let (file, id) = leave(&world, first);
        let second = opened(&world, "a", SHARES_NOTHING, false).await;
        assert_eq!(second.action, Action::Created);
        assert_ne!(second.handle.file(), file);
        assert_eq!(world.files.open_properties(&second.handle).await.unwrap().file.unwrap().length, 0);
        assert!(world.files.opens().take_back(file, id, &owner(1), world.files.now()).is_err());
        world.files.close(second.handle).await.unwrap();
        world.audit().await;
    });
}

#[test]
fn rest_does_not_wait_for_a_client_that_is_gone() {
    run(async {
        let world = World::new().await;
        let first = opened(&world, "a", SHARES_NOTHING, false).await;
        write(&world, &first, b"written").await;
        leave(&world, first);
        assert_eq!(world.read("a", None).await.unwrap(), b"written");
        assert_eq!(world.files.opens().census(), Census::default());
    });
}

#[test]
fn a_process_that_begins_has_no_orphans() {
    run(async {
        let world = World::new().await;
        let first = opened(&world, "a", SHARES_NOTHING, false).await;
        write(&world, &first, b"written").await;
        let (file, id) = leave(&world, first);
        world.files.flush_left(file).await.unwrap();
        let next = file::Files::new(world.engine.store());
        assert!(next.opens().take_back(file, id, &owner(1), next.now()).is_err());
        assert_eq!(next.opens().census(), Census::default());
        assert_eq!(world.read("a", None).await.unwrap(), b"written", "what was flushed stays");
    });
}

#[test]
fn a_sparse_file_says_which_parts_hold_bytes() {
    run(async {
        let world = World::new().await;
        let file = opened(&world, "a", SHARES_ALL, false).await.handle;
        let ranges = async |start, end, limit| world.files.allocated_ranges(&file, (start, end), limit).await.unwrap();
        assert_eq!(ranges(0, 100, 9).await, Allocated::default(), "it is empty");
        world.files.write_at(&file, 10, Bytes::from_static(b"0123456789"), false).await.unwrap();
        assert_eq!(ranges(0, 100, 9).await.ranges, [(0, 20)], "as if all of it did");
        world.files.set_sparse(&file, true).await.unwrap();
        assert_eq!(ranges(0, 100, 9).await.ranges, [(10, 20)]);
        world.files.zero_range(&file, 12, 14).await.unwrap();
        assert_eq!(ranges(0, 100, 9).await, Allocated { ranges: vec![(10, 12), (14, 20)], more: false });
        assert_eq!(ranges(0, 100, 1).await, Allocated { ranges: vec![(10, 12)], more: true });
        assert_eq!(ranges(11, 15, 9).await.ranges, [(11, 12), (14, 15)]);
        assert_eq!(ranges(20, 100, 9).await, Allocated::default());
        world.files.zero_range(&file, 18, 1000).await.unwrap();
        let properties = world.files.open_properties(&file).await.unwrap();
        assert_eq!(properties.file.as_ref().unwrap().length, 20, "the length stays");
        assert!(properties.smb.attributes.has(FileAttributes::SPARSE));
        assert_eq!(&world.files.read_at(&file, 10, 99).await.unwrap()[..], b"01\0\x004567\0\0");
        let change = SmbChange { attributes: Some(FileAttributes::READ_ONLY), ..SmbChange::default() };
        let changed = world.files.set_open_properties(&file, &change).await.unwrap();
        assert_eq!(changed.smb.attributes.0, 0x201, "other attributes do not end it");
        world.files.set_sparse(&file, false).await.unwrap();
        assert_eq!(ranges(0, 100, 9).await.ranges, [(0, 20)]);
        world.audit().await;
    });
}

#[test]
fn what_another_handle_has_locked_is_not_made_zero() {
    run(async {
        let world = World::new().await;
        let file = world.open("a", Disposition::OpenIf, SHARES_ALL, false).await.unwrap().handle;
        world.files.write_at(&file, 0, Bytes::from_static(b"0123456789"), false).await.unwrap();
        let second = world.open("a", Disposition::Open, SHARES_ALL, false).await.unwrap().handle;
        let range = ByteRange::new(0, 4).unwrap();
        let locked = second.lock(&[(range, LockKind::Exclusive)], false, world.files.now()).unwrap();
        assert!(matches!(locked, Locking::Locked));
        assert!(world.files.zero_range(&file, 2, 8).await.is_err());
        world.files.zero_range(&file, 4, 8).await.unwrap();
        assert_eq!(&world.files.read_at(&second, 0, 99).await.unwrap()[..], b"0123\0\0\0\x0089");
    });
}
