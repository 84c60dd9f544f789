//! How a request sets attributes, times and the security descriptor: by a value, or by saying `now`, `preserve`, `inherit`.

use store::Txn;
use types::{FileTime, UnitId};

use crate::{
    errors::FileError,
    permission::{self, PermissionChange, PermissionKey},
    state::{FileAttributes, Node, SmbProperties},
};

/// What a request says about attributes, times and the security descriptor. What it does not say stays, or is the usual one
/// for what is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmbChange {
    /// The attributes.
    pub attributes: Option<FileAttributes>,
    /// When it was created.
    pub created: Option<TimeChange>,
    /// When its bytes were last written.
    pub written: Option<TimeChange>,
    /// When it was last read.
    pub accessed: Option<TimeChange>,
    /// When anything of it last changed; the time of the request when nothing is said.
    pub changed: Option<TimeChange>,
    /// The security descriptor.
    pub permission: Option<PermissionChange>,
}

/// A time in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// That of the request.
    Now,
    /// That which it has.
    Preserve,
    /// This one.
    At(FileTime),
}

impl TimeChange {
    const fn of(change: Option<Self>, now: FileTime, otherwise: FileTime) -> FileTime {
        match change {
            Some(Self::Now) => now,
            Some(Self::At(time)) => time,
            Some(Self::Preserve) | None => otherwise,
        }
    }
}

/// Attributes that a client can set on a file, besides those that say what it is.
const SETTABLE: u32 = 0x01 | 0x02 | 0x04 | 0x20 | 0x80 | 0x100 | 0x1000 | 0x2000 | 0x2_0000;

impl SmbChange {
    /// The properties of a directory or file that is made in a directory with the descriptor `above`, which hands down what
    /// the request does not say.
    ///
    /// # Errors
    /// The share does not know the descriptor, or the store failed.
    pub(crate) async fn made(
        &self,
        txn: &Txn,
        share: UnitId,
        is_directory: bool,
        above: PermissionKey,
    ) -> Result<SmbProperties, FileError> {
        let permission = match &self.permission {
            Some(change) => change.keep(txn, share).await?,
            None => permission::handed_down(txn, share, above, is_directory).await?,
        };
        Ok(self.with(is_directory, permission, txn.now().into()))
    }

    fn with(&self, is_directory: bool, permission: PermissionKey, now: FileTime) -> SmbProperties {
        let usual = if is_directory { FileAttributes::DIRECTORY } else { FileAttributes::ARCHIVE };
        SmbProperties {
            attributes: self.attributes.map_or(usual, |wanted| wanted.of_kind(is_directory)),
            created: TimeChange::of(self.created, now, now),
            written: TimeChange::of(self.written, now, now),
            changed: TimeChange::of(self.changed, now, now),
            accessed: TimeChange::of(self.accessed, now, now),
            permission,
        }
    }

    /// Changes what there is.
    ///
    /// # Errors
    /// The share does not know the descriptor, or the store failed.
    pub(crate) async fn apply(&self, txn: &Txn, share: UnitId, node: &mut Node) -> Result<(), FileError> {
        let now = FileTime::of(txn.now());
        let is_directory = node.is_directory();
        let smb = &mut node.smb;
        if let Some(attributes) = self.attributes {
            smb.attributes = attributes.of_kind(is_directory);
        }
        smb.created = TimeChange::of(self.created, now, smb.created);
        smb.written = TimeChange::of(self.written, now, smb.written);
        smb.accessed = TimeChange::of(self.accessed, now, smb.accessed);
        smb.changed = match self.changed {
            None => now,
            said => TimeChange::of(said, now, smb.changed),
        };
        if let Some(change) = &self.permission {
            smb.permission = change.keep(txn, share).await?;
        }
        Ok(())
    }

    /// Whether it says anything about attributes: only such a request goes on when the file is read-only.
    #[must_use]
    pub const fn sets_attributes(&self) -> bool {
        self.attributes.is_some()
    }
}

impl FileAttributes {
    /// What can be set, with what says that it is a directory or a file. Normal stands for none of the others.
    fn of_kind(self, is_directory: bool) -> Self {
        let wanted = self.0 & SETTABLE;
        let others = wanted & !Self::NORMAL.0;
        match (is_directory, others) {
            (true, others) => Self(others | Self::DIRECTORY.0),
            (false, 0) => Self(wanted),
            (false, others) => Self(others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_say_what_it_is_and_nothing_contradictory() {
        let table = [
            (0x80, false, 0x80),
            (0x81, false, 0x01),
            (0x20, false, 0x20),
            (0x10, false, 0),
            (0x80, true, 0x10),
            (0x21, true, 0x31),
            (0, true, 0x10),
            (0, false, 0),
        ];
        for (wanted, is_directory, expected) in table {
            assert_eq!(FileAttributes(wanted).of_kind(is_directory), FileAttributes(expected), "{wanted:#x}");
        }
    }

    #[test]
    fn a_time_is_said_kept_or_now() {
        let (now, before, said) = (FileTime::from_row(9), FileTime::from_row(5), FileTime::from_row(7));
        let table = [
            (None, before),
            (Some(TimeChange::Preserve), before),
            (Some(TimeChange::Now), now),
            (Some(TimeChange::At(said)), said),
        ];
        for (change, expected) in table {
            assert_eq!(TimeChange::of(change, now, before), expected, "{change:?}");
        }
    }
}
