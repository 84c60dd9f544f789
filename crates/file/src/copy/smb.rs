//! What a copy takes of the attributes, the times and the security descriptor of its source.

use store::Txn;
use types::{FileTime, UnitId};

use crate::{
    errors::FileError,
    permission::{self, PermissionChange},
    smb_change::{SmbChange, TimeChange},
    state::{FileAttributes, SmbProperties},
};

/// Where a property of a copy comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Taken<T> {
    /// Nothing is said: it is that of any new file.
    #[default]
    Usual,
    /// The source has it.
    Source,
    /// This one.
    Said(T),
}

impl<T: Clone> Taken<T> {
    fn of(&self, source: Option<T>) -> Option<T> {
        match self {
            Self::Usual => None,
            Self::Source => source,
            Self::Said(value) => Some(value.clone()),
        }
    }
}

/// What a request says about attributes, times and the security descriptor of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedSmb {
    /// The attributes.
    pub attributes: Taken<FileAttributes>,
    /// When it was created.
    pub created: Taken<FileTime>,
    /// When its bytes were last written.
    pub written: Taken<FileTime>,
    /// When anything of it last changed.
    pub changed: Taken<FileTime>,
    /// The security descriptor; what the directory hands down when nothing is said.
    pub permission: Taken<PermissionChange>,
    /// The archive attribute is set, whatever the attributes are.
    pub sets_archive: bool,
}

impl CopiedSmb {
    /// Of a source that is no file of this server, and so has nothing of this: the protocol refuses to ask it for any.
    pub(super) fn of_others(&self) -> SmbChange {
        self.with(None, self.permission.of(None))
    }

    /// Of a file in a share.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn of_file(
        &self,
        txn: &Txn,
        share: UnitId,
        (of, source): (UnitId, &SmbProperties),
    ) -> Result<SmbChange, FileError> {
        let permission = match &self.permission {
            // Shares know their descriptors each for itself.
            Taken::Source if of != share => {
                let descriptor = permission::find(txn, of, source.permission).await?;
                Some(PermissionChange::Descriptor(descriptor))
            }
            said => said.of(Some(PermissionChange::Key(source.permission))),
        };
        Ok(self.with(Some(source), permission))
    }

    fn with(&self, source: Option<&SmbProperties>, permission: Option<PermissionChange>) -> SmbChange {
        let mut attributes = self.attributes.of(source.map(|source| source.attributes));
        if let (true, Some(FileAttributes(bits))) = (self.sets_archive, attributes) {
            attributes = Some(FileAttributes((bits & !FileAttributes::NORMAL.0) | FileAttributes::ARCHIVE.0));
        }
        let time = |taken: &Taken<FileTime>, source| taken.of(source).map(TimeChange::At);
        SmbChange {
            attributes,
            created: time(&self.created, source.map(|source| source.created)),
            written: time(&self.written, source.map(|source| source.written)),
            accessed: None,
            changed: time(&self.changed, source.map(|source| source.changed)),
            permission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PermissionKey;

    #[test]
    fn a_property_is_the_usual_one_that_of_the_source_or_what_is_said() {
        let time = FileTime::from_row;
        let source = SmbProperties {
            attributes: FileAttributes(0x03),
            created: time(1),
            written: time(2),
            changed: time(3),
            accessed: time(4),
            permission: PermissionKey([7; 16]),
        };
        let (usual, of_source, hidden) = (Taken::Usual, Taken::Source, Taken::Said(FileAttributes(0x02)));
        for (taken, sets_archive, expected) in [
            (&usual, false, None),
            (&usual, true, None), // the usual one is the archive attribute
            (&of_source, false, Some(0x03)),
            (&of_source, true, Some(0x23)),
            (&hidden, false, Some(0x02)),
            (&Taken::Said(FileAttributes::NORMAL), true, Some(0x20)),
        ] {
            let said = CopiedSmb { attributes: taken.clone(), sets_archive, ..CopiedSmb::default() };
            let found = said.with(Some(&source), None).attributes;
            assert_eq!(found, expected.map(FileAttributes), "{taken:?} {sets_archive}");
        }
        let times = CopiedSmb { created: Taken::Source, written: Taken::Said(time(9)), ..CopiedSmb::default() };
        let found = times.with(Some(&source), None);
        let expected = (Some(TimeChange::At(time(1))), Some(TimeChange::At(time(9))), None);
        assert_eq!((found.created, found.written, found.changed), expected);
    }
}
