//! Attributes, times and security descriptors in the headers of a request, and attributes as words.

use file::{FileAttributes, SmbChange, TimeChange};
use http::HeaderName;
use rest::{Headers, ServiceError, dates, headers};
use types::{ServiceVersion, Switch};

use crate::{
    header_names::{
        FILE_ATTRIBUTES, FILE_CHANGE_TIME, FILE_CREATION_TIME, FILE_LAST_WRITE_TIME, FILE_PERMISSION,
        FILE_PERMISSION_KEY,
    },
    permissions,
};

/// What is done with what the headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// A directory is made.
    NewDirectory,
    /// A file is made.
    NewFile,
    /// Something is changed, or moved.
    Existing,
}

/// Words of attributes, in the order in which they are shown, with their bits.
const WORDS: [(&str, u32); 10] = [
    ("ReadOnly", 0x01),
    ("Hidden", 0x02),
    ("System", 0x04),
    ("None", 0x80),
    ("Directory", 0x10),
    ("Archive", 0x20),
    ("Temporary", 0x100),
    ("Offline", 0x1000),
    ("NotContentIndexed", 0x2000),
    ("NoScrubData", 0x2_0000),
];

/// Attributes as words.
pub(crate) fn words(attributes: FileAttributes) -> String {
    let set: Vec<&str> = WORDS.iter().filter(|(_, bit)| attributes.0 & bit != 0).map(|(word, _)| *word).collect();
    if set.is_empty() { "None".to_owned() } else { set.join(" | ") }
}

/// What a request says. From 2019-02-02 to 2021-06-08 it had to say all of it.
pub(crate) fn read(sent: &Headers, version: ServiceVersion, used: For) -> Result<SmbChange, ServiceError> {
    if version.has(Switch::FileLeases) && !version.has(Switch::OptionalSmbHeaders) {
        require(sent)?;
    }
    read_optional(sent, used)
}

/// The same for operations that never had to say it.
pub(crate) fn read_optional(sent: &Headers, used: For) -> Result<SmbChange, ServiceError> {
    Ok(SmbChange {
        attributes: attributes(sent, used)?,
        created: time(sent, &FILE_CREATION_TIME, used)?,
        written: time(sent, &FILE_LAST_WRITE_TIME, used)?,
        accessed: None,
        changed: time(sent, &FILE_CHANGE_TIME, used)?,
        permission: permissions::of_path(sent, used)?,
    })
}

fn require(sent: &Headers) -> Result<(), ServiceError> {
    for name in [FILE_ATTRIBUTES, FILE_CREATION_TIME, FILE_LAST_WRITE_TIME] {
        headers::required(sent, &name)?;
    }
    match headers::text(sent, &FILE_PERMISSION_KEY)? {
        Some(_) => Ok(()),
        None => headers::required(sent, &FILE_PERMISSION).map(drop),
    }
}

/// The attributes. A file that is made has the archive attribute too, whatever is said; a directory is one.
fn attributes(sent: &Headers, used: For) -> Result<Option<FileAttributes>, ServiceError> {
    if used == For::Existing && headers::text(sent, &FILE_ATTRIBUTES)?.is_some_and(is_kept) {
        return Ok(None);
    }
    Ok(exact_attributes(sent)?.map(|FileAttributes(bits)| {
        let archived = (bits & !FileAttributes::NORMAL.0) | FileAttributes::ARCHIVE.0;
        FileAttributes(if used == For::NewFile { archived } else { bits })
    }))
}

/// The attributes as they are said.
pub(crate) fn exact_attributes(sent: &Headers) -> Result<Option<FileAttributes>, ServiceError> {
    let Some(text) = headers::text(sent, &FILE_ATTRIBUTES)? else { return Ok(None) };
    let mut bits = 0;
    for word in text.split('|').map(str::trim) {
        let known = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
        bits |= known.ok_or_else(|| ServiceError::invalid_header(FILE_ATTRIBUTES.as_str(), text))?.1;
    }
    Ok(Some(FileAttributes(bits)))
}

fn is_kept(text: &str) -> bool {
    text.eq_ignore_ascii_case("preserve")
}

