//! The values of properties: the eight types of the service, their sizes and how they compare.

use std::cmp::Ordering;

use bytes::Bytes;

use crate::{DateTime, Guid, key_order};

/// The types of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdmType {
    /// Bytes.
    Binary,
    /// True or false.
    Boolean,
    /// 100 nanoseconds, since the year 1.
    DateTime,
    /// A number of 64 bits with a fraction.
    Double,
    /// A GUID.
    Guid,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Text.
    String,
}

impl EdmType {
    /// Every type.
    pub const ALL: [Self; 8] =
        [Self::Binary, Self::Boolean, Self::DateTime, Self::Double, Self::Guid, Self::Int32, Self::Int64, Self::String];

    /// `Edm.Int64`
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "Edm.Binary",
            Self::Boolean => "Edm.Boolean",
            Self::DateTime => "Edm.DateTime",
            Self::Double => "Edm.Double",
            Self::Guid => "Edm.Guid",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::String => "Edm.String",
        }
    }

    /// The type of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A value that is owned, as it comes with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Edm.Binary
    Binary(Bytes),
    /// Edm.Boolean
    Boolean(bool),
    /// Edm.DateTime
    DateTime(DateTime),
    /// Edm.Double
    Double(f64),
    /// Edm.Guid
    Guid(Guid),
    /// Edm.Int32
    Int32(i32),
    /// Edm.Int64
    Int64(i64),
    /// Edm.String
    String(String),
}

impl Value {
    /// The value, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> ValueRef<'_> {
        match self {
            Self::Binary(bytes) => ValueRef::Binary(bytes),
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::DateTime(value) => ValueRef::DateTime(*value),
            Self::Double(value) => ValueRef::Double(*value),
            Self::Guid(value) => ValueRef::Guid(*value),
            Self::Int32(value) => ValueRef::Int32(*value),
            Self::Int64(value) => ValueRef::Int64(*value),
            Self::String(text) => ValueRef::String(text),
        }
    }
}

/// A value that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// Edm.Binary
    Binary(&'a [u8]),
    /// Edm.Boolean
    Boolean(bool),
    /// Edm.DateTime
    DateTime(DateTime),
    /// Edm.Double
    Double(f64),
    /// Edm.Guid
    Guid(Guid),
    /// Edm.Int32
    Int32(i32),
    /// Edm.Int64
    Int64(i64),
    /// Edm.String
    String(&'a str),
}

impl ValueRef<'_> {
    /// What a client names it by (`Edm.…`).
    #[must_use]
    pub const fn kind(self) -> EdmType {
        match self {
            Self::Binary(_) => EdmType::Binary,
            Self::Boolean(_) => EdmType::Boolean,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Double(_) => EdmType::Double,
            Self::Guid(_) => EdmType::Guid,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::String(_) => EdmType::String,
        }
    }

    /// The bytes that the service counts for it, without its name: text in UTF-16.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Binary(bytes) => bytes.len() + 4,
            Self::String(text) => utf16_units(text) * 2 + 4,
            Self::Boolean(_) => 1,
            Self::Int32(_) => 4,
            Self::DateTime(_) | Self::Double(_) | Self::Int64(_) => 8,
            Self::Guid(_) => 16,
        }
    }

    /// The value with a holder of its own.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Binary(bytes) => Value::Binary(Bytes::copy_from_slice(bytes)),
            Self::Boolean(value) => Value::Boolean(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Double(value) => Value::Double(value),
            Self::Guid(value) => Value::Guid(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::String(text) => Value::String(text.to_owned()),
        }
    }

    /// How it compares with another value.
    #[must_use]
    pub fn compare(self, other: Self) -> Comparison {
        let order = match (self, other) {
            (Self::Binary(left), Self::Binary(right)) => left.cmp(right),
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(&right),
            (Self::DateTime(left), Self::DateTime(right)) => left.cmp(&right),
            (Self::Guid(left), Self::Guid(right)) => left.cmp(&right),
            (Self::String(left), Self::String(right)) => key_order::compare(left, right),
            _ => match (self.whole_number(), other.whole_number()) {
                (Some(left), Some(right)) => left.cmp(&right),
                (None, None) => match (self, other) {
                    (Self::Double(left), Self::Double(right)) => return left.partial_cmp(&right).into(),
                    _ => return Comparison::OtherTypes,
                },
                (Some(left), None) => match other {
                    Self::Double(right) => return whole_and_double(left, right).into(),
                    _ => return Comparison::OtherTypes,
                },
                (None, Some(right)) => match self {
                    Self::Double(left) => return whole_and_double(right, left).map(Ordering::reverse).into(),
                    _ => return Comparison::OtherTypes,
                },
            },
        };
        Comparison::Ordered(order)
    }

    fn whole_number(self) -> Option<i64> {
        match self {
            Self::Int32(number) => Some(i64::from(number)),
            Self::Int64(number) => Some(number),
            _ => None,
        }
    }
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// One is before the other, or they are equal.
    Ordered(Ordering),
    /// Of the same type, and one is not a number.
    Unordered,
    /// Of types that have nothing in common: no comparison of them holds.
    OtherTypes,
}

