//! The files of the index: they are real, wherever the machine keeps files in memory.

use std::path::Path;

use tempfile::TempDir;

/// A new place.
pub(crate) fn directory() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
}

#[expect(clippy::disallowed_methods, reason = "the files of the index are real")]
/// All of it, in a new place.
pub(crate) fn copy(from: &Path) -> std::io::Result<TempDir> {
    fn tree(from: &Path, to: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                tree(&entry.path(), &target)?;
            } else {
                std::fs::copy(entry.path(), target)?;
            }
        }
        Ok(())
    }
    let to = directory()?;
    tree(from, to.path())?;
    Ok(to)
}