/// A time: `now`, `preserve` where there is one, or an instant with up to 7 digits of a fraction.
pub(crate) fn time(sent: &Headers, name: &HeaderName, used: For) -> Result<Option<TimeChange>, ServiceError> {
    let Some(text) = headers::text(sent, name)? else { return Ok(None) };
    if text.eq_ignore_ascii_case("now") {
        return Ok(Some(TimeChange::Now));
    }
    if used == For::Existing && is_kept(text) {
        return Ok(Some(TimeChange::Preserve));
    }
    let time = dates::parse_file_time(text);
    time.map(|time| Some(TimeChange::At(time))).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))
}

#[cfg(test)]
mod tests {
    use types::{ErrorCode, FileTime, Timestamp};

    use super::*;

    fn sent(lines: &[(&str, &str)]) -> Headers {
        lines.iter().copied().collect()
    }

    #[test]
    fn attributes_are_words() {
        let table = [
            ("None", For::Existing, Ok(Some(0x80)), "None"),
            ("none", For::NewFile, Ok(Some(0x20)), "Archive"),
            ("ReadOnly", For::NewFile, Ok(Some(0x21)), "ReadOnly | Archive"),
            ("readonly | HIDDEN|System", For::Existing, Ok(Some(0x07)), "ReadOnly | Hidden | System"),
            ("Directory", For::NewDirectory, Ok(Some(0x10)), "Directory"),
            ("preserve", For::Existing, Ok(None), ""),
            ("preserve", For::NewFile, Err(ErrorCode::InvalidHeaderValue), ""),
            ("Compressed", For::Existing, Err(ErrorCode::InvalidHeaderValue), ""),
            ("ReadOnly |", For::Existing, Err(ErrorCode::InvalidHeaderValue), ""),
        ];
        for (text, used, expected, shown) in table {
            let found = attributes(&sent(&[("x-ms-file-attributes", text)]), used).map_err(|error| error.code);
            assert_eq!(found.map(|found| found.map(|found| found.0)), expected, "{text}");
            if let Ok(Some(bits)) = expected {
                assert_eq!(words(FileAttributes(bits)), shown);
            }
        }
        assert_eq!(words(FileAttributes(0)), "None");
    }

    #[test]
    fn times_are_said_kept_or_now() {
        let new_year = FileTime::of(Timestamp::from_seconds(1_546_300_800));
        let first = FileTime::from_filetime(0).unwrap();
        let table = [
            ("Now", For::NewFile, Ok(Some(TimeChange::Now))),
            ("preserve", For::Existing, Ok(Some(TimeChange::Preserve))),
            ("preserve", For::NewDirectory, Err(ErrorCode::InvalidHeaderValue)),
            ("2019-01-01T00:00:00.0000000Z", For::NewFile, Ok(Some(TimeChange::At(new_year)))),
            ("1601-01-01T00:00:00Z", For::NewFile, Ok(Some(TimeChange::At(first)))),
            ("1600-12-31T23:59:59Z", For::NewFile, Err(ErrorCode::InvalidHeaderValue)),
            ("2019-01-01", For::NewFile, Err(ErrorCode::InvalidHeaderValue)),
            ("yesterday", For::Existing, Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (text, used, expected) in table {
            let sent = sent(&[("x-ms-file-creation-time", text)]);
            assert_eq!(time(&sent, &FILE_CREATION_TIME, used).map_err(|error| error.code), expected, "{text}");
        }
    }

    #[test]
    fn old_versions_must_say_everything() {
        let all = [
            ("x-ms-file-attributes", "None"),
            ("x-ms-file-creation-time", "now"),
            ("x-ms-file-last-write-time", "now"),
            ("x-ms-file-permission", "inherit"),
        ];
        let table = [
            (ServiceVersion::new(2018, 11, 9), &all[..0], true),
            (ServiceVersion::new(2019, 2, 2), &all[..0], false),
            (ServiceVersion::new(2019, 2, 2), &all[..3], false),
            (ServiceVersion::new(2019, 2, 2), &all[..], true),
            (ServiceVersion::new(2021, 6, 8), &all[..0], true),
        ];
        for (version, lines, fine) in table {
            let found = read(&sent(lines), version, For::NewFile);
            assert_eq!(found.is_ok(), fine, "{version} {lines:?}");
        }
    }
}