impl From<Option<Ordering>> for Comparison {
    fn from(order: Option<Ordering>) -> Self {
        order.map_or(Self::Unordered, Self::Ordered)
    }
}

/// Exactly: rounding the whole number first would make neighbours equal.
fn whole_and_double(whole: i64, double: f64) -> Option<Ordering> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= END {
        return Some(Ordering::Less);
    }
    if double < -END {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "within the range of i64, without fraction"
    )]
    let floor = double.floor() as i64;
    let order = whole.cmp(&floor);
    Some(if order.is_eq() && double > double.floor() { Ordering::Less } else { order })
}

/// Length as the service counts text.
#[must_use]
pub fn utf16_units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Reads a double: digits with a fraction or an exponent, `NaN`, `INF`, `-INF`, `Infinity`, `-Infinity`.
#[must_use]
pub fn parse_double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "INF" | "Infinity" => Some(f64::INFINITY),
        "-INF" | "-Infinity" => Some(f64::NEG_INFINITY),
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_compare_by_value_and_nothing_else_across_types() {
        use Ordering::{Equal, Greater, Less};
        use ValueRef::{Double, Int32, Int64, String};
        let table = [
            (Int32(5), Int64(5), Comparison::Ordered(Equal)),
            (Int64(i64::MAX), Double(9_223_372_036_854_775_808.0), Comparison::Ordered(Less)),
            (Double(-9_223_372_036_854_775_808.0), Int64(i64::MIN), Comparison::Ordered(Equal)),
            (Int64(9_007_199_254_740_993), Double(9_007_199_254_740_992.0), Comparison::Ordered(Greater)),
            (Int32(-1), Double(-0.5), Comparison::Ordered(Less)),
            (Double(-0.5), Int32(-1), Comparison::Ordered(Greater)),
            (Double(f64::NEG_INFINITY), Int64(i64::MIN), Comparison::Ordered(Less)),
            (Double(f64::NAN), Int32(0), Comparison::Unordered),
            (Double(f64::NAN), Double(f64::NAN), Comparison::Unordered),
            (String("5"), Int32(5), Comparison::OtherTypes),
            (ValueRef::Boolean(true), Int32(1), Comparison::OtherTypes),
            (ValueRef::Binary(b"a"), ValueRef::Binary(b"b"), Comparison::Ordered(Less)),
        ];
        for (left, right, expected) in table {
            assert_eq!(left.compare(right), expected, "{left:?} {right:?}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_documentation() {
        let table = [
            (ValueRef::String("aä😀"), 4 + 2 * 4),
            (ValueRef::Binary(b"abc"), 4 + 3),
            (ValueRef::Boolean(true), 1),
            (ValueRef::Int32(1), 4),
            (ValueRef::Int64(1), 8),
            (ValueRef::Double(1.0), 8),
            (ValueRef::Guid(Guid::new(1)), 16),
        ];
        for (value, size) in table {
            assert_eq!(value.size(), size, "{value:?}");
        }
    }

    #[test]
    fn names_of_types_come_back() {
        for kind in EdmType::ALL {
            assert_eq!(EdmType::parse(kind.name()), Some(kind));
        }
        assert_eq!(EdmType::parse("edm.string"), None);
    }

    proptest! {
        #[test]
        fn doubles_come_back(bits: u64) {
            let number = f64::from_bits(bits);
            let read = parse_double(&format!("{number:?}").replace("inf", "INF")).unwrap();
            prop_assert!(read.to_bits() == bits || number.is_nan() && read.is_nan());
        }

        #[test]
        fn whole_numbers_and_doubles_compare_exactly(whole: i64, near in -2.0_f64..2.0) {
            #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "any double near it will do")]
            let double = whole as f64 + near;
            let exact = i128::from(whole) * 4;
            #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "small enough")]
            let (floor, fraction) = (double.floor() as i128 * 4, double > double.floor());
            let expected = exact.cmp(&(floor + i128::from(fraction)));
            prop_assert_eq!(whole_and_double(whole, double), Some(expected));
        }
    }
}
