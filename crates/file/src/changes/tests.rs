//! The feed by itself: who is told what, in which order, and how much is held.

use std::task::{Context, Waker};

use types::Inode;

use super::*;
use crate::FileError;

const SHARE: UnitId = UnitId::new(1);
const ROOT: Inode = Inode::new(10);
const NAMES: ChangeKinds = ChangeKinds::FILE_NAME.and(ChangeKinds::DIRECTORY_NAME);

fn key(inode: u64) -> FileKey {
    FileKey { share: SHARE, inode: Inode::new(inode) }
}

/// `d/e/name`, where `d` is 11 and `e` is 12.
fn place(name: &str) -> Place {
    let root = Place::root(SHARE, ROOT);
    root.child(Inode::new(11), "d").child(Inode::new(12), "e").child(Inode::new(99), name)
}

fn added(name: &str) -> Vec<Change> {
    vec![Change::new(place(name), ChangeAction::Added, ChangeKinds::FILE_NAME)]
}

fn watch(changes: &Changes, inode: u64, tree: bool, limit: usize) -> Watcher {
    let watch = Watch { directory: key(inode), tree, kinds: NAMES, limit, owner: 1 };
    Watcher::new(changes, watch).unwrap()
}

fn took(watcher: &Watcher) -> Option<Told> {
    watcher.next().unwrap().take()
}

fn seen(names: &[&str]) -> Option<Told> {
    let seen = |name: &&str| Seen { action: ChangeAction::Added, path: (*name).into() };
    Some(Told::Changes(names.iter().map(seen).collect()))
}

