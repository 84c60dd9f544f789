//! Copies into files: at once from files of this server, pending from elsewhere and of very large maps; what they do to
//! others, and what is left when they end.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use bytes::Bytes;
use concurrency::{
    lease::{LeaseCheckRefusal, LeaseId},
    rest_open::RestRefusal,
    share_mode::{Access, OpenMode, ShareMode},
};
use file::{
    About, FileAttributes, Preconditions, SmbChange, TimeChange,
    copy::{AbortCopy, Copied, CopiedSmb, CopyCursor, CopyFile, ForeignSource, PendingCopy, Taken},
    open::Disposition,
    properties::{SetMetadata, SetProperties},
    share_properties::{SetShareProperties, SharePreconditions, ShareSettingsChange},
};
use support::*;
use types::FileTime;
use types::{CopyStatus, HttpHeaders, Metadata};

fn foreign(length: u64) -> ForeignSource {
    ForeignSource {
        url: "http://elsewhere/f?sig=1".to_owned(),
        etag: Some("\"1\"".to_owned()),
        length,
        headers: HttpHeaders { content_type: Some("text/x".to_owned()), ..HttpHeaders::default() },
        metadata: vec![("m".to_owned(), "source".to_owned())],
    }
}

async fn begin(world: &World, to: &str, length: u64) -> Result<(Copied, PendingCopy), FileError> {
    world.files.begin_pending_copy(&asked(copy_request(to)), &foreign(length)).await
}

async fn piece(world: &World, copy: &PendingCopy, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
    let mut writer = world.files.copied_piece(copy, u64::try_from(bytes.len()).unwrap())?;
    writer.write(Bytes::copy_from_slice(bytes)).await?;
    world.files.append_copied(copy, offset, &writer.finish().await?).await
}

async fn abort(world: &World, path: &str, copy_id: &str, lease_id: Option<LeaseId>) -> Result<(), FileError> {
    let abort = AbortCopy { address: address(path, None), lease_id, copy_id: copy_id.to_owned() };
    world.files.abort_copy_file(&asked(abort)).await
}

/// Status, bytes that are there and bytes in all.
async fn state(world: &World, path: &str) -> Option<(CopyStatus, u64, u64)> {
    let copy = world.properties(path, false).await.unwrap().file.unwrap().copy;
    copy.map(|copy| (copy.status, copy.copied, copy.total))
}

async fn set(world: &World, path: &str, attributes: u32) -> Result<(), FileError> {
    let set = SetProperties {
        address: address(path, None),
        preconditions: Preconditions::default(),
        is_directory: false,
        smb: SmbChange { attributes: Some(FileAttributes(attributes)), ..SmbChange::default() },
        headers: None,
        length: None,
    };
    world.files.set_properties(&asked(set)).await.map(|_| ())
}

#[test]
fn a_copy_here_is_done_at_once_and_lives_its_own_life() {
    run(async {
        let world = World::new().await;
        world.create_file("s", 4 << 40).await.unwrap();
        world.put_range("s", 5, b"bytes").await.unwrap();
        world.put_range("s", 1 << 40, b"far").await.unwrap();
        let copied = world.copy("s", None, "d").await.unwrap();
        assert_eq!((copied.status, copied.copy_id.as_str()), (CopyStatus::Success, "copy-into-d"));
        assert_eq!(state(&world, "d").await, Some((CopyStatus::Success, 4 << 40, 4 << 40)));
        let sparse = vec![(5, 10), (1 << 40, (1 << 40) + 3)];
        assert_eq!(world.ranges("d", None).await.unwrap(), sparse, "what was not written is not there");
        assert_eq!(world.usage().await, 16);
        world.put_range("s", 5, b"BYTES").await.unwrap();
        world.resize("d", 10).await.unwrap();
        assert_eq!(world.read("d", None).await.unwrap(), b"\0\0\0\0\0bytes");
        assert_eq!(state(&world, "d").await, None, "it is not what was copied any more");
        world.delete("s").await.unwrap();
        world.sweep().await;
        assert_eq!(world.read("d", None).await.unwrap(), b"\0\0\0\0\0bytes");
        world.copy("d", None, "d").await.unwrap();
        world.sweep().await;
        assert_eq!(world.read("d", None).await.unwrap(), b"\0\0\0\0\0bytes");
        world.check_empties().await;
    });
}

