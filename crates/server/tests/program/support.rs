//! Starts the built program, on free ports only and without settings of whoever runs the tests.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

/// Services whose ports the program would otherwise take fixed ones for.
const SERVICES: [&str; 6] = ["BLOB", "QUEUE", "TABLE", "FILE", "SMB", "ADMIN"];

pub(crate) fn lazuli(arguments: &[&str]) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_lazuli")), arguments)
}

/// A command without the settings of the environment, and with free ports unless a flag says otherwise.
pub(crate) fn clean(mut command: Command, arguments: &[&str]) -> Command {
    for (name, _) in std::env::vars_os() {
        if ["LAZULI_", "AZURITE_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.envs(SERVICES.map(|service| (format!("LAZULI_{service}_PORT"), "0")));
    command.args(arguments);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    lazuli(arguments).output().unwrap()
}

/// Did what it should; what it printed.
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Ran into an error: exit code and the one line.
pub(crate) fn refused(arguments: &[&str]) -> (i32, String) {
    refusal(&mut lazuli(arguments))
}

pub(crate) fn refusal(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), line)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A running server. It ends with its owner.
pub(crate) struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) banner: String,
}

impl Server {
    pub(crate) fn start(data_dir: &Path, more: &[&str]) -> Self {
        let mut command = lazuli(&["serve", "--data-dir", text(data_dir)]);
        command.args(more);
        Self::of(&mut command)
    }

    /// Any command that serves.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("Ready.") {
            assert!(out.read_line(&mut banner).unwrap() > 0, "ended early: {banner}");
        }
        Self { child, out, banner }
    }

    pub(crate) fn ask(&self, request: &str) -> (u16, String) {
        self.ask_of("admin", request, "")
    }

    /// Sends the head of a request to a service.
    pub(crate) fn ask_of(&self, service: &str, request: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.endpoint(service)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{request} HTTP/1.0\r\nhost: x\r\n{headers}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Where a service listens.
    pub(crate) fn endpoint(&self, name: &str) -> SocketAddr {
        let line = self.banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split("://").nth(1).unwrap().parse().unwrap()
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(self) -> i32 {
        self.signal(rustix::process::Signal::TERM);
        self.ended().0
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code, and what it printed after the banner.
    pub(crate) fn ended(mut self) -> (i32, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().expect("ended by a signal"), rest)
    }

    /// Sends SIGTERM; the exit code, what it printed after the banner, and its log, if that was piped.
    pub(crate) fn end_with_log(mut self) -> (i32, String, String) {
        let mut errors = self.child.stderr.take().expect("the log is piped");
        self.signal(rustix::process::Signal::TERM);
        let mut log = String::new();
        errors.read_to_string(&mut log).unwrap();
        let (code, said) = self.ended();
        (code, said, log)
    }

    /// Kills it without a chance to clean up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
