//! Who may read a data directory: its owner alone, also when the directory was there before and is open to others.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "looks at the real files")]

mod support;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use store::Store;
use store_embedded::{EmbeddedEngine, Options, restore};
use support::{Opened, block_on, pattern};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Everything below a directory that others may read or enter. What the index's crate writes has the mode of the process;
/// nobody else gets that far.
fn open_to_others(path: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if mode(&path) & 0o077 != 0 {
            found.push((path.clone(), format!("{:o}", mode(&path))));
        } else if path.is_dir() && !path.ends_with("index") {
            found.extend(open_to_others(&path));
        }
    }
    found
}

fn open(path: &Path) -> Opened {
    let options = Options { reserve_bytes: 0, log_segment_bytes: 64 * 1024, ..Options::default() };
    let engine = Arc::new(EmbeddedEngine::open(path, options).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    Opened { engine, store }
}

async fn write(opened: &Opened) {
    for number in 0..20 {
        opened.put_chunk(&format!("small {number}"), pattern(number, 10_000)).await.unwrap();
        opened.put_chunk(&format!("large {number}"), pattern(number, 100_000)).await.unwrap();
    }
    opened.engine.checkpoint().unwrap();
}

#[test]
fn data_files_were_0644_in_a_directory_that_existed() {
    let parent = tempfile::tempdir().unwrap();
    let (data, backup, restored) =
        (parent.path().join("data"), parent.path().join("backup"), parent.path().join("restored"));
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let opened = open(&data);
    block_on(write(&opened));
    assert_eq!(open_to_others(&data), vec![]);
    assert_eq!(mode(&data), 0o755, "what somebody else made stays as it is");
    opened.engine.backup(&backup, |_| {}).unwrap();
    opened.close().unwrap();
    assert_eq!(open_to_others(&data), vec![]);

    // As an older build left it, and as a copy by other means has it.
    for path in [&data, &backup] {
        for name in ["VERSION", "log", "extents", "index"] {
            let path = path.join(name);
            let open = if path.is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
        }
        for entry in fs::read_dir(path.join("extents")).unwrap() {
            fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(0o644)).unwrap();
        }
    }
    restore(&backup, &restored, |_| {}).unwrap();
    assert_eq!((open_to_others(&restored), mode(&restored)), (vec![], 0o700));
    let opened = open(&data);
    for name in ["VERSION", "LOCK", "log", "extents", "index"] {
        assert_eq!(mode(&data.join(name)) & 0o077, 0, "{name}");
    }
    opened.close().unwrap();
}
