//! What clients of the File service send: paths, and which operation a request is.

use file_rest::{path as paths, route};
use http::Method;
use rest::{Headers, RawTarget, Target};

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

/// Requests: the first line is a method and a target, each further one a header. Which operation it is depends on nothing
/// else, and one with a source is never one without.
pub(crate) fn operation(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines();
    let Some((method, target)) = lines.next().and_then(|line| line.split_once(' ')) else { return };
    let (Ok(method), Ok(raw)) = (Method::from_bytes(method.as_bytes()), RawTarget::split(target)) else { return };
    let Ok(mut target) = Target::at(raw, "", "file", &[]) else { return };
    let mut sent = Headers::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let _not_a_header = sent.append(name, value.as_bytes());
    }
    let read = |target: &mut Target, sent: &Headers| route::named(&method, target, sent);
    let found = match read(&mut target, &sent) {
        Ok(found) => found,
        Err(refused) => return assert!(refused.status.is_client_error(), "{refused:?}"),
    };
    if sent.contains_key("x-ms-copy-source") {
        assert!(matches!(found, "CopyFile" | "PutRangeFromURL" | "AbortCopyFile"), "{found} drops its source");
    } else {
        assert!(!matches!(found, "CopyFile" | "PutRangeFromURL"), "{found} has no source");
    }
    assert_eq!(read(&mut target, &sent).ok(), Some(found), "it is read twice");
    sent.append("x-other", b"1");
    assert_eq!(read(&mut target, &sent).ok(), Some(found), "it depends on something else");
}
