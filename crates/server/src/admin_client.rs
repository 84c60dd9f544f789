//! Asking the server that has a data directory: one short request to its admin port.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::{
    admin::TOKEN_HEADER,
    commands::backup,
    files::{self, AdminNote},
};

/// Until a server that works has said that it does.
const ALIVE: Duration = Duration::from_secs(2);
const SILENCE: Duration = Duration::from_secs(30);
/// Longest answer.
const ANSWER_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Finds the server that has a data directory, and a connection to it. One that hangs, or was stopped by a signal, is told
/// from one that works on what it was asked: it is asked first whether it is alive.
pub(crate) fn connect(data_dir: &Path) -> Result<(AdminNote, TcpStream)> {
    let place = data_dir.display();
    let in_use = || format!("{place} is in use, and no server answers for it");
    let note = AdminNote::read(data_dir).map_err(files::plain).with_context(in_use)?;
    let note = note.with_context(|| format!("{place} is in use by another command, or by a server that is ending"))?;
    let alive = || -> io::Result<TcpStream> {
        let mut first = TcpStream::connect_timeout(&note.address, ALIVE)?;
        first.set_read_timeout(Some(ALIVE))?;
        first.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        first.read_exact(&mut [0; 1])?;
        TcpStream::connect_timeout(&note.address, ALIVE)
    };
    let stream = alive().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            anyhow!("the server at {} is silent for {} seconds: it is stopped or hangs", note.address, ALIVE.as_secs())
        }
        io::ErrorKind::ConnectionRefused => anyhow!("connection refused at {}", note.address),
        _ => error.into(),
    });
    let stream = stream.with_context(in_use)?;
    Ok((note, stream))
}

/// Sends a request and returns the body of its answer.
pub(crate) fn ask(data_dir: &Path, method: &str, target: &str, body: &str) -> Result<String> {
    let (note, mut stream) = connect(data_dir)?;
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
