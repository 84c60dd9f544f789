//! Asking the server that has a data directory: one short request to its admin port.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{admin::TOKEN_HEADER, commands::backup, files::AdminNote};

const CONNECT: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(30);
/// Longest answer.
const ANSWER_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Sends a request and returns the body of its answer.
pub(crate) fn ask(data_dir: &Path, method: &str, target: &str, body: &str) -> Result<String> {
    let in_use = || format!("{} is in use, and no server answers for it", data_dir.display());
    let note = AdminNote::read(data_dir).with_context(in_use)?;
    let mut stream = TcpStream::connect_timeout(&note.address, CONNECT).with_context(in_use)?;
    stream.set_read_timeout(Some(SILENCE))?;
    // HTTP/1.0: the answer ends with the connection.
    write!(
        stream,
        "{method} {target} HTTP/1.0\r\nhost: {}\r\n{TOKEN_HEADER}: {}\r\ncontent-length: {}\r\n\r\n{body}",
        note.address,
        note.token,
        body.len()
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX_BYTES).read_to_string(&mut answer).context("the server went away")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the server closed the connection")?;
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("the server refused: {}", backup::plain(&body.replace('\n', " ")).unwrap_or_else(|| status.to_owned()));
    }
    Ok(body.to_owned())
}
