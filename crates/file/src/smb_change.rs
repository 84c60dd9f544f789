//! How a request sets attributes, times and the security descriptor: by a value, or by saying `now`, `preserve`, `inherit`.

use types::Timestamp;

use crate::{
    permission::PermissionKey,
    state::{FileAttributes, Node, SmbProperties},
};

/// What a request says about attributes, times and the security descriptor. What it does not say stays, or is the usual one
/// for what is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmbChange {
    /// The attributes.
    pub attributes: Option<FileAttributes>,
    /// When it was created.
    pub created: Option<TimeChange>,
    /// When its bytes were last written.
    pub written: Option<TimeChange>,
    /// When anything of it last changed; the time of the request when nothing is said.
    pub changed: Option<TimeChange>,
    /// The security descriptor, which the share knows.
    pub permission: Option<PermissionKey>,
}

/// A time in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// That of the request.
    Now,
    /// That which it has.
    Preserve,
    /// This one.
    At(Timestamp),
}

impl TimeChange {
    const fn of(change: Option<Self>, now: Timestamp, otherwise: Timestamp) -> Timestamp {
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
    /// The properties of a directory or file that is made; without a descriptor of its own it has this one.
    pub(crate) fn made(&self, is_directory: bool, inherited: PermissionKey, now: Timestamp) -> SmbProperties {
        let usual = if is_directory { FileAttributes::DIRECTORY } else { FileAttributes::ARCHIVE };
        SmbProperties {
            attributes: self.attributes.map_or(usual, |wanted| wanted.of_kind(is_directory)),
            created: TimeChange::of(self.created, now, now),
            written: TimeChange::of(self.written, now, now),
            changed: TimeChange::of(self.changed, now, now),
            accessed: now,
            permission: self.permission.unwrap_or(inherited),
        }
    }

    /// Changes what there is.
    pub(crate) fn apply(&self, node: &mut Node, now: Timestamp) {
        let is_directory = node.is_directory();
        let smb = &mut node.smb;
        if let Some(attributes) = self.attributes {
            smb.attributes = attributes.of_kind(is_directory);
        }
        smb.created = TimeChange::of(self.created, now, smb.created);
        smb.written = TimeChange::of(self.written, now, smb.written);
        smb.changed = match self.changed {
            None => now,
            said => TimeChange::of(said, now, smb.changed),
        };
        if let Some(permission) = self.permission {
            smb.permission = permission;
        }
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
        let (now, before, said) = (Timestamp::from_ticks(9), Timestamp::from_ticks(5), Timestamp::from_ticks(7));
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
