//! Reading, writing, listing and renaming through handles, as SMB does it, beside REST on the same files.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use concurrency::{
    range_lock::{ByteRange, LockKind},
    share_mode::{Access, OpenMode, ShareMode},
};
use file::{
    FileAttributes, SmbChange, TimeChange,
    handle_rename::MoveOpen,
    open::{Disposition, Opened},
    opens::{IoRefusal, Locking, NotMoved},
};
use proptest::prelude::*;
use support::*;
use types::FileTime;

const EVERYTHING: OpenMode = OpenMode { access: Access::ALL, share: ShareMode::ALL };

async fn opened(world: &World, path: &str) -> Opened {
    world.open(path, Disposition::OpenIf, EVERYTHING, false).await.unwrap()
}

async fn write(world: &World, opened: &Opened, offset: u64, bytes: &[u8]) {
    world.files.write_at(&opened.handle, offset, Bytes::copy_from_slice(bytes), false).await.unwrap();
}

fn move_to(path: &str, replaces: bool) -> access::Asked<MoveOpen> {
    asked(MoveOpen { destination: address(path, None), replaces })
}

#[test]
fn what_is_written_through_a_handle_is_seen_by_everybody_before_it_is_flushed() {
    run(async {
        let world = World::new().await;
        let (first, second) = (opened(&world, "a").await, opened(&world, "a").await);
        write(&world, &first, 2, b"cd").await;
        write(&world, &second, 0, b"ab").await;
        assert_eq!(&world.files.read_at(&second.handle, 0, 9).await.unwrap()[..], b"abcd");
        assert_eq!(&world.files.read_at(&first.handle, 1, 2).await.unwrap()[..], b"bc");
        assert_eq!(world.files.open_properties(&second.handle).await.unwrap().file.unwrap().length, 4);
        let listed = world.list("", None).await.unwrap();
        assert_eq!(listed.entries[0].properties.file.as_ref().unwrap().length, 4, "in a listing too");
        assert_eq!(world.read("a", None).await.unwrap(), b"abcd");
        write(&world, &first, 4, b"e").await;
        assert_eq!(world.properties("a", false).await.unwrap().file.unwrap().length, 5);
        write(&world, &first, 5, b"f").await;
        assert_eq!(world.ranges("a", None).await.unwrap(), [(0, 6)]);
        write(&world, &first, 5, b"g").await;
        world.put_range("a", 5, b"h").await.unwrap();
        assert_eq!(&world.files.read_at(&first.handle, 0, 9).await.unwrap()[..], b"abcdeh", "the last writer wins");
    });
}

#[test]
fn a_snapshot_has_what_was_written_and_not_what_is_written_later() {
    run(async {
        let world = World::new().await;
        let open = opened(&world, "a").await;
        write(&world, &open, 0, b"old").await;
        let snapshot = world.snapshot().await;
        write(&world, &open, 0, b"new").await;
        world.files.flush(&open.handle).await.unwrap();
        assert_eq!(world.read("a", Some(snapshot)).await.unwrap(), b"old");
        assert_eq!(world.read("a", None).await.unwrap(), b"new");
    });
}

#[test]
fn a_close_stores_what_was_written_and_a_lost_handle_is_flushed_later() {
    run(async {
        let (world, time) = World::timed().await;
        let open = opened(&world, "a").await;
        write(&world, &open, 0, b"closed").await;
        world.files.close(open.handle).await.unwrap();
        let open = opened(&world, "a").await;
        assert_eq!(&world.files.read_at(&open.handle, 0, 9).await.unwrap()[..], b"closed");
        write(&world, &open, 0, b"lost").await;
        drop(open);
        time.advance(Duration::from_secs(2));
        world.files.tend_opens().await.unwrap();
        assert_eq!(world.usage().await, 6);
        assert_eq!(world.read("a", None).await.unwrap(), b"losted");
    });
}

