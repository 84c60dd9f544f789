//! The addresses that a signature is for: one, or a range of them.

use std::net::IpAddr;

/// A range of addresses, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    first: IpAddr,
    last: IpAddr,
}

impl Addresses {
    /// Reads `168.1.5.65` or `168.1.5.60-168.1.5.70`, IPv4 or IPv6. An end before the beginning is no range.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let read = |text: &str| text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let range = Self { first: read(first)?, last: read(last)? };
        (range.first.is_ipv4() == range.last.is_ipv4() && range.first <= range.last).then_some(range)
    }

    /// True for an address in the range.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && (self.first..=self.last).contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        let table = [
            ("168.1.5.65", "168.1.5.65", Some(true)),
            ("168.1.5.65", "168.1.5.66", Some(false)),
            ("168.1.5.65", "::ffff:168.1.5.65", Some(true)),
            ("168.1.5.60-168.1.5.70", "168.1.5.60", Some(true)),
            ("168.1.5.60-168.1.5.70", "168.1.5.70", Some(true)),
            ("168.1.5.60-168.1.5.70", "168.1.5.71", Some(false)),
            ("9.0.0.1-10.0.0.1", "9.255.0.0", Some(true)),
            ("::1", "::1", Some(true)),
            ("::1-::9", "127.0.0.1", Some(false)),
            ("0.0.0.0-255.255.255.255", "::1", Some(false)),
            ("168.1.5.70-168.1.5.60", "168.1.5.65", None),
            ("168.1.5.60-::9", "168.1.5.65", None),
            ("168.1.5.0/24", "168.1.5.65", None),
            ("", "168.1.5.65", None),
            ("1.1.1.1-", "1.1.1.1", None),
        ];
        for (range, address, expected) in table {
            let found = Addresses::parse(range).map(|range| range.has(address.parse().unwrap()));
            assert_eq!(found, expected, "{range} {address}");
        }
    }
}
