//! Where handles are: renames of files and directories, what is open below, and paths that were read too early.

use concurrency::{
    oplock::{CacheGrant, Caching},
    rest_open::{RestOperation, RestRefusal},
};
use file::opens::{Census, ClaimRefusal, Handle, HandleScope, NotMoved, Opens, Place};
use types::Inode;

use crate::support::{FREE, NOW, ROOT, SHARE, Session, asking, caching, claim, claimed, open, root, tentative, ticket};

fn dir(parent: &Place, number: u64, name: &str) -> Place {
    parent.clone().child(Inode::new(number), name)
}

fn path(opens: &Opens, handle: &Handle) -> String {
    let page = opens.list_handles(HandleScope { file: handle.file(), recursive: false }, None, 1);
    page.handles[0].path.clone()
}

#[test]
fn a_rename_of_a_file_moves_its_handles() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let (a, b) = (dir(&root(), 20, "a"), dir(&root(), 30, "b"));
    let before = dir(&a, 21, "x");
    let handle = open(&opens, &asking(&before, &session, "RWD", "RWD"));
    assert_eq!((path(&opens, &handle).as_str(), opens.open_below(a.file())), ("a/x", 1));
    let rename = claimed(&opens, &before, RestOperation::RenameSource);
    let after = dir(&dir(&b, 31, "c"), 21, "y");
    opens.moved(&after);
    drop(rename);
    assert_eq!(path(&opens, &handle), "b/c/y");
    assert_eq!([&a, &b, &root()].map(|place| opens.open_below(place.file())), [0, 1, 1]);
    drop(handle);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_directory_with_something_open_below_is_not_renamed() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let directory = dir(&root(), 20, "a");
    let file = dir(&dir(&directory, 21, "b"), 22, "x");
    let own = open(&opens, &asking(&directory, &session, "RD", "RWD"));
    let below = open(&opens, &asking(&file, &session, "", "RWD"));
    let violation = Some(ClaimRefusal::Rest(RestRefusal::SharingViolation));
    assert_eq!(claim(&opens, &directory, RestOperation::RenameSource).err(), violation);
    assert_eq!(own.begin_rename(NOW).map(|_| ()), Err(NotMoved::OpenBelow));
    drop(below);
    drop(own.begin_rename(NOW).unwrap().granted().unwrap());

    let renaming = own.begin_rename(NOW).unwrap().granted().unwrap();
    let waiting = ticket(opens.open(&asking(&file, &session, "", "RWD"), NOW).unwrap());
    assert!(!waiting.is_rung(), "nothing is opened below meanwhile");
    opens.moved(&dir(&root(), 20, "z"));
    drop(renaming);
    assert!(waiting.is_rung());
    assert_eq!(path(&opens, &own), "z");
    drop((waiting, own));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_rename_of_a_directory_waits_for_opens_below_that_may_come_to_nothing() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let directory = dir(&root(), 20, "a");
    let opening = tentative(&opens, &asking(&dir(&directory, 22, "x"), &session, "", "RWD"));
    let waiting = ticket(claim(&opens, &directory, RestOperation::RenameSource).unwrap());
    assert!(!waiting.is_rung());
    drop(opening);
    assert!(waiting.is_rung());
    assert!(claim(&opens, &directory, RestOperation::RenameSource).unwrap().granted().is_some());
}

#[test]
fn a_rename_through_a_handle_needs_delete_access_and_breaks_cached_handles() {
    let (opens, session, other) = (Opens::default(), Session::new(1), Session::new(2));
    let file = dir(&root(), 20, "a");
    let reader = open(&opens, &caching(asking(&file, &other, "R", "RWD"), CacheGrant::Lease(Caching::Rh)));
    assert_eq!(reader.begin_rename(NOW).map(|_| ()), Err(NotMoved::AccessDenied));
    let renamer = open(&opens, &asking(&file, &session, "D", "RWD"));
    let waiting = ticket(renamer.begin_rename(NOW).unwrap());
    assert_eq!(other.take_notices().len(), 1);
    reader.close(FREE);
    assert!(waiting.is_rung());
    assert!(renamer.begin_rename(NOW).unwrap().granted().is_some());
}

#[test]
fn a_path_that_was_read_too_early_does_not_stay() {
    let (opens, session) = (Opens::default(), Session::new(1));
    // Directory 20 was called "old" when the first open looked, and is "new" now.
    let stale = tentative(&opens, &asking(&dir(&dir(&root(), 20, "old"), 21, "x"), &session, "R", "RWD"));
    let fresh = open(&opens, &asking(&dir(&dir(&root(), 20, "new"), 22, "y"), &session, "R", "RWD"));
    assert_eq!(path(&opens, &fresh), "new/y");
    drop(stale);
    assert_eq!(path(&opens, &fresh), "new/y");
    drop(fresh);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_path_through_a_directory_that_has_moved_leaves_no_directory_behind() {
    let (opens, session) = (Opens::default(), Session::new(1));
    // 21 is below 30 now; the second open still thinks that it is below 20.
    let handle = open(&opens, &asking(&dir(&dir(&dir(&root(), 30, "c"), 21, "b"), 22, "x"), &session, "R", "RWD"));
    let stale = tentative(&opens, &asking(&dir(&dir(&dir(&root(), 20, "a"), 21, "b"), 23, "y"), &session, "R", "RWD"));
    assert_eq!(path(&opens, &handle), "c/b/x");
    drop(stale);
    assert_eq!(opens.census().path_nodes, 4);
    drop(handle);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn hidden_files_are_found_by_their_directory() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let (a, b) = (dir(&root(), 20, "a"), dir(&root(), 30, "b"));
    let handles: Vec<_> = [dir(&a, 21, "x"), dir(&a, 22, "y"), dir(&b, 31, "z")]
        .iter()
        .map(|place| open(&opens, &asking(place, &session, "D", "RWD")))
        .collect();
    assert!(opens.hidden(SHARE, a.file().inode).is_empty());
    for handle in &handles {
        handle.set_disposition(true, FREE, NOW).unwrap();
    }
    let hidden =
        |place: &Place| opens.hidden(SHARE, place.file().inode).into_iter().map(Inode::number).collect::<Vec<_>>();
    assert_eq!((hidden(&a), hidden(&b), hidden(&root())), (vec![21, 22], vec![31], vec![]));
    // Renamed by SMB while it is marked.
    opens.moved(&dir(&b, 22, "y"));
    assert_eq!((hidden(&a), hidden(&b)), (vec![21], vec![22, 31]));
    assert_eq!(opens.open_below(root().file()), 3);
    assert_eq!(root().file().inode, ROOT);
    drop(handles);
    while let Some(removal) = opens.unfinished() {
        removal.removed();
    }
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn deep_paths_cost_their_depth_and_no_more() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let mut place = root();
    for level in 0..249 {
        place = dir(&place, 100 + level, "d");
    }
    let handles: Vec<_> =
        (0..100).map(|n| open(&opens, &asking(&dir(&place, 1000 + n, "f"), &session, "R", "RWD"))).collect();
    assert_eq!(opens.census().path_nodes, 250 + 100);
    assert_eq!(opens.open_below(root().file()), 100);
    assert_eq!(path(&opens, &handles[0]).matches('/').count(), 249);
    drop(handles);
    assert_eq!(opens.census(), Census::default());
}
