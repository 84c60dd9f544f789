//! The server over HTTP, beside Azurite and nginx, and over SMB beside smbd, in turns. The load generator is a closed loop of our own.

mod against;
mod blob;
mod client;
mod file;
mod load;
mod machine;
mod million;
mod peers;
mod queue;
mod scene;
mod signer;
mod smb;
mod table;
mod whole;

use std::time::Duration;

use crate::{Arguments, report::Report};
use scene::Scene;

/// The suites that need a server.
pub(crate) fn run(suite: &str, arguments: &Arguments) -> anyhow::Result<Report> {
    runtime()?.block_on(async {
        let mut scene = Scene::set(arguments)?;
        match suite {
            "blob" => blob::run(&mut scene).await?,
            "file" => file::run(&mut scene).await?,
            "queue" => queue::run(&mut scene).await?,
            "table" => table::run(&mut scene).await?,
            _ => whole::run(&mut scene).await?,
        }
        Ok(std::mem::take(&mut scene.report))
    })
}

/// Files over SMB, beside smbd.
pub(crate) fn smb(arguments: &Arguments) -> anyhow::Result<Report> {
    runtime()?.block_on(smb::run(arguments))
}

/// This build and another one, in turns: what became slower?
pub(crate) fn against(arguments: &Arguments, other: &std::path::Path) -> anyhow::Result<Report> {
    runtime()?.block_on(against::run(arguments, other))
}

/// Loads a server that is already running, for profiling it: `load PORT put|get BYTES SECONDS`, of the Table service
/// `load PORT insert|batch|point|scan 0 SECONDS`, of the Queue service `load PORT queue MESSAGES SECONDS`, of files and page
/// blobs `load PORT put-range|put-page|… FILEPORT SECONDS`.
pub(crate) fn load(words: &[String]) -> anyhow::Result<()> {
    let [port, verb, size, seconds] = words else { anyhow::bail!("load PORT put|get|queue BYTES|MESSAGES SECONDS") };
    let (mut peer, size, time): (_, usize, _) =
        (peers::Peer::running(port.parse()?)?, size.parse()?, Duration::from_secs(seconds.parse()?));
    if verb.contains('-') {
        peer.file_port = u16::try_from(size)?;
        let measured = runtime()?.block_on(file::load_running(&peer, verb, time))?;
        println!("{:.0}/s", measured.rate);
        return Ok(());
    }
    let measured = runtime()?.block_on(async {
        match (verb.as_str(), table::Work::named(verb)) {
            (_, Some(work)) => table::load_running(&peer, work, time).await,
            ("queue", _) => queue::load_running(&peer, size, time).await,
            ("put", _) => whole::load_running(&peer, true, size, time).await,
            _ => whole::load_running(&peer, false, size, time).await,
        }
    })?;
    println!("{:.0}/s", measured.rate);
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
