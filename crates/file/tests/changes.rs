//! What the change feed tells of operations of either protocol, beside the operations themselves.

#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use concurrency::share_mode::{Access, OpenMode, ShareMode};
use file::{
    FileAttributes, PermissionChange, Preconditions, SecurityDescriptor, SmbChange, TimeChange,
    changes::{ChangeAction, ChangeKinds, Feed, Seen, Told, Watch, WatchEnd, Watcher},
    copy::ForeignSource,
    create::CreateFile,
    handle_rename::MoveOpen,
    open::{Disposition, Opened},
    opens::FileKey,
    properties::{SetMetadata, SetProperties},
    rename::Rename,
};
use support::*;
use types::{HttpHeaders, Metadata};

const EVERYTHING: OpenMode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
const LOOKING: OpenMode = OpenMode { access: Access::READ, share: ShareMode::ALL };
const ALL: ChangeKinds = ChangeKinds(u32::MAX);

use ChangeAction::{Added, Modified, Removed, RenamedFrom, RenamedTo};

async fn opened(world: &World, path: &str) -> Opened {
    world.open(path, Disposition::OpenIf, EVERYTHING, false).await.unwrap()
}

async fn key(world: &World, directory: &str) -> FileKey {
    world.open(directory, Disposition::Open, LOOKING, false).await.unwrap().handle.file()
}

async fn watch(world: &World, directory: &str, tree: bool, kinds: ChangeKinds) -> Watcher {
    let directory = key(world, directory).await;
    world.files.watch(Watch { directory, tree, kinds, limit: 64 * 1024, owner: 1 }).unwrap()
}

fn told(watcher: &Watcher) -> Vec<(ChangeAction, String)> {
    match watcher.next().unwrap().take() {
        None => Vec::new(),
        Some(Told::Changes(all)) => all.into_iter().map(|Seen { action, path }| (action, path.into())).collect(),
        Some(other) => panic!("{other:?}"),
    }
}

fn expect(watcher: &Watcher, expected: &[(ChangeAction, &str)], what: &str) {
    let expected: Vec<_> = expected.iter().map(|(action, path)| (*action, (*path).to_owned())).collect();
    assert_eq!(told(watcher), expected, "{what}");
}

fn properties(path: &str, is_directory: bool, smb: SmbChange, length: Option<u64>) -> SetProperties<'static> {
    let (address, preconditions) = (address(path, None), Preconditions::default());
    SetProperties { address, preconditions, is_directory, smb, headers: Some(HttpHeaders::default()), length }
}

#[test]
fn operations_of_rest_are_told() {
    run(async {
        let world = World::new().await;
        world.create_directory("d").await.unwrap();
        let (root, d) = (watch(&world, "", true, ALL).await, watch(&world, "d", false, ALL).await);
        world.create_directory("d/e").await.unwrap();
        expect(&d, &[(Added, "e")], "Create Directory");
        expect(&root, &[(Added, "d/e")], "from the topmost");
        world.create_file("d/f", 10).await.unwrap();
        expect(&d, &[(Added, "f")], "Create File");
        world.create_file("d/F", 12).await.unwrap();
        expect(&d, &[(Modified, "F")], "Create File in its place");
        world.put_range("d/f", 0, b"abc").await.unwrap();
        expect(&d, &[(Modified, "F")], "Put Range, with the name that it has");
        world.clear_range("d/F", 0, 3).await.unwrap();
        expect(&d, &[(Modified, "F")], "a clear");
        world.resize("d/F", 5).await.unwrap();
        expect(&d, &[(Modified, "F")], "another length");
        world.copy("d/F", None, "d/copy").await.unwrap();
        expect(&d, &[(Added, "copy")], "Copy File");
        world.copy("d/F", None, "d/copy").await.unwrap();
        expect(&d, &[(Modified, "copy")], "a copy in its place");
        world.rename("d/copy", "d/moved", false).await.unwrap();
        expect(&d, &[(RenamedFrom, "copy"), (RenamedTo, "moved")], "Rename File");
        drop(told(&root));
        world.rename("d/moved", "d/e/moved", false).await.unwrap();
        expect(&d, &[(Removed, "moved")], "to another directory");
        expect(&root, &[(Removed, "d/moved"), (Added, "d/e/moved")], "seen from above");
        world.rename("d/e", "d/g", true).await.unwrap();
        expect(&d, &[(RenamedFrom, "e"), (RenamedTo, "g")], "Rename Directory");
        drop(told(&root));
        world.delete("d/g/moved").await.unwrap();
        expect(&root, &[(Removed, "d/g/moved")], "below a directory that was renamed");
        world.delete("d/F").await.unwrap();
        world.delete_directory("d/g").await.unwrap();
        expect(&d, &[(Removed, "F"), (Removed, "g")], "deletes");
        drop((root, d));
        assert_eq!(world.files.feed(), Feed::default());
    });
}

