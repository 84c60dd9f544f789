//! Names as SMB sends them: components between backslashes, below the share.

use file::{object::Address, share::ShareAddress};
use types::FilePath;

use crate::{NtStatus, wire::text};

/// The default stream of a file, which is the only one.
const DATA_STREAM: &str = "::$DATA";

/// The address of a name in a share; an empty one is the topmost directory.
///
/// # Errors
/// The status of a name that no file can have.
pub(crate) fn address(share: &ShareAddress, name: &[u8]) -> Result<Address, NtStatus> {
    let name = text::decode(name)?;
    let path = path(&name)?;
    Ok(Address::new(share.clone(), path))
}

fn path(name: &str) -> Result<Option<FilePath>, NtStatus> {
    if name.is_empty() {
        return Ok(None);
    }
    if name.starts_with('\\') {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if name.contains('/') {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    let upper = name.to_ascii_uppercase();
    let name = if upper.ends_with(DATA_STREAM) { name.get(..name.len() - DATA_STREAM.len()) } else { Some(name) };
    let slashed = name.ok_or(NtStatus::OBJECT_NAME_INVALID)?.replace('\\', "/");
    if slashed.split('/').any(|component| component == ".." || component == ".") {
        return Err(NtStatus::OBJECT_PATH_SYNTAX_BAD);
    }
    FilePath::parse(&slashed).map(Some).map_err(|_| NtStatus::OBJECT_NAME_INVALID)
}

/// The share that a path of TREE_CONNECT names: what is behind the last backslash.
///
/// # Errors
/// It is no such path.
pub(crate) fn share_of(path: &[u8]) -> Result<String, NtStatus> {
    let path = text::decode(path)?;
    let rest = path.strip_prefix("\\\\").ok_or(NtStatus::BAD_NETWORK_NAME)?;
    let (_, share) = rest.split_once('\\').ok_or(NtStatus::BAD_NETWORK_NAME)?;
    if share.is_empty() || share.contains('\\') { Err(NtStatus::BAD_NETWORK_NAME) } else { Ok(share.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        let table = [
            ("", Ok("")),
            ("a", Ok("a")),
            ("a\\b c\\d.txt", Ok("a/b c/d.txt")),
            ("a\\", Ok("a")),
            ("a::$data", Ok("a")),
            ("\\a", Err(NtStatus::INVALID_PARAMETER)),
            ("a/b", Err(NtStatus::OBJECT_NAME_INVALID)),
            ("a\\..\\b", Err(NtStatus::OBJECT_PATH_SYNTAX_BAD)),
            ("a:stream", Err(NtStatus::OBJECT_NAME_INVALID)),
            ("a*", Err(NtStatus::OBJECT_NAME_INVALID)),
            ("a\\\\b", Err(NtStatus::OBJECT_NAME_INVALID)),
        ];
        for (name, expected) in table {
            let found = path(name).map(|path| path.map(|path| path.to_string()).unwrap_or_default());
            assert_eq!(found, expected.map(str::to_owned), "{name}");
        }
    }

    #[test]
    fn shares_of_paths() {
        let table = [
            ("\\\\server\\share", Ok("share")),
            ("\\\\127.0.0.1\\IPC$", Ok("IPC$")),
            ("\\\\server", Err(NtStatus::BAD_NETWORK_NAME)),
            ("\\\\server\\", Err(NtStatus::BAD_NETWORK_NAME)),
            ("share", Err(NtStatus::BAD_NETWORK_NAME)),
            ("\\\\server\\a\\b", Err(NtStatus::BAD_NETWORK_NAME)),
        ];
        for (path, expected) in table {
            assert_eq!(share_of(&text::encode(path)), expected.map(str::to_owned), "{path}");
        }
    }
}