#[test]
fn writing_sets_the_archive_attribute_and_the_times() {
    run(async {
        let (world, time) = World::timed().await;
        let open = opened(&world, "a").await;
        let plain = SmbChange { attributes: Some(FileAttributes::NORMAL), ..SmbChange::default() };
        let before = world.files.set_open_properties(&open.handle, &plain).await.unwrap();
        assert_eq!(before.smb.attributes, FileAttributes::NORMAL);
        time.advance(Duration::from_secs(5));
        write(&world, &open, 0, b"x").await;
        world.files.flush(&open.handle).await.unwrap();
        let after = world.files.open_properties(&open.handle).await.unwrap();
        assert_eq!(after.smb.attributes, FileAttributes::ARCHIVE);
        assert!(after.smb.written > before.smb.written && after.etag != before.etag);
    });
}

#[test]
fn the_time_of_the_last_read_can_be_set() {
    run(async {
        let world = World::new().await;
        let open = opened(&world, "a").await;
        let then = FileTime::of(Timestamp::from_seconds(1_000_000_000));
        let change = SmbChange { accessed: Some(TimeChange::At(then)), ..SmbChange::default() };
        world.files.set_open_properties(&open.handle, &change).await.unwrap();
        assert_eq!(world.files.open_properties(&open.handle).await.unwrap().smb.accessed, then);
    });
}

#[test]
fn a_handle_keeps_the_time_of_the_last_write_that_was_set_through_it() {
    run(async {
        let world = World::new().await;
        let (setter, other) = (opened(&world, "a").await, opened(&world, "a").await);
        write(&world, &setter, 0, b"before").await;
        // 1969: a time that a client has from elsewhere.
        let then = FileTime::from_filetime(116_444_000_000_000_000).unwrap();
        let change = SmbChange { written: Some(TimeChange::At(then)), ..SmbChange::default() };
        world.files.set_open_properties(&setter.handle, &change).await.unwrap();
        setter.handle.keep_write_time(true);
        write(&world, &setter, 6, b" and behind").await;
        world.files.set_open_length(&setter.handle, 30).await.unwrap();
        write(&world, &setter, 0, b"B").await;
        assert_eq!(world.files.open_properties(&other.handle).await.unwrap().smb.written, then, "not flushed");
        world.files.close(setter.handle).await.unwrap();
        assert_eq!(world.properties("a", false).await.unwrap().smb.written, then);
        write(&world, &other, 0, b"b").await;
        assert!(world.files.open_properties(&other.handle).await.unwrap().smb.written > then);
        world.files.close(other.handle).await.unwrap();
        assert!(world.properties("a", false).await.unwrap().smb.written > then);
    });
}

#[test]
fn a_file_that_is_open_can_be_renamed_and_written() {
    run(async {
        let world = World::new().await;
        world.create_directory("there").await.unwrap();
        world.create_file("there/taken", 1).await.unwrap();
        let open = opened(&world, "a").await;
        write(&world, &open, 0, b"before").await;
        world.files.rename_open(&open.handle, &move_to("there/b", false)).await.unwrap();
        assert_eq!(open.handle.path(), "there/b");
        write(&world, &open, 6, b" after").await;
        assert_eq!(world.read("there/b", None).await.unwrap(), b"before after");
        let taken = world.files.rename_open(&open.handle, &move_to("there/taken", false)).await;
        assert!(matches!(taken, Err(FileError::ResourceAlreadyExists)), "{taken:?}");
        world.files.rename_open(&open.handle, &move_to("there/TAKEN", true)).await.unwrap();
        assert_eq!(world.names("there", None).await, ["TAKEN"]);
        // Only its case.
        world.files.rename_open(&open.handle, &move_to("there/Taken", false)).await.unwrap();
        assert_eq!(world.names("there", None).await, ["Taken"]);
        let directory = opened(&world, "there").await;
        let below = world.files.rename_open(&directory.handle, &move_to("elsewhere", false)).await;
        assert!(matches!(below, Err(FileError::NotMoved(NotMoved::OpenBelow))), "{below:?}");
        world.files.close(open.handle).await.unwrap();
        let itself = world.files.rename_open(&directory.handle, &move_to("there/below", false)).await;
        assert!(matches!(itself, Err(FileError::MoveBelowItself)), "{itself:?}");
        world.files.rename_open(&directory.handle, &move_to("elsewhere", false)).await.unwrap();
        assert_eq!(world.read("elsewhere/taken", None).await.unwrap(), b"before after");
    });
}

