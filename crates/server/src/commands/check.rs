//! `lazuli check`: verify everything, say what was found, for people or as JSON.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use serde_json::json;
use store::{Engine as _, Horizon, Snapshot};
use store_embedded::CheckReport;

use crate::{
    cli::CheckArgs,
    config, engine, output,
    progress::{Bar, size},
};

/// True when nothing is wrong.
pub(crate) fn run(arguments: CheckArgs) -> Result<bool> {
    let data_dir = config::data_dir(arguments.place.data_dir, arguments.place.config.as_deref())?;
    match check(&data_dir) {
        Ok(report) => {
            if arguments.json {
                output::print(&format!("{}\n", as_json(&data_dir, &report)));
            } else {
                output::print(&as_text(&data_dir, &report));
            }
            Ok(report.is_clean())
        }
        Err(error) if arguments.json => {
            let report = json!({ "data_dir": data_dir.display().to_string(), "error": format!("{error:#}") });
            output::print(&format!("{report}\n"));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn check(data_dir: &Path) -> Result<CheckReport> {
    let engine = Arc::new(engine::open_existing(data_dir).map_err(|error| error.explained(data_dir))?);
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start")?;
    let mut bar = Bar::new("checking");
    let total = engine.metrics().live_chunk_bytes;
    let mut report = runtime.block_on(engine.check(|progress| bar.show(progress.rows, progress.chunk_bytes, total)))?;
    bar.end();
    // The engine knows chunks and the rows that own them; what the rows of a service mean, only the service knows.
    report.problems.extend(runtime.block_on(audit_services(&Snapshot::new(engine.view(Horizon::Durable))))?);
    engine.close()?;
    Ok(report)
}

/// What the services find wrong with their own rows.
async fn audit_services(rows: &Snapshot) -> Result<Vec<String>> {
    let found = [
        ("blob", blob::audit::audit(rows).await?.problems),
        ("queue", queue::audit::audit(rows).await?.problems),
        ("table", table::audit::audit(rows).await?.problems),
        ("file", file::audit::audit(rows).await?.problems),
    ];
    let named = |(service, problems): (&str, Vec<String>)| {
        problems.into_iter().map(|problem| format!("{service} service: {problem}")).collect::<Vec<_>>()
    };
    Ok(found.into_iter().flat_map(named).collect())
}

fn as_json(data_dir: &Path, report: &CheckReport) -> serde_json::Value {
    json!({
        "data_dir": data_dir.display().to_string(),
        "clean": report.is_clean(),
        "rows": report.rows,
        "chunks": report.chunks,
        "chunk_bytes": report.chunk_bytes,
        "extents": report.extents,
        "log_frames": report.recovery.frames,
        "torn_frames": report.recovery.torn_frames,
        "problems": report.problems,
    })
}

fn as_text(data_dir: &Path, report: &CheckReport) -> String {
    let mut out = format!(
        "{}: {} rows, {} chunks of {} in {} extents; {} frames of the log read, {} torn at its end\n",
        data_dir.display(),
        report.rows,
        report.chunks,
        size(report.chunk_bytes),
        report.extents,
        report.recovery.frames,
        report.recovery.torn_frames,
    );
    for problem in &report.problems {
        out.push_str(&format!("problem: {problem}\n"));
    }
    out.push_str(&match report.problems.len() {
        0 => "clean\n".to_owned(),
        count => format!("damaged: {count} problems\n"),
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_whether_it_is_clean() {
        let mut report = CheckReport { rows: 3, chunk_bytes: 2048, ..CheckReport::default() };
        assert!(as_text(Path::new("d"), &report).ends_with("\nclean\n"));
        assert_eq!(as_json(Path::new("d"), &report)["clean"], true);
        report.problems.push("extent 1 is gone".into());
        assert!(as_text(Path::new("d"), &report).ends_with("problem: extent 1 is gone\ndamaged: 1 problems\n"));
        assert_eq!(as_json(Path::new("d"), &report)["problems"][0], "extent 1 is gone");
    }
}
