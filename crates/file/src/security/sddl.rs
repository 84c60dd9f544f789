//! Security descriptors as text: the Security Descriptor Definition Language.

use std::fmt::{self, Write as _};

use super::{AccessList, Entry, Kind, MAX_BYTES, SecurityDescriptor, Sid, invalid};
use crate::errors::FileError;

const NO_ACCESS_CONTROL: &str = "NO_ACCESS_CONTROL";
/// The most text that is read. A descriptor is at most four times as long as text as it is in bytes.
const MAX_TEXT: usize = 4 * MAX_BYTES;

/// Letters of flags, in the order in which they are written.
const FLAGS: [(&str, u32); 7] =
    [("OI", 0x01), ("CI", 0x02), ("NP", 0x04), ("IO", 0x08), ("ID", 0x10), ("SA", 0x40), ("FA", 0x80)];

/// Letters of whole masks: written where they say everything.
const MASKS: [(&str, u32); 8] = [
    ("FA", 0x1F_01FF),
    ("FR", 0x12_0089),
    ("FW", 0x12_0116),
    ("FX", 0x12_00A0),
    ("KA", 0x0F_003F),
    ("KR", 0x02_0019),
    ("KW", 0x02_0006),
    ("KX", 0x02_0019),
];

/// Letters of single rights, in the order in which they are written.
const RIGHTS: [(&str, u32); 17] = [
    ("CC", 0x01),
    ("DC", 0x02),
    ("LC", 0x04),
    ("SW", 0x08),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", 0x40),
    ("LO", 0x80),
    ("CR", 0x100),
    ("SD", 0x1_0000),
    ("RC", 0x2_0000),
    ("WD", 0x4_0000),
    ("WO", 0x8_0000),
    ("GA", 0x1000_0000),
    ("GX", 0x2000_0000),
    ("GW", 0x4000_0000),
    ("GR", 0x8000_0000),
];

/// Letters of mandatory labels.
const LABELS: [(&str, u32); 3] = [("NW", 0x01), ("NR", 0x02), ("NX", 0x04)];

impl SecurityDescriptor {
    /// Reads a descriptor as text.
    ///
    /// # Errors
    /// It is none, or too long ([`FileError::InvalidPermission`]).
    pub fn from_sddl(text: &str) -> Result<Self, FileError> {
        if text.len() > MAX_TEXT {
            return Err(invalid(format!("{} bytes of text are more than {MAX_TEXT}", text.len())));
        }
        let mut found = Self { owner: None, group: None, dacl: AccessList::default(), sacl: AccessList::default() };
        let mut seen = String::new();
        let mut rest = text;
        while let Some((part, behind)) = rest.split_once(':') {
            if seen.contains(part) || part.is_empty() {
                return Err(invalid(format!("{} is there twice or has no name", part)));
            }
            seen.push_str(part);
            rest = match part {
                "O" => read_sid(behind, &mut found.owner)?,
                "G" => read_sid(behind, &mut found.group)?,
                "D" => read_list(behind, &mut found.dacl)?,
                "S" => read_list(behind, &mut found.sacl)?,
                other => return Err(invalid(format!("{} is no part of a descriptor", shortened(other)))),
            };
        }
        if seen.is_empty() || !rest.is_empty() {
            return Err(invalid(format!("{} is no part of a descriptor", shortened(rest))));
        }
        found.check_size()?;
        Ok(found)
    }
}

impl fmt::Display for SecurityDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(owner) = &self.owner {
            write!(f, "O:{owner}")?;
        }
        if let Some(group) = &self.group {
            write!(f, "G:{group}")?;
        }
        write!(f, "D:{}S:{}", self.dacl, self.sacl)
    }
}

impl fmt::Display for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_set, letters) in [(self.protected, "P"), (self.inherit_required, "AR"), (self.inherited, "AI")] {
            f.write_str(if is_set { letters } else { "" })?;
        }
        match &self.entries {
            Some(entries) => entries.iter().try_for_each(|entry| write!(f, "({entry})")),
            None => f.write_str(NO_ACCESS_CONTROL),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{};{};", self.kind.letters, letters(&FLAGS, u32::from(self.flags)), self.rights())?;
        for guid in [self.object, self.inherited_object] {
            f.write_str(&guid.map(guid_text).unwrap_or_default())?;
            f.write_char(';')?;
        }
        write!(f, "{}", self.sid)
    }
}

