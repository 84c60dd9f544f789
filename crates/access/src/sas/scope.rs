//! What a service SAS is about. It is read from the request, and the signature shows whether it was meant.

use super::{Fields, SasRefusal, SignedTarget};
use crate::need::{Part, Place, Service};

/// One resource, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// A container or share and everything in it.
    Container(String),
    /// A queue or table and everything in it.
    Contents(String),
    /// A directory and everything in it.
    Directory {
        container: String,
        /// Without a slash at either end; empty for the root.
        path: String,
    },
    /// One blob or file.
    Object { container: String, path: String, state: State },
}

/// Which state of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Base,
    /// The base blob, and its snapshots: signatures older than 2018-11-09 do not tell them apart.
    Any,
    Snapshot(String),
    Version(String),
}

impl Scope {
    /// The resource that a request addresses, as far as the kind of the signature reaches.
    pub(super) fn of(target: &SignedTarget<'_>, fields: &Fields<'_>) -> Result<Self, SasRefusal> {
        let missing = || SasRefusal::Mismatch { string_to_sign: String::new() };
        let container = || target.container.map(str::to_owned).ok_or_else(missing);
        // The depth is signed only as the path that it cuts; anywhere else it would be a parameter that anybody may change.
        let is_directory = target.service == Service::Blob && fields.resource == Some("d");
        if fields.directory_depth.is_some() && !is_directory {
            return Err(SasRefusal::Unsigned("sdd"));
        }
        match target.service {
            Service::Queue => Ok(Self::Contents(container()?)),
            // A batch names its table only here; what the batch really touches is checked against it.
            Service::Table => {
                let table = fields.table.ok_or(SasRefusal::Field("tn"))?;
                Ok(Self::Contents(table.to_ascii_lowercase()))
            }
            Service::File => match fields.resource {
                Some("s") => Ok(Self::Container(container()?)),
                Some("f") => Self::object(target, State::Base),
                _ => Err(SasRefusal::Field("sr")),
            },
            Service::Blob => {
                let version = super::version(fields)?;
                let parameter = |name: &str| {
                    let mut found = target.query.iter().filter(|(sent, _)| sent.eq_ignore_ascii_case(name));
                    match (found.next(), found.next()) {
                        // It is signed, and what is signed is lines.
                        (Some((_, value)), None) if !value.contains(char::is_control) => Ok((*value).to_owned()),
                        _ => Err(missing()),
                    }
                };
                match fields.resource {
                    Some("c") => Ok(Self::Container(container()?)),
                    Some("b") if version.at_least(2018, 11, 9) => Self::object(target, State::Base),
                    Some("b") => Self::object(target, State::Any),
                    Some("bs") if version.at_least(2018, 11, 9) => {
                        Self::object(target, State::Snapshot(parameter("snapshot")?))
                    }
                    Some("bv") if version.at_least(2018, 11, 9) => {
                        Self::object(target, State::Version(parameter("versionid")?))
                    }
                    Some("d") if version.at_least(2020, 2, 10) => Self::directory(target, fields),
                    _ => Err(SasRefusal::Field("sr")),
                }
            }
        }
    }

    fn object(target: &SignedTarget<'_>, state: State) -> Result<Self, SasRefusal> {
        match (target.container, target.path) {
            (Some(container), Some(path)) => {
                Ok(Self::Object { container: container.to_owned(), path: path.to_owned(), state })
            }
            _ => Err(SasRefusal::Mismatch { string_to_sign: String::new() }),
        }
    }

    /// The first parts of the path, as many as `sdd` says.
    fn directory(target: &SignedTarget<'_>, fields: &Fields<'_>) -> Result<Self, SasRefusal> {
        let text = fields.directory_depth.ok_or(SasRefusal::Field("sdd"))?;
        let depth: usize = text.parse().map_err(|_| SasRefusal::Field("sdd"))?;
        // One way to write a number, so that what was signed is what is sent.
        if depth.to_string() != text {
            return Err(SasRefusal::Field("sdd"));
        }
        let container = target.container.ok_or(SasRefusal::Field("sr"))?.to_owned();
        let parts: Vec<&str> = target.path.unwrap_or_default().split('/').filter(|part| !part.is_empty()).collect();
        match parts.get(..depth) {
            Some(parts) => Ok(Self::Directory { container, path: parts.join("/") }),
            None => Err(SasRefusal::Mismatch { string_to_sign: String::new() }),
        }
    }

    /// The container, queue, table or share that it is, or is in.
    pub(super) fn container(&self) -> &str {
        match self {
            Self::Container(container)
            | Self::Contents(container)
            | Self::Directory { container, .. }
            | Self::Object { container, .. } => container,
        }
    }

    /// The time of a snapshot or version, which is signed.
    pub(super) fn timestamp(&self) -> Option<&str> {
        match self {
            Self::Object { state: State::Snapshot(time) | State::Version(time), .. } => Some(time),
            _ => None,
        }
    }

    /// True for a place inside.
    pub(super) fn covers(&self, place: Place<'_>) -> bool {
        match (self, place) {
            (Self::Container(own), Place::Container(name) | Place::Object { container: name, .. }) => own == name,
            (Self::Contents(own), Place::Container(name) | Place::Contents(name)) => own.eq_ignore_ascii_case(name),
            (Self::Directory { container: own, path: directory }, Place::Object { container, path, .. }) => {
                let inside =
                    || path.strip_prefix(&**directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                own == container && (directory.is_empty() || inside())
            }
            (Self::Object { container: own, path: own_path, state }, Place::Object { container, path, part }) => {
                let same_state = match (state, part) {
                    (State::Base | State::Any, Part::Base) | (State::Any, Part::Snapshot(_)) => true,
                    (State::Snapshot(own), Part::Snapshot(time)) | (State::Version(own), Part::Version(time)) => {
                        own == time
                    }
                    _ => false,
                };
                own == container && own_path == path && same_state
            }
            _ => false,
        }
    }
}
