//! Opening after a clean close and after `kill -9`, and the memory of an idle engine. Each in a process of its own.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;

use super::{Arguments, Report, open, reads, resident_mib};

pub(crate) fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let path = directory.path().join("ours");
    let rows = if arguments.quick { "200000" } else { "1000000" };
    run_child(&path, "load", rows)?;
    let clean = run_child(&path, "open", "0")?;
    report.limit(&format!("open after a clean close, {rows} rows"), "ms", clean[0], 100.0);
    report.limit("resident memory, idle, engine open", "MiB", clean[1], 25.0);
    run_child(&path, "fill", "1000000")?;
    let crashed = run_child(&path, "open", "0")?;
    report.limit("open after kill -9 with a full log", "ms", crashed[0], 2000.0);
    Ok(())
}

fn run_child(path: &std::path::Path, step: &str, rows: &str) -> anyhow::Result<Vec<f64>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["store-child", "--directory"])
        .arg(path)
        .env("LAZULI_BENCH_STEP", step)
        .env("LAZULI_BENCH_ROWS", rows)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = String::new();
    if step == "fill" {
        // It writes until it is killed: no destructor runs.
        std::thread::sleep(Duration::from_secs(6));
        child.kill()?;
    }
    std::io::Read::read_to_string(&mut child.stdout.take().context("no output")?, &mut output)?;
    let status = child.wait()?;
    anyhow::ensure!(step == "fill" || status.success(), "{step} failed");
    Ok(output.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

pub(crate) fn child(arguments: &Arguments) -> anyhow::Result<()> {
    let rows: u64 = std::env::var("LAZULI_BENCH_ROWS")?.parse()?;
    let start = Instant::now();
    let opened = open(&arguments.directory)?;
    let open_ms = start.elapsed().as_secs_f64() * 1000.0;
    match std::env::var("LAZULI_BENCH_STEP")?.as_str() {
        "load" => {
            reads::load(&opened, rows)?;
            opened.engine.close()?;
        }
        // For profiling: reads at random for some seconds.
        "gets" => println!("{:.0}/s", reads::gets_for(&opened.store, rows, Duration::from_secs(5))?),
        "fill" => loop {
            reads::load(&opened, rows)?;
        },
        _ => {
            std::thread::sleep(Duration::from_secs(2));
            println!("{open_ms} {}", resident_mib()?);
        }
    }
    Ok(())
}
