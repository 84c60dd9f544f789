//! What the roles in a token allow: the roles for Storage Data by their usual names, and those of the configuration.

use crate::{
    actions::Actions,
    need::{Action, Service},
};

const READ: Actions = Actions::NONE.with(Action::Read);
const DELEGATE: Actions = Actions::NONE.with(Action::Delegate);
const CHANGE: Actions = READ.with(Action::Add).with(Action::Write).with(Action::Delete);
const MESSAGES: Actions = CHANGE.with(Action::Process);
const EVERYTHING: Actions = MESSAGES.with(Action::Manage).with(Action::Delegate);

/// One row a role: its name, its service, what it allows there.
const TABLE: &[(&str, Service, Actions)] = &[
    ("Storage Blob Data Owner", Service::Blob, CHANGE.with(Action::Manage).or(DELEGATE)),
    ("Storage Blob Data Contributor", Service::Blob, CHANGE.or(DELEGATE)),
    ("Storage Blob Data Reader", Service::Blob, READ.or(DELEGATE)),
    ("Storage Blob Delegator", Service::Blob, DELEGATE),
    ("Storage Queue Data Contributor", Service::Queue, MESSAGES.or(DELEGATE)),
    ("Storage Queue Data Reader", Service::Queue, READ.or(DELEGATE)),
    ("Storage Queue Data Message Processor", Service::Queue, READ.with(Action::Process)),
    ("Storage Queue Data Message Sender", Service::Queue, Actions::NONE.with(Action::Add)),
    ("Storage Queue Delegator", Service::Queue, DELEGATE),
    ("Storage Table Data Contributor", Service::Table, CHANGE.or(DELEGATE)),
    ("Storage Table Data Reader", Service::Table, READ.or(DELEGATE)),
    ("Storage Table Delegator", Service::Table, DELEGATE),
    ("Storage File Data Privileged Contributor", Service::File, CHANGE.with(Action::Manage).or(DELEGATE)),
    ("Storage File Data Privileged Reader", Service::File, READ.or(DELEGATE)),
    ("Storage File Delegator", Service::File, DELEGATE),
];

/// What somebody may do, service by service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    blob: Actions,
    queue: Actions,
    table: Actions,
    file: Actions,
}

impl Roles {
    pub(super) const fn everything() -> Self {
        Self { blob: EVERYTHING, queue: EVERYTHING, table: EVERYTHING, file: EVERYTHING }
    }

    /// What is allowed in a service.
    #[must_use]
    pub const fn of(&self, service: Service) -> Actions {
        match service {
            Service::Blob => self.blob,
            Service::Queue => self.queue,
            Service::Table => self.table,
            Service::File => self.file,
        }
    }

    fn add(&mut self, service: Service, actions: Actions) {
        let own = match service {
            Service::Blob => &mut self.blob,
            Service::Queue => &mut self.queue,
            Service::Table => &mut self.table,
            Service::File => &mut self.file,
        };
        *own = own.or(actions);
    }

    fn or(mut self, other: &Self) -> Self {
        for service in [Service::Blob, Service::Queue, Service::Table, Service::File] {
            self.add(service, other.of(service));
        }
        self
    }
}

/// The text does not say what a role allows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a role is written NAME=ROLE or NAME=SERVICE:ACTIONS with blob, queue, table, file and read, add, process, write, \
     delete, manage, delegate; this is neither: {0}"
)]
pub struct InvalidRole(String);

/// What names of roles allow: the table of the services and the rows of the configuration.
#[derive(Clone, Debug, Default)]
pub struct RoleTable {
    own: Vec<(String, Roles)>,
}

impl RoleTable {
    /// Adds a row: `NAME=SERVICE:ACTION,ACTION`, or `NAME=ROLE` for another name of a known role. Several rows of one name
    /// add up.
    ///
    /// # Errors
    /// It is neither.
    pub fn add(&mut self, text: &str) -> Result<(), InvalidRole> {
        let invalid = || InvalidRole(text.to_owned());
        let (name, meaning) = text.split_once('=').ok_or_else(invalid)?;
        let (name, meaning) = (name.trim(), meaning.trim());
        if name.is_empty() {
            return Err(invalid());
        }
        let mut roles = known(meaning);
        if let Some((service, actions)) = meaning.split_once(':') {
            let service = match service.trim() {
                "blob" => Service::Blob,
                "queue" => Service::Queue,
                "table" => Service::Table,
                "file" => Service::File,
                _ => return Err(invalid()),
            };
            roles.add(service, Actions::parse(actions).ok_or_else(invalid)?);
        }
        if roles == Roles::default() {
            return Err(invalid());
        }
        self.own.push((name.to_owned(), roles));
        Ok(())
    }

    /// What these names allow together. Unknown ones allow nothing.
    pub(super) fn allowed<'a>(&self, names: impl Iterator<Item = &'a str>) -> Roles {
        names.fold(Roles::default(), |allowed, name| {
            let own = self.own.iter().filter(|(own, _)| own == name);
            own.fold(allowed.or(&known(name)), |allowed, (_, roles)| allowed.or(roles))
        })
    }
}

fn known(name: &str) -> Roles {
    let mut roles = Roles::default();
    for (_, service, actions) in TABLE.iter().filter(|(known, _, _)| *known == name) {
        roles.add(*service, *actions);
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_allow_what_their_names_say() {
        use Action::{Add, Delegate, Delete, Manage, Process, Read, Write};
        use Service::{Blob, File, Queue, Table};
        let table: [(&str, Service, &[Action], &[Action]); 7] = [
            ("Storage Blob Data Reader", Blob, &[Read, Delegate], &[Write, Delete, Add, Manage]),
            ("Storage Blob Data Contributor", Blob, &[Read, Write, Delete, Add, Delegate], &[Manage]),
            ("Storage Blob Data Owner", Blob, &[Read, Write, Delete, Manage], &[]),
            ("Storage Blob Delegator", Blob, &[Delegate], &[Read, Write]),
            ("Storage Queue Data Message Sender", Queue, &[Add], &[Read, Process, Write, Delete]),
            ("Storage Table Data Reader", Table, &[Read], &[Write]),
            ("Storage File Data Privileged Reader", File, &[Read], &[Write]),
        ];
        for (name, service, allowed, refused) in table {
            let roles = RoleTable::default().allowed([name].into_iter());
            for action in allowed {
                assert!(roles.of(service).allows(*action), "{name} {action:?}");
            }
            for action in refused {
                assert!(!roles.of(service).allows(*action), "{name} {action:?}");
            }
            for other in [Blob, Queue, Table, File].into_iter().filter(|other| *other != service) {
                assert_eq!(roles.of(other), Actions::NONE, "{name}");
            }
        }
    }

    #[test]
    fn the_configuration_adds_names() {
        let mut table = RoleTable::default();
        table.add("writers = blob:read,write").unwrap();
        table.add("writers=queue:add").unwrap();
        table.add("user_impersonation=Storage Table Data Reader").unwrap();
        let roles = table.allowed(["writers", "user_impersonation", "nobody"].into_iter());
        assert!(roles.of(Service::Blob).allows(Action::Write) && !roles.of(Service::Blob).allows(Action::Delete));
        assert!(roles.of(Service::Queue).allows(Action::Add) && roles.of(Service::Table).allows(Action::Read));
        for wrong in ["", "a", "a=", "=blob:read", "a=blob:", "a=smb:read", "a=blob:reed", "a=Storage"] {
            assert!(table.add(wrong).is_err(), "{wrong}");
        }
    }
}
