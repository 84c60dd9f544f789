//! `lazuli restore`: a backup becomes a data directory. The target must not exist or be empty; nothing is overwritten.

use anyhow::{Context as _, Result, bail};

use crate::{
    cli::RestoreArgs,
    config, engine,
    files::{self, DataDirectory},
    output,
    progress::{Bar, size},
};

pub(crate) fn run(arguments: RestoreArgs) -> Result<()> {
    let data_dir = config::data_dir(arguments.place.data_dir, arguments.place.config.as_deref())?;
    let data_dir = std::path::absolute(&data_dir).with_context(|| data_dir.display().to_string())?;
    let from = || format!("cannot restore {}", arguments.from.display());
    match files::data_directory(&arguments.from).map_err(files::plain).with_context(from)? {
        DataDirectory::Ours => {}
        DataDirectory::Missing => bail!("{}: it does not exist", from()),
        DataDirectory::Empty | DataDirectory::Foreign(_) => bail!("{}: it is no backup", from()),
    }
    files::keep_private();
    let mut bar = Bar::new("restoring");
    let copied =
        store_embedded::restore(&arguments.from, &data_dir, |done| bar.show(done.rows, done.bytes, done.total_bytes));
    let done = copied.map_err(engine::reason).with_context(from)?;
    bar.end();
    output::print(&format!("{}: {} restored\n", data_dir.display(), size(done.bytes)));
    Ok(())
}
