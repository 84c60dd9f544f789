//! The File service over SMB beside Debian's smbd: the same smbclient, the same disk, in turns. A run of smbclient is measured as
//! its user sees it, from its start to its end.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use access::account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use anyhow::Context as _;

use super::{
    client::Connection,
    peers::Peer,
    scene::{median, settle},
    signer::Signer,
};
use crate::{Arguments, report::Report};

/// The share of both servers.
const SHARE: &str = "bench";
const SMBCLIENT: &str = "/usr/bin/smbclient";
/// How messages are protected, and what is enough beside smbd.
const PROTECTIONS: [(&str, &[&str], f64); 3] = [
    ("plain", &["--client-protection=off"], 0.8),
    ("signed", &["--client-protection=sign"], 1.0),
    ("encrypted", &["--client-protection=encrypt"], 1.0),
];
/// Bytes of a small file.
const SMALL: usize = 4096;

/// A server that is measured, as smbclient reaches it.
struct Server {
    port: u16,
    user: String,
    password: &'static str,
}

impl Server {
    /// Seconds that smbclient takes for some commands.
    fn run(&self, protection: &[&str], commands: &str) -> anyhow::Result<f64> {
        let mut command = Command::new(SMBCLIENT);
        command.arg(format!("//127.0.0.1/{SHARE}")).args(["-p", &self.port.to_string(), "--configfile=/dev/null"]);
        command.args(["-U", &format!("{}%{}", self.user, self.password)]).args(protection).args(["-c", commands]);
        let start = Instant::now();
        let done = command.stdin(Stdio::null()).output()?;
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        anyhow::ensure!(done.status.success() && !said.contains("NT_STATUS"), "smbclient {commands}: {said}");
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Where smbclient finds and leaves files.
struct Files {
    large: PathBuf,
    small: PathBuf,
    down: PathBuf,
    mebibytes: usize,
    count: usize,
}

impl Files {
    fn make(directory: &Path, quick: bool) -> anyhow::Result<Self> {
        let (mebibytes, count) = if quick { (256, 500) } else { (1024, 2000) };
        let files = Self {
            large: directory.join("large.bin"),
            small: directory.join("up"),
            down: directory.join("down"),
            mebibytes,
            count,
        };
        let mut file = std::fs::File::create(&files.large)?;
        let piece: Vec<u8> = (0..1_u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for _ in 0..mebibytes {
            file.write_all(&piece)?;
        }
        file.sync_all()?;
        let tree = files.small.join("small");
        std::fs::create_dir_all(&tree)?;
        std::fs::create_dir_all(&files.down)?;
        for number in 0..count {
            std::fs::write(tree.join(format!("{number:05}.txt")), &piece[..SMALL])?;
        }
        Ok(files)
    }
}

/// The rates of one server, over the rounds.
#[derive(Default)]
struct Rates(Vec<Vec<f64>>);

impl Rates {
    fn add(&mut self, round: Vec<f64>) {
        self.0.resize_with(round.len(), Vec::new);
        for (rates, rate) in self.0.iter_mut().zip(round) {
            rates.push(rate);
        }
    }
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    anyhow::ensure!(Path::new(SMBCLIENT).exists(), "smbclient is not installed");
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let files = Files::make(directory.path(), arguments.quick)?;
    let lazuli = Peer::lazuli(&directory.path().join("lazuli"))?;
    make_share(lazuli.file_port).await?;
    let ours = Server { port: lazuli.smb_port, user: DEVELOPMENT_ACCOUNT.into(), password: DEVELOPMENT_KEY };
    let smbd = Peer::smbd(directory.path())?.context("smbd is not installed: there is nothing to compare with")?;
    let theirs = Server { port: smbd.port, user: unix_user()?, password: "secret" };
    let rounds = if arguments.quick { 2 } else { 5 };
    let (mut report, what) = (Report::default(), ["put", "get"]);
    for (name, protection, at_least) in PROTECTIONS {
        let (mut our, mut their) = (Rates::default(), Rates::default());
        for _ in 0..rounds {
            our.add(in_turn(&ours, &smbd, &files, protection, large).await?);
            their.add(in_turn(&theirs, &lazuli, &files, protection, large).await?);
        }
        for ((verb, ours), theirs) in what.iter().zip(our.0).zip(their.0) {
            let row = format!("smbclient {verb}, {} MiB, {name}", files.mebibytes);
            report.ratio(&row, "MiB/s", median(ours), ("smbd", median(theirs)), at_least);
        }
    }
    let (mut our, mut their) = (Rates::default(), Rates::default());
    for _ in 0..rounds {
        our.add(in_turn(&ours, &smbd, &files, PROTECTIONS[0].1, small).await?);
        their.add(in_turn(&theirs, &lazuli, &files, PROTECTIONS[0].1, small).await?);
    }
    // Each is what smbd does as long as it need not be durable. A deletion here is answered when it is synced, and there is
    // nothing else in it: the three together are what a user waits for.
    let seconds = |rates: &Rates| rates.0.iter().map(|rates| 1.0 / median(rates.clone())).sum::<f64>();
    let (our_seconds, their_seconds) = (seconds(&our), seconds(&their));
    for ((verb, ours), theirs) in ["mput", "mget", "deltree"].iter().zip(our.0).zip(their.0) {
        let row = format!("smbclient {verb}, {} files of 4 KiB", files.count);
        report.ratio(&row, "/s", median(ours), ("smbd", median(theirs)), 1.0);
    }
    let row = format!("  put, got and deleted, {} files of 4 KiB", files.count);
    report.ratio(&row, "/s", 1.0 / our_seconds, ("smbd", 1.0 / their_seconds), 1.0);
    Ok(report)
}

type Work = fn(&Server, &Files, &[&str]) -> anyhow::Result<Vec<f64>>;

/// Measures one server while the other one is held.
async fn in_turn(
    server: &Server,
    other: &Peer,
    files: &Files,
    protection: &[&str],
    work: Work,
) -> anyhow::Result<Vec<f64>> {
    settle().await?;
    let _held = other.hold();
    work(server, files, protection)
}

/// MiB a second up and down.
fn large(server: &Server, files: &Files, protection: &[&str]) -> anyhow::Result<Vec<f64>> {
    let up = server.run(protection, &format!("put {} large.bin", files.large.display()))?;
    let down = server.run(protection, "get large.bin /dev/null")?;
    server.run(protection, "del large.bin")?;
    Ok([up, down].map(|seconds| files.mebibytes as f64 / seconds).to_vec())
}

/// Files a second up, down and deleted.
fn small(server: &Server, files: &Files, protection: &[&str]) -> anyhow::Result<Vec<f64>> {
    let up = server.run(protection, &format!("prompt; recurse; lcd {}; mput small", files.small.display()))?;
    let down = server.run(protection, &format!("prompt; recurse; lcd {}; mget small", files.down.display()))?;
    let gone = server.run(protection, "deltree small")?;
    std::fs::remove_dir_all(files.down.join("small"))?;
    Ok([up, down, gone].map(|seconds| files.count as f64 / seconds).to_vec())
}

async fn make_share(port: u16) -> anyhow::Result<()> {
    let head = Signer::new()?.head("PUT", &format!("/{SHARE}"), &[("restype", "share")], 0, &[]);
    let (status, _) = Connection::open(port).await?.call(&head, b"").await?;
    anyhow::ensure!(status == 201, "Create Share was answered {status}");
    Ok(())
}

/// Who runs this: smbd lets users of the system log on.
pub(crate) fn unix_user() -> anyhow::Result<String> {
    let said = Command::new("id").arg("-un").output()?;
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}