impl Entry {
    fn rights(&self) -> String {
        let singles: &[(&str, u32)] = if self.kind.number == Kind::LABEL { &LABELS } else { &RIGHTS };
        let known = singles.iter().fold(0, |known, (_, bit)| known | bit);
        match MASKS.iter().find(|(_, mask)| *mask == self.mask) {
            Some((letters, _)) if self.kind.number != Kind::LABEL => (*letters).to_owned(),
            _ if self.mask & !known == 0 && self.mask != 0 => letters(singles, self.mask),
            _ => format!("{:#x}", self.mask),
        }
    }
}

/// The letters of the bits that are set.
fn letters(table: &[(&str, u32)], bits: u32) -> String {
    table.iter().filter(|(_, bit)| bits & bit != 0).map(|(letters, _)| *letters).collect()
}

fn read_sid<'a>(text: &'a str, into: &mut Option<Sid>) -> Result<&'a str, FileError> {
    let (sid, rest) = Sid::read(text).ok_or_else(|| invalid(format!("{} is no identifier", shortened(text))))?;
    *into = Some(sid);
    Ok(rest)
}

fn read_list<'a>(mut rest: &'a str, list: &mut AccessList) -> Result<&'a str, FileError> {
    loop {
        rest = if let Some(rest) = rest.strip_prefix(NO_ACCESS_CONTROL) {
            return Ok(rest);
        } else if let Some(rest) = rest.strip_prefix("AR") {
            list.inherit_required = true;
            rest
        } else if let Some(rest) = rest.strip_prefix("AI") {
            list.inherited = true;
            rest
        } else if let Some(rest) = rest.strip_prefix('P') {
            list.protected = true;
            rest
        } else {
            break;
        }
    }
    let mut entries = Vec::new();
    while let Some(open) = rest.strip_prefix('(') {
        let (entry, behind) = open.split_once(')').ok_or_else(|| invalid("an entry has no end"))?;
        entries.push(read_entry(entry)?);
        rest = behind;
    }
    list.entries = Some(entries);
    Ok(rest)
}

fn read_entry(text: &str) -> Result<Entry, FileError> {
    let refused = |what: &str| invalid(format!("the entry ({}) has {what}", shortened(text)));
    let fields: Vec<&str> = text.split(';').collect();
    let [kind, flags, rights, object, inherited_object, sid] = fields.as_slice() else {
        return Err(refused("not six fields"));
    };
    let kind = Kind::lettered(kind).ok_or_else(|| refused("a type that is not known here"))?;
    let flags = read_letters(flags, &[&FLAGS]).and_then(|flags| u8::try_from(flags).ok());
    let rights =
        if kind.number == Kind::LABEL { read_mask(rights, &[&LABELS]) } else { read_mask(rights, &[&MASKS, &RIGHTS]) };
    let guid = |text: &str| match text {
        "" => Some(None),
        text if kind.object => read_guid(text).map(Some),
        _ => None,
    };
    let (sid, rest) = Sid::read(sid).ok_or_else(|| refused("no identifier"))?;
    if !rest.is_empty() {
        return Err(refused("more than an identifier"));
    }
    Ok(Entry {
        kind,
        flags: flags.ok_or_else(|| refused("unknown flags"))?,
        mask: rights.ok_or_else(|| refused("unknown rights"))?,
        object: guid(object).ok_or_else(|| refused("a wrong kind of object"))?,
        inherited_object: guid(inherited_object).ok_or_else(|| refused("a wrong kind of object"))?,
        sid,
    })
}

/// The bits of letters, two each.
fn read_letters(mut text: &str, tables: &[&[(&str, u32)]]) -> Option<u32> {
    let mut bits = 0;
    while !text.is_empty() {
        let (letters, rest) = text.split_at_checked(2)?;
        bits |= tables.iter().copied().flatten().find(|(known, _)| *known == letters)?.1;
        text = rest;
    }
    Some(bits)
}

/// A mask as letters or as a number.
fn read_mask(text: &str, tables: &[&[(&str, u32)]]) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if text.starts_with(|first: char| first.is_ascii_digit()) => text.parse().ok(),
        None => read_letters(text, tables),
    }
}

/// The first three groups are numbers, little-endian in the bytes.
const GUID_ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

fn read_guid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits = groups.concat();
    let bytes = u128::from_str_radix(&digits, 16).ok().filter(|_| !digits.starts_with('+'))?.to_be_bytes();
    let mut guid = [0; 16];
    for (place, from) in guid.iter_mut().zip(GUID_ORDER) {
        *place = *bytes.get(from)?;
    }
    Some(guid)
}

fn guid_text(guid: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, from) in GUID_ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{:02x}", guid.get(from).copied().unwrap_or_default());
    }
    text
}

/// What a message says of a text that may be long.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
