//! The program itself: started on free ports with data of its own, stopped by its id when it is dropped.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::wire::Wire;

/// Longest wait for the ports.
const START: Duration = Duration::from_secs(30);

/// A running server.
pub struct Lazuli {
    child: Child,
    ports: serde_json::Value,
    binary: PathBuf,
    home: PathBuf,
}

impl Lazuli {
    /// Starts the program with its data below `home`, which outlives it.
    ///
    /// # Errors
    /// It did not start.
    #[expect(clippy::disallowed_methods, reason = "the test is the operator here: it reads a file and a clock")]
    pub fn start(binary: &Path, home: &Path) -> io::Result<Self> {
        let ports_file = home.join("ports.json");
        // That of a server that was killed says nothing about the next.
        match std::fs::remove_file(&ports_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os() {
            if ["LAZULI_", "AZURITE_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.args(["serve", "--log-level", "error", "--data-dir"]).arg(home.join("data"));
        for service in ["blob", "queue", "table", "file", "smb", "admin"] {
            command.args([&format!("--{service}-port"), "0"]);
        }
        command.arg("--ports-file").arg(&ports_file).stdout(Stdio::null());
        let mut child = command.spawn()?;
        let start = Instant::now();
        // The file is there, and whole, when the ports are.
        let ports = loop {
            if let Ok(text) = std::fs::read(&ports_file) {
                break serde_json::from_slice(&text)?;
            }
            if child.try_wait()?.is_some() || start.elapsed() > START {
                return Err(io::Error::other("the server did not start"));
            }
            std::thread::yield_now();
        };
        Ok(Self { child, ports, binary: binary.to_owned(), home: home.to_owned() })
    }

    /// A client of one of its services: `blob`, `queue`, `table` or `file`.
    #[must_use]
    pub fn client(&self, service: &'static str) -> Wire {
        let port = self.ports.get(service).and_then(|service| service.get("port")).and_then(serde_json::Value::as_u64);
        Wire::new(service, port.and_then(|port| u16::try_from(port).ok()).unwrap_or_default())
    }

    /// Ends it as a power failure would, as far as a process can be ended so, and starts it again. The ports change.
    ///
    /// # Errors
    /// It did not start again.
    pub fn kill_and_start(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        let again = Self::start(&self.binary, &self.home)?;
        drop(std::mem::replace(self, again));
        Ok(())
    }
}

impl Drop for Lazuli {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}
