//! `--ports-file`: which ports are open, for whoever started the server with port 0 and does not want to read its banner.
//!
//! Invariant: a file under its name is whole and is about a server that has its ports. One that an earlier server left
//! behind is taken away before the first port is bound; at a clean end it is taken away too.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::{banner::Endpoint, files};

/// What stands in the file.
#[derive(Serialize)]
struct Document {
    /// The process, to tell whether it is still there after a hard end.
    pid: u32,
    #[serde(flatten)]
    services: BTreeMap<&'static str, Listening>,
}

#[derive(Serialize)]
struct Listening {
    port: u16,
    /// Where it listens, each as the beginning of a URL.
    urls: Vec<String>,
}

impl Listening {
    fn new(scheme: &str, addresses: &[SocketAddr]) -> Option<Self> {
        let urls = addresses.iter().map(|address| format!("{scheme}://{address}")).collect();
        addresses.first().map(|first| Self { port: first.port(), urls })
    }
}

/// Takes away what an earlier server left.
pub(crate) fn clear(path: &Path) -> Result<()> {
    files::remove(path).with_context(|| format!("cannot replace {}", path.display()))
}

/// The file while it is true.
pub(crate) struct PortsFile(PathBuf);

impl PortsFile {
    /// Writes it.
    pub(crate) fn write(path: &Path, scheme: &str, endpoints: &[Endpoint], admin: SocketAddr) -> Result<Self> {
        let services = endpoints.iter().map(|endpoint| (endpoint.name, Listening::new(scheme, &endpoint.addresses)));
        let admin = ("admin", Listening::new("http", &[admin]));
        let services = services.chain([admin]).filter_map(|(name, listening)| listening.map(|found| (name, found)));
        let document = Document { pid: std::process::id(), services: services.collect() };
        let written = serde_json::to_string_pretty(&document)
            .map_err(io::Error::other)
            .and_then(|text| files::write_whole(path, &format!("{text}\n")));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PortsFile {
    fn drop(&mut self) {
        let _harmless_when_stale = files::remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_every_port_and_goes_with_its_server() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ports.json");
        let addresses = vec!["127.0.0.1:4711".parse().unwrap(), "[::1]:4711".parse().unwrap()];
        let endpoints = [Endpoint { name: "blob", key: "BlobEndpoint", addresses }];
        let file = PortsFile::write(&path, "https", &endpoints, "127.0.0.1:4712".parse().unwrap()).unwrap();
        let text = files::read_text(&path).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["pid"], std::process::id());
        assert_eq!((&document["blob"]["port"], &document["admin"]["port"]), (&4711.into(), &4712.into()));
        assert_eq!(document["blob"]["urls"], serde_json::json!(["https://127.0.0.1:4711", "https://[::1]:4711"]));
        assert_eq!(document["admin"]["urls"], serde_json::json!(["http://127.0.0.1:4712"]));
        drop(file);
        assert!(!path.exists());
        clear(&path).unwrap();
    }
}
