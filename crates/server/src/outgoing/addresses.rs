//! Which addresses belong to everybody, and which to this machine or its network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for an address that anybody on the Internet could reach just as well.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || first == 0
        || first >= 240
        // Shared by the customers of a provider, protocol assignments, benchmarks.
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (second == 18 || second == 19));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (first, second) {
        // An address of version 4 in the clothes of version 6: mapped, compatible, translated, tunnelled.
        (0, 0) if (third, fourth, fifth) == (0, 0, 0) && matches!(sixth, 0xffff) => embedded(seventh, eighth),
        (0, _) => false,
        (0x64, 0xff9b) => (third, fourth, fifth, sixth) == (0, 0, 0, 0) && embedded(seventh, eighth),
        (0x2002, high) => embedded(high, third),
        // Everything else that is public is global unicast, without Teredo, protocol assignments and documentation.
        (0x2001, second) => second >= 0x200 && second != 0xdb8,
        (0x3fff, second) => second >= 0x1000,
        _ => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_everybody_can_reach() {
        let table = [
            ("8.8.8.8", true),
            ("20.60.1.2", true),
            ("127.0.0.1", false),
            ("127.255.0.9", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("198.51.100.7", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b::808:808", true),
            ("64:ff9b:1::808:808", false),
            ("2002:7f00:1::1", false),
            ("2002:808:808::1", true),
            ("2001:0:1::1", false),
            ("2001:db8::1", false),
            ("3fff::1", false),
            ("2606:4700::1111", true),
            ("2a00:1450:4001::1", true),
            ("4000::1", false),
        ];
        for (address, public) in table {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