#[test]
fn a_rename_over_a_file_tells_that_it_is_gone() {
    run(async {
        let world = World::new().await;
        world.create_file("a", 1).await.unwrap();
        world.create_file("b", 1).await.unwrap();
        let watcher = watch(&world, "", false, ALL).await;
        let rename = Rename {
            source: address("a", None),
            destination: address("b", None),
            is_directory: false,
            replaces: true,
            ignores_read_only: false,
            source_lease: None,
            destination_lease: None,
            smb: SmbChange::default(),
            metadata: None,
            content_type: None,
        };
        let source = asked(properties("a", false, SmbChange::default(), None));
        world.files.rename(&asked(rename), &source).await.unwrap();
        expect(&watcher, &[(Removed, "b"), (RenamedFrom, "a"), (RenamedTo, "b")], "REST");
        world.create_file("a", 1).await.unwrap();
        let open = opened(&world, "a").await;
        drop(told(&watcher));
        let to = asked(MoveOpen { destination: address("b", None), replaces: true });
        world.files.rename_open(&open.handle, &to).await.unwrap();
        expect(&watcher, &[(Removed, "b"), (RenamedFrom, "a"), (RenamedTo, "b")], "SMB");
    });
}

#[test]
fn each_property_is_told_to_those_who_ask_for_it() {
    run(async {
        let world = World::new().await;
        world.create_file("f", 10).await.unwrap();
        let (said, none) = (Some(TimeChange::At(Timestamp::from_seconds(9).into())), SmbChange::default());
        let descriptor = SecurityDescriptor::from_sddl("O:BAG:BAD:(A;;FA;;;BA)").unwrap();
        let permission = Some(PermissionChange::Descriptor(descriptor));
        let attributes = Some(FileAttributes::READ_ONLY);
        let unset = SmbChange { attributes: Some(FileAttributes::ARCHIVE), ..none.clone() };
        let length = ChangeKinds::SIZE.and(ChangeKinds::LAST_WRITE);
        let kept =
            SmbChange { written: Some(TimeChange::Preserve), created: Some(TimeChange::Preserve), ..none.clone() };
        let table = [
            (SmbChange { attributes, ..none.clone() }, None, ChangeKinds::ATTRIBUTES),
            (unset, None, ChangeKinds::ATTRIBUTES),
            (SmbChange { created: said, ..none.clone() }, None, ChangeKinds::CREATION),
            (SmbChange { written: said, ..none.clone() }, None, ChangeKinds::LAST_WRITE),
            (SmbChange { accessed: said, ..none.clone() }, None, ChangeKinds::LAST_ACCESS),
            (SmbChange { permission, ..none.clone() }, None, ChangeKinds::SECURITY),
            (SmbChange { changed: said, ..none.clone() }, None, ChangeKinds(0)),
            (kept, None, ChangeKinds(0)),
            (none.clone(), None, ChangeKinds(0)),
            (none, Some(5), length),
        ];
        for (change, length, kinds) in table {
            let what = format!("{change:?} {length:?}");
            let (wanted, others) = (watch(&world, "", false, kinds).await, ChangeKinds(!kinds.0));
            let others = watch(&world, "", false, others).await;
            let once: &[_] = if kinds == ChangeKinds(0) { &[] } else { &[(Modified, "f")] };
            if length.is_none() {
                let open = world.open("f", Disposition::Open, LOOKING, false).await.unwrap();
                world.files.set_open_properties(&open.handle, &change).await.unwrap();
                expect(&wanted, once, &format!("through a handle: {what}"));
            }
            world.files.set_properties(&asked(properties("f", false, change, length))).await.unwrap();
            expect(&wanted, once, &format!("REST: {what}"));
            expect(&others, &[], &what);
        }
        let all = watch(&world, "", false, ALL).await;
        let set = SetMetadata {
            address: address("f", None),
            preconditions: Preconditions::default(),
            is_directory: false,
            metadata: Metadata::new(),
        };
        world.files.set_metadata(&asked(set)).await.unwrap();
        world.lease("f").await.unwrap();
        expect(&all, &[], "what SMB does not know of");
    });
}

