//! Security descriptors as bytes: the self-relative form, in one order whatever was read.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{AccessList, Entry, Kind, MAX_BYTES, SecurityDescriptor, Sid, invalid};
use crate::errors::FileError;

const HEADER: usize = 20;
const LIST_HEADER: usize = 8;
/// Revisions of a list: the second when it has object entries.
const REVISION: u8 = 2;
const REVISION_OBJECTS: u8 = 4;

const DACL_PRESENT: u16 = 0x0004;
const SACL_PRESENT: u16 = 0x0010;
const SELF_RELATIVE: u16 = 0x8000;
/// Bits of the control word: inheritance required, inherited, protected.
const DACL_BITS: [u16; 3] = [0x0100, 0x0400, 0x1000];
const SACL_BITS: [u16; 3] = [0x0200, 0x0800, 0x2000];

impl SecurityDescriptor {
    /// Reads a descriptor as bytes.
    ///
    /// # Errors
    /// It is none, or too long ([`FileError::InvalidPermission`]).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        if bytes.len() > MAX_BYTES {
            return Err(invalid(format!("{} bytes are more than {MAX_BYTES}", bytes.len())));
        }
        let found = read(bytes)?;
        found.check_size()?;
        Ok(found)
    }

    /// Reads a descriptor as bytes in base64.
    ///
    /// # Errors
    /// It is none, or too long ([`FileError::InvalidPermission`]).
    pub fn from_base64(text: &str) -> Result<Self, FileError> {
        let bytes = STANDARD.decode(text).map_err(|_| invalid("it is not base64"))?;
        Self::from_bytes(&bytes)
    }

    /// The bytes in base64.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.to_bytes())
    }

    /// The bytes: the header, what is audited, who may do what, the owner, the group.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut place = |write: &mut dyn FnMut(&mut Vec<u8>)| {
            let offset = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
            write(&mut body);
            offset.to_le_bytes()
        };
        let nowhere = [0; 4];
        let mut list = |list: &AccessList| match &list.entries {
            Some(entries) => place(&mut |bytes| put_list(bytes, entries)),
            None => nowhere,
        };
        let (sacl, dacl) = (list(&self.sacl), list(&self.dacl));
        let mut sid = |sid: &Option<Sid>| match sid {
            Some(sid) => place(&mut |bytes| sid.put(bytes)),
            None => nowhere,
        };
        let (owner, group) = (sid(&self.owner), sid(&self.group));
        let control = SELF_RELATIVE | DACL_PRESENT | SACL_PRESENT;
        let control = control | bits(&self.dacl, DACL_BITS) | bits(&self.sacl, SACL_BITS);
        let [low, high] = control.to_le_bytes();
        let mut bytes = vec![1, 0, low, high];
        for offset in [owner, group, sacl, dacl] {
            bytes.extend_from_slice(&offset);
        }
        bytes.extend_from_slice(&body);
        bytes
    }

    pub(super) fn check_size(&self) -> Result<(), FileError> {
        for list in [&self.sacl, &self.dacl] {
            let size: usize = list.entries.iter().flatten().map(size_of_entry).sum();
            if LIST_HEADER + size > usize::from(u16::MAX) {
                return Err(invalid(format!("a list of {size} bytes is too long")));
            }
        }
        match self.to_bytes().len() {
            length if length > MAX_BYTES => Err(invalid(format!("{length} bytes are more than {MAX_BYTES}"))),
            _ => Ok(()),
        }
    }
}

fn bits(list: &AccessList, [required, inherited, protected]: [u16; 3]) -> u16 {
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    bit(list.inherit_required, required) | bit(list.inherited, inherited) | bit(list.protected, protected)
}

fn size_of_entry(entry: &Entry) -> usize {
    let mut bytes = Vec::new();
    put_entry(&mut bytes, entry);
    bytes.len()
}

fn put_list(bytes: &mut Vec<u8>, entries: &[Entry]) {
    let mut body = Vec::new();
    entries.iter().for_each(|entry| put_entry(&mut body, entry));
    let objects = entries.iter().any(|entry| entry.kind.object);
    bytes.extend_from_slice(&[if objects { REVISION_OBJECTS } else { REVISION }, 0]);
    bytes.extend_from_slice(&short(LIST_HEADER + body.len()));
    bytes.extend_from_slice(&short(entries.len()));
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&body);
}

