//! The parser of tag expressions: operands and operators in turn, with a stack of waiting operators.

use super::{Comparison, Dialect, Operator, Step, Subject};

/// The longest expression that is read.
pub const MAX_EXPRESSION_BYTES: usize = 8 * 1024;
/// The most comparisons in a condition, and the most tags that a search compares: as many as a blob has tags.
pub const MAX_COMPARISONS: usize = 10;
/// The most parentheses inside one another.
pub const MAX_NESTING: usize = 32;
/// The longest name of a tag.
pub const MAX_TAG_NAME_BYTES: usize = 128;
/// The longest value of a tag.
pub const MAX_TAG_VALUE_BYTES: usize = 256;

/// Why a tag expression is refused. `at` is the byte where reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagExpressionError {
    /// Longer than [`MAX_EXPRESSION_BYTES`].
    #[error("the expression is longer than {MAX_EXPRESSION_BYTES} bytes")]
    TooLong,
    /// More than [`MAX_COMPARISONS`] comparisons.
    #[error("the expression has more than {MAX_COMPARISONS} comparisons at byte {at}")]
    TooManyComparisons {
        /// Where the first behind them ends.
        at: usize,
    },
    /// A search compares more than [`MAX_COMPARISONS`] tags; `@container` is none.
    #[error("the search compares more than {MAX_COMPARISONS} tags at byte {at}")]
    TooManyTags {
        /// Where the first comparison behind them ends.
        at: usize,
    },
    /// More than [`MAX_NESTING`] parentheses inside one another.
    #[error("the expression has more than {MAX_NESTING} parentheses inside one another at byte {at}")]
    TooDeep {
        /// The byte of the parenthesis that is one too many.
        at: usize,
    },
    /// A tag name or `(` should stand here.
    #[error("a tag name is expected at byte {at}")]
    NameExpected {
        /// The byte at which something else stands.
        at: usize,
    },
    /// A comparison operator should stand here.
    #[error("a comparison operator is expected at byte {at}")]
    OperatorExpected {
        /// The byte at which something else stands.
        at: usize,
    },
    /// A value in single quotes should stand here.
    #[error("a value in single quotes is expected at byte {at}")]
    ValueExpected {
        /// The byte at which something else stands.
        at: usize,
    },
    /// AND, OR, `)` or the end should stand here.
    #[error("AND, OR or the end is expected at byte {at}")]
    ConnectiveExpected {
        /// The byte at which something else stands.
        at: usize,
    },
    /// A parenthesis has no partner.
    #[error("the parentheses do not match at byte {at}")]
    UnmatchedParenthesis {
        /// Where it was noticed.
        at: usize,
    },
    /// No blob can have a tag of this name.
    #[error("the tag name before byte {at} is not valid")]
    InvalidName {
        /// Where the name ends.
        at: usize,
    },
    /// No tag can have this value.
    #[error("the tag value before byte {at} is not valid")]
    InvalidValue {
        /// Where the value ends.
        at: usize,
    },
    /// `@container` outside a search, with another operator than `=`, or another `@` name.
    #[error("the @ term before byte {at} is not allowed here")]
    ContainerNotAllowed {
        /// Where the term ends.
        at: usize,
    },
    /// `<>` or OR in a search.
    #[error("the operator before byte {at} is not allowed in a search")]
    OperatorNotAllowed {
        /// Where the operator ends.
        at: usize,
    },
    /// A search compares one tag several times without naming a range.
    #[error("the tag compared before byte {at} has multiple conditions that do not define a range")]
    NotARange {
        /// Where the comparison ends that is one too many.
        at: usize,
    },
}

use TagExpressionError as Error;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Parenthesis,
    And,
    Or,
}

pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Vec<Step<'_>>, Error> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(Error::TooLong);
    }
    let mut scanner = Scanner { text, rest: text };
    let mut output = Output { steps: Vec::new(), waiting: Vec::new(), comparisons: 0, nesting: 0 };
    loop {
        while scanner.take("(") {
            output.open(scanner.at())?;
        }
        let next = comparison(&mut scanner, dialect)?;
        match dialect {
            Dialect::Condition => output.count_comparison(scanner.at())?,
            Dialect::Find => admit_to_search(&output.steps, &next, scanner.at())?,
        }
        output.steps.push(Step::Compare(next));
        while scanner.take(")") {
            output.close(scanner.at())?;
        }
        if scanner.is_at_end() {
            return output.finish(scanner.at());
        }
        output.connect(connective(&mut scanner, dialect)?);
    }
}

/// The steps so far and the operators that wait for their right operand.
struct Output<'a> {
    steps: Vec<Step<'a>>,
    waiting: Vec<Waiting>,
    comparisons: usize,
    nesting: usize,
}

impl<'a> Output<'a> {
    fn open(&mut self, at: usize) -> Result<(), Error> {
        self.nesting = self.nesting.saturating_add(1);
        if self.nesting > MAX_NESTING {
            return Err(Error::TooDeep { at });
        }
        self.waiting.push(Waiting::Parenthesis);
        Ok(())
    }

    fn count_comparison(&mut self, at: usize) -> Result<(), Error> {
        self.comparisons = self.comparisons.saturating_add(1);
        if self.comparisons > MAX_COMPARISONS { Err(Error::TooManyComparisons { at }) } else { Ok(()) }
    }

    fn close(&mut self, at: usize) -> Result<(), Error> {
        loop {
            match self.waiting.pop() {
                Some(Waiting::Parenthesis) => break,
                Some(Waiting::And) => self.steps.push(Step::And),
                Some(Waiting::Or) => self.steps.push(Step::Or),
                None => return Err(Error::UnmatchedParenthesis { at }),
            }
        }
        self.nesting = self.nesting.saturating_sub(1);
        Ok(())
    }

    /// AND binds tighter than OR; equals are taken from the left.
    fn connect(&mut self, connective: Waiting) {
        while let Some(waiting) = self.waiting.last().copied() {
            match (waiting, connective) {
                (Waiting::And, _) => self.steps.push(Step::And),
                (Waiting::Or, Waiting::Or) => self.steps.push(Step::Or),
                (Waiting::Or | Waiting::Parenthesis, _) => break,
            }
            self.waiting.pop();
        }
        self.waiting.push(connective);
    }

    fn finish(mut self, at: usize) -> Result<Vec<Step<'a>>, Error> {
        while let Some(waiting) = self.waiting.pop() {
            match waiting {
                Waiting::Parenthesis => return Err(Error::UnmatchedParenthesis { at }),
                Waiting::And => self.steps.push(Step::And),
                Waiting::Or => self.steps.push(Step::Or),
            }
        }
        Ok(self.steps)
    }
}

struct Scanner<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn at(&self) -> usize {
        self.text.len().saturating_sub(self.rest.len())
    }

    fn is_at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The text up to the closing quote, `None` when there is none.
    fn quoted(&mut self, quote: char) -> Option<&'a str> {
        let (inner, rest) = self.rest.trim_start().strip_prefix(quote)?.split_once(quote)?;
        self.rest = rest;
        Some(inner)
    }

    /// The text up to a space, quote, parenthesis or operator; may be empty.
    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let ends = |c: char| c.is_whitespace() || matches!(c, '=' | '<' | '>' | '(' | ')' | '\'' | '"');
        let (word, rest) = text.find(ends).and_then(|end| text.split_at_checked(end)).unwrap_or((text, ""));
        self.rest = rest;
        word
    }
}

fn comparison<'a>(scanner: &mut Scanner<'a>, dialect: Dialect) -> Result<Comparison<'a>, Error> {
    let subject = subject(scanner, dialect)?;
    let operator = operator(scanner)?;
    if dialect == Dialect::Find && operator == Operator::NotEqual {
        return Err(Error::OperatorNotAllowed { at: scanner.at() });
    }
    if subject == Subject::Container && operator != Operator::Equal {
        return Err(Error::ContainerNotAllowed { at: scanner.at() });
    }
    let value = scanner.quoted('\'').ok_or(Error::ValueExpected { at: scanner.at() })?;
    // The name of a container is checked by the lookup; it may hold `$`, which no tag value may.
    if subject != Subject::Container && !is_tag_text(value, MAX_TAG_VALUE_BYTES) {
        return Err(Error::InvalidValue { at: scanner.at() });
    }
    Ok(Comparison { subject, operator, value })
}

