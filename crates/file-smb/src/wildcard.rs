//! Names against patterns as in MS-FSA 2.1.4.4: `*` and `?`, and `<`, `>`, `"` that clients make of them.
//!
//! **Invariant.** A match goes once through the name, with the set of places in the pattern where it can be: the time is
//! name times pattern at most, whatever the pattern is.

use crate::NtStatus;

/// The longest pattern: a name with a star between each two characters is shorter.
const MAX_PATTERN: usize = 1024;

/// A pattern, ready to be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// `*`: any characters, none too.
    Star,
    /// `?`: one character.
    One,
    /// `<`: any characters, none too, up to the last dot.
    DosStar,
    /// `>`: one character; none at a dot and at the end.
    DosOne,
    /// `"`: a dot; nothing at the end.
    DosDot,
    /// This one, in capitals.
    Letter(char),
}

impl Pattern {
    /// Reads a pattern. `*.*` is everything, also what has no dot; `upcase` makes a capital as the share's names have it.
    ///
    /// # Errors
    /// `OBJECT_NAME_INVALID`: too long.
    pub fn new(pattern: &str, upcase: impl Fn(char) -> char) -> Result<Self, NtStatus> {
        if pattern.chars().nth(MAX_PATTERN).is_some() {
            return Err(NtStatus::OBJECT_NAME_INVALID);
        }
        let pattern = if pattern == "*.*" { "*" } else { pattern };
        let mut steps: Vec<Step> = pattern
            .chars()
            .map(|character| match character {
                '*' => Step::Star,
                '?' => Step::One,
                '<' => Step::DosStar,
                '>' => Step::DosOne,
                '"' => Step::DosDot,
                letter => Step::Letter(upcase(letter)),
            })
            .collect();
        // Two stars are one.
        steps.dedup_by(|later, earlier| *later == Step::Star && *earlier == Step::Star);
        Ok(Self { steps })
    }