fn is_ready(next: &mut Next) -> bool {
    std::pin::Pin::new(next).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_directory_and_a_tree_are_told_by_paths_from_there() {
    let changes = Changes::default();
    let table = [(12, false, Some("a")), (12, true, Some("a")), (11, true, Some("e/a")), (10, true, Some("d/e/a"))];
    let told: Vec<_> = table.iter().map(|(inode, tree, _)| watch(&changes, *inode, *tree, 1000)).collect();
    let untold = [watch(&changes, 11, false, 1000), watch(&changes, 10, false, 1000), watch(&changes, 99, true, 1000)];
    changes.tell(|| added("a"));
    for (watcher, (inode, tree, path)) in told.iter().zip(table) {
        assert_eq!(took(watcher), path.and_then(|path| seen(&[path])), "{inode} {tree}");
    }
    for watcher in &untold {
        assert_eq!(took(watcher), None);
    }
}

#[test]
fn when_nobody_watches_nothing_is_kept_or_looked_for() {
    let changes = Changes::default();
    changes.tell(|| unreachable!("nobody asked"));
    let telling = changes.telling::<Place>();
    telling.about(SHARE, || unreachable!("nobody asked"));
    telling.told(|_| unreachable!("nobody asked"));
    let watcher = watch(&changes, 12, false, 1000);
    assert_eq!(took(&watcher), None, "what was before does not count");
    drop(watcher);
    changes.tell(|| unreachable!("nobody asks any more"));
    assert_eq!(changes.feed(), Feed::default());
}

#[test]
fn a_change_that_fails_tells_nothing() {
    let changes = Changes::default();
    let watcher = watch(&changes, 12, false, 1000);
    let telling = changes.telling();
    telling.about(SHARE, || Some(place("a")));
    telling.failed(&FileError::ResourceNotFound);
    drop(telling);
    let telling = changes.telling();
    telling.about(SHARE, || Some(place("b")));
    telling.about(SHARE, || Some(place("c")));
    telling.told(|place| vec![Change::new(place, ChangeAction::Added, ChangeKinds::FILE_NAME)]);
    assert_eq!(took(&watcher), seen(&["c"]), "an attempt that was repeated neither");
    assert_eq!(changes.feed().under_way, 0);
}

#[test]
fn who_cannot_be_told_what_has_changed_is_told_to_look() {
    let unknown = FileError::Store(store::StoreError::OutcomeUnknown("power".into()));
    for how in ["given up", "unknown", "unwatched", "no name"] {
        let changes = Changes::default();
        let early = watch(&changes, 12, false, 1000);
        let elsewhere = Watch { directory: FileKey { share: UnitId::new(2), ..key(12) }, ..early_watch() };
        let elsewhere = Watcher::new(&changes, elsewhere).unwrap();
        match how {
            "unwatched" => {
                let changes = Changes::default();
                let telling = changes.telling::<Place>();
                assert!(telling.about_nothing_watched());
                let late = watch(&changes, 12, false, 1000);
                telling.told(|_| Vec::new());
                assert_eq!(took(&late), Some(Told::Enumerate), "{how}");
                continue;
            }
            "no name" => changes.changed_below(&[key(12), key(11)]),
            _ => {
                let telling = changes.telling();
                telling.about(SHARE, || Some(place("a")));
                if how == "unknown" {
                    telling.failed(&unknown);
                }
            }
        }
        assert_eq!(took(&early), Some(Told::Enumerate), "{how}");
        assert_eq!(took(&early), None, "{how}: once");
        assert_eq!(took(&elsewhere), None, "{how}: not in another share");
        assert_eq!(changes.feed().under_way, 0);
    }
}

const fn early_watch() -> Watch {
    Watch { directory: FileKey { share: SHARE, inode: ROOT }, tree: false, kinds: NAMES, limit: 1000, owner: 1 }
}

#[test]
fn what_depends_on_another_change_is_told_behind_it() {
    let changes = Changes::default();
    let watcher = watch(&changes, 12, false, 1000);
    let (first, second) = (changes.telling(), changes.telling());
    first.about(SHARE, || Some("first"));
    second.about(SHARE, || Some("second"));
    second.told(added);
    assert_eq!(took(&watcher), None, "the outcome of the first is not known");
    first.told(added);
    assert_eq!(took(&watcher), seen(&["first", "second"]));
}

#[test]
fn a_slow_watcher_overflows_and_never_holds_more_than_its_bound() {
    let changes = Changes::default();
    // A change of one letter has 14 bytes, and begins at a multiple of four.
    let watcher = watch(&changes, 12, false, 16 + 14);
    changes.tell(|| added("a"));
    changes.tell(|| added("b"));
    assert_eq!(changes.feed().bytes, 32);
    assert_eq!(took(&watcher), seen(&["a", "b"]));
    for name in ["a", "b", "c", "d", "e"] {
        changes.tell(|| added(name));
    }
    assert_eq!(changes.feed().bytes, 0);
    assert_eq!(took(&watcher), Some(Told::Enumerate));
    changes.tell(|| added("f"));
    assert_eq!(took(&watcher), seen(&["f"]), "then it begins anew");
}

#[test]
fn all_watchers_of_a_client_hold_no_more_than_its_share() {
    let changes = Changes::default();
    let most = limits::WATCHED_PER_CLIENT_MAX_BYTES / limits::WATCHER_MAX_BYTES;
    let watchers: Vec<_> = (0..=most).map(|_| watch(&changes, 12, false, usize::MAX)).collect();
    let other = Watch { directory: key(12), kinds: NAMES, tree: false, limit: 64 * 1024, owner: 2 };
    let other = Watcher::new(&changes, other).unwrap();
    let name = "n".repeat(250);
    for _ in 0..125 {
        changes.tell(|| added(&name));
    }
    assert!(changes.feed().bytes <= limits::WATCHED_PER_CLIENT_MAX_BYTES + limits::WATCHER_MAX_BYTES);
    let told: Vec<_> = watchers.iter().map(took).collect();
    assert!(told.contains(&Some(Told::Enumerate)), "one had no room");
    assert!(told.iter().any(|told| matches!(told, Some(Told::Changes(all)) if all.len() == 125)), "others had");
    assert!(matches!(took(&other), Some(Told::Changes(all)) if all.len() == 125), "nor had it any part in it");
    drop((watchers, other));
    assert_eq!(changes.feed(), Feed::default());
}

#[test]
fn each_request_that_waits_gets_changes_of_its_own_in_its_turn() {
    let changes = Changes::default();
    let watcher = watch(&changes, 12, false, 1000);
    let (mut first, mut second, mut third) =
        (watcher.next().unwrap(), watcher.next().unwrap(), watcher.next().unwrap());
    changes.tell(|| added("a"));
    assert!(is_ready(&mut first) && !is_ready(&mut second));
    changes.tell(|| added("b"));
    assert!(is_ready(&mut second) && !is_ready(&mut third));
    assert_eq!(second.take(), seen(&["b"]));
    assert_eq!(first.take(), seen(&["a"]));
    assert_eq!(first.take(), None);
    drop(third);
    changes.tell(|| added("c"));
    assert_eq!(took(&watcher), seen(&["c"]));
}

#[test]
fn no_change_is_lost_with_a_request_that_is_given_up() {
    let changes = Changes::default();
    let watcher = watch(&changes, 12, false, 1000);
    let (first, second) = (watcher.next().unwrap(), watcher.next().unwrap());
    changes.tell(|| added("a"));
    drop(first);
    changes.tell(|| added("b"));
    assert_eq!(changes.feed().requests, 1);
    let mut second = second;
    assert_eq!(second.take(), seen(&["a"]), "the next one has what the first did not take");
    let untaken = watcher.next().unwrap();
    changes.tell(|| added("c"));
    drop(untaken);
    assert_eq!(took(&watcher), seen(&["b", "c"]));
    let untaken = watcher.next().unwrap();
    changes.changed_below(&[key(12)]);
    drop(untaken);
    assert_eq!(took(&watcher), Some(Told::Enumerate));
    assert_eq!(changes.feed().bytes, 0);
}

#[test]
fn requests_end_with_their_watcher_and_with_their_directory() {
    let changes = Changes::default();
    let watcher = watch(&changes, 12, false, 1000);
    let mut waiting = watcher.next().unwrap();
    changes.deleted(key(11));
    assert!(!is_ready(&mut waiting));
    changes.deleted(key(12));
    assert_eq!(waiting.take(), Some(Told::Ended(WatchEnd::Deleted)));
    let mut waiting = watcher.next().unwrap();
    changes.share_deleted(SHARE);
    assert_eq!(waiting.take(), Some(Told::Ended(WatchEnd::Deleted)));
    let (mut waiting, given) = (watcher.next().unwrap(), watcher.next().unwrap());
    changes.tell(|| added("a"));
    drop((watcher, given));
    assert_eq!(waiting.take(), seen(&["a"]), "it had come before");
    assert_eq!(changes.feed(), Feed::default());
}

#[test]
fn more_watchers_and_requests_than_a_client_may_have_are_refused() {
    let changes = Changes::default();
    let watchers: Vec<_> = (0..limits::WATCHERS_PER_CLIENT_MAX).map(|_| watch(&changes, 12, false, 100)).collect();
    assert_eq!(Watcher::new(&changes, early_watch()).err(), Some(TooManyWatchers));
    assert!(Watcher::new(&changes, Watch { owner: 2, ..early_watch() }).is_ok(), "another client may");
    let waiting: Vec<_> = (0..limits::WATCHES_WAITING_PER_CLIENT_MAX).map(|_| watchers[0].next().unwrap()).collect();
    assert_eq!(watchers[1].next().err(), Some(TooManyWatchers));
    drop(waiting);
    assert!(watchers[1].next().is_ok());
}

#[test]
fn the_same_change_again_is_told_once_and_a_rename_as_two() {
    let changes = Changes::default();
    let everything = Watch { kinds: ChangeKinds(u32::MAX), directory: key(12), ..early_watch() };
    let (all, attributes) = (
        Watcher::new(&changes, everything).unwrap(),
        Watcher::new(&changes, Watch { kinds: ChangeKinds::ATTRIBUTES, ..everything }).unwrap(),
    );
    for _ in 0..3 {
        changes.tell(|| vec![Change::new(place("a"), ChangeAction::Modified, ChangeKinds::WRITTEN)]);
    }
    changes.tell(|| renamed(place("a"), place("b"), false, true));
    changes.tell(|| renamed(place("b"), Place::root(SHARE, ROOT).child(Inode::new(99), "b"), true, false));
    let actions = |told: Option<Told>| match told {
        Some(Told::Changes(all)) => all.into_iter().map(|seen| (seen.action, seen.path.to_string())).collect(),
        other => panic!("{other:?}"),
    };
    let told: Vec<_> = actions(took(&all));
    let expected = [
        (ChangeAction::Modified, "a"),
        (ChangeAction::Removed, "b"),
        (ChangeAction::RenamedFrom, "a"),
        (ChangeAction::RenamedTo, "b"),
        (ChangeAction::Removed, "b"),
    ];
    assert_eq!(told, expected.map(|(action, path)| (action, path.to_owned())));
    let told: Vec<_> = actions(took(&attributes));
    assert_eq!(told, [(ChangeAction::Modified, "b".to_owned())], "a file that was renamed, without its names");
}