#[test]
fn a_directory_is_listed_page_by_page() {
    run(async {
        let world = World::new().await;
        for name in ["a", "b", "c", "d", "e"] {
            world.create_file(name, 0).await.unwrap();
        }
        let root = opened(&world, "").await;
        let (mut names, mut marker) = (Vec::new(), None);
        loop {
            let page = world.files.list_open(&root.handle, "", marker.as_deref(), 2).await.unwrap();
            names.extend(page.entries.into_iter().map(|entry| entry.name));
            marker = page.next;
            if marker.is_none() {
                break;
            }
        }
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
    });
}

#[test]
fn a_lock_of_another_handle_refuses_reads_and_writes() {
    run(async {
        let world = World::new().await;
        let (first, second) = (opened(&world, "a").await, opened(&world, "a").await);
        write(&world, &first, 0, b"abcd").await;
        let range = ByteRange::new(1, 2).unwrap();
        let locked = first.handle.lock(&[(range, LockKind::Exclusive)], false, world.files.now()).unwrap();
        assert!(matches!(locked, Locking::Locked));
        let read = world.files.read_at(&second.handle, 0, 4).await;
        assert!(matches!(read, Err(FileError::NotDone(IoRefusal::Locked(_)))), "{read:?}");
        let written = world.files.write_at(&second.handle, 2, Bytes::from_static(b"x"), false).await;
        assert!(matches!(written, Err(FileError::NotDone(IoRefusal::Locked(_)))), "{written:?}");
        assert_eq!(&world.files.read_at(&second.handle, 3, 1).await.unwrap()[..], b"d");
        write(&world, &first, 1, b"BC").await;
    });
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Read(u64, usize),
    Put(u64, u8),
    Resize(u64),
    Flush,
    Tend,
    Rest,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..200, prop::collection::vec(any::<u8>(), 1..60)).prop_map(|(at, bytes)| Step::Write(at, bytes)),
        4 => (0_u64..250, 1_usize..120).prop_map(|(at, length)| Step::Read(at, length)),
        1 => (0_u64..200, any::<u8>()).prop_map(|(at, byte)| Step::Put(at, byte)),
        1 => (0_u64..220).prop_map(Step::Resize),
        1 => Just(Step::Flush),
        1 => Just(Step::Tend),
        2 => Just(Step::Rest),
    ]
}

proptest! {
    #[test]
    fn handles_and_rest_see_one_file(steps in prop::collection::vec(step(), 1..40)) {
        run(async {
            let (world, time) = World::timed().await;
            let handles = [opened(&world, "a").await, opened(&world, "a").await];
            let mut plain: Vec<u8> = Vec::new();
            for (turn, step) in steps.into_iter().enumerate() {
                let handle = &handles[turn % 2].handle;
                let place = |at: u64| usize::try_from(at).unwrap();
                match step {
                    Step::Write(at, bytes) => {
                        let end = place(at) + bytes.len();
                        plain.resize(plain.len().max(end), 0);
                        plain[place(at)..end].copy_from_slice(&bytes);
                        world.files.write_at(handle, at, bytes.into(), turn % 3 == 0).await.unwrap();
                    }
                    Step::Read(at, length) => {
                        let end = (place(at) + length).min(plain.len());
                        let expected = plain.get(place(at)..end).unwrap_or_default();
                        prop_assert_eq!(&world.files.read_at(handle, at, length).await.unwrap()[..], expected);
                    }
                    Step::Put(at, byte) if place(at) < plain.len() => {
                        plain[place(at)] = byte;
                        world.put_range("a", at, &[byte]).await.unwrap();
                    }
                    Step::Put(..) => {}
                    Step::Resize(length) => {
                        plain.resize(place(length), 0);
                        world.files.set_open_length(handle, length).await.unwrap();
                    }
                    Step::Flush => world.files.flush(handle).await.unwrap(),
                    Step::Tend => {
                        time.advance(Duration::from_secs(1));
                        world.files.tend_opens().await.unwrap();
                    }
                    Step::Rest => prop_assert_eq!(&world.read("a", None).await.unwrap(), &plain),
                }
                let length = world.files.open_properties(handle).await.unwrap().file.unwrap().length;
                prop_assert_eq!(place(length), plain.len());
            }
            Ok(())
        })?;
    }
}