#[test]
fn what_a_copy_takes_of_its_source() {
    run(async {
        let world = World::new().await;
        world.create_file("s", 1).await.unwrap();
        let time = FileTime::from_row;
        let set = SetProperties {
            address: address("s", None),
            preconditions: Preconditions::default(),
            is_directory: false,
            smb: SmbChange {
                attributes: Some(FileAttributes(0x03)),
                created: Some(TimeChange::At(time(10))),
                written: Some(TimeChange::At(time(20))),
                accessed: None,
                changed: Some(TimeChange::At(time(30))),
                permission: None,
            },
            headers: Some(HttpHeaders { content_type: Some("text/x".to_owned()), ..HttpHeaders::default() }),
            length: None,
        };
        world.files.set_properties(&asked(set)).await.unwrap();
        let before = world.properties("s", false).await.unwrap();
        world.copy("s", None, "plain").await.unwrap();
        let plain = world.properties("plain", false).await.unwrap();
        assert_eq!(plain.smb.attributes, FileAttributes::ARCHIVE);
        assert!(plain.smb.created > time(10) && plain.smb.written > time(20));
        assert_eq!(plain.file.unwrap().headers.content_type.as_deref(), Some("text/x"));
        let smb = CopiedSmb {
            attributes: Taken::Source,
            created: Taken::Source,
            written: Taken::Source,
            changed: Taken::Source,
            permission: Taken::Source,
            sets_archive: true,
        };
        let metadata = Some(vec![("own".to_owned(), "1".to_owned())]);
        world.copy_with("s", None, CopyFile { smb, metadata, ..copy_request("same") }).await.unwrap();
        let same = world.properties("same", false).await.unwrap();
        assert_eq!(same.smb.attributes, FileAttributes(0x23));
        let times = |smb: file::SmbProperties| (smb.created, smb.written, smb.changed, smb.permission);
        assert_eq!(times(same.smb), times(before.smb));
        assert_eq!(same.metadata, [("own".to_owned(), "1".to_owned())]);
        world.check_empties().await;
    });
}

#[test]
fn both_sides_decide_about_a_copy() {
    run(async {
        let world = World::new().await;
        world.create_directory("dir").await.unwrap();
        world.create_file("s", 3).await.unwrap();
        world.create_file("d", 1).await.unwrap();
        let refusal = async |from: &str, to: &str| world.copy(from, None, to).await.unwrap_err();
        assert!(
            matches!(refusal("none", "d").await, FileError::Source(it) if matches!(*it, FileError::ResourceNotFound))
        );
        assert!(matches!(refusal("dir", "d").await, FileError::Source(_)));
        assert!(matches!(refusal("s", "dir").await, FileError::ResourceTypeMismatch));
        assert!(matches!(refusal("s", "none/d").await, FileError::ParentNotFound));

        set(&world, "d", 0x01).await.unwrap();
        assert!(matches!(refusal("s", "d").await, FileError::Open(RestRefusal::ReadOnlyAttribute)));
        let request = CopyFile { ignores_read_only: true, ..copy_request("d") };
        world.copy_with("s", None, request).await.unwrap();

        world.lease("d").await.unwrap();
        let missing = refusal("s", "d").await;
        assert!(matches!(missing, FileError::Lease(About::File, LeaseCheckRefusal::IdMissing)), "{missing:?}");
        let lease_id = Some(LeaseId::from_u128(1));
        let preconditions = Preconditions { lease_id, ..Preconditions::default() };
        world.copy_with("s", None, CopyFile { preconditions, ..copy_request("d") }).await.unwrap();
        assert!(world.lease_id("d").await.is_some(), "the lease stays");
        // A leased source can be read by everybody.
        world.copy("d", None, "copy").await.unwrap();

        let mode = |access, share| OpenMode { access, share };
        let read = mode(Access::READ, ShareMode { write: false, ..ShareMode::ALL });
        let reader = world.open("copy", Disposition::Open, read, false).await.unwrap().handle;
        assert!(matches!(refusal("s", "copy").await, FileError::Open(RestRefusal::SharingViolation)));
        world.copy("copy", None, "other").await.unwrap();
        world.files.close(reader).await.unwrap();
        let alone = mode(Access::READ, ShareMode::NONE);
        let alone = world.open("copy", Disposition::Open, alone, false).await.unwrap().handle;
        let refused = refusal("copy", "other").await;
        assert!(
            matches!(refused, FileError::Source(it) if matches!(*it, FileError::Open(RestRefusal::SharingViolation)))
        );
        world.files.close(alone).await.unwrap();
    });
}

