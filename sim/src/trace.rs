//! What happened in a world, line by line: two runs of one seed have the same.

use std::fmt::Write as _;

use crc_fast::{CrcAlgorithm, Digest};

/// The lines of a run, or only their checksum when there are many.
pub struct Trace {
    digest: Digest,
    lines: u64,
    kept: Option<String>,
}

impl Trace {
    /// With all lines, or without.
    #[must_use]
    pub fn new(keeps: bool) -> Self {
        Self { digest: Digest::new(CrcAlgorithm::Crc64Nvme), lines: 0, kept: keeps.then(String::new) }
    }

    pub(crate) fn line(&mut self, line: &std::fmt::Arguments<'_>) {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _written = writeln!(text, "{line}");
        self.digest.update(text.as_bytes());
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push_str(&text);
        }
    }

    /// The checksum of all lines.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        self.digest.finalize()
    }

    /// How many there are.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// The lines, when they are kept.
    #[must_use]
    pub fn text(&self) -> &str {
        self.kept.as_deref().unwrap_or_default()
    }
}
