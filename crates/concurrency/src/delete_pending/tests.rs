//! Part e.4 of the semantics: when a file is pending, and when it is gone.

use proptest::prelude::*;

use super::{CloseEffect, DeleteIntent, DeleteMark, DeletePending, MarkRefusal, Obstacles};
use crate::table_test::check_cells;

const PLAIN: DeleteIntent = DeleteIntent { delete_on_close: false, delete_access: false };
const MAY_DELETE: DeleteIntent = DeleteIntent { delete_on_close: false, delete_access: true };
const ON_CLOSE: DeleteIntent = DeleteIntent { delete_on_close: true, delete_access: true };
const FREE: Obstacles = Obstacles { read_only: false, not_empty: false };

#[test]
fn e4_who_meets_a_pending_delete() {
    // Two handles are open in each row, one of them with delete access; then this happens.
    let table = "
situation                              | new SMB open | REST operation   | last close
nothing marked                         | ok           | ok               | Keep
disposition set                        | pending      | SMBDeletePending | Remove
disposition set and cleared            | ok           | ok               | Keep
a handle will delete on close          | ok           | SMBDeletePending | Remove
that handle has closed                 | pending      | SMBDeletePending | Remove
that handle has closed, mark cleared   | ok           | ok               | Keep
";
    let cells = check_cells(table, 1, |row, heading| {
        let open = |mark: DeleteMark, intent| mark.open(intent).unwrap();
        let both = open(open(DeleteMark::default(), PLAIN), MAY_DELETE);
        let set = |mark: DeleteMark, delete| mark.set_disposition(delete, MAY_DELETE, FREE).unwrap();
        let (mark, last) = match row[0] {
            "nothing marked" => (both, PLAIN),
            "disposition set" => (set(both, true), PLAIN),
            "disposition set and cleared" => (set(set(both, true), false), PLAIN),
            "a handle will delete on close" => (open(both, ON_CLOSE), ON_CLOSE),
            "that handle has closed" => (open(both, ON_CLOSE).close(ON_CLOSE, true, FREE).0, PLAIN),
            _ => (set(open(both, ON_CLOSE).close(ON_CLOSE, true, FREE).0, false), PLAIN),
        };
        match heading {
            "new SMB open" => match mark.open(PLAIN) {
                Ok(_) => "ok".into(),
                Err(DeletePending) => "pending".into(),
            },
            "REST operation" => match mark.check_rest() {
                Ok(()) => "ok".into(),
                Err(DeletePending) => "SMBDeletePending".into(),
            },
            _ => format!("{:?}", mark.close(last, false, FREE).1),
        }
    });
    assert_eq!(cells, 18);
}

#[test]
fn who_may_set_the_disposition() {
    let (read_only, not_empty) = (Obstacles { read_only: true, ..FREE }, Obstacles { not_empty: true, ..FREE });
    let marked = DeleteMark::default().set_disposition(true, MAY_DELETE, FREE).unwrap();
    for (delete, intent, obstacles, refusal) in [
        (true, MAY_DELETE, FREE, None),
        (true, PLAIN, FREE, Some(MarkRefusal::AccessDenied)),
        (false, PLAIN, FREE, Some(MarkRefusal::AccessDenied)),
        (true, MAY_DELETE, read_only, Some(MarkRefusal::ReadOnly)),
        (false, MAY_DELETE, read_only, None),
        (true, MAY_DELETE, not_empty, Some(MarkRefusal::DirectoryNotEmpty)),
        (false, MAY_DELETE, not_empty, None),
    ] {
        assert_eq!(marked.set_disposition(delete, intent, obstacles).err(), refusal, "{delete} {intent:?}");
    }
}

#[test]
fn who_may_open_to_delete_on_close() {
    for (intent, read_only, refusal) in [
        (ON_CLOSE, false, None),
        (ON_CLOSE, true, Some(MarkRefusal::ReadOnly)),
        (DeleteIntent { delete_access: false, ..ON_CLOSE }, false, Some(MarkRefusal::AccessDenied)),
        (MAY_DELETE, true, None),
        (PLAIN, true, None),
    ] {
        assert_eq!(intent.check(read_only).err(), refusal, "{intent:?} {read_only}");
    }
}

#[test]
fn a_directory_that_was_filled_meanwhile_stays() {
    let marked = DeleteMark::default().set_disposition(true, MAY_DELETE, FREE).unwrap();
    let filled = Obstacles { not_empty: true, ..FREE };
    assert_eq!(marked.close(MAY_DELETE, false, filled).1, CloseEffect::Keep);
    let on_close = DeleteMark::default().open(ON_CLOSE).unwrap();
    assert_eq!(on_close.close(ON_CLOSE, false, filled).1, CloseEffect::Keep);
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Open(DeleteIntent),
    Set(bool, prop::sample::Index),
    Close(prop::sample::Index),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let intent = prop::sample::select(vec![PLAIN, MAY_DELETE, ON_CLOSE]);
    let index = any::<prop::sample::Index>;
    let action = prop_oneof![
        3 => intent.prop_map(Action::Open),
        2 => (any::<bool>(), index()).prop_map(|(delete, handle)| Action::Set(delete, handle)),
        3 => index().prop_map(Action::Close),
    ];
    prop::collection::vec(action, 0..40)
}

proptest! {
    #[test]
    fn a_file_is_removed_at_the_last_close_and_only_while_marked(actions in actions()) {
        let (mut mark, mut handles, mut decided) = (DeleteMark::default(), Vec::new(), false);
        for action in actions {
            match action {
                Action::Open(intent) => {
                    let opened = mark.open(intent);
                    prop_assert_eq!(opened.is_ok(), !decided, "an open joins unless the deletion is decided");
                    if let Ok(after) = opened {
                        mark = after;
                        handles.push(intent);
                    }
                }
                Action::Set(delete, handle) if !handles.is_empty() => {
                    let intent: DeleteIntent = *handle.get(&handles);
                    let set = mark.set_disposition(delete, intent, FREE);
                    prop_assert_eq!(set.is_ok(), intent.delete_access);
                    if let Ok(after) = set {
                        (mark, decided) = (after, delete);
                    }
                }
                Action::Close(handle) if !handles.is_empty() => {
                    let closing = handles.swap_remove(handle.index(handles.len()));
                    decided = decided || closing.delete_on_close;
                    let (after, effect) = mark.close(closing, !handles.is_empty(), FREE);
                    let expected = if handles.is_empty() && decided { CloseEffect::Remove } else { CloseEffect::Keep };
                    prop_assert_eq!(effect, expected);
                    mark = after;
                    if handles.is_empty() {
                        (mark, decided) = (DeleteMark::default(), false);
                    }
                }
                Action::Set(..) | Action::Close(_) => {}
            }
            let announced = handles.iter().any(|handle| handle.delete_on_close);
            prop_assert_eq!(mark.check_rest().is_err(), decided || announced);
        }
    }
}
