//! What is known of a request when it is over: what metrics and the log are fed with, for every protocol alike.
//!
//! Invariant: a record holds no header, no body and no secret; what it is about is written without signatures.

use std::{fmt, time::Duration};

/// The id of a request, written as a GUID. Fresh for each request; the host draws it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

impl RequestId {
    /// The id with these bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// `01234567-89ab-cdef-0123-456789abcdef`.
    #[must_use]
    pub fn text(self) -> [u8; 36] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut bits = self.0;
        // From the last digit to the first, around the dashes.
        for (place, letter) in text.iter_mut().enumerate().rev() {
            if !matches!(place, 8 | 13 | 18 | 23) {
                let digit = usize::try_from(bits & 0xf).unwrap_or_default();
                *letter = DIGITS.get(digit).copied().unwrap_or_default();
                bits >>= 4;
            }
        }
        text
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// A request that is over.
pub struct Record<'a> {
    /// The name of the service, as in `blob`.
    pub service: &'static str,
    /// The name of the operation, as in `PutBlob`; `Unknown` when it was not found out.
    pub operation: &'static str,
    /// What the protocol calls the kind of request: the verb of HTTP.
    pub verb: &'a str,
    /// What it is about, fit for people and logs. Written only when somebody looks.
    pub target: &'a dyn fmt::Display,
    /// The status of the answer, in the numbers of the protocol.
    pub status: u32,
    /// True when the status says that the server failed, not the client.
    pub server_failed: bool,
    /// The code of the error, if it was one.
    pub error_code: Option<&'static str>,
    /// The id that the answer carries too.
    pub request_id: RequestId,
    /// From the arrival of the head to the last byte of the answer.
    pub duration: Duration,
    /// Declared length of the request's body.
    pub bytes_in: u64,
    /// Bytes of the answer's body.
    pub bytes_out: u64,
    /// False when the answer was not sent to its end.
    pub complete: bool,
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("operation", &self.operation)
            .field("target", &format_args!("{}", self.target))
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_a_guid() {
        let id = RequestId::new(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0011-223344556677");
    }
}
