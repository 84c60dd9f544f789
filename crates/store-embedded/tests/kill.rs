//! `kill -9` of a real process on a real disk: whatever it was told to be committed is there when the store opens again.
//!
//! The test starts itself as the process to be killed. `LAZULI_KILL_ROUNDS` asks for more rounds.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail by panicking, and this one starts a process"
)]

mod support;

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use bytes::Bytes;
use store::{Store, testing::Random};
use store_embedded::{EmbeddedEngine, Options};
use support::{Opened, block_on, chunk_name, count, pattern};

const DIRECTORY: &str = "LAZULI_KILL_DIRECTORY";
const FIRST: &str = "LAZULI_KILL_FIRST";

fn open(directory: &Path) -> Opened {
    let options = Options {
        memtable_bytes: 64 * 1024,
        log_segment_bytes: 256 * 1024,
        reserve_bytes: 0,
        cache_bytes: 1024 * 1024,
        ..Options::default()
    };
    let engine = Arc::new(EmbeddedEngine::open(directory, options).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    Opened { engine, store }
}

/// The rows and the chunk of a step. Every tenth chunk is streamed, the others stand inline in the log.
fn values(step: u64) -> (Bytes, Vec<u8>) {
    (Bytes::from(pattern(step, 300)), pattern(step, if step.is_multiple_of(10) { 100_000 } else { 900 }))
}

/// Commits until it is killed, and says after each commit that it was told of it.
#[test]
fn the_process_that_is_killed() {
    let (Ok(directory), Ok(first)) = (std::env::var(DIRECTORY), std::env::var(FIRST)) else { return };
    let opened = open(Path::new(&directory));
    block_on(async {
        for step in first.parse::<u64>().unwrap().. {
            let (row, chunk) = values(step);
            let names = [format!("{step}-a"), format!("{step}-b")];
            opened.put_all(&[(&names[0], Some(row.clone())), (&names[1], Some(row))]).await.unwrap();
            println!("row {step}");
            opened.put_chunk(&format!("{}", step % 20), chunk).await.unwrap();
            println!("chunk {step}");
            std::io::stdout().flush().unwrap();
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(count("LAZULI_KILL_SEED", 1));
    let mut rows = 0;
    let mut chunk_of = std::collections::BTreeMap::new();
    for round in 0..count("LAZULI_KILL_ROUNDS", 10) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process_that_is_killed", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .env(FIRST, (rows + 1).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let wanted = random.below(400);
        let mut told = 0;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Until the pipe is empty: what the process said before it died counts.
        while let Some(Ok(line)) = lines.next() {
            match line.split_once(' ').and_then(|(what, step)| Some((what, step.parse::<u64>().ok()?))) {
                Some(("row", step)) => rows = step,
                Some(("chunk", step)) => drop(chunk_of.insert(step % 20, step)),
                _ => continue,
            }
            told += 1;
            if told == wanted + 1 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();

        let opened = open(directory.path());
        let found = block_on(opened.visible()).unwrap();
        for step in 1..=rows {
            let (row, _) = values(step);
            for name in [format!("{step}-a"), format!("{step}-b")] {
                assert_eq!(found.get(&name), Some(&row), "round {round}: row {name} was acknowledged");
            }
        }
        for (slot, step) in &chunk_of {
            let bytes = found.get(&chunk_name(&slot.to_string())).unwrap();
            // The next chunk of this name may have been committed without anybody having been told.
            let allowed = [values(*step).1, values(step + 20).1];
            assert!(allowed.iter().any(|chunk| *chunk == *bytes), "round {round}: chunk {slot} is not of step {step}");
        }
        // The step under way: both of its rows, or none.
        let next = rows + 1;
        assert_eq!(found.contains_key(&format!("{next}-a")), found.contains_key(&format!("{next}-b")));
        if found.contains_key(&format!("{next}-a")) {
            rows = next;
        }
        block_on(opened.must_be_clean(&format!("round {round}")));
        opened.close().unwrap();
    }
}
