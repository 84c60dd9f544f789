//! Measures Lazuli as ratios: ours and a peer, or ours and the physical limit, in one run, in turns, because machines
//! are noisy. `cargo xtask bench [--quick] [--json FILE]` sets up the peers and runs every suite.

#![expect(
    clippy::disallowed_methods,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "a measurement reads clocks, spawns load, uses plain files and does arithmetic on rates"
)]

mod http;
mod report;
mod store;

use std::path::PathBuf;

use anyhow::{Context, bail};

/// The server's, so that loops in this process are compared with the same means.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the command line asks for.
struct Arguments {
    quick: bool,
    /// Another build of the server, for the suite `against`.
    other: Option<PathBuf>,
    /// Only the rows of `against` whose name has this in it.
    row: Option<String>,
    json: Option<PathBuf>,
    /// Where data directories are made; a real disk, not a memory file system.
    directory: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let suite = words.next().context("which suite? one of: against, blob, file, http, queue, smb, store, table")?;
    if suite == "load" {
        return http::load(&words.collect::<Vec<_>>());
    }
    let directory = std::env::current_dir()?.join("target").join("bench");
    let mut arguments = Arguments { quick: false, other: None, row: None, json: None, directory };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => arguments.quick = true,
            "--json" => arguments.json = Some(words.next().context("--json needs a file")?.into()),
            "--other" => arguments.other = Some(words.next().context("--other needs a program")?.into()),
            "--row" => arguments.row = Some(words.next().context("--row needs a part of its name")?),
            "--directory" => arguments.directory = words.next().context("--directory needs a path")?.into(),
            other => bail!("unknown argument {other}"),
        }
    }
    std::fs::create_dir_all(&arguments.directory)?;
    let report = match suite.as_str() {
        "blob" | "file" | "http" | "queue" | "table" => http::run(&suite, &arguments)?,
        "against" => http::against(&arguments, arguments.other.as_deref().context("against needs --other PROGRAM")?)?,
        "smb" => http::smb(&arguments)?,
        "store" => store::run(&arguments)?,
        // Not for people: the parts of a suite that need a process of their own.
        "store-child" => return store::child(&arguments),
        other => bail!("unknown suite {other}; one of: against, blob, file, http, queue, smb, store, table"),
    };
    report.print();
    if let Some(path) = &arguments.json {
        report.save(path)?;
    }
    Ok(())
}
