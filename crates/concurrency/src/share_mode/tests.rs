//! Access against share mode, every cell, and what must never stand side by side.

use proptest::prelude::*;

use super::{Access, FileRights, OpenMode, ShareMode, check_open};
use crate::table_test::check_cells;

fn access(text: &str) -> Access {
    Access { read: text.contains('R'), write: text.contains('W'), delete: text.contains('D') }
}

fn share(text: &str) -> ShareMode {
    ShareMode { read: text.contains('R'), write: text.contains('W'), delete: text.contains('D') }
}

#[test]
fn every_share_mode_against_every_access() {
    // x: the second open is a sharing violation. The first open reads; the second shares everything.
    let table = "
first shares | none | R | W | D | RW | RD | WD | RWD
none         |      | x | x | x | x  | x  | x  | x
R            |      |   | x | x | x  | x  | x  | x
W            |      | x |   | x | x  | x  | x  | x
D            |      | x | x |   | x  | x  | x  | x
RW           |      |   |   | x |    | x  | x  | x
RD           |      |   | x |   | x  |    | x  | x
WD           |      | x |   |   | x  | x  |    | x
RWD          |      |   |   |   |    |    |    |
";
    let cells = check_cells(table, 1, |row, heading| {
        let first = OpenMode { access: Access::READ, share: share(row[0]) };
        let second = OpenMode { access: access(heading), share: ShareMode::ALL };
        if check_open([first], second).is_err() { "x".into() } else { String::new() }
    });
    assert_eq!(cells, 64);
}

#[test]
fn which_rights_count() {
    for (rights, counted) in [
        (FileRights::default(), Access::NONE),
        (FileRights { read_data: true, ..FileRights::default() }, Access::READ),
        (FileRights { execute: true, ..FileRights::default() }, Access::READ),
        (FileRights { write_data: true, ..FileRights::default() }, Access::WRITE),
        (FileRights { append_data: true, ..FileRights::default() }, Access::WRITE),
        (FileRights { overwrite: true, ..FileRights::default() }, Access::WRITE),
        (FileRights { delete: true, ..FileRights::default() }, Access::DELETE),
    ] {
        assert_eq!(Access::of(rights), counted, "{rights:?}");
    }
}

fn any_open() -> impl Strategy<Value = OpenMode> {
    (any::<[bool; 3]>(), any::<[bool; 3]>()).prop_map(|(a, s)| OpenMode {
        access: Access { read: a[0], write: a[1], delete: a[2] },
        share: ShareMode { read: s[0], write: s[1], delete: s[2] },
    })
}

proptest! {
    #[test]
    fn incompatible_opens_never_stand_side_by_side(requests in prop::collection::vec(any_open(), 0..20)) {
        let mut opens: Vec<OpenMode> = Vec::new();
        for request in requests {
            if check_open(opens.iter().copied(), request).is_ok() {
                opens.push(request);
            }
        }
        // Said without the implementation: what one does, every other one allows, unless one takes no part.
        let counted = |open: &OpenMode| open.access.read || open.access.write || open.access.delete;
        for (number, one) in opens.iter().enumerate().filter(|(_, open)| counted(open)) {
            for (_, other) in opens.iter().enumerate().filter(|(n, open)| *n != number && counted(open)) {
                prop_assert!(other.share.read || !one.access.read);
                prop_assert!(other.share.write || !one.access.write);
                prop_assert!(other.share.delete || !one.access.delete);
            }
        }
    }

    #[test]
    fn compatibility_is_mutual(one in any_open(), other in any_open()) {
        prop_assert_eq!(one.conflicts_with(other), other.conflicts_with(one));
    }
}
