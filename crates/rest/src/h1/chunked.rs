//! Chunked bodies of requests: a state machine that takes bytes out of a buffer and gives back data.
//!
//! Strict as the head is: every line ends in CR LF, sizes are hexadecimal digits. Extensions and trailers are read over,
//! and both have a limit, because they cost a client nothing and could go on for ever.

use bytes::{Buf, Bytes, BytesMut};

/// Most bytes of extensions and trailers of one body.
const EXTRAS_MAX_BYTES: usize = 16 * 1024;

/// Where in the body the decoder stands.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    extras: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a size.
    Size {
        size: u64,
        digits: u8,
    },
    /// In the extension behind a size.
    Extension {
        size: u64,
    },
    /// Before the line feed that ends the line of a size.
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    /// Before the CR behind data.
    DataCr,
    /// Before the LF behind data.
    DataLf,
    /// At the start of a line behind the last chunk.
    TrailerStart,
    Trailer,
    TrailerLf,
    /// Before the very last line feed.
    EndLf,
    End,
}

/// What comes next out of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes of the body.
    Data(Bytes),
    /// The buffer is used up.
    More,
    /// The body is complete; what is left in the buffer is not part of it.
    End,
}

/// The bytes are no chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of the body are malformed: {0}")]
pub struct Malformed(pub &'static str);

impl Default for Decoder {
    fn default() -> Self {
        Self { state: State::Size { size: 0, digits: 0 }, extras: 0 }
    }
}

impl Decoder {
    /// True when the whole body was taken.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.state == State::End
    }

    /// Takes bytes out of the buffer up to the next data.
    ///
    /// # Errors
    /// They are no chunks.
    pub fn step(&mut self, buffer: &mut BytesMut) -> Result<Step, Malformed> {
        loop {
            if let State::Data { left } = self.state {
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                if length == 0 {
                    return Ok(Step::More);
                }
                let rest = left - u64::try_from(length).unwrap_or(left);
                self.state = if rest == 0 { State::DataCr } else { State::Data { left: rest } };
                return Ok(Step::Data(buffer.split_to(length).freeze()));
            }
            if self.state == State::End {
                return Ok(Step::End);
            }
            let Some(byte) = buffer.first().copied() else { return Ok(Step::More) };
            buffer.advance(1);
            self.state = self.next(byte)?;
        }
    }

    fn next(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::Size { size, digits }, digit) if digit.is_ascii_hexdigit() => {
                if digits == 16 {
                    return Err(Malformed("a size has more than 16 digits"));
                }
                let value = char::from(digit).to_digit(16).map_or(0, u64::from);
                State::Size { size: size << 4 | value, digits: digits + 1 }
            }
            (State::Size { digits: 0, .. }, _) => return Err(Malformed("a size has no digits")),
            (State::Size { size, .. } | State::Extension { size }, b'\r') => State::SizeEnd { size },
            (State::Size { size, .. }, b';' | b' ' | b'\t') => State::Extension { size },
            (State::Extension { size }, byte) if byte != b'\n' && byte != 0 => {
                self.extra()?;
                State::Extension { size }
            }
            (State::SizeEnd { size: 0 }, b'\n') | (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::SizeEnd { size }, b'\n') => State::Data { left: size },
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { size: 0, digits: 0 },
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::TrailerStart | State::Trailer, byte) if byte != b'\n' && byte != 0 => {
                self.extra()?;
                State::Trailer
            }
            (State::EndLf, b'\n') => State::End,
            _ => return Err(Malformed("a byte stands where none may")),
        })
    }

    const fn extra(&mut self) -> Result<(), Malformed> {
        self.extras += 1;
        if self.extras > EXTRAS_MAX_BYTES { Err(Malformed("extensions and trailers are too long")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes in pieces of this size; `Ok` has the body and what is left over, `Err(true)` means malformed.
    fn decode(text: &str, piece: usize) -> Result<(String, String), bool> {
        let (mut decoder, mut buffer, mut body) = (Decoder::default(), BytesMut::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(piece);
        loop {
            match decoder.step(&mut buffer).map_err(|_| true)? {
                Step::Data(bytes) => body.extend_from_slice(&bytes),
                Step::More => buffer.extend_from_slice(pieces.next().ok_or(false)?),
                Step::End => {
                    buffer.extend_from_slice(&pieces.collect::<Vec<_>>().concat());
                    let left = String::from_utf8(buffer.to_vec()).unwrap();
                    return Ok((String::from_utf8(body).unwrap(), left));
                }
            }
        }
    }

    #[test]
    fn chunks_are_put_together_however_they_come() {
        let table = [
            ("0\r\n\r\n", "", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello", ""),
            ("5\r\nhello\r\n00\r\n\r\nGET", "hello", "GET"),
            ("5;name=value\r\nhello\r\n1 \r\n!\r\n0;x\r\nTrailer: a\r\nB: c\r\n\r\nnext", "hello!", "next"),
            ("A\r\n0123456789\r\na\r\nabcdefghij\r\n0\r\n\r\n", "0123456789abcdefghij", ""),
        ];
        for (text, body, left) in table {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(decode(text, piece), Ok((body.to_owned(), left.to_owned())), "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(EXTRAS_MAX_BYTES + 1));
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(EXTRAS_MAX_BYTES / 4 + 1));
        let table = [
            "\r\n",
            ";\r\n",
            "x\r\n",
            "-5\r\nhello",
            "+5\r\nhello",
            "0x5\r\nhello",
            "5\nhello",
            "5\r\nhello!",
            "5\r\nhello\n",
            "5\r\nhello\r\r",
            "5\rx",
            "0\r\n\n",
            "0\r\n\rx",
            "11111111111111111\r\n",
            "5;a\nhello",
            &long,
            &trailers,
        ];
        for text in table {
            for piece in [1, 1000] {
                assert_eq!(decode(text, piece), Err(true), "{text:?}");
            }
        }
        for cut in ["", "5", "5\r", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\n\r"] {
            assert_eq!(decode(cut, 1000), Err(false), "{cut:?} is not yet complete");
        }
    }
}
