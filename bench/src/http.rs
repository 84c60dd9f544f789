//! The server over HTTP, beside Azurite and nginx, in turns. The load generator is a closed loop of our own.

mod blob;
mod client;
mod load;
mod peers;
mod queue;
mod rows;
mod table;

use std::time::Duration;

use crate::{Arguments, report::Report};

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let time = Duration::from_secs(if arguments.quick { 2 } else { 5 });
    let rounds = if arguments.quick { 1 } else { 3 };
    runtime.block_on(rows::run(arguments, time, rounds))
}

/// The Blob service beyond whole blobs, beside Azurite's.
pub(crate) fn run_blob(arguments: &Arguments) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let time = Duration::from_secs(if arguments.quick { 2 } else { 5 });
    let rounds = if arguments.quick { 1 } else { 3 };
    runtime.block_on(blob::run(arguments, time, rounds))
}

/// The Queue service, beside Azurite's.
pub(crate) fn run_queue(arguments: &Arguments) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let time = Duration::from_secs(if arguments.quick { 2 } else { 5 });
    let rounds = if arguments.quick { 1 } else { 3 };
    runtime.block_on(queue::run(arguments, time, rounds))
}

/// The Table service, beside Azurite's.
pub(crate) fn run_table(arguments: &Arguments) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let time = Duration::from_secs(if arguments.quick { 2 } else { 5 });
    let rounds = if arguments.quick { 1 } else { 3 };
    runtime.block_on(table::run(arguments, time, rounds))
}

/// Loads a server that is already running, for profiling it: `load PORT put|get BYTES SECONDS`, of the Table service
/// `load PORT insert|batch|point|scan 0 SECONDS`, of the Queue service `load PORT queue MESSAGES SECONDS`.
pub(crate) fn load(words: &[String]) -> anyhow::Result<()> {
    let [port, verb, bytes, seconds] = words else { anyhow::bail!("load PORT put|get|queue BYTES|MESSAGES SECONDS") };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let bytes: usize = bytes.parse()?;
    if let Some(work) = table::Work::named(verb) {
        return runtime.block_on(table::load_running(port.parse()?, work, Duration::from_secs(seconds.parse()?)));
    }
    if verb == "queue" {
        return runtime.block_on(queue::load_running(port.parse()?, bytes, Duration::from_secs(seconds.parse()?)));
    }
    runtime.block_on(rows::load(port.parse()?, verb, bytes, Duration::from_secs(seconds.parse()?)))
}
