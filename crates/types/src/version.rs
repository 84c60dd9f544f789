//! The service version a request asks for: a date, compared as a date.

use std::fmt;

use crate::{
    Timestamp,
    calendar::{DAY_SECONDS, EPOCH_DAY, date_of},
};

/// A service version such as `2021-12-02`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceVersion {
    year: u16,
    month: u8,
    day: u8,
}

impl ServiceVersion {
    /// The oldest version the service answers.
    pub const OLDEST: Self = Self::new(2009, 9, 19);
    /// The newest version this build knows; later ones are served as this one.
    pub const NEWEST: Self = Self::new(2026, 10, 6);

    /// The version of this date. Not checked: for constants.
    #[must_use]
    pub const fn new(year: u16, month: u8, day: u8) -> Self {
        Self { year, month, day }
    }

    /// Reads `YYYY-MM-DD` with a real month and a day from 1 to 31; anything else is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return None;
        }
        if !text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            return None;
        }
        let version = Self::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        ((1..=12).contains(&version.month) && (1..=31).contains(&version.day)).then_some(version)
    }

    /// The version of the day of this instant.
    #[must_use]
    pub fn of(instant: Timestamp) -> Self {
        let (year, month, day) = date_of(EPOCH_DAY + instant.seconds() / DAY_SECONDS);
        let part = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
        Self { year: u16::try_from(year).unwrap_or(u16::MAX), month: part(month), day: part(day) }
    }

    /// The same day of the next year.
    #[must_use]
    pub const fn a_year_later(self) -> Self {
        Self { year: self.year.saturating_add(1), ..self }
    }

    /// True for versions from the one of this date on.
    #[must_use]
    pub fn at_least(self, year: u16, month: u8, day: u8) -> bool {
        self >= Self::new(year, month, day)
    }
}

