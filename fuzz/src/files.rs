//! What clients of the File service send: paths.

use file_rest::path as paths;

/// Paths, as sent: what is read is written and read again, and dots at the end of names are kept or gone.
pub(crate) fn path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(text) = rest::percent::decode(text) else { return };
    let kept = paths::parse(&text, true);
    if let Ok(path) = &kept {
        let again = paths::parse(&path.to_string(), true).expect("what is written can be read");
        assert_eq!(again, *path);
    }
    let Ok(trimmed) = paths::parse(&text, false) else { return };
    for name in trimmed.components() {
        assert!(!name.as_str().ends_with('.'), "a dot is left: {name:?}");
    }
    assert_eq!(paths::parse(&trimmed.to_string(), true).ok(), Some(trimmed), "a trimmed name is a name");
}
