//! Pop receipts as clients carry them: where the message stands, so that nothing has to be searched, and the value that
//! only the newest receipt has.
//!
//! A receipt is opaque to clients. One that was never given out finds no message, or one with another value.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use concurrency::visibility::PopReceipt;
use types::Timestamp;

use crate::keys::Place;

const FORMAT: u8 = 1;
const BYTES: usize = 33;

/// A pop receipt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) place: Place,
    pub(crate) value: PopReceipt,
}

/// The text is no pop receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid receipt format")]
pub struct InvalidReceipt;

impl Receipt {
    /// Reads what a client sent back.
    ///
    /// # Errors
    /// It has not the form of a receipt.
    pub fn parse(text: &str) -> Result<Self, InvalidReceipt> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidReceipt)?;
        let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| InvalidReceipt)?;
        let ([FORMAT], rest) = bytes.split_first_chunk::<1>().ok_or(InvalidReceipt)? else {
            return Err(InvalidReceipt);
        };
        let (next_visible, rest) = rest.split_first_chunk().ok_or(InvalidReceipt)?;
        let (number, rest) = rest.split_first_chunk().ok_or(InvalidReceipt)?;
        let value: [u8; 16] = rest.try_into().map_err(|_| InvalidReceipt)?;
        let next_visible = Timestamp::from_ticks(u64::from_be_bytes(*next_visible));
        let place = Place { next_visible, number: u64::from_be_bytes(*number) };
        Ok(Self { place, value: PopReceipt::new(u128::from_be_bytes(value)) })
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.place.next_visible.ticks().to_be_bytes());
        bytes.extend_from_slice(&self.place.number.to_be_bytes());
        bytes.extend_from_slice(&self.value.value().to_be_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_comes_back_as_it_was_given_out() {
        let place = Place { next_visible: Timestamp::from_ticks(u64::MAX - 1), number: 7 };
        let receipt = Receipt { place, value: PopReceipt::new(u128::MAX / 3) };
        let text = receipt.to_string();
        assert_eq!((Receipt::parse(&text), text.len()), (Ok(receipt), 44));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
    }

    /// Clients carry receipts across a restart, and so across a change of the program.
    #[test]
    fn a_receipt_is_written_and_read_as_the_golden_text() {
        let golden = include_str!("../testdata/pop_receipt.txt").trim_end();
        let place = Place { next_visible: Timestamp::from_ticks(0x0102_0304_0506_0708), number: 0x1112_1314_1516_1718 };
        let receipt = Receipt { place, value: PopReceipt::new(0x2021_2223_2425_2627_2829_2a2b_2c2d_2e2f) };
        assert_eq!((receipt.to_string().as_str(), Receipt::parse(golden)), (golden, Ok(receipt)));
    }

    #[test]
    fn nothing_else_is_a_receipt() {
        let other_format = URL_SAFE_NO_PAD.encode([2; BYTES]);
        let longer = URL_SAFE_NO_PAD.encode([1; BYTES + 1]);
        for text in ["", "x", "AgAAAAMAAAAAAAAAq6YqJ3v10gE=", "not a receipt", &other_format, &longer] {
            assert_eq!(Receipt::parse(text), Err(InvalidReceipt), "{text}");
        }
    }
}