#[test]
fn a_copy_from_elsewhere_is_empty_until_it_has_ended() {
    run(async {
        let world = World::new().await;
        world.create_file("d", 4).await.unwrap();
        world.put_range("d", 0, b"old!").await.unwrap();
        let before = world.snapshot().await;
        let (copied, pending) = begin(&world, "d", 10).await.unwrap();
        assert_eq!((copied.status, pending.total), (CopyStatus::Pending, 10));
        piece(&world, &pending, 0, b"01234").await.unwrap();
        piece(&world, &pending, 0, b"01234").await.unwrap();
        assert_eq!(state(&world, "d").await, Some((CopyStatus::Pending, 5, 10)));
        assert_eq!(world.read("d", None).await.unwrap(), b"");
        let meanwhile = world.snapshot().await;
        world.audit().await;
        // After a restart it is found again, and goes on where it was.
        let again = World { files: file::Files::new(world.engine.store()), ..world.clone() };
        let found = again.files.pending_copies(&mut CopyCursor::default(), 10).await.unwrap();
        assert_eq!(found.iter().map(|copy| copy.copied).collect::<Vec<_>>(), [5]);
        piece(&again, &found[0], 5, b"56789").await.unwrap();
        again.files.finish_copy(&found[0]).await.unwrap();
        assert_eq!(state(&again, "d").await, Some((CopyStatus::Success, 10, 10)));
        assert_eq!(again.read("d", None).await.unwrap(), b"0123456789");
        assert_eq!(again.usage().await, 10);
        assert_eq!(again.read("d", Some(before)).await.unwrap(), b"old!");
        assert_eq!(again.read("d", Some(meanwhile)).await.unwrap(), b"");
        let found = again.properties("d", false).await.unwrap();
        assert_eq!(found.metadata, [("m".to_owned(), "source".to_owned())]);
        let over = again.files.finish_copy(&pending).await;
        assert!(matches!(over, Err(FileError::NoPendingCopyOperation)), "{over:?}");
        again.audit().await;
        again.check_empties().await;
    });
}

#[test]
fn what_is_copied_into_is_left_alone() {
    run(async {
        let world = World::new().await;
        world.create_file("s", 1).await.unwrap();
        let (_, pending) = begin(&world, "d", 3).await.unwrap();
        let metadata = SetMetadata {
            address: address("d", None),
            preconditions: Preconditions::default(),
            is_directory: false,
            metadata: Metadata::new(),
        };
        let read = OpenMode { access: Access::READ, share: ShareMode::ALL };
        let refusals = [
            ("create", world.create_file("d", 1).await.map(drop)),
            ("copy", world.copy("s", None, "d").await.map(drop)),
            ("copy from elsewhere", begin(&world, "d", 1).await.map(drop)),
            ("properties", set(&world, "d", 0x20).await),
            ("metadata", world.files.set_metadata(&asked(metadata)).await.map(drop)),
            ("length", world.resize("d", 1).await.map(drop)),
            ("lease", world.lease("d").await.map(drop)),
            ("rename", world.rename("d", "e", false).await.map(drop)),
            ("open", world.open("d", Disposition::Open, read, false).await.map(drop)),
            ("overwrite", world.open("d", Disposition::OverwriteIf, read, false).await.map(drop)),
        ];
        for (what, refused) in refusals {
            assert!(matches!(refused, Err(FileError::PendingCopyOperation)), "{what}: {refused:?}");
        }
        let source = world.copy("d", None, "e").await;
        assert!(matches!(source, Err(FileError::Source(it)) if matches!(*it, FileError::PendingCopyOperation)));
        piece(&world, &pending, 0, b"abc").await.unwrap();
        world.files.finish_copy(&pending).await.unwrap();
        assert_eq!(world.read("d", None).await.unwrap(), b"abc");
    });
}

