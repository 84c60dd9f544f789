//! The promises of the mission about files, with opens made through the library as SMB makes them.

#![expect(clippy::disallowed_methods, reason = "two that run side by side")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use concurrency::{
    rest_open::RestRefusal,
    share_mode::{Access, OpenMode, ShareMode},
};
use file::open::Disposition;
use support::*;

fn is_violation<T: std::fmt::Debug>(outcome: &Result<T, FileError>) -> bool {
    matches!(outcome, Err(FileError::Open(RestRefusal::SharingViolation)))
}

fn is_pending<T: std::fmt::Debug>(outcome: &Result<T, FileError>) -> bool {
    matches!(outcome, Err(FileError::Open(RestRefusal::DeletePending)))
}

#[test]
fn the_last_writer_wins() {
    run(async {
        let world = World::new().await;
        let first = world.create_file("a", 4).await.unwrap();
        let second = world.put_range("a", 0, b"aaaa").await.unwrap();
        let third = world.put_range("a", 0, b"bbbb").await.unwrap();
        assert!(first.etag != second.written.etag && second.written.etag != third.written.etag);
        assert_eq!(world.read("a", None).await.unwrap(), b"bbbb");
    });
}

/// Which of Create, Get, Set Properties, Delete, Put Range, List Ranges and Lease are refused, by what the handle shares.
#[test]
fn a_handle_refuses_what_it_does_not_share() {
    // In the order above, from the documentation's table.
    let table = [
        ("", "CGSDPRL"),
        ("r", "CSDPL"),
        ("w", "CGDRL"),
        ("d", "CGSDPRL"),
        ("rw", "CDL"),
        ("rd", "CSDPL"),
        ("wd", "GDRL"),
        ("rwd", "D"),
    ];
    run(async {
        for (shares, refused) in table {
            let world = World::new().await;
            world.create_file("a", 4).await.unwrap();
            let has = |letter| shares.contains(letter);
            let share = ShareMode { read: has('r'), write: has('w'), delete: has('d') };
            let mode = OpenMode { access: Access::READ, share };
            let opened = world.open("a", Disposition::Open, mode, false).await.unwrap();
            let outcomes = [
                ('G', is_violation(&world.read("a", None).await)),
                ('R', is_violation(&world.ranges("a", None).await)),
                ('P', is_violation(&world.put_range("a", 0, b"x").await)),
                ('S', is_violation(&world.resize("a", 4).await)),
                ('L', is_violation(&world.lease("a").await)),
                ('C', is_violation(&world.create_file("a", 4).await)),
                ('D', is_violation(&world.delete("a").await)),
            ];
            for (operation, violation) in outcomes {
                assert_eq!(violation, refused.contains(operation), "shares {shares:?}, {operation}");
            }
            assert!(world.properties("a", false).await.is_ok(), "properties are for everybody");
            world.files.close(opened.handle).await.unwrap();
            if world.lease_id("a").await.is_none() {
                world.delete("a").await.unwrap();
            }
        }
    });
}

#[test]
fn a_file_that_is_marked_is_pending_until_its_last_handle_closes() {
    run(async {
        let world = World::new().await;
        world.create_file("dir-less", 1).await.unwrap();
        world.create_file("a", 4).await.unwrap();
        let mode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
        let first = world.open("a", Disposition::Open, mode, false).await.unwrap();
        let second = world.open("a", Disposition::Open, mode, false).await.unwrap();
        world.files.set_disposition(&first.handle, true).await.unwrap();
        world.files.close(first.handle).await.unwrap();
        for (operation, pending) in [
            ("create", is_pending(&world.create_file("a", 4).await)),
            ("get", is_pending(&world.read("a", None).await)),
            ("properties", is_pending(&world.properties("a", false).await)),
            ("set", is_pending(&world.resize("a", 2).await)),
            ("put", is_pending(&world.put_range("a", 0, b"x").await)),
            ("clear", is_pending(&world.clear_range("a", 0, 1).await)),
            ("ranges", is_pending(&world.ranges("a", None).await)),
            ("lease", is_pending(&world.lease("a").await)),
            ("delete", is_pending(&world.delete("a").await)),
            ("rename", is_pending(&world.rename("a", "b", false).await)),
        ] {
            assert!(pending, "{operation}");
        }
        assert_eq!(world.names("", None).await, ["dir-less"]);
        // The client changes its mind.
        world.files.set_disposition(&second.handle, false).await.unwrap();
        assert_eq!(world.names("", None).await, ["a", "dir-less"]);
        assert!(world.put_range("a", 0, b"x").await.is_ok());
        world.files.set_disposition(&second.handle, true).await.unwrap();
        world.files.close(second.handle).await.unwrap();
        assert!(matches!(world.read("a", None).await, Err(FileError::ResourceNotFound)));
        assert_eq!(world.usage().await, 0);
        world.create_file("a", 4).await.unwrap();
    });
}

/// Of a REST delete and an open that run beside each other one wins: the open is refused or finds nothing, or the delete is
/// refused; never both, and never a handle on what is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_beside_an_open_leaves_no_half_state() {
    let (deleted, opened) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let world = World::new().await;
    for round in 0..10_000 {
        let name = format!("f{}", round % 7);
        world.create_file(&name, 4).await.unwrap();
        let (here, there, path) = (world.clone(), world.clone(), name.clone());
        let mode = OpenMode { access: Access::READ, share: ShareMode::ALL };
        let delete = tokio::spawn(async move { here.patiently(|| here.delete(&path)).await });
        let path = name.clone();
        let open =
            tokio::spawn(async move { there.patiently(|| there.open(&path, Disposition::Open, mode, false)).await });
        match (delete.await.unwrap(), open.await.unwrap()) {
            (Ok(()), Err(FileError::ResourceNotFound)) => {
                deleted.fetch_add(1, Ordering::Relaxed);
            }
            (Err(FileError::Open(RestRefusal::SharingViolation)), Ok(handle)) => {
                opened.fetch_add(1, Ordering::Relaxed);
                assert!(world.properties(&name, false).await.is_ok(), "what is open is there");
                world.files.close(handle.handle).await.unwrap();
                world.delete(&name).await.unwrap();
            }
            (delete, open) => panic!("round {round}: {delete:?} and {open:?}"),
        }
    }
    println!("deleted {deleted:?}, opened {opened:?}");
    assert_eq!(world.files.opens().census(), file::opens::Census::default(), "nothing stays of what was open");
}

#[test]
fn an_open_makes_a_file_and_a_delete_on_close_takes_it_away() {
    run(async {
        let world = World::new().await;
        let mode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
        let opened = world.open("new", Disposition::Create, mode, true).await.unwrap();
        assert!(is_pending(&world.read("new", None).await));
        assert!(world.names("", None).await.is_empty());
        world.files.close(opened.handle).await.unwrap();
        assert!(matches!(world.read("new", None).await, Err(FileError::ResourceNotFound)));
        // One whose handle is lost is removed by whoever tends to opens.
        let lost = world.open("lost", Disposition::OpenIf, mode, true).await.unwrap();
        drop(lost);
        assert!(is_pending(&world.read("lost", None).await));
        while world.files.tend_opens().await.unwrap() {}
        assert!(matches!(world.read("lost", None).await, Err(FileError::ResourceNotFound)));
    });
}
