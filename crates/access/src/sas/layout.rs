//! A string to sign while it grows, and the resource that stands in it.

use types::ServiceVersion;

use super::{Scope, SignedTarget};
use crate::need::Service;

/// Lines, each with its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(super) fn field(&mut self, field: Option<&str>) {
        self.line(field.unwrap_or_default());
    }

    pub(super) fn fields(&mut self, fields: &[Option<&str>]) {
        for field in fields {
            self.field(*field);
        }
    }

    /// The text with the end of its last line.
    pub(super) fn whole(self) -> String {
        self.0
    }

    /// The text without the end of its last line.
    pub(super) fn joined(mut self) -> String {
        self.0.pop();
        self.0
    }
}

/// The canonicalized resource. The service stands in front since 2015-02-21.
pub(super) fn resource(target: &SignedTarget<'_>, scope: &Scope, version: ServiceVersion) -> String {
    let mut text = String::with_capacity(128);
    if version.at_least(2015, 2, 21) {
        text.push_str(match target.service {
            Service::Blob => "/blob",
            Service::Queue => "/queue",
            Service::Table => "/table",
            Service::File => "/file",
        });
    }
    let (container, path) = match scope {
        Scope::Container(container) | Scope::Contents(container) => (container, ""),
        Scope::Directory { container, path } | Scope::Object { container, path, .. } => (container, &**path),
    };
    for part in [target.account, container, path] {
        if !part.is_empty() {
            text.push('/');
            text.push_str(part);
        }
    }
    text
}
