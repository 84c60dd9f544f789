//! The programs that are measured: started on free ports with data of their own, stopped by their id when dropped.

use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

/// A running program.
pub(crate) struct Peer {
    pub(crate) port: u16,
    /// The port of its Queue service.
    pub(crate) queue_port: u16,
    /// The port of its Table service.
    pub(crate) table_port: u16,
    /// The port of its File service.
    pub(crate) file_port: u16,
    /// The port of its File service over SMB.
    pub(crate) smb_port: u16,
    child: Child,
    /// From its start to the first answers of its services.
    pub(crate) start: Duration,
}

impl Peer {
    /// Our own server, from the release build.
    pub(crate) fn lazuli(data: &Path) -> anyhow::Result<Self> {
        let binary = std::env::var_os("LAZULI_BINARY");
        Self::lazuli_of(&binary.map_or_else(|| PathBuf::from("target/release/lazuli"), PathBuf::from), data)
    }

    /// Our own server, from any build.
    pub(crate) fn lazuli_of(binary: &Path, data: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--log-level", "error", "--blob-port", "0", "--queue-port", "0", "--table-port", "0"]);
        command.args(["--file-port", "0", "--smb-port", "0", "--admin-port", "0", "--data-dir"]).arg(data);
        let start = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {binary:?}"))?;
        let stdout = child.stdout.take().context("no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut smb_port = 0;
        let endpoints = loop {
            let Some(line) = lines.next() else { bail!("lazuli ended before it printed its endpoints") };
            let line = line?;
            if let Some((_, port)) = line.split_once("smb://127.0.0.1:") {
                smb_port = port.trim().parse()?;
            }
            if line.contains("BlobEndpoint=") {
                break line;
            }
        };
        let port_of = |service: &str| -> anyhow::Result<u16> {
            let found = endpoints.split(&format!("{service}Endpoint=http://127.0.0.1:")).nth(1);
            let digits = found.with_context(|| format!("no {service} endpoint"))?;
            Ok(digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse()?)
        };
        let (port, queue_port, table_port) = (port_of("Blob")?, port_of("Queue")?, port_of("Table")?);
        // A build of before has none; `against` measures those too.
        let file_port = port_of("File").unwrap_or_default();
        std::thread::spawn(move || lines.for_each(drop));
        let mut peer = Self { port, queue_port, table_port, file_port, smb_port, child, start: Duration::ZERO };
        peer.wait(start)?;
        Ok(peer)
    }

    /// Debian's smbd with a share in this directory, whose user is who runs this; `None` when it is not installed.
    pub(crate) fn smbd(directory: &Path) -> anyhow::Result<Option<Self>> {
        if !Path::new("/usr/sbin/smbd").exists() {
            return Ok(None);
        }
        let (port, run, share) = (free_port()?, directory.join("smbd-run"), directory.join("smbd-share"));
        std::fs::create_dir_all(&run)?;
        std::fs::create_dir_all(&share)?;
        let configuration = run.join("smb.conf");
        let mut text = format!(
            "[global]\n server role = standalone server\n smb ports = {port}\n interfaces = lo\n bind interfaces only = yes\n\
             log level = 0\n load printers = no\n disable spoolss = yes\n server min protocol = SMB2_10\n"
        );
        for folder in
            ["lock directory", "state directory", "cache directory", "private dir", "pid directory", "ncalrpc dir"]
        {
            let path = run.join(folder.replace(' ', "-"));
            std::fs::create_dir_all(&path)?;
            text.push_str(&format!(" {folder} = {}\n", path.display()));
        }
        text.push_str(&format!(
            " log file = {}/log\n[bench]\n path = {}\n read only = no\n",
            run.display(),
            share.display()
        ));
        std::fs::write(&configuration, text)?;
        let mut password = Command::new("smbpasswd");
        password.arg("-c").arg(&configuration).args(["-a", "-s", &super::smb::unix_user()?]).stdin(Stdio::piped());
        let mut password = password.stdout(Stdio::null()).spawn().context("cannot start smbpasswd")?;
        password.stdin.take().context("no input")?.write_all(b"secret\nsecret\n")?;
        anyhow::ensure!(password.wait()?.success(), "smbpasswd failed");
        let start = Instant::now();
        let mut smbd = Command::new("/usr/sbin/smbd");
        // In a process group of its own: at its end it ends everybody in its group.
        smbd.args(["--foreground", "-s"]).arg(&configuration).stdin(Stdio::null());
        let child = smbd.spawn().context("cannot start smbd")?;
        let mut peer =
            Self { port, queue_port: 0, table_port: 0, file_port: 0, smb_port: port, child, start: Duration::ZERO };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            anyhow::ensure!(start.elapsed() < Duration::from_secs(60), "smbd did not start within a minute");
            anyhow::ensure!(peer.child.try_wait()?.is_none(), "smbd ended at once");
            std::thread::sleep(Duration::from_millis(1));
        }
        peer.start = start.elapsed();
        Ok(Some(peer))
    }