#[test]
fn what_is_done_through_handles_is_told() {
    run(async {
        let world = World::new().await;
        world.create_directory("d").await.unwrap();
        let (root, d) = (watch(&world, "", true, ALL).await, watch(&world, "d", false, ALL).await);
        let open = opened(&world, "d/a").await;
        expect(&d, &[(Added, "a")], "an open that makes it");
        drop(opened(&world, "d/a").await);
        expect(&d, &[], "an open of what is there");
        world.files.write_at(&open.handle, 0, Bytes::from_static(b"abc"), false).await.unwrap();
        expect(&d, &[(Modified, "a")], "a write, before it is flushed");
        world.files.flush(&open.handle).await.unwrap();
        expect(&d, &[], "a flush");
        world.files.set_open_length(&open.handle, 1).await.unwrap();
        expect(&d, &[(Modified, "a")], "another length");
        world.files.set_open_length(&open.handle, 1).await.unwrap();
        expect(&d, &[], "the same length");
        drop(told(&root));
        let to = asked(MoveOpen { destination: address("b", None), replaces: false });
        world.files.rename_open(&open.handle, &to).await.unwrap();
        expect(&d, &[(Removed, "a")], "a rename away");
        expect(&root, &[(Removed, "d/a"), (Added, "b")], "a rename seen from above");
        world.files.write_at(&open.handle, 0, Bytes::from_static(b"abc"), false).await.unwrap();
        expect(&root, &[(Modified, "b")], "a write by the new name");
        world.files.close(open.handle).await.unwrap();
        drop(world.open("b", Disposition::Overwrite, EVERYTHING, false).await.unwrap());
        expect(&root, &[(Modified, "b")], "an open that empties it");
        let doomed = world.open("b", Disposition::Open, EVERYTHING, true).await.unwrap();
        expect(&root, &[], "to be deleted on close");
        world.files.close(doomed.handle).await.unwrap();
        expect(&root, &[(Removed, "b")], "deleted on close");
        let (first, second) = (opened(&world, "c").await, opened(&world, "c").await);
        drop(told(&root));
        world.files.set_disposition(&first.handle, true).await.unwrap();
        world.files.close(first.handle).await.unwrap();
        expect(&root, &[], "marked, and open elsewhere");
        drop(second);
        world.files.tend_opens().await.unwrap();
        expect(&root, &[(Removed, "c")], "a handle that was lost");
    });
}

#[test]
fn what_is_refused_tells_nothing() {
    run(async {
        let world = World::new().await;
        world.create_directory("d").await.unwrap();
        world.create_file("d/f", 10).await.unwrap();
        let root = watch(&world, "", true, ALL).await;
        let _held =
            world.open("d/f", Disposition::Open, OpenMode { share: ShareMode::NONE, ..EVERYTHING }, false).await;
        world.create_directory("d").await.unwrap_err();
        world.create_directory("no/where").await.unwrap_err();
        world.create_file("d/f", 1).await.unwrap_err();
        world.put_range("d/f", 0, b"abc").await.unwrap_err();
        world.resize("d/f", 1).await.unwrap_err();
        world.rename("d/f", "d/g", false).await.unwrap_err();
        world.delete("d/f").await.unwrap_err();
        world.delete_directory("d").await.unwrap_err();
        world.copy("d/f", None, "d/g").await.unwrap_err();
        world.open("d/f", Disposition::Create, EVERYTHING, false).await.unwrap_err();
        world.open("d/f", Disposition::Overwrite, EVERYTHING, false).await.unwrap_err();
        expect(&root, &[], "nothing");
        assert_eq!(world.files.feed().under_way, 0);
    });
}

