//! Paths of directories and files, as requests write them.

use rest::ServiceError;
use types::FilePath;

/// A path. Unless the request says otherwise, dots at the end of a name are no part of it.
///
/// # Errors
/// A name breaks a rule of names, or it is too long or too deep.
pub fn parse(text: &str, keeps_dots: bool) -> Result<FilePath, ServiceError> {
    let parsed = if keeps_dots || !text.contains('.') {
        FilePath::parse(text)
    } else {
        let names: Vec<&str> = text.split('/').map(trimmed).collect();
        FilePath::parse(&names.join("/"))
    };
    parsed.map_err(|error| ServiceError::invalid_name(&error))
}

/// A name without its dots at the end. One of dots only stays a dot, which is no name.
fn trimmed(name: &str) -> &str {
    match name.trim_end_matches('.') {
        "" if !name.is_empty() => ".",
        trimmed => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn dots_at_the_end_of_names_are_trimmed_or_kept() {
        let table = [
            ("a", false, Ok("a")),
            ("a.", false, Ok("a")),
            ("a./b..", false, Ok("a/b")),
            ("a./b..", true, Ok("a./b..")),
            ("a.b/.c", false, Ok("a.b/.c")),
            ("a/", false, Ok("a")),
            ("...", false, Err(ErrorCode::InvalidResourceName)),
            ("..", true, Err(ErrorCode::InvalidResourceName)),
            ("a/./b", false, Err(ErrorCode::InvalidResourceName)),
            ("a//b", false, Err(ErrorCode::OutOfRangeInput)),
            ("nul.", false, Err(ErrorCode::InvalidResourceName)),
        ];
        for (text, keeps, expected) in table {
            let found = parse(text, keeps).map(|path| path.to_string()).map_err(|error| error.code);
            assert_eq!(found.as_deref().map_err(|code| *code), expected, "{text} {keeps}");
        }
    }
}
