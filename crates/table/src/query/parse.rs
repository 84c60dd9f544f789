//! Reading `$filter`: comparisons of a property with a constant, `and`, `or`, `not`, parentheses.
//!
//! Invariant: text of any content and depth is read or refused with a position, in bounded memory and stack.

use bytes::Bytes;

use super::{Filter, Operator};
use crate::{DateTime, Guid, Value, value::parse_double};

/// Longest text that is read.
const BYTES_MAX: usize = 32 * 1024;
/// Deepest nesting of parentheses and `not`.
const DEPTH_MAX: usize = 64;

/// Why a filter is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It is not well-formed.
    #[error("syntax error at position {position} in the filter: {reason}")]
    Syntax {
        /// The character, counted from zero.
        position: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// It is well-formed and asks for what the service does not have.
    #[error("the filter is not supported at position {position}: {reason}")]
    NotSupported {
        /// The character, counted from zero.
        position: usize,
        /// What is asked for.
        reason: &'static str,
    },
}

/// Reads a filter.
///
/// # Errors
/// [`FilterError`], with the position.
///
/// ```
/// let filter = table::query::parse("PartitionKey eq 'it''s' and not (Age lt 5L or Score ge -1.5)").unwrap();
/// assert!(table::query::parse("PartitionKey eq").is_err());
/// ```
pub fn parse(text: &str) -> Result<Filter, FilterError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    if text.len() > BYTES_MAX {
        return Err(parser.syntax(0, "it is too long"));
    }
    let filter = parser.any_of()?;
    parser.skip_spaces();
    if parser.rest().is_empty() { Ok(filter) } else { Err(parser.syntax(parser.at, "the filter should end here")) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// One side of a comparison.
enum Operand<'a> {
    Property(&'a str),
    Constant(Value),
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn position(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or(self.text).chars().count()
    }

    fn syntax(&self, at: usize, reason: &'static str) -> FilterError {
        FilterError::Syntax { position: self.position(at), reason }
    }

    fn not_supported(&self, at: usize, reason: &'static str) -> FilterError {
        FilterError::NotSupported { position: self.position(at), reason }
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Takes a character if it is next.
    fn takes(&mut self, character: char) -> bool {
        self.skip_spaces();
        let next = self.rest().starts_with(character);
        if next {
            self.at += character.len_utf8();
        }
        next
    }

    /// The token that is next, empty if none is.
    fn peek_token(&mut self) -> &'a str {
        self.skip_spaces();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let begins = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if begins { rest.get(..end).unwrap_or_default() } else { "" }
    }

    /// Takes a token if it is next.
    fn takes_token(&mut self, token: &str) -> bool {
        let next = self.peek_token() == token;
        if next {
            self.at += token.len();
        }
        next
    }

    fn any_of(&mut self) -> Result<Filter, FilterError> {
        let first = self.all_of()?;
        let mut parts = vec![first];
        while self.takes_token("or") {
            parts.push(self.all_of()?);
        }
        Ok(if parts.len() == 1 { parts.pop().unwrap_or(Filter::Constant(true)) } else { Filter::Or(parts) })
    }

    fn all_of(&mut self) -> Result<Filter, FilterError> {
        let first = self.condition()?;
        let mut parts = vec![first];
        while self.takes_token("and") {
            parts.push(self.condition()?);
        }
        Ok(if parts.len() == 1 { parts.pop().unwrap_or(Filter::Constant(true)) } else { Filter::And(parts) })
    }

    fn condition(&mut self) -> Result<Filter, FilterError> {
        if self.depth == DEPTH_MAX {
            return Err(self.syntax(self.at, "it is nested too deeply"));
        }
        self.depth += 1;
        let condition = if self.takes_token("not") {
            self.condition().map(|inner| Filter::Not(Box::new(inner)))
        } else if self.takes('(') {
            let inner = self.any_of()?;
            if self.takes(')') { Ok(inner) } else { Err(self.syntax(self.at, "a closing parenthesis is missing")) }
        } else {
            self.comparison()
        };
        self.depth -= 1;
        condition
    }

    fn comparison(&mut self) -> Result<Filter, FilterError> {
        self.skip_spaces();
        let start = self.at;
        let left = self.operand()?;
        self.skip_spaces();
        let before = self.at;
        let Some(operator) = self.operator()? else {
            return match left {
                // A property of true or false is a condition by itself.
                Operand::Property(property) => Ok(Filter::Compare {
                    property: property.to_owned(),
                    operator: Operator::Equal,
                    constant: Value::Boolean(true),
                }),
                Operand::Constant(Value::Boolean(constant)) => Ok(Filter::Constant(constant)),
                Operand::Constant(_) => Err(self.syntax(before, "a comparison operator is missing")),
            };
        };
        self.skip_spaces();
        let middle = self.at;
        let (property, operator, constant) = match (left, self.operand()?) {
            (Operand::Property(property), Operand::Constant(constant)) => (property, operator, constant),
            (Operand::Constant(constant), Operand::Property(property)) => (property, operator.flipped(), constant),
            (Operand::Property(property), Operand::Property("NaN")) => (property, operator, Value::Double(f64::NAN)),
            (Operand::Property(property), Operand::Property("INF")) => {
                (property, operator, Value::Double(f64::INFINITY))
            }
            (Operand::Property(_), Operand::Property(_)) => {
                return Err(self.not_supported(middle, "two properties cannot be compared"));
            }
            (Operand::Constant(_), Operand::Constant(_)) => {
                return Err(self.not_supported(start, "two constants cannot be compared"));
            }
        };
        Ok(Filter::Compare { property: property.to_owned(), operator, constant })
    }

    fn operator(&mut self) -> Result<Option<Operator>, FilterError> {
        let token = self.peek_token();
        let operator = match token {
            "eq" => Operator::Equal,
            "ne" => Operator::NotEqual,
            "gt" => Operator::Greater,
            "ge" => Operator::GreaterOrEqual,
            "lt" => Operator::Less,
            "le" => Operator::LessOrEqual,
            "add" | "sub" | "mul" | "div" | "mod" => {
                return Err(self.not_supported(self.at, "there is no arithmetic"));
            }
            "" | "and" | "or" => return Ok(None),
            _ => return Err(self.syntax(self.at, "this is no operator")),
        };
        self.at += token.len();
        Ok(Some(operator))
    }

    fn operand(&mut self) -> Result<Operand<'a>, FilterError> {
        self.skip_spaces();
        let start = self.at;
        if self.rest().starts_with('\'') {
            return self.quoted().map(|text| Operand::Constant(Value::String(text)));
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            return self.number().map(Operand::Constant);
        }
        let token = self.peek_token();
        if token.is_empty() {
            return Err(self.syntax(start, "a property or a constant is missing"));
        }
        self.at += token.len();
        if self.rest().starts_with('\'') {
            return self.prefixed(token, start).map(Operand::Constant);
        }
        match token {
            _ if token.eq_ignore_ascii_case("true") => Ok(Operand::Constant(Value::Boolean(true))),
            _ if token.eq_ignore_ascii_case("false") => Ok(Operand::Constant(Value::Boolean(false))),
            "null" => Err(self.syntax(start, "null cannot be compared")),
            _ if self.rest().starts_with('(') => Err(self.not_supported(start, "there are no functions")),
            _ if self.rest().starts_with(['/', '.']) => Err(self.not_supported(start, "properties have no parts")),
            _ => Ok(Operand::Property(token)),
        }
    }

    /// `'it''s'`
    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut out = String::new();
        let mut rest = self.rest().strip_prefix('\'').unwrap_or_default();
        loop {
            let Some((piece, after)) = rest.split_once('\'') else {
                return Err(self.syntax(start, "a quote is not closed"));
            };
            out.push_str(piece);
            match after.strip_prefix('\'') {
                Some(further) => {
                    out.push('\'');
                    rest = further;
                }
                None => {
                    self.at = self.text.len() - after.len();
                    return Ok(out);
                }
            }
        }
    }

    /// `datetime'…'`, `guid'…'`, `X'…'`, `binary'…'`
    fn prefixed(&mut self, token: &str, start: usize) -> Result<Value, FilterError> {
        let inner = self.quoted()?;
        let value = match token {
            "datetime" => DateTime::parse(&inner).map(Value::DateTime),
            "guid" => Guid::parse(&inner).map(Value::Guid),
            "X" | "x" | "binary" => hexadecimal(&inner).map(Value::Binary),
            _ => return Err(self.syntax(start, "this is no kind of constant")),
        };
        value.ok_or_else(|| self.syntax(start, "the constant is not of the kind it is said to be"))
    }

    /// `5`, `-5`, `5L`, `5.0`, `1e3`, `5d`, `-INF`
    fn number(&mut self) -> Result<Value, FilterError> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("-INF") {
            self.at += "-INF".len();
            return Ok(Value::Double(f64::NEG_INFINITY));
        }
        let mut before = ' ';
        let end = rest.find(|c: char| {
            let exponent_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            let number = c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E')
                || exponent_sign
                || (before == ' ' && matches!(c, '+' | '-'));
            before = c;
            !number
        });
        let end = end.unwrap_or(rest.len());
        let (digits, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let suffix = after.chars().next().filter(char::is_ascii_alphabetic);
        self.at += digits.len() + usize::from(suffix.is_some());
        let wrong = || self.syntax(start, "this is no number");
        let value = match suffix {
            Some('L' | 'l') => digits.parse().ok().map(Value::Int64),
            Some('D' | 'd' | 'F' | 'f' | 'M' | 'm') => parse_double(digits).map(Value::Double),
            Some(_) => None,
            None if digits.contains(['.', 'e', 'E']) => parse_double(digits).map(Value::Double),
            None => match digits.parse::<i64>() {
                Ok(number) => Some(i32::try_from(number).map_or(Value::Int64(number), Value::Int32)),
                Err(_) => None,
            },
        };
        let ends = !self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        value.filter(|_| ends).ok_or_else(wrong)
    }
}

fn hexadecimal(digits: &str) -> Option<Bytes> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let mut values = digits.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()));
    let mut out = Vec::with_capacity(digits.len() / 2);
    while let Some(high) = values.next() {
        out.push(high? << 4 | values.next()??);
    }
    Some(out.into())
}

#[cfg(test)]
mod tests;