fn subject<'a>(scanner: &mut Scanner<'a>, dialect: Dialect) -> Result<Subject<'a>, Error> {
    let start = scanner.at();
    if let Some(name) = scanner.quoted('"') {
        return tag(name, scanner.at());
    }
    match scanner.word() {
        "" => Err(Error::NameExpected { at: start }),
        "@container" if dialect == Dialect::Find => Ok(Subject::Container),
        word if word.starts_with('@') => Err(Error::ContainerNotAllowed { at: scanner.at() }),
        word => tag(word, scanner.at()),
    }
}

fn tag(name: &str, at: usize) -> Result<Subject<'_>, Error> {
    if !name.is_empty() && is_tag_text(name, MAX_TAG_NAME_BYTES) {
        Ok(Subject::Tag(name))
    } else {
        Err(Error::InvalidName { at })
    }
}

/// The characters that tag names and values are made of.
fn is_tag_text(text: &str, max_bytes: usize) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '+' | '-' | '.' | '/' | ':' | '=' | '_');
    text.len() <= max_bytes && text.chars().all(allowed)
}

fn operator(scanner: &mut Scanner<'_>) -> Result<Operator, Error> {
    let operators = [
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<>", Operator::NotEqual),
        ("=", Operator::Equal),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let found = operators.into_iter().find(|(token, _)| scanner.take(token));
    found.map(|(_, operator)| operator).ok_or(Error::OperatorExpected { at: scanner.at() })
}

fn connective(scanner: &mut Scanner<'_>, dialect: Dialect) -> Result<Waiting, Error> {
    let start = scanner.at();
    match scanner.word() {
        word if word.eq_ignore_ascii_case("and") => Ok(Waiting::And),
        word if word.eq_ignore_ascii_case("or") && dialect == Dialect::Condition => Ok(Waiting::Or),
        word if word.eq_ignore_ascii_case("or") => Err(Error::OperatorNotAllowed { at: scanner.at() }),
        _ => Err(Error::ConnectiveExpected { at: start }),
    }
}

fn compared<'a>(step: &Step<'a>) -> Option<(Subject<'a>, Bound)> {
    match step {
        Step::Compare(comparison) => Some((comparison.subject, bound(comparison.operator))),
        Step::And | Step::Or => None,
    }
}

/// In a search, a subject is compared with one value, or with one lower and one upper bound; and with at most so many tags.
/// So a search has at most two comparisons for each of them and for the container.
fn admit_to_search(steps: &[Step<'_>], next: &Comparison<'_>, at: usize) -> Result<(), Error> {
    let this = bound(next.operator);
    for (_, earlier) in steps.iter().filter_map(compared).filter(|(subject, _)| *subject == next.subject) {
        if matches!((earlier, this), (Bound::Exact, _) | (_, Bound::Exact)) || earlier == this {
            return Err(Error::NotARange { at });
        }
    }
    let mut tags: Vec<Subject<'_>> = steps.iter().filter_map(compared).map(|(subject, _)| subject).collect();
    tags.push(next.subject);
    tags.sort_unstable();
    tags.dedup();
    let tags = tags.into_iter().filter(|subject| *subject != Subject::Container).count();
    if tags > MAX_COMPARISONS { Err(Error::TooManyTags { at }) } else { Ok(()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Exact,
    Lower,
    Upper,
}

const fn bound(operator: Operator) -> Bound {
    match operator {
        Operator::Equal | Operator::NotEqual => Bound::Exact,
        Operator::Greater | Operator::GreaterOrEqual => Bound::Lower,
        Operator::Less | Operator::LessOrEqual => Bound::Upper,
    }
}
