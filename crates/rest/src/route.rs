//! The operation table of a service: one row an operation, found by what the path names, the verb, `restype` and `comp`.
//!
//! Invariant: what is in no row is refused by name, never taken for another operation.

use crate::ServiceError;

/// One row: what the path names, the verb, `restype`, `comp`, and the operation.
pub type Row<L, V, O> = (L, V, &'static str, &'static str, O);

/// The rows of a service.
#[derive(Clone, Copy, Debug)]
pub struct Routes<L: 'static, V: 'static, O: 'static>(pub &'static [Row<L, V, O>]);

/// Why there is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss<'a> {
    /// There are operations, of other verbs.
    Verb,
    /// There is none.
    Unknown {
        /// What was sent as `restype`.
        restype: &'a str,
        /// What was sent as `comp`.
        comp: &'a str,
    },
}

impl<L: Copy + PartialEq, V: PartialEq, O: Copy> Routes<L, V, O> {
    /// The operation of a request. Values of parameters are told apart without their case.
    ///
    /// # Errors
    /// There is none: a [`Miss`], which is also the usual refusal.
    pub fn find<'a>(&self, level: L, verb: &V, restype: &'a str, comp: &'a str) -> Result<O, Miss<'a>> {
        let here = |row: &&Row<L, V, O>| {
            row.0 == level && row.2.eq_ignore_ascii_case(restype) && row.3.eq_ignore_ascii_case(comp)
        };
        let mut rows = self.0.iter().filter(here).peekable();
        let miss = if rows.peek().is_some() { Miss::Verb } else { Miss::Unknown { restype, comp } };
        rows.find(|row| row.1 == *verb).map(|row| row.4).ok_or(miss)
    }

    /// A row that another one stands before, if there is one: it would never be found. For tests of the tables.
    #[must_use]
    pub fn hidden(&self) -> Option<&'static Row<L, V, O>> {
        let mut rows = self.0.iter().enumerate();
        rows.find_map(|(number, row)| {
            let same = |other: &Row<L, V, O>| {
                other.0 == row.0
                    && other.1 == row.1
                    && other.2.eq_ignore_ascii_case(row.2)
                    && other.3.eq_ignore_ascii_case(row.3)
            };
            self.0.iter().take(number).any(same).then_some(row)
        })
    }
}

impl From<Miss<'_>> for ServiceError {
    fn from(miss: Miss<'_>) -> Self {
        match miss {
            Miss::Verb => Self::unsupported_verb(),
            Miss::Unknown { restype, comp } => Self::unknown_operation(restype, comp),
        }
    }
}

/// The operations of a service, with their names in logs and metrics: what stands in the code, or what stands behind `as`.
///
/// ```
/// rest::operations! {
///     /// The operations of the service.
///     pub(crate) enum Operation {
///         GetShare,
///         Batch as "EntityGroupTransaction",
///     }
/// }
/// assert_eq!(Operation::GetShare.name(), "GetShare");
/// assert_eq!(Operation::Batch.name(), "EntityGroupTransaction");
/// ```
#[macro_export]
macro_rules! operations {
    (
        $(#[$about:meta])*
        $visibility:vis enum $operations:ident { $($(#[$of_one:meta])* $name:ident $(as $shown:literal)?,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $operations {
            $($(#[$of_one])* $name,)*
        }

        impl $operations {
            /// The name in logs and metrics.
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $crate::operations!(@name $name $($shown)?),)*
                }
            }
        }
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $shown:literal) => { $shown };
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    operations! {
        enum Operation {
            GetShare,
            CreateShare,
            GetStats as "GetShareStats",
            Root,
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Level {
        Account,
        Share,
    }

    const ROUTES: Routes<Level, &str, Operation> = Routes(&[
        (Level::Account, "GET", "", "", Operation::Root),
        (Level::Share, "GET", "share", "", Operation::GetShare),
        (Level::Share, "PUT", "share", "", Operation::CreateShare),
        (Level::Share, "GET", "share", "stats", Operation::GetStats),
    ]);

    #[test]
    fn a_row_is_found_by_all_of_its_columns() {
        let unknown = |restype, comp| Err(Miss::Unknown { restype, comp });
        let table = [
            (Level::Share, "GET", "share", "", Ok(Operation::GetShare)),
            (Level::Share, "PUT", "SHARE", "", Ok(Operation::CreateShare)),
            (Level::Share, "GET", "share", "Stats", Ok(Operation::GetStats)),
            (Level::Share, "DELETE", "share", "", Err(Miss::Verb)),
            (Level::Share, "PUT", "share", "stats", Err(Miss::Verb)),
            (Level::Share, "GET", "", "", unknown("", "")),
            (Level::Share, "GET", "share", "acl", unknown("share", "acl")),
            (Level::Account, "GET", "share", "", unknown("share", "")),
            (Level::Account, "GET", "", "", Ok(Operation::Root)),
        ];
        for (level, verb, restype, comp, expected) in table {
            assert_eq!(ROUTES.find(level, &verb, restype, comp), expected, "{level:?} {verb} {restype} {comp}");
        }
    }

    #[test]
    fn a_miss_is_refused_by_name() {
        let table = [
            (Miss::Verb, ErrorCode::UnsupportedHttpVerb, None),
            (Miss::Unknown { restype: "a", comp: "" }, ErrorCode::InvalidQueryParameterValue, Some(("restype", "a"))),
            (Miss::Unknown { restype: "a", comp: "b" }, ErrorCode::InvalidQueryParameterValue, Some(("comp", "b"))),
        ];
        for (miss, code, shown) in table {
            let error = ServiceError::from(miss);
            assert_eq!(error.code, code, "{miss:?}");
            let details: Vec<&str> = error.details.iter().take(2).map(|(_, value)| value.as_str()).collect();
            assert_eq!(details, shown.map_or(vec![], |(name, value)| vec![name, value]), "{miss:?}");
        }
    }

    #[test]
    fn a_row_behind_its_twin_is_found_by_the_tests_of_a_table() {
        assert_eq!(ROUTES.hidden(), None);
        let twins: Routes<Level, &str, Operation> = Routes(&[
            (Level::Share, "GET", "share", "stats", Operation::GetStats),
            (Level::Share, "PUT", "share", "stats", Operation::CreateShare),
            (Level::Share, "GET", "share", "STATS", Operation::GetShare),
        ]);
        assert_eq!(twins.hidden().map(|row| row.4), Some(Operation::GetShare));
    }

    #[test]
    fn operations_have_their_names() {
        assert_eq!((Operation::GetShare.name(), Operation::GetStats.name()), ("GetShare", "GetShareStats"));
    }
}
