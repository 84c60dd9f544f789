//! `lazuli backup`: opens the data directory itself, or asks the server that has it.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use store_embedded::{CopyProgress, OpenError};

use crate::{
    admin::{BACKUP_PATH, TOKEN_HEADER},
    admin_client,
    cli::BackupArgs,
    config,
    engine::{self, OpenExistingError},
    output,
    progress::{Bar, size},
};

/// Longest silence of the server: the rows of a large store are copied before the first bytes.
const SILENCE: Duration = Duration::from_mins(30);

pub(crate) fn run(arguments: BackupArgs) -> Result<()> {
    let data_dir = config::data_dir(arguments.place.data_dir, arguments.place.config.as_deref())?;
    let target = std::path::absolute(&arguments.to).with_context(|| arguments.to.display().to_string())?;
    let mut bar = Bar::new("backing up");
    let done = match engine::open_existing(&data_dir) {
        Ok(engine) => {
            let copied = engine.backup(&target, |done| bar.show(done.rows, done.bytes, done.total_bytes));
            let closed = engine.close();
            let done =
                copied.map_err(engine::reason).with_context(|| format!("cannot back up to {}", target.display()))?;
            closed?;
            done
        }
        Err(OpenExistingError::Open(OpenError::Locked(_))) => ask(&data_dir, &target, &mut bar)?,
        Err(error) => return Err(error.explained(&data_dir)),
    };
    bar.end();
    output::print(&format!("{}: {} rows and {} backed up\n", target.display(), done.rows, size(done.bytes)));
    Ok(())
}

/// Asks the server that has the directory.
fn ask(data_dir: &Path, target: &Path, bar: &mut Bar) -> Result<CopyProgress> {
    let (note, mut stream) = admin_client::connect(data_dir)?;
    stream.set_read_timeout(Some(SILENCE))?;
    // HTTP/1.0: the answer ends with the connection, and its last line says whether it is whole.
    write!(
        stream,
        "POST {BACKUP_PATH}?to={} HTTP/1.0\r\nhost: {}\r\n{TOKEN_HEADER}: {}\r\ncontent-length: 0\r\n\r\n",
        encode(target)?,
        note.address,
        note.token
    )?;
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().context("the server closed the connection")??;
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    if status.split(' ').nth(1) != Some("200") {
        let reason = lines.map_while(Result::ok).collect::<Vec<_>>().join(" ");
        bail!("the server refused: {}", plain(&reason).unwrap_or(status));
    }
    for line in lines {
        let line = line.context("the server went away")?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match (word, numbers(rest).as_slice()) {
            ("progress", [rows, bytes, total]) => bar.show(*rows, *bytes, *total),
            ("done", [rows, bytes]) => return Ok(CopyProgress { rows: *rows, bytes: *bytes, total_bytes: *bytes }),
            ("failed", _) => bail!("cannot back up to {}: {rest}", target.display()),
            _ => bail!("the server answered something else: {line}"),
        }
    }
    bail!("the server went away before the backup was whole")
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(' ').filter_map(|word| word.parse().ok()).collect()
}

/// The message of an XML error, first line.
pub(crate) fn plain(xml: &str) -> Option<String> {
    let (_, rest) = xml.split_once("<Message>")?;
    let (message, _) = rest.split_once(" RequestId:")?;
    let reason =
        xml.split_once("<Reason>").and_then(|(_, rest)| rest.split_once("</Reason>")).map(|(reason, _)| reason);
    Some(reason.map_or_else(|| message.to_owned(), |reason| format!("{message} ({reason})")))
}

/// Percent-encodes a path for a query.
fn encode(path: &Path) -> Result<String> {
    let text =
        path.to_str().with_context(|| format!("{} is not UTF-8, and the server is asked in UTF-8", path.display()))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encoded =
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    Ok(encoded.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_query() {
        assert_eq!(encode(Path::new("/a b/ä&c")).unwrap(), "/a%20b/%C3%A4%26c");
    }

    #[test]
    fn an_xml_error_becomes_a_sentence() {
        let xml = "<Error><Code>X</Code><Message>Not so. RequestId:1 Time:2</Message><Reason>because</Reason></Error>";
        assert_eq!(plain(xml).as_deref(), Some("Not so. (because)"));
        assert_eq!(plain("nothing"), None);
    }
}
