//! What a directory hands down to what is made in it, and what the topmost one has.

use super::{
    AccessList, CONTAINER_INHERIT, Entry, INHERIT_ONLY, INHERITED, NO_PROPAGATE, OBJECT_INHERIT, SecurityDescriptor,
    Sid,
};
use crate::errors::FileError;

/// The topmost directory of a new share, as Azure documents it.
const ROOT: &str = "O:SYG:SYD:(A;OICI;FA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)\
    (A;OICI;FA;;;SY)(A;OICIIO;GA;;;CO)";
/// What is made in a directory that hands nothing down.
const ALONE: &str = "D:(A;;FA;;;SY)(A;;FA;;;BA)";

/// What generic rights mean for files.
const GENERIC: [(u32, u32); 4] =
    [(0x1000_0000, 0x1F_01FF), (0x2000_0000, 0x12_00A0), (0x4000_0000, 0x12_0116), (0x8000_0000, 0x12_0089)];

impl SecurityDescriptor {
    /// That of the topmost directory of a new share.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn of_root() -> Result<Self, FileError> {
        Self::from_sddl(ROOT)
    }

    /// What a directory or a file gets that is made in a directory with this descriptor, when nobody says more. Owner and
    /// group are those of the directory: over REST there is no other.
    ///
    /// # Errors
    /// Never.
    pub(crate) fn handed_down(&self, is_directory: bool) -> Result<Self, FileError> {
        let mut dacl = AccessList { inherited: true, ..AccessList::default() };
        if let Some(entries) = &self.dacl.entries {
            let entries: Vec<Entry> = entries.iter().flat_map(|entry| self.hand_down(entry, is_directory)).collect();
            dacl = if entries.is_empty() {
                Self::from_sddl(ALONE)?.dacl
            } else {
                AccessList { entries: Some(entries), ..dacl }
            };
        }
        Ok(Self { owner: self.owner.clone(), group: self.group.clone(), dacl, sacl: AccessList::default() })
    }

    fn hand_down(&self, entry: &Entry, is_directory: bool) -> Vec<Entry> {
        let has = |flag: u8| entry.flags & flag != 0;
        let further = entry.flags & (OBJECT_INHERIT | CONTAINER_INHERIT);
        let goes_on = is_directory && !has(NO_PROPAGATE);
        let only_further = goes_on.then(|| Entry { flags: further | INHERIT_ONLY | INHERITED, ..entry.clone() });
        if !has(if is_directory { CONTAINER_INHERIT } else { OBJECT_INHERIT }) {
            return only_further.filter(|_| has(OBJECT_INHERIT)).into_iter().collect();
        }
        let here = self.made_concrete(entry);
        if here.sid == entry.sid && here.mask == entry.mask {
            let flags = INHERITED | if goes_on { further } else { 0 };
            return vec![Entry { flags, ..here }];
        }
        // What stands for others here goes on as it is.
        std::iter::once(Entry { flags: INHERITED, ..here }).chain(only_further).collect()
    }

    /// The entry with the owner in the place of whoever creates something, and rights of files for generic ones.
    fn made_concrete(&self, entry: &Entry) -> Entry {
        let mut here = entry.clone();
        let stands_for = [(Sid::CREATOR_OWNER, &self.owner), (Sid::CREATOR_GROUP, &self.group)];
        if let Some((_, Some(sid))) = stands_for.into_iter().find(|(known, _)| entry.sid.is(*known)) {
            here.sid = sid.clone();
        }
        for (generic, specific) in GENERIC {
            if here.mask & generic != 0 {
                here.mask = here.mask & !generic | specific;
            }
        }
        here
    }
}