#[test]
fn who_waits_is_told_when_the_directory_or_its_share_goes() {
    run(async {
        let world = World::new().await;
        world.create_directory("d").await.unwrap();
        for how in ["disposition", "delete on close"] {
            let watched = opened(&world, "d").await;
            let watcher = watch(&world, "d", false, ALL).await;
            let mut waiting = watcher.next().unwrap();
            world.files.check_watched(watched.handle.file()).await.unwrap();
            let by = world.open("d", Disposition::Open, EVERYTHING, how == "delete on close").await.unwrap();
            if how == "disposition" {
                world.files.set_disposition(&by.handle, true).await.unwrap();
            } else {
                assert_eq!(waiting.take(), None, "nothing is decided before that handle closes");
                world.files.close(by.handle).await.unwrap();
            }
            assert_eq!(waiting.take(), Some(Told::Ended(WatchEnd::Deleted)), "{how}");
            world.files.check_watched(watched.handle.file()).await.unwrap_err();
            world.files.set_disposition(&watched.handle, false).await.unwrap();
            world.files.check_watched(watched.handle.file()).await.unwrap();
        }
        let (root, directory) = (watch(&world, "", true, ALL).await, key(&world, "").await);
        let mut waiting = root.next().unwrap();
        world.check_empties().await;
        assert_eq!(waiting.take(), Some(Told::Ended(WatchEnd::Deleted)));
        world.files.check_watched(directory).await.unwrap_err();
    });
}

#[test]
fn a_copy_that_ends_in_the_background_makes_watchers_look() {
    run(async {
        let world = World::new().await;
        world.create_directory("d").await.unwrap();
        let (root, d) = (watch(&world, "", true, ALL).await, watch(&world, "d", false, ALL).await);
        let apart = watch(&world, "", false, ALL).await;
        let source = ForeignSource { url: "http://elsewhere".to_owned(), length: 3, ..ForeignSource::default() };
        let (_, pending) = world.files.begin_pending_copy(&asked(copy_request("d/copy")), &source).await.unwrap();
        expect(&d, &[(Added, "copy")], "it is there, empty");
        drop(told(&root));
        let mut writer = world.files.copied_piece(&pending, 3).unwrap();
        writer.write(Bytes::from_static(b"abc")).await.unwrap();
        let piece = writer.finish().await.unwrap();
        world.files.append_copied(&pending, 0, &piece).await.unwrap();
        expect(&d, &[], "nothing is seen of it yet");
        world.files.finish_copy(&pending).await.unwrap();
        assert_eq!(d.next().unwrap().take(), Some(Told::Enumerate));
        assert_eq!(root.next().unwrap().take(), Some(Told::Enumerate));
        expect(&apart, &[], "it is not in the directory");
    });
}

/// Two threads make and remove one file as fast as they can: as it is told, it is never made twice nor removed twice.
#[test]
fn what_is_told_of_one_name_makes_sense_however_many_change_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    runtime.block_on(async {
        let world = World::new().await;
        let watcher = watch(&world, "", false, ChangeKinds::FILE_NAME).await;
        let over = Arc::new(AtomicBool::new(false));
        let worker = |makes: bool| {
            let (world, over) = (world.clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let mut done = 0;
                while !over.load(Ordering::Relaxed) {
                    let outcome = if makes {
                        let create = CreateFile {
                            address: address("a", None),
                            preconditions: Preconditions::default(),
                            metadata: Metadata::new(),
                            smb: SmbChange::default(),
                            headers: HttpHeaders::default(),
                            length: 0,
                        };
                        world.files.create_file(&asked(create), None).await.map(|_| ())
                    } else {
                        world.delete("a").await
                    };
                    done += usize::from(outcome.is_ok());
                    tokio::task::yield_now().await;
                }
                done
            })
        };
        let workers = [worker(true), worker(false), worker(true), worker(false)];
        let (mut is_there, mut changes) = (false, 0);
        while changes < 2000 {
            let mut next = watcher.next().unwrap();
            (&mut next).await;
            match next.take().unwrap() {
                Told::Changes(all) => {
                    for Seen { action, .. } in all {
                        assert_eq!(action, if is_there { Removed } else { Added }, "behind {changes} changes");
                        is_there = !is_there;
                        changes += 1;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        over.store(true, Ordering::Relaxed);
        for worker in workers {
            assert!(worker.await.unwrap() > 0);
        }
        assert_eq!(world.files.feed().under_way, 0);
    });
}
