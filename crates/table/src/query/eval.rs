//! A filter and whether it holds for a row.
//!
//! A comparison with a property that is not there, or with one of another type, does not hold, whichever operator it
//! has; `not` turns around whatever it is put before. Numbers of different types compare by value.

use std::cmp::Ordering;

use store::StoreError;

use crate::{Value, ValueRef, value::Comparison};

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `eq`
    Equal,
    /// `ne`
    NotEqual,
    /// `gt`
    Greater,
    /// `ge`
    GreaterOrEqual,
    /// `lt`
    Less,
    /// `le`
    LessOrEqual,
}

impl Operator {
    /// The operator that says the same with its sides exchanged.
    pub(super) const fn flipped(self) -> Self {
        match self {
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            same => same,
        }
    }

    /// The operator that holds exactly where this one does not, of values that are ordered.
    pub(super) const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
        }
    }

    const fn holds(self, comparison: Comparison) -> bool {
        match comparison {
            Comparison::OtherTypes => false,
            Comparison::Unordered => matches!(self, Self::NotEqual),
            Comparison::Ordered(order) => match self {
                Self::Equal => order.is_eq(),
                Self::NotEqual => order.is_ne(),
                Self::Greater => matches!(order, Ordering::Greater),
                Self::GreaterOrEqual => order.is_ge(),
                Self::Less => matches!(order, Ordering::Less),
                Self::LessOrEqual => order.is_le(),
            },
        }
    }
}

/// A condition on a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A property and a constant.
    Compare {
        /// The name of the property.
        property: String,
        /// The operator, with the property on its left.
        operator: Operator,
        /// What the value is compared with.
        constant: Value,
    },
    /// `true` or `false`
    Constant(bool),
    /// `not`
    Not(Box<Self>),
    /// `and` of any number
    And(Vec<Self>),
    /// `or` of any number
    Or(Vec<Self>),
}

impl Filter {
    /// True when it holds for a row whose properties `value` tells.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn matches<'a, F>(&self, value: &F) -> Result<bool, StoreError>
    where
        F: Fn(&str) -> Result<Option<ValueRef<'a>>, StoreError>,
    {
        match self {
            Self::Compare { property, operator, constant } => {
                let found = value(property)?;
                Ok(found.is_some_and(|found| operator.holds(found.compare(constant.borrowed()))))
            }
            Self::Constant(constant) => Ok(*constant),
            Self::Not(inner) => inner.matches(value).map(|matches| !matches),
            Self::And(parts) => {
                for part in parts {
                    if !part.matches(value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Or(parts) => {
                for part in parts {
                    if part.matches(value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// How many comparisons it has: what it costs to ask it of a row.
    pub(crate) fn comparisons(&self) -> usize {
        match self {
            Self::Compare { .. } => 1,
            Self::Constant(_) => 0,
            Self::Not(inner) => inner.comparisons(),
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::comparisons).sum(),
        }
    }

    /// The same filter with the constants that a property is compared with in lower case.
    pub(crate) fn folded(&self, name: &str) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.folded(name)).collect();
        match self {
            Self::Compare { property, operator, constant: Value::String(text) } if property == name => Self::Compare {
                property: property.clone(),
                operator: *operator,
                constant: Value::String(text.to_ascii_lowercase()),
            },
            Self::Compare { .. } | Self::Constant(_) => self.clone(),
            Self::Not(inner) => Self::Not(Box::new(inner.folded(name))),
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
        }
    }
}
