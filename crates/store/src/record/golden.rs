//! Golden bytes, for tests: files of `name: hexadecimal` lines, in the order in which a test checks them. What is in them is
//! what data directories hold: a line may be added, and never changed.

use std::fmt::Debug;

/// The lines of a file that were not checked yet. Empty ones, and those that begin with `#`, do not count.
pub struct Golden<'a>(std::str::Lines<'a>);

impl<'a> Golden<'a> {
    /// All lines of a file.
    #[must_use]
    pub fn new(file: &'a str) -> Self {
        Self(file.lines())
    }

    /// The next line has this name, and these bytes are what is written for it; reading it gives this back.
    ///
    /// # Panics
    /// One of them is not so.
    #[track_caller]
    pub fn check<T, E>(&mut self, name: &str, written: &[u8], read: impl FnOnce(&[u8]) -> Result<T, E>, back: &T)
    where
        T: Debug + PartialEq,
        E: Debug,
    {
        let line = self.line().unwrap_or_default();
        let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(line, format!("{name}: {hex}"), "what is written has changed");
        // The line is what was written, byte by byte.
        let read = read(written);
        assert!(read.as_ref().is_ok_and(|read| read == back), "{name}: {read:?} is not {back:?}");
    }

    /// Every line was checked.
    ///
    /// # Panics
    /// One is left.
    #[track_caller]
    pub fn end(mut self) {
        assert_eq!(self.line(), None, "it is not checked any more");
    }

    fn line(&mut self) -> Option<&'a str> {
        self.0.find(|line| !line.is_empty() && !line.starts_with('#'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# bytes\n\nbyte: 07\nnone: \n";

    fn byte(bytes: &[u8]) -> Result<u8, ()> {
        bytes.first().copied().ok_or(())
    }

    #[test]
    fn lines_are_checked_in_order() {
        let mut golden = Golden::new(FILE);
        golden.check("byte", &[7], byte, &7);
        golden.check("none", &[], |bytes| Ok::<_, ()>(bytes.len()), &0);
        golden.end();
    }

    #[test]
    #[should_panic = "what is written has changed"]
    fn other_bytes_are_found() {
        Golden::new(FILE).check("byte", &[8], byte, &8);
    }

    #[test]
    #[should_panic = "is not"]
    fn another_meaning_is_found() {
        Golden::new(FILE).check("byte", &[7], byte, &8);
    }

    #[test]
    #[should_panic = "it is not checked any more"]
    fn a_line_that_is_left_is_found() {
        let mut golden = Golden::new(FILE);
        golden.check("byte", &[7], byte, &7);
        golden.end();
    }
}
