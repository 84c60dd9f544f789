//! Golden bytes: what records looked like when their version was released, kept in `testdata/` as lines of a name, a tab and
//! hexadecimal digits.
//!
//! A test encodes to exactly these bytes and decodes them. When a record gets a new version, its old line stays, and is
//! decoded for ever; a line that no test asks for is a failure.

#![expect(clippy::panic, reason = "these are tests that happen to live in a library: they panic to fail")]

use std::{collections::BTreeMap, fmt::Debug};

/// The lines of a file, and which of them were asked for.
#[derive(Debug)]
pub struct Golden {
    lines: BTreeMap<String, (String, bool)>,
    /// Lines that the file should have.
    missing: String,
}

impl Golden {
    /// Reads a file. Lines that begin with `#` say something about it.
    #[must_use]
    pub fn new(file: &str) -> Self {
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.split_once('\t'));
        let lines = pairs.map(|(name, hex)| (name.to_owned(), (hex.to_owned(), false))).collect();
        Self { lines, missing: String::new() }
    }

    /// The record of this name.
    ///
    /// # Panics
    /// There is none.
    pub fn bytes(&mut self, name: &str) -> Vec<u8> {
        let Some((hex, asked)) = self.lines.get_mut(name) else { panic!("no golden bytes of {name}") };
        *asked = true;
        let digits: Vec<u8> = hex.bytes().filter_map(|digit| char::from(digit).to_digit(16)?.try_into().ok()).collect();
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
    }

    /// Checks that a record is encoded to exactly its golden bytes, and returns them.
    ///
    /// # Panics
    /// It is not.
    pub fn check(&mut self, name: &str, encoded: &[u8]) -> Vec<u8> {
        let hex: String = encoded.iter().map(|byte| format!("{byte:02x}")).collect();
        if !self.lines.contains_key(name) {
            self.missing.push_str(&format!("{name}\t{hex}\n"));
            self.lines.insert(name.to_owned(), (hex, true));
            return encoded.to_vec();
        }
        let golden = self.bytes(name);
        assert!(golden == encoded, "{name} is encoded to other bytes than it was:\n{hex}");
        golden
    }

    /// Checks the same, and that reading the golden bytes gives this back.
    ///
    /// # Panics
    /// One of them is not so.
    pub fn round_trip<T, E>(&mut self, name: &str, encoded: &[u8], read: impl FnOnce(&[u8]) -> Result<T, E>, back: &T)
    where
        T: Debug + PartialEq,
        E: Debug,
    {
        let read = read(&self.check(name, encoded));
        assert!(read.as_ref().is_ok_and(|read| read == back), "{name}: {read:?} is not {back:?}");
    }

    /// Checks that every record has a line and that every line was asked for.
    ///
    /// # Panics
    /// A record is new: the lines to add are printed. Or a line was not asked for: its reader may be gone.
    pub fn finish(self) {
        assert!(
            self.missing.is_empty(),
            "there are no golden bytes of new records, add these lines:\n{}",
            self.missing
        );
        for (name, (_, asked)) in self.lines {
            assert!(asked, "nobody reads the golden bytes of {name}");
        }
    }
}

#[cfg(test)]
mod tests;
