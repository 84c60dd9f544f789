//! Names of directories and files, one component at a time, and paths of them.
//!
//! Owns which components can exist, the same for REST and SMB. Must never touch the host's file system: a component is
//! a key of a row. How components compare (upcased) and whether a trailing dot is trimmed (a request header decides)
//! belong to the file service. Invariant: a path has at least one component, and each was checked.

use super::{NameError, NameKind, NameRule, check_length, compared_exactly, name, utf16_length};
use crate::limits;

name! {
    /// The name of one directory or file: 1 to 255 UTF-16 code units without `" \ / : | < > * ?` and control
    /// characters, not `.` or `..`, not the name of a DOS device.
    FileComponent, NameKind::FileComponent, check_component
}

compared_exactly!(FileComponent);

const FORBIDDEN: [char; 9] = ['"', '\\', '/', ':', '|', '<', '>', '*', '?'];

/// Reserved alone; with an extension (`nul.txt`) the service takes them.
const DEVICES: [&str; 5] = ["PRN", "AUX", "NUL", "CON", "CLOCK$"];

/// Reserved with one digit from 1 to 9 behind them.
const NUMBERED_DEVICES: [&str; 2] = ["LPT", "COM"];

fn check_component(text: &str) -> Result<(), NameRule> {
    check_length(utf16_length(text), 1, limits::FILE_COMPONENT_MAX)?;
    if let Some(c) = text.chars().find(|c| c.is_control() || FORBIDDEN.contains(c)) {
        return Err(NameRule::Character(c));
    }
    if text == "." || text == ".." || is_device(text) {
        return Err(NameRule::Reserved);
    }
    Ok(())
}

fn is_device(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let stem = upper.strip_suffix(|c: char| matches!(c, '1'..='9'));
    DEVICES.contains(&upper.as_str()) || stem.is_some_and(|stem| NUMBERED_DEVICES.contains(&stem))
}

/// The path of a directory or file below its share: 1 to 250 components, at most 2048 UTF-16 code units with the
/// slashes between them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FilePath(Vec<FileComponent>);

impl FilePath {
    /// The path written with slashes. One slash at the end is dropped, as the service does.
    ///
    /// # Errors
    /// The first rule that the path breaks, or the first rule that one of its components breaks.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let path = text.strip_suffix('/').unwrap_or(text);
        check_path(path).map_err(|rule| NameError { kind: NameKind::FilePath, value: text.to_owned(), rule })?;
        path.split('/').map(FileComponent::parse).collect::<Result<_, _>>().map(Self)
    }

    /// The components, outermost directory first.
    #[must_use]
    pub fn components(&self) -> &[FileComponent] {
        &self.0
    }
}

fn check_path(path: &str) -> Result<(), NameRule> {
    check_length(utf16_length(path), 1, limits::FILE_PATH_MAX)?;
    let count = path.split('/').count();
    if count > limits::FILE_PATH_DEPTH_MAX {
        return Err(NameRule::TooManySegments { count, max: limits::FILE_PATH_DEPTH_MAX });
    }
    Ok(())
}

impl std::fmt::Display for FilePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, component) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("/")?;
            }
            f.write_str(component.as_str())?;
        }
        Ok(())
    }
}