fn put_entry(bytes: &mut Vec<u8>, entry: &Entry) {
    let mut body = entry.mask.to_le_bytes().to_vec();
    if entry.kind.object {
        let present = u32::from(entry.object.is_some()) | u32::from(entry.inherited_object.is_some()) << 1;
        body.extend_from_slice(&present.to_le_bytes());
        body.extend(entry.object.iter().chain(&entry.inherited_object).flatten());
    }
    entry.sid.put(&mut body);
    bytes.extend_from_slice(&[entry.kind.number, entry.flags]);
    bytes.extend_from_slice(&short(4 + body.len()));
    bytes.extend_from_slice(&body);
}

/// A length that was checked.
fn short(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes()
}

fn read(bytes: &[u8]) -> Result<SecurityDescriptor, FileError> {
    let short = || invalid("the bytes are cut off");
    let Some((&[1, _, low, high], rest)) = bytes.split_first_chunk::<4>() else {
        return Err(invalid("it does not begin like a descriptor"));
    };
    let control = u16::from_le_bytes([low, high]);
    if control & SELF_RELATIVE == 0 {
        return Err(invalid("it is not self-relative"));
    }
    let mut offsets = rest;
    let mut offset = || {
        let (offset, behind) = offsets.split_first_chunk::<4>().ok_or_else(short)?;
        offsets = behind;
        usize::try_from(u32::from_le_bytes(*offset)).map_err(|_| short())
    };
    let (owner, group, sacl, dacl) = (offset()?, offset()?, offset()?, offset()?);
    let sid = |offset: usize| match offset {
        0 => Ok(None),
        offset => match bytes.get(offset..).and_then(Sid::take) {
            Some((sid, _)) => Ok(Some(sid)),
            None => Err(invalid("an identifier is cut off")),
        },
    };
    let list = |offset: usize, present: u16, [required, inherited, protected]: [u16; 3]| {
        let entries = match offset {
            offset if offset != 0 && control & present != 0 => {
                Some(read_list(bytes.get(offset..).unwrap_or_default())?)
            }
            _ => None,
        };
        let is_set = |bit: u16| control & bit != 0;
        let (inherit_required, inherited, protected) = (is_set(required), is_set(inherited), is_set(protected));
        Ok::<_, FileError>(AccessList { protected, inherit_required, inherited, entries })
    };
    Ok(SecurityDescriptor {
        owner: sid(owner)?,
        group: sid(group)?,
        dacl: list(dacl, DACL_PRESENT, DACL_BITS)?,
        sacl: list(sacl, SACL_PRESENT, SACL_BITS)?,
    })
}

fn read_list(bytes: &[u8]) -> Result<Vec<Entry>, FileError> {
    let cut = || invalid("a list is cut off");
    let (&[revision, _, low, high, count_low, count_high, _, _], _) = bytes.split_first_chunk().ok_or_else(cut)?;
    if !matches!(revision, REVISION | REVISION_OBJECTS) {
        return Err(invalid(format!("a list of revision {revision}")));
    }
    let size = usize::from(u16::from_le_bytes([low, high]));
    let mut rest = bytes.get(LIST_HEADER..size).ok_or_else(cut)?;
    let mut entries = Vec::new();
    for _ in 0..u16::from_le_bytes([count_low, count_high]) {
        let (&[kind, flags, low, high], _) = rest.split_first_chunk().ok_or_else(cut)?;
        let size = usize::from(u16::from_le_bytes([low, high]));
        let (entry, behind) = rest.split_at_checked(size).ok_or_else(cut)?;
        entries.push(read_entry(kind, flags, entry.get(4..).ok_or_else(cut)?)?);
        rest = behind;
    }
    Ok(entries)
}

fn read_entry(kind: u8, flags: u8, body: &[u8]) -> Result<Entry, FileError> {
    let cut = || invalid("an entry is cut off");
    let unknown = || invalid(format!("an entry of type {kind:#04x}, which is not known here"));
    let kind = Kind::numbered(kind).ok_or_else(unknown)?;
    if flags & 0x20 != 0 {
        return Err(invalid(format!("an entry with the flags {flags:#04x}")));
    }
    let (mask, mut rest) = body.split_first_chunk::<4>().ok_or_else(cut)?;
    let mut objects = [None, None];
    if kind.object {
        let (present, behind) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        rest = behind;
        for (object, bit) in objects.iter_mut().zip([1, 2]) {
            if u32::from_le_bytes(*present) & bit != 0 {
                let (guid, behind) = rest.split_first_chunk::<16>().ok_or_else(cut)?;
                *object = Some(*guid);
                rest = behind;
            }
        }
    }
    let (sid, rest) = Sid::take(rest).ok_or_else(cut)?;
    if !rest.is_empty() {
        return Err(invalid("an entry with something behind its identifier"));
    }
    let [object, inherited_object] = objects;
    Ok(Entry { kind, flags, mask: u32::from_le_bytes(*mask), object, inherited_object, sid })
}
