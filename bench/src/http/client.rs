//! A connection that sends prepared requests and reads answers, as little work as can be: the load generator shares the
//! machine with what it measures.

use std::io::IoSlice;

use anyhow::{Context, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// One kept connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Sends a request and reads its answer to the end. Returns the status and the bytes of the body.
    pub(crate) async fn call(&mut self, head: &str, body: &[u8]) -> anyhow::Result<(u16, usize)> {
        let both = [IoSlice::new(head.as_bytes()), IoSlice::new(body)];
        let written = self.stream.write_vectored(&both).await?;
        let (head, body) =
            (&head.as_bytes()[written.min(head.len())..], &body[written.saturating_sub(head.len()).min(body.len())..]);
        self.stream.write_all(head).await?;
        self.stream.write_all(body).await?;
        let mut filled = 0;
        let (head_end, status, length) = loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            if count == 0 {
                bail!("the connection was closed");
            }
            filled += count;
            if let Some(end) = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") {
                let head = std::str::from_utf8(&self.buffer[..end])?;
                let status: u16 = head.get(9..12).context("no status")?.parse()?;
                if status >= 500 {
                    bail!("answered {head}");
                }
                break (end + 4, status, content_length(head)?);
            }
        };
        let mut got = filled - head_end;
        match length {
            Some(length) => {
                while got < length {
                    let count = self.stream.read(&mut self.buffer).await?;
                    if count == 0 {
                        bail!("the body was cut off");
                    }
                    got += count;
                }
            }
            None => {
                // Chunked: read until the last chunk. Good enough for measuring a listing.
                let mut tail: Vec<u8> = self.buffer[head_end..filled].to_vec();
                while !tail.ends_with(b"0\r\n\r\n") {
                    let count = self.stream.read(&mut self.buffer).await?;
                    if count == 0 {
                        bail!("the body was cut off");
                    }
                    got += count;
                    tail.extend_from_slice(&self.buffer[..count]);
                    let keep = tail.len().saturating_sub(16);
                    tail.drain(..keep);
                }
            }
        }
        Ok((status, got))
    }

    /// Sends a HEAD, whose answer has no body whatever it says about its length, and returns the status.
    pub(crate) async fn call_for_head(&mut self, head: &str) -> anyhow::Result<u16> {
        self.stream.write_all(head.as_bytes()).await?;
        let mut filled = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            anyhow::ensure!(count > 0, "the connection was closed");
            filled += count;
            if self.buffer[..filled].ends_with(b"\r\n\r\n") {
                return Ok(std::str::from_utf8(&self.buffer[9..12])?.parse()?);
            }
        }
    }

    /// Sends a request without a body whose answer has an ETag and no body, and returns the ETag.
    pub(crate) async fn call_for_etag(&mut self, head: &str) -> anyhow::Result<String> {
        self.stream.write_all(head.as_bytes()).await?;
        let mut filled = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            anyhow::ensure!(count > 0, "the connection was closed");
            filled += count;
            let Some(end) = self.buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let answer = std::str::from_utf8(&self.buffer[..end])?;
            anyhow::ensure!(answer.get(9..12) == Some("201"), "answered {}", answer.get(9..12).unwrap_or_default());
            let etag = answer.split("\r\n").find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("etag").then(|| value.trim().to_owned())
            });
            return etag.context("no ETag");
        }
    }

    /// Sends a request and reads a small answer whose body is wanted. Returns the status and the body.
    pub(crate) async fn call_for_text(&mut self, head: &str, body: &[u8]) -> anyhow::Result<(u16, String)> {
        self.stream.write_all(&[head.as_bytes(), body].concat()).await?;
        let mut answer = Vec::new();
        loop {
            let count = self.stream.read(&mut self.buffer).await?;
            anyhow::ensure!(count > 0, "the connection was closed");
            answer.extend_from_slice(&self.buffer[..count]);
            let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&answer[..end])?;
            let status = head.get(9..12).context("no status")?.parse()?;
            let body = &answer[end + 4..];
            let complete = match content_length(head)? {
                Some(length) => body.len() >= length,
                None => status == 204 || body.ends_with(b"0\r\n\r\n"),
            };
            if complete {
                return Ok((status, String::from_utf8_lossy(body).into_owned()));
            }
        }
    }
}

fn content_length(head: &str) -> anyhow::Result<Option<usize>> {
    for line in head.split("\r\n").skip(1) {
        if let Some((name, value)) = line.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                return Ok(Some(value.trim().parse()?));
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Ok(None);
            }
        }
    }
    Ok(Some(0))
}
