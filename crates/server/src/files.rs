//! The few files that the program itself reads and writes: configuration, certificates, and the note in the data
//! directory that says where the admin port is. Everything that is data goes through the engine.

#![expect(clippy::disallowed_methods, reason = "small files of the program, none of them data")]

use std::{
    fs, io,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The note in the data directory.
const NOTE: &str = "ADMIN";
/// Longest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a small text file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is larger than 1 MiB"));
    }
    fs::read_to_string(path)
}

/// Writes a small text file; one that exists only if it may be replaced, a secret one so that only its owner reads it.
pub(crate) fn write_text(path: &Path, text: &str, replace: bool, secret: bool) -> io::Result<()> {
    if replace {
        // A new file, so that its mode is ours whatever the old one's was.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
    options.open(path)?.write_all(text.as_bytes())
}

/// Where the server of a data directory can be asked, and the word that proves that the asker can read the directory.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AdminNote {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl AdminNote {
    /// Leaves the note. Only the owner of the directory can read it.
    pub(crate) fn write(&self, data_dir: &Path) -> io::Result<AdminNoteFile> {
        let path = data_dir.join(NOTE);
        let file = AdminNoteFile(path);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut open = options.open(&file.0)?;
        writeln!(open, "{} {}", self.address, self.token)?;
        Ok(file)
    }

    /// Finds the note.
    pub(crate) fn read(data_dir: &Path) -> Option<Self> {
        let text = read_text(&data_dir.join(NOTE)).ok()?;
        let (address, token) = text.trim_end().split_once(' ')?;
        Some(Self { address: address.parse().ok()?, token: token.to_owned() })
    }
}

/// The note while it is true; taken away when the server ends.
pub(crate) struct AdminNoteFile(PathBuf);

impl Drop for AdminNoteFile {
    fn drop(&mut self) {
        let _harmless_when_stale = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        assert!(AdminNote::read(directory.path()).is_none());
        let note = AdminNote { address: "[::1]:10009".parse().unwrap(), token: "abc".into() };
        let file = note.write(directory.path()).unwrap();
        assert!(AdminNote::read(directory.path()) == Some(note));
        drop(file);
        assert!(AdminNote::read(directory.path()).is_none());
    }
}