#[test]
fn what_a_handle_writes_waits_for_the_end_of_a_copy_and_stands_in_nobodys_way() {
    run(async {
        let world = World::new().await;
        world.create_file("d", 1).await.unwrap();
        let write = OpenMode { access: Access::WRITE, share: ShareMode::ALL };
        let handle = world.open("d", Disposition::Open, write, false).await.unwrap().handle;
        world.files.write_at(&handle, 0, Bytes::from_static(b"before"), false).await.unwrap();
        let (_, pending) = begin(&world, "d", 4).await.unwrap();
        world.files.write_at(&handle, 2, Bytes::from_static(b"!"), false).await.unwrap();
        let refused = world.files.flush(&handle).await;
        assert!(matches!(refused, Err(FileError::PendingCopyOperation)), "{refused:?}");
        world.files.tend_opens().await.unwrap();
        world.snapshot().await;
        assert_eq!(state(&world, "d").await, Some((CopyStatus::Pending, 0, 4)));
        piece(&world, &pending, 0, b"copy").await.unwrap();
        world.files.finish_copy(&pending).await.unwrap();
        world.files.close(handle).await.unwrap();
        assert_eq!(world.read("d", None).await.unwrap(), b"co!y");
        // What is written and not flushed is copied too.
        let handle = world.open("d", Disposition::Open, write, false).await.unwrap().handle;
        world.files.write_at(&handle, 0, Bytes::from_static(b"new"), false).await.unwrap();
        world.copy("d", None, "copy").await.unwrap();
        assert_eq!(world.read("copy", None).await.unwrap(), b"newy");
        world.files.close(handle).await.unwrap();
        world.audit().await;
    });
}

#[test]
fn a_copy_ends_by_an_abort_a_failure_or_with_its_file() {
    run(async {
        let world = World::new().await;
        world.create_directory("dir").await.unwrap();
        world.create_file("dir/leased", 1).await.unwrap();
        world.lease("dir/leased").await.unwrap();
        let lease_id = Some(LeaseId::from_u128(1));
        let preconditions = Preconditions { lease_id, ..Preconditions::default() };
        let request = CopyFile { preconditions, ..copy_request("dir/leased") };
        let (copied, pending) = world.files.begin_pending_copy(&asked(request), &foreign(5)).await.unwrap();
        piece(&world, &pending, 0, b"ab").await.unwrap();
        let id = copied.copy_id.as_str();
        let missing = abort(&world, "dir/leased", id, None).await;
        assert!(matches!(missing, Err(FileError::Lease(About::File, LeaseCheckRefusal::IdMissing))), "{missing:?}");
        let other = abort(&world, "dir/leased", "other", lease_id).await;
        assert!(matches!(other, Err(FileError::CopyIdMismatch)), "{other:?}");
        abort(&world, "dir/leased", id, lease_id).await.unwrap();
        assert_eq!(state(&world, "dir/leased").await, Some((CopyStatus::Aborted, 2, 5)));
        assert_eq!(world.read("dir/leased", None).await.unwrap(), b"");
        let over = abort(&world, "dir/leased", id, lease_id).await;
        assert!(matches!(over, Err(FileError::NoPendingCopyOperation)), "{over:?}");
        let late = piece(&world, &pending, 2, b"cde").await;
        assert!(matches!(late, Err(FileError::NoPendingCopyOperation)), "{late:?}");

        let (_, failing) = begin(&world, "failing", 5).await.unwrap();
        piece(&world, &failing, 0, b"ab").await.unwrap();
        world.files.fail_copy(&failing, "404").await.unwrap();
        let copy = world.properties("failing", false).await.unwrap().file.unwrap().copy.unwrap();
        assert_eq!((copy.status, copy.description.as_deref()), (CopyStatus::Failed, Some("404")));

        let (_, deleted) = begin(&world, "deleted", 5).await.unwrap();
        piece(&world, &deleted, 0, b"ab").await.unwrap();
        world.delete("deleted").await.unwrap();
        let late = piece(&world, &deleted, 2, b"cde").await;
        assert!(matches!(late, Err(FileError::NoPendingCopyOperation)), "{late:?}");
        world.audit().await;

        // Moved with its directory, it goes on; with its share it goes.
        let (_, moved) = begin(&world, "dir/moved", 2).await.unwrap();
        world.rename("dir", "elsewhere", true).await.unwrap();
        piece(&world, &moved, 0, b"ab").await.unwrap();
        world.files.finish_copy(&moved).await.unwrap();
        assert_eq!(world.read("elsewhere/moved", None).await.unwrap(), b"ab");
        let (_, swept) = begin(&world, "swept", 5).await.unwrap();
        piece(&world, &swept, 0, b"ab").await.unwrap();
        world.check_empties().await;
    });
}