    /// Something that runs already; the child that is dropped with it is only a stand-in.
    pub(crate) fn running(port: u16) -> anyhow::Result<Self> {
        let child = Command::new("true").spawn()?;
        Ok(Self {
            port,
            queue_port: port,
            table_port: port,
            file_port: port,
            smb_port: 0,
            child,
            start: Duration::ZERO,
        })
    }

    /// Azurite, as `cargo xtask bench` installed it; `None` when it did not.
    pub(crate) fn azurite(data: &Path) -> anyhow::Result<Option<Self>> {
        let Some(home) = std::env::var_os("LAZULI_BENCH_AZURITE").map(PathBuf::from) else { return Ok(None) };
        let (port, queue, table) = (free_port()?, free_port()?, free_port()?);
        let mut command = Command::new(home.join("node_modules/.bin/node"));
        command.arg(home.join("node_modules/azurite/dist/src/azurite.js"));
        command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location"]).arg(data);
        for (flag, port) in [("--blobPort", port), ("--queuePort", queue), ("--tablePort", table)] {
            command.arg(flag).arg(port.to_string());
        }
        let start = Instant::now();
        let child = command.stdout(Stdio::null()).spawn().context("cannot start Azurite")?;
        let mut peer = Self {
            port,
            queue_port: queue,
            table_port: table,
            file_port: 0,
            smb_port: 0,
            child,
            start: Duration::ZERO,
        };
        peer.wait(start)?;
        Ok(Some(peer))
    }

    /// nginx serving a directory; `None` when it is not installed.
    pub(crate) fn nginx(directory: &Path) -> anyhow::Result<Option<Self>> {
        if !Path::new("/usr/sbin/nginx").exists() {
            return Ok(None);
        }
        let port = free_port()?;
        let run = directory.join("nginx-run");
        std::fs::create_dir_all(&run)?;
        let at = |name: &str| run.join(name).display().to_string();
        let configuration = run.join("nginx.conf");
        write!(
            std::fs::File::create(&configuration)?,
            "daemon off; worker_processes auto; user root; pid {}; error_log {} error;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n\
             client_body_temp_path {}; proxy_temp_path {}; fastcgi_temp_path {}; uwsgi_temp_path {}; scgi_temp_path {};\n\
             server {{ listen 127.0.0.1:{port}; root {}; }} }}\n",
            at("pid"),
            at("error.log"),
            at("a"),
            at("b"),
            at("c"),
            at("d"),
            at("e"),
            directory.display(),
        )?;
        let start = Instant::now();
        let child =
            Command::new("/usr/sbin/nginx").arg("-c").arg(&configuration).arg("-e").arg(at("error.log")).spawn()?;
        let mut peer =
            Self { port, queue_port: 0, table_port: 0, file_port: 0, smb_port: 0, child, start: Duration::ZERO };
        peer.wait(start)?;
        Ok(Some(peer))
    }

    /// Until it answers at every port that it has: some open them one after the other.
    fn wait(&mut self, start: Instant) -> anyhow::Result<()> {
        let ports = [self.port, self.queue_port, self.table_port, self.file_port];
        while ports.iter().any(|port| *port != 0 && answer(*port).is_err()) {
            anyhow::ensure!(start.elapsed() < Duration::from_secs(60), "it did not start within a minute");
            anyhow::ensure!(self.child.try_wait()?.is_none(), "it ended at once");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.start = start.elapsed();
        Ok(())
    }

    /// CPU seconds of the process and its children.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        processes(self.child.id()).into_iter().map(cpu_of).sum()
    }

    pub(crate) fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib.unwrap_or_default() / 1024.0
    }

    /// Holds it while another one is measured: what it has yet to do is not for others to wait for.
    pub(crate) fn hold(&self) -> Held {
        let held = Held(processes(self.child.id()));
        held.signal("-STOP");
        held
    }

    /// Ends the process without letting it clean up.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// A peer that is held until this is dropped.
pub(crate) struct Held(Vec<u32>);

impl Held {
    fn signal(&self, signal: &str) {
        // One that has ended needs no signal.
        let _sent = Command::new("kill").arg(signal).args(self.0.iter().map(u32::to_string)).status();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Asked politely first: nginx ends its workers, ours closes its store.
        let _asked = Command::new("kill").arg(self.child.id().to_string()).status();
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > Duration::from_secs(10) {
                let _killed = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn processes(parent: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    std::iter::once(parent).chain(children).collect()
}

fn cpu_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

/// Whether something at this port speaks HTTP, whatever it says.
fn answer(port: u16) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    stream.read_exact(&mut [0; 12])
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
