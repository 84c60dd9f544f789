//! The built server, started on free ports with a data directory of its own, for the tests beside this.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// The account that a new server has.
pub const ACCOUNT: &str = "devstoreaccount1";

/// A running server; it ends with its owner.
pub struct Server {
    process: Child,
    connection: String,
    smb_port: u16,
    _data: tempfile::TempDir,
}

fn binary() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/ci/lazuli");
    std::env::var_os("LAZULI_BINARY").map_or_else(built, PathBuf::from)
}

impl Server {
    /// Starts one.
    pub fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary());
        command.args(["serve", "--log-level", "error", "--data-dir"]).arg(data.path().join("data"));
        for service in ["blob", "queue", "table", "file", "smb", "admin"] {
            command.args([&format!("--{service}-port"), "0"]);
        }
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let printed: Vec<String> = lines.take_while(|line| !line.starts_with("Ready")).collect();
        let connection = printed.iter().find(|line| line.starts_with("DefaultEndpointsProtocol=")).unwrap().clone();
        let smb_port = printed.iter().find_map(|line| line.split_once("smb://127.0.0.1:")).unwrap().1.parse().unwrap();
        Self { process, connection, smb_port, _data: data }
    }

    fn setting(&self, name: &str) -> String {
        let found = self.connection.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.unwrap().to_owned()
    }

    /// The address of a service, by its name in connection strings.
    pub fn endpoint(&self, service: &str) -> String {
        self.setting(&format!("{service}Endpoint"))
    }

    /// Where SMB is spoken.
    pub fn smb_port(&self) -> u16 {
        self.smb_port
    }

    /// The key of the account.
    pub fn key(&self) -> String {
        self.setting("AccountKey")
    }

    /// An account SAS that may do everything in the service with this letter, for clients that take no keys.
    pub fn sas(&self, service: &str) -> String {
        let mut sas = Command::new(binary());
        sas.args(["sas", "account", "--services", service, "--resource-types", "sco", "--permissions", "rwdlacutf"]);
        sas.args(["--expiry", "1h", "--account-key", &self.key()]);
        let printed = sas.output().unwrap();
        assert!(printed.status.success(), "{printed:?}");
        String::from_utf8(printed.stdout).unwrap().trim().trim_start_matches('?').to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
