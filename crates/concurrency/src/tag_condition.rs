//! Expressions over blob tags: the condition of `x-ms-if-tags` and the `where` of Find Blobs by Tags.
//!
//! Owns the grammar, its limits and what an expression means. Must never know where tags are stored: a tag's value is
//! asked for by name. Parsing and evaluating use loops, not recursion, so no text can exhaust the stack; text, nesting
//! and comparisons are bounded.

mod parse;

pub use parse::{
    MAX_COMPARISONS, MAX_EXPRESSION_BYTES, MAX_NESTING, MAX_TAG_NAME_BYTES, MAX_TAG_VALUE_BYTES, TagExpressionError,
};

/// Which of the two languages an expression is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `x-ms-if-tags`: all operators, AND, OR and parentheses; no `@container`.
    Condition,
    /// Find Blobs by Tags: no `<>`, no OR; `@container = '...'` is allowed; each tag is compared once, or twice to name
    /// a range.
    Find,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject<'a> {
    /// The value of the tag with this name.
    Tag(&'a str),
    /// The name of the container (`@container`).
    Container,
}

/// How it is compared: as strings, byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// One comparison of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison<'a> {
    /// What is compared.
    pub subject: Subject<'a>,
    /// By which operator the two are compared.
    pub operator: Operator,
    /// With what.
    pub value: &'a str,
}

impl Comparison<'_> {
    /// A tag that the blob does not have holds for no operator, also not for `<>`.
    fn holds(&self, actual: Option<&str>) -> bool {
        actual.is_some_and(|actual| match self.operator {
            Operator::Equal => actual == self.value,
            Operator::NotEqual => actual != self.value,
            Operator::Less => actual < self.value,
            Operator::LessOrEqual => actual <= self.value,
            Operator::Greater => actual > self.value,
            Operator::GreaterOrEqual => actual >= self.value,
        })
    }
}

/// The tags are not what the condition says (412 ConditionNotMet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tag condition is not met")]
pub struct TagConditionNotMet;

/// One step of the evaluation, operands before their operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Compare(Comparison<'a>),
    And,
    Or,
}

/// A parsed expression.
///
/// ```
/// use concurrency::tag_condition::{Dialect, TagExpression};
///
/// let tags = [("Status", "Done"), ("Priority", "05")];
/// let value_of = |name: &str| tags.iter().find(|(tag, _)| *tag == name).map(|(_, value)| *value);
///
/// let condition = TagExpression::parse("Status = 'Done' AND (\"Priority\" < '03' OR Priority >= '05')", Dialect::Condition)?;
/// assert!(condition.holds(None, value_of));
///
/// let find = TagExpression::parse("@container = 'docs' AND Status = 'Done'", Dialect::Find)?;
/// assert!(find.holds(Some("docs"), value_of) && !find.holds(Some("other"), value_of));
/// # Ok::<(), concurrency::tag_condition::TagExpressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagExpression<'a> {
    steps: Vec<Step<'a>>,
}

impl<'a> TagExpression<'a> {
    /// Reads an expression.
    ///
    /// # Errors
    /// A [`TagExpressionError`] with the place (400 InvalidHeaderValue for a condition, InvalidQueryParameterValue for a
    /// search).
    pub fn parse(text: &'a str, dialect: Dialect) -> Result<Self, TagExpressionError> {
        Ok(Self { steps: parse::parse(text, dialect)? })
    }

    /// Whether the expression is true of a blob in this container with these tags. An absent blob has no tags.
    ///
    /// Allocates nothing.
    pub fn holds<'t>(&self, container: Option<&str>, tag: impl Fn(&str) -> Option<&'t str>) -> bool {
        // At most two truth values are pending for each of MAX_COMPARISONS tags, and two more; they stand in the bits of a
        // number, the newest lowest.
        let mut pending = 0_u32;
        for step in &self.steps {
            let (rest, value) = match step {
                Step::Compare(comparison) => {
                    let actual = match comparison.subject {
                        Subject::Tag(name) => tag(name),
                        Subject::Container => container,
                    };
                    (pending << 1, u32::from(comparison.holds(actual)))
                }
                Step::And => (pending >> 2 << 1, (pending >> 1) & pending & 1),
                Step::Or => (pending >> 2 << 1, ((pending >> 1) | pending) & 1),
            };
            pending = rest | value;
        }
        pending & 1 == 1
    }

    /// Decides `x-ms-if-tags` and `x-ms-source-if-tags`: evaluated in addition to every other condition.
    ///
    /// # Errors
    /// [`TagConditionNotMet`].
    ///
    /// ```
    /// use concurrency::tag_condition::{Dialect, TagExpression};
    /// let condition = TagExpression::parse("Status = 'Done'", Dialect::Condition)?;
    /// assert!(condition.check(|_| Some("Done")).is_ok() && condition.check(|_| None).is_err());
    /// # Ok::<(), concurrency::tag_condition::TagExpressionError>(())
    /// ```
    pub fn check<'t>(&self, tag: impl Fn(&str) -> Option<&'t str>) -> Result<(), TagConditionNotMet> {
        if self.holds(None, tag) { Ok(()) } else { Err(TagConditionNotMet) }
    }

    /// The comparisons in the order of the text. In [`Dialect::Find`] all of them must hold, so an index can plan with
    /// them.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison<'a>> {
        self.steps.iter().filter_map(|step| match step {
            Step::Compare(comparison) => Some(comparison),
            Step::And | Step::Or => None,
        })
    }
}

#[cfg(test)]
mod tests;
