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

/// Writes a small text file so that nobody ever sees half of it.
pub(crate) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let partial = path.with_file_name(name);
    write_text(&partial, text, true, false)?;
    fs::rename(&partial, path).inspect_err(|_| {
        let _nothing_left = fs::remove_file(&partial);
    })
}

/// Takes a file away, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What this process makes from here on is for its owner alone, also what a library makes in a data directory.
pub(crate) fn keep_private() {
    let _whatever_it_was = rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// What stands at the place of a data directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DataDirectory {
    /// Nothing.
    Missing,
    /// A directory that is empty, or one whose first start was broken off.
    Empty,
    /// A data directory.
    Ours,
    /// Something else, with this in it.
    Foreign(String),
}

/// What a data directory holds before it is one, and what file systems put at their top.
const HARMLESS: [&str; 6] = ["LOCK", "VERSION.new", "extents", "index", "log", "lost+found"];

/// Looks at the place of a data directory.
///
/// # Errors
/// It is no directory, or it must not be looked at.
pub(crate) fn data_directory(path: &Path) -> io::Result<DataDirectory> {
    match fs::metadata(path.join("VERSION")) {
        Ok(found) if found.is_file() => return Ok(DataDirectory::Ours),
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(error);
        }
        _ => {}
    }
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DataDirectory::Missing),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !HARMLESS.contains(&name.as_str()) {
            return Ok(DataDirectory::Foreign(name));
        }
    }
    Ok(DataDirectory::Empty)
}

/// A failure of the file system in plain words.
pub(crate) fn plain(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            anyhow::anyhow!("permission denied: another user owns it; run this as the user that the server runs as")
        }
        io::ErrorKind::NotADirectory => anyhow::anyhow!("it is not a directory"),
        _ => error.into(),
    }
}

/// Where the server of a data directory can be asked, and the token that proves that the asker can read the directory.
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

    /// Finds the note, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(data_dir: &Path) -> io::Result<Option<Self>> {
        let text = match read_text(&data_dir.join(NOTE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let parsed = text
            .trim_end()
            .split_once(' ')
            .and_then(|(address, token)| Some(Self { address: address.parse().ok()?, token: token.to_owned() }));
        Ok(parsed)
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
        assert!(AdminNote::read(directory.path()).unwrap().is_none());
        let note = AdminNote { address: "[::1]:10009".parse().unwrap(), token: "abc".into() };
        let file = note.write(directory.path()).unwrap();
        assert!(AdminNote::read(directory.path()).unwrap() == Some(note));
        drop(file);
        assert!(AdminNote::read(directory.path()).unwrap().is_none());
    }

    #[test]
    fn a_data_directory_is_told_from_other_places() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let look = |name: &str| data_directory(&path(name)).map_err(|error| error.kind());
        assert_eq!(look("a"), Ok(DataDirectory::Missing));
        fs::create_dir_all(path("a/log")).unwrap();
        fs::create_dir_all(path("a/lost+found")).unwrap();
        assert_eq!(look("a"), Ok(DataDirectory::Empty));
        fs::write(path("a/letter.txt"), "").unwrap();
        assert_eq!(look("a"), Ok(DataDirectory::Foreign("letter.txt".into())));
        fs::write(path("a/VERSION"), "").unwrap();
        assert_eq!(look("a"), Ok(DataDirectory::Ours));
        assert_eq!(look("a/letter.txt"), Err(io::ErrorKind::NotADirectory));
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for text in ["one", "another"] {
            write_whole(&path, text).unwrap();
            assert_eq!(read_text(&path).unwrap(), text);
        }
        fs::create_dir_all(directory.path().join("taken/x")).unwrap();
        assert!(write_whole(&directory.path().join("taken"), "text").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left behind");
        remove(&path).unwrap();
        remove(&path).unwrap();
    }
}