/// What changed in the protocols, and with which version: **the one table of version switches**.
macro_rules! switches {
    ($($(#[doc = $what:literal])+ $name:ident: $year:literal - $month:literal - $day:literal;)*) => {
        /// A behaviour that a request gets from a version on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Switch {
            $($(#[doc = $what])+ $name,)*
        }

        impl Switch {
            /// All of them, in the order of their versions.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The version that brought it.
            #[must_use]
            pub const fn since(self) -> ServiceVersion {
                match self {
                    $(Self::$name => ServiceVersion::new($year, $month, $day),)*
                }
            }
        }
    };
}

switches! {
    /// ETags stand in quotes, as HTTP wants them.
    QuotedETags: 2011 - 8 - 18;
    /// Upserts of entities.
    EntityUpserts: 2011 - 8 - 18;
    /// Update Message.
    UpdateMessage: 2011 - 8 - 18;
    /// Leases with a duration, a proposed id and a break period.
    LeaseDurations: 2012 - 2 - 12;
    /// Several conditions on one read; entity tags in lists.
    MultipleConditions: 2013 - 8 - 15;
    /// JSON in Table.
    JsonTables: 2013 - 8 - 15;
    /// CORS rules.
    Cors: 2013 - 8 - 15;
    /// Listings name the endpoint once, instead of the address of every entry.
    EndpointsInListings: 2013 - 8 - 15;
    /// 412 for the lease id of a blob that does not exist.
    LeaseIdOnAbsentBlob: 2013 - 8 - 15;
    /// Append blobs.
    AppendBlobs: 2015 - 2 - 21;
    /// A length of zero is signed as nothing.
    EmptyLengthSigned: 2015 - 2 - 21;
    /// JSON is the only form of Table.
    JsonTablesOnly: 2015 - 12 - 11;
    /// Blocks of 100 MiB and blobs of 256 MiB in one request.
    LargeBlocks: 2016 - 5 - 31;
    /// Put Message answers with a body.
    PutMessageBody: 2016 - 5 - 31;
    /// `x-ms-error-code` on failures.
    ErrorCodeHeader: 2017 - 7 - 29;
    /// Messages that never expire.
    MessagesWithoutExpiry: 2017 - 7 - 29;
    /// Put Block From URL and its kin; user delegation signatures.
    FromUrl: 2018 - 11 - 9;
    /// Blob Batch.
    Batch: 2019 - 2 - 2;
    /// Leases of files; permissions of files.
    FileLeases: 2019 - 2 - 2;
    /// Tags and versions of blobs.
    TagsAndVersions: 2019 - 12 - 12;
    /// Blocks of 4,000 MiB.
    HugeBlocks: 2019 - 12 - 12;
    /// Leases of shares; ranges that differ between snapshots of a file.
    ShareLeases: 2020 - 2 - 10;
    /// Put Blob From URL.
    PutBlobFromUrl: 2020 - 4 - 8;
    /// Find Blobs by Tags tells names and values of tags.
    TagsOfFoundBlobs: 2020 - 4 - 8;
    /// Immutability of versions of blobs.
    BlobImmutability: 2020 - 6 - 12;
    /// Names that XML cannot carry are encoded in listings.
    EncodedNames: 2021 - 2 - 12;
    /// Rename of files and directories.
    RenameFiles: 2021 - 4 - 10;
    /// The SMB headers of files are optional.
    OptionalSmbHeaders: 2021 - 6 - 8;
    /// Get Page Ranges in pages.
    PagedPageRanges: 2021 - 6 - 8;
    /// Append Block of 100 MiB.
    LargeAppends: 2022 - 11 - 2;
    /// NFS properties and hard links over REST.
    NfsOverRest: 2025 - 5 - 5;
    /// Symbolic links.
    SymbolicLinks: 2025 - 7 - 5;
    /// Conditions on tags, where a listing starts, delegation keys of queues and files.
    TagConditions: 2026 - 2 - 6;
    /// Delete on the time of the tier, source customer keys, signatures bound to headers.
    TierTimeConditions: 2026 - 4 - 6;
    /// Create File with content, the tier Smart.
    CreateFileWithData: 2026 - 6 - 6;
    /// Get Blob tells the access tier.
    TierOfDownloads: 2026 - 10 - 6;
    /// Listings as Arrow, List Ranges in pages.
    ArrowListings: 2026 - 10 - 6;
}

impl ServiceVersion {
    /// True when requests of this version get the behaviour.
    #[must_use]
    pub fn has(self, switch: Switch) -> bool {
        self >= switch.since()
    }
}

impl fmt::Display for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Debug for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceVersion({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{ServiceVersion, Switch};

    #[test]
    fn switches_are_in_order_and_not_of_the_future() {
        let since: Vec<_> = Switch::ALL.iter().map(|switch| switch.since()).collect();
        assert!(since.is_sorted(), "{since:?}");
        assert!(since.iter().all(|version| (ServiceVersion::OLDEST..=ServiceVersion::NEWEST).contains(version)));
        let table = [
            ("2009-09-19", Switch::QuotedETags, false),
            ("2011-08-18", Switch::QuotedETags, true),
            ("2026-10-05", Switch::ArrowListings, false),
            ("2026-10-06", Switch::ArrowListings, true),
        ];
        for (version, switch, has) in table {
            assert_eq!(ServiceVersion::parse(version).unwrap().has(switch), has, "{version} {switch:?}");
        }
    }

    #[test]
    fn reads_dates_and_nothing_else() {
        assert_eq!(ServiceVersion::parse("2026-10-06"), Some(ServiceVersion::NEWEST));
        for bad in
            ["", "2026-10-6", "2026-13-01", "2026-00-01", "2026-01-32", "2026-10-06-1", "+026-10-06", "2026/10/06"]
        {
            assert_eq!(ServiceVersion::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn compares_as_a_date() {
        let v = ServiceVersion::new(2013, 8, 15);
        assert!(v.at_least(2013, 8, 15) && v.at_least(2012, 12, 31) && !v.at_least(2013, 8, 16));
    }
}