#[test]
fn a_share_holds_what_copies_bring_and_no_more() {
    run(async {
        let world = World::new().await;
        let change = ShareSettingsChange { quota_gib: Some(1), ..ShareSettingsChange::default() };
        let preconditions = SharePreconditions::default();
        let set = SetShareProperties { share: share_address(None), preconditions, change };
        world.files.set_share_properties(&asked(set)).await.unwrap();
        let large = (1 << 30) + 1;
        let refused = begin(&world, "d", large).await;
        assert!(matches!(refused, Err(FileError::ShareSizeLimitReached)), "{refused:?}");
        // A source that has only a few bytes is copied, however long it is.
        world.create_file("s", large).await.unwrap();
        world.put_range("s", large - 1, b"x").await.unwrap();
        world.copy("s", None, "d").await.unwrap();
        assert_eq!(world.usage().await, 2);
    });
}

/// More parts than are copied in one transaction.
async fn fragmented(world: &World) -> Vec<u8> {
    let parts = 16 * 1024 + 1;
    world.create_file("s", 2 * parts).await.unwrap();
    for part in 0..parts {
        world.put_range("s", 2 * part, &[b'a' + u8::try_from(part % 26).unwrap()]).await.unwrap();
    }
    world.read("s", None).await.unwrap()
}

#[test]
fn a_map_of_very_many_parts_is_copied_in_the_background() {
    run(async {
        let world = World::new().await;
        let expected = fragmented(&world).await;
        let copied = world.copy("s", None, "d").await.unwrap();
        assert_eq!(copied.status, CopyStatus::Pending);
        world.audit().await;
        assert!(world.copy_step().await);
        let (status, copied, total) = state(&world, "d").await.unwrap();
        assert!(status == CopyStatus::Pending && copied > 0 && copied < total, "{copied} of {total}");
        assert_eq!(world.read("d", None).await.unwrap(), b"");
        // Whatever happens to the source, the copy is of what it was.
        world.put_range("s", 0, b"XXXX").await.unwrap();
        let end = u64::try_from(expected.len()).unwrap();
        world.put_range("s", end - 4, b"XXXX").await.unwrap();
        world.sweep().await;
        assert!(world.copy_step().await);
        world.delete("s").await.unwrap();
        world.sweep().await;
        while world.copy_step().await {}
        assert_eq!(state(&world, "d").await, Some((CopyStatus::Success, end, end)));
        assert!(world.read("d", None).await.unwrap() == expected);
        assert_eq!(world.usage().await, end / 2);
        world.audit().await;

        // Onto itself, of a snapshot, and given up: what is needed stays, and nothing else does.
        let snapshot = world.snapshot().await;
        assert_eq!(world.copy("d", None, "d").await.unwrap().status, CopyStatus::Pending);
        world.sweep().await;
        assert_eq!(world.copy("d", Some(snapshot), "e").await.unwrap().status, CopyStatus::Pending);
        assert_eq!(world.copy("d", Some(snapshot), "given-up").await.unwrap().status, CopyStatus::Pending);
        world.delete_snapshot(snapshot).await;
        world.sweep().await;
        assert!(world.copy_step().await);
        abort(&world, "given-up", "copy-into-given-up", None).await.unwrap();
        world.sweep().await;
        while world.copy_step().await {}
        assert!(world.read("d", None).await.unwrap() == expected);
        assert!(world.read("e", None).await.unwrap() == expected);
        world.sweep().await;
        world.audit().await;
        world.copy("d", None, "swept").await.unwrap();
        assert!(world.copy_step().await);
        world.check_empties().await;
    });
}
