//! Data directories of every released format are opened for ever, and everything in them is read through the services.
//!
//! `testdata/format-N` is a directory that a build of format N left without a clean close, with [everything](crate::everything)
//! in it; `testdata/format-N.txt` is what the services said about it. `testdata/README.md` says how those of the next format
//! are made. A directory that was released is never written again.

#![expect(clippy::disallowed_methods, reason = "data directories are copied as files")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use expect_test::expect_file;
use store_embedded::{EmbeddedEngine, FORMAT, Options, disk::RealDisk};
use store_memory::ManualTime;

use crate::{commands::check, everything, incarnation::Incarnation};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// A data directory, at a time that a test sets: leases and messages in it are as old as they were.
fn open(path: &Path, time: &ManualTime, options: Options) -> Arc<EmbeddedEngine> {
    let disk = Arc::new(RealDisk::new(path).unwrap());
    let options = Options { reserve_bytes: 0, background: false, ..options };
    Arc::new(EmbeddedEngine::open_on(disk, &path.join("index"), time.clone(), options).unwrap())
}

async fn incarnation(engine: &Arc<EmbeddedEngine>) -> Incarnation {
    Incarnation::open(Arc::<EmbeddedEngine>::clone(engine), everything::surroundings()).await.unwrap()
}

/// Half of it in the tables of the index, half of it in the log alone. Returns what the services say about it.
async fn write(path: &Path) -> String {
    // Small segments of the log, so that the directory is small.
    let engine = open(path, &ManualTime::default(), Options { log_segment_bytes: 8 * 1024, ..Options::default() });
    let incarnation = incarnation(&engine).await;
    everything::write_first(&incarnation).await;
    engine.checkpoint().unwrap();
    everything::write_second(&incarnation).await;
    let transcript = everything::transcript(&incarnation).await;
    incarnation.end().await;
    transcript
}

/// What the services say about a data directory, before and after the background has done all its work.
async fn read(path: &Path) -> String {
    let time = ManualTime::default();
    let engine = open(path, &time, Options::default());
    let incarnation = incarnation(&engine).await;
    let mut transcript = everything::transcript(&incarnation).await;
    let store = &incarnation.store;
    let services = [blob::jobs(store), queue::jobs(store), table::jobs(store), file::jobs(store)];
    let mut works: Vec<_> = services.into_iter().flatten().chain([jobs::on::<jobs::Contents>(store)]).collect();
    while jobs::round(&mut works).await.unwrap().more {}
    assert_eq!(everything::transcript(&incarnation).await, transcript, "the background changed something");
    time.advance(Duration::from_hours(2));
    transcript += &everything::transcript_of_hidden(&incarnation).await;
    incarnation.end().await;
    engine.close().unwrap();
    transcript
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Nothing is wrong, also by the clock of today.
fn is_sound(path: &Path) {
    let report = check::check(path).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// The directories that are kept, by name.
fn kept() -> Vec<String> {
    let entries = std::fs::read_dir(testdata()).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<_> = directories.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn everything_in_a_data_directory_of_every_released_format_is_read() {
    if let Ok(name) = std::env::var("LAZULI_TEST_WRITE_FIXTURE")
        && !kept().contains(&name)
    {
        assert!(name.starts_with(&format!("format-{FORMAT}")), "{name} is not of format {FORMAT}");
        let directory = tempfile::tempdir().unwrap();
        block_on(write(directory.path()));
        copy(directory.path(), &testdata().join(name));
    }
    for format in 2..=FORMAT {
        assert!(kept().contains(&format!("format-{format}")), "there is no directory of format {format}");
    }
    for name in kept() {
        let directory = tempfile::tempdir().unwrap();
        copy(&testdata().join(&name), directory.path());
        let transcript = block_on(read(directory.path()));
        expect_file![testdata().join(format!("{name}.txt"))].assert_eq(&transcript);
        is_sound(directory.path());
    }
}

#[test]
fn what_the_present_build_writes_is_read_the_same_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let (written, read) = block_on(async { (write(directory.path()).await, read(directory.path()).await) });
    for (read, written) in read.lines().zip(written.lines()) {
        assert_eq!(read, written);
    }
    assert!(read.len() > written.len());
    is_sound(directory.path());
}

/// Blobs, messages, entities, shares and files: what was backed up while serving is read the same from what is restored.
#[test]
fn a_backup_of_everything_restores_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let written = block_on(async {
        let options = Options { log_segment_bytes: 8 * 1024, ..Options::default() };
        let engine = open(&place("data"), &ManualTime::default(), options);
        let incarnation = incarnation(&engine).await;
        everything::write_first(&incarnation).await;
        engine.checkpoint().unwrap();
        everything::write_second(&incarnation).await;
        engine.backup(&place("backup"), |_| {}).unwrap();
        let transcript = everything::transcript(&incarnation).await;
        incarnation.end().await;
        transcript
    });
    assert!(written.contains("file GET /?comp=list"), "there are shares");
    store_embedded::restore(&place("backup"), &place("restored"), |_| {}).unwrap();
    let read = block_on(read(&place("restored")));
    for (read, written) in read.lines().zip(written.lines()) {
        assert_eq!(read, written);
    }
    assert!(read.len() > written.len());
    is_sound(&place("restored"));
}