    /// Whether it can match one name only: that can be looked up.
    #[must_use]
    pub fn is_name(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Letter(_)))
    }

    /// Whether it matches every name.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.steps == [Step::Star]
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str, upcase: impl Fn(char) -> char) -> bool {
        if self.is_everything() {
            return true;
        }
        let last_dot = name.rfind('.');
        // Whether the match can stand before each step, and behind all of them.
        let places = self.steps.len().saturating_add(1);
        let (mut now, mut then) = (vec![false; places], vec![false; places]);
        if let Some(first) = now.first_mut() {
            *first = true;
        }
        for (position, character) in name.char_indices() {
            self.pass(&mut now, Some(character));
            then.fill(false);
            let capital = upcase(character);
            let is_last_dot = Some(position) == last_dot;
            for (place, step) in self.steps.iter().enumerate() {
                if now.get(place) != Some(&true) {
                    continue;
                }
                let next = match step {
                    Step::Star => place,
                    Step::DosStar if !is_last_dot => place,
                    Step::One => place.saturating_add(1),
                    Step::DosOne if character != '.' => place.saturating_add(1),
                    Step::DosDot if character == '.' => place.saturating_add(1),
                    Step::Letter(letter) if *letter == capital => place.saturating_add(1),
                    _no_match => continue,
                };
                if let Some(slot) = then.get_mut(next) {
                    *slot = true;
                }
            }
            if !then.contains(&true) {
                return false;
            }
            std::mem::swap(&mut now, &mut then);
        }
        self.pass(&mut now, None);
        now.last() == Some(&true)
    }

    /// Passes the steps that can match nothing before this character, or at the end.
    fn pass(&self, places: &mut [bool], before: Option<char>) {
        let mut reached = false;
        for (place, step) in places.iter_mut().zip(&self.steps) {
            reached |= *place;
            *place = reached;
            reached = reached
                && match step {
                    Step::Star | Step::DosStar => true,
                    Step::DosOne => matches!(before, None | Some('.')),
                    Step::DosDot => before.is_none(),
                    Step::One | Step::Letter(_) => false,
                };
        }
        if let Some(last) = places.last_mut() {
            *last |= reached;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn upcase(character: char) -> char {
        character.to_ascii_uppercase()
    }

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern, upcase).unwrap().matches(name, upcase)
    }

    #[test]
    fn patterns() {
        let table = [
            ("*", &["", "a", "a.b", "."][..], &[][..]),
            ("*.*", &["a", "a.b", "a."], &[]),
            ("", &[""], &["a"]),
            ("abc", &["abc", "ABC", "aBc"], &["ab", "abcd", ""]),
            ("a?c", &["abc", "a.c"], &["ac", "abbc"]),
            ("?", &["a", "."], &["", "ab"]),
            ("*.txt", &["a.txt", ".txt", "a.b.TXT"], &["txt", "a.txt2"]),
            ("a*b*c", &["abc", "axxbyyc", "abcbc"], &["ab", "acb", "abcd"]),
            ("**a**", &["a", "bab"], &["", "b"]),
            // `<` is `*` up to the last dot.
            ("<", &["abc", ""], &["a.b"]),
            ("<.txt", &["a.txt", "a.b.txt", ".txt"], &["a.txt.x", "txt"]),
            ("a<b", &["ab", "axb", "abb"], &["a.b", "a.x.b."]),
            ("<.b", &["a.b", "a.c.b"], &["a.b.c"]),
            // `>` is `?`, or nothing at a dot or the end.
            (">>>", &["", "a", "ab", "abc"], &["abcd", "a.b"]),
            (">>>.txt", &["a.txt", "abc.txt", ".txt"], &["abcd.txt"]),
            ("a>>", &["a", "ab", "abc"], &["abcd"]),
            // `"` is a dot, or nothing at the end.
            ("a\"", &["a", "a."], &["ab", "a.b"]),
            ("a\"b", &["a.b"], &["ab", "a"]),
            ("<\"*", &["a", "a.b", "a.b.c"], &[]),
            ("*\"", &["a", "a.", "a.b"], &[]),
        ];
        for (pattern, good, bad) in table {
            for name in good {
                assert!(matches(pattern, name), "{pattern:?} matches {name:?}");
            }
            for name in bad {
                assert!(!matches(pattern, name), "{pattern:?} does not match {name:?}");
            }
        }
    }

    #[test]
    fn kinds_of_patterns() {
        let table = [
            ("a.b", true, false),
            ("", true, false),
            ("*", false, true),
            ("*.*", false, true),
            ("***", false, true),
            ("a?", false, false),
        ];
        for (pattern, is_name, is_everything) in table {
            let pattern = Pattern::new(pattern, upcase).unwrap();
            assert_eq!((pattern.is_name(), pattern.is_everything()), (is_name, is_everything), "{pattern:?}");
        }
        assert!(Pattern::new(&"a".repeat(1025), upcase).is_err());
    }

    /// The definition, character by character: exponential, and only for short texts.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        let Some((step, rest)) = pattern.split_first() else { return name.is_empty() };
        let nothing = || by_definition(rest, name);
        let one = |accepts: &dyn Fn(char) -> bool| {
            name.split_first().is_some_and(|(first, left)| accepts(*first) && by_definition(rest, left))
        };
        let again = |accepts: &dyn Fn(char) -> bool| {
            name.split_first().is_some_and(|(first, left)| accepts(*first) && by_definition(pattern, left))
        };
        match step {
            '*' => nothing() || again(&|_| true),
            '?' => one(&|_| true),
            '<' => nothing() || again(&|first| first != '.' || name[1..].contains(&'.')),
            '>' => one(&|first| first != '.') || (name.first().is_none_or(|first| *first == '.') && nothing()),
            '"' => one(&|first| first == '.') || (name.is_empty() && nothing()),
            letter => one(&|first| upcase(first) == upcase(*letter)),
        }
    }

    proptest! {
        #[test]
        fn a_match_is_as_defined(pattern in "[ab.*?<>\"]{0,6}", name in "[aAb.]{0,6}") {
            let (steps, letters): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            prop_assert_eq!(matches(&pattern, &name), pattern == "*.*" || by_definition(&steps, &letters));
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "*a<".repeat(300);
        assert!(!matches(&pattern, &"a".repeat(255)));
        assert!(matches(&pattern, &"a".repeat(300)));
    }
}
