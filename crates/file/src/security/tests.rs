//! Descriptors as text and as bytes: what is read of one and written as the other is the same.

use super::*;

const USER: &str = "S-1-5-21-2127521184-1604012920-1887927527-21560751";
const GROUP: &str = "S-1-5-21-2127521184-1604012920-1887927527-513";
const OTHER: &str = "S-1-5-21-397955417-626881126-188441444-3053964";

fn read(text: &str) -> SecurityDescriptor {
    SecurityDescriptor::from_sddl(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is sent, and what comes back.
#[test]
fn text_comes_back_as_azure_writes_it() {
    let recorded = format!("O:{USER}G:{GROUP}D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;{OTHER})");
    let guids = "6da8a4ff-0e52-11d0-a286-00aa003049e2;bf967aba-0de6-11d0-a285-00aa003049e2";
    let table = [
        (recorded.clone(), format!("{recorded}S:NO_ACCESS_CONTROL")),
        (format!("{recorded}S:NO_ACCESS_CONTROL"), format!("{recorded}S:NO_ACCESS_CONTROL")),
        (
            "O:S-1-5-32-548G:S-1-5-21-397955417-626881126-188441444-512D:(A;;RPWPCCDCLCSWRCWDWOGA;;;S-1-0-0)".into(),
            "O:AOG:S-1-5-21-397955417-626881126-188441444-512D:(A;;CCDCLCSWRPWPRCWDWOGA;;;S-1-0-0)\
             S:NO_ACCESS_CONTROL"
                .into(),
        ),
        ("O:BAG:SY".into(), "O:BAG:SYD:NO_ACCESS_CONTROLS:NO_ACCESS_CONTROL".into()),
        ("D:".into(), "D:S:NO_ACCESS_CONTROL".into()),
        ("S:D:P".into(), "D:PS:".into()),
        ("D:PARAI(D;OICINPIOID;0x1f01ff;;;WD)".into(), "D:PARAI(D;OICINPIOID;FA;;;WD)S:NO_ACCESS_CONTROL".into()),
        ("S:AI(AU;SAFA;FRFW;;;WD)G:CGO:CO".into(), "O:COG:CGD:NO_ACCESS_CONTROLS:AI(AU;SAFA;0x12019f;;;WD)".into()),
        (
            format!("D:(OA;CI;CR;{guids};AU)(OD;;WP;;;BU)(OA;;RP;;bf967aba-0de6-11d0-a285-00aa003049e2;LA)"),
            format!(
                "D:(OA;CI;CR;{guids};AU)(OD;;WP;;;BU)(OA;;RP;;bf967aba-0de6-11d0-a285-00aa003049e2;LA)\
                 S:NO_ACCESS_CONTROL"
            ),
        ),
        (
            "O:LAG:DAD:(A;;GXGR;;;DU)(A;;7;;;LG)".into(),
            "O:LAG:DAD:(A;;GXGR;;;DU)(A;;CCDCLC;;;LG)S:NO_ACCESS_CONTROL".into(),
        ),
        ("D:(A;;0x0;;;WD)S:(ML;;NWNX;;;HI)".into(), "D:(A;;0x0;;;WD)S:(ML;;NWNX;;;HI)".into()),
        (
            "O:S-1-0x10000000000-5D:(A;;KA;;;S-1-5-18)".into(),
            "O:S-1-0x10000000000-5D:(A;;KA;;;SY)S:NO_ACCESS_CONTROL".into(),
        ),
    ];
    for (sent, expected) in table {
        let descriptor = read(&sent);
        assert_eq!(descriptor.to_string(), expected, "{sent}");
        assert_eq!(read(&expected), descriptor, "{sent}: what comes back is the same");
        let bytes = descriptor.to_bytes();
        assert_eq!(SecurityDescriptor::from_bytes(&bytes).unwrap(), descriptor, "{sent}: as bytes");
        assert_eq!(SecurityDescriptor::from_base64(&descriptor.to_base64()).unwrap().to_bytes(), bytes, "{sent}");
        for cut in 0..bytes.len() {
            let read = SecurityDescriptor::from_bytes(&bytes[..cut]);
            assert!(!read.is_ok_and(|read| read == descriptor), "{sent}: cut to {cut} bytes");
        }
    }
}

#[test]
fn bytes_are_those_of_windows() {
    let text = format!("O:{USER}G:{GROUP}D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;{OTHER})");
    let expected = "AQAUhGwAAACIAAAAAAAAABQAAAACAFgAAwAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAYAP8BHwABAgAAAAAABSAAAAAgAgAAAAAk\
                    AKkAEgABBQAAAAAABRUAAABZUbgXZnJdJWRjOwuMmS4AAQUAAAAAAAUVAAAAoGXPfnhLm1/nfIdwr/1IAQEFAAAAAAAFFQAAAKBlz354\
                    S5tf53yHcAECAAA=";
    assert_eq!(read(&text).to_base64(), expected);
}

#[test]
fn what_is_no_descriptor_is_refused_by_name() {
    let table = [
        ("", "no part"),
        ("nonsense", "no part"),
        ("X:BA", "X is no part"),
        ("O:BAO:BA", "twice"),
        ("O:ZZ", "ZZ is no identifier"),
        ("O:S-1-5", "no identifier"),
        ("O:S-1-5-99999999999", "no identifier"),
        ("O:BA rest", "no part"),
        ("D:(A;;FA;;;SY", "no end"),
        ("D:(A;;FA;;SY)", "not six fields"),
        ("D:(ZZ;;FA;;;SY)", "type"),
        ("D:(XA;;FA;;;SY)", "type"),
        ("D:(A;OX;FA;;;SY)", "flags"),
        ("D:(A;;F;;;SY)", "rights"),
        ("D:(A;;0x1ffffffff;;;SY)", "rights"),
        ("D:(A;;FA;bf967aba-0de6-11d0-a285-00aa003049e2;;SY)", "kind of object"),
        ("D:(OA;;FA;bf967aba;;SY)", "kind of object"),
        ("D:(A;;FA;;;SYX)", "more than an identifier"),
    ];
    for (text, expected) in table {
        let refused = SecurityDescriptor::from_sddl(text).unwrap_err().to_string();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
    let many = format!("D:{}", "(A;;FA;;;S-1-5-21-1-2-3-4)".repeat(2000));
    assert!(SecurityDescriptor::from_sddl(&many).unwrap_err().to_string().contains("too long"));
    assert!(SecurityDescriptor::from_sddl(&"(".repeat(5 * MAX_BYTES)).is_err());
    for bytes in [&[][..], &[1, 0, 4, 0], &[2, 0, 4, 128], &[1, 0, 4, 128, 255, 255, 255, 255], &[0; 20]] {
        assert!(SecurityDescriptor::from_bytes(bytes).is_err(), "{bytes:?}");
    }
    assert!(SecurityDescriptor::from_base64("!").is_err());
}

#[test]
fn a_directory_hands_down_what_it_says() {
    let table = [
        // What it has, what a directory in it gets, what a file in it gets.
        ("(A;OICI;FA;;;BA)", "(A;OICIID;FA;;;BA)", "(A;ID;FA;;;BA)"),
        ("(A;OICINP;FA;;;BA)", "(A;ID;FA;;;BA)", "(A;ID;FA;;;BA)"),
        ("(A;CI;FA;;;BA)(A;OI;FR;;;BU)", "(A;CIID;FA;;;BA)(A;OIIOID;FR;;;BU)", "(A;ID;FR;;;BU)"),
        ("(A;OICIIO;GA;;;CO)", "(A;ID;FA;;;SY)(A;OICIIOID;GA;;;CO)", "(A;ID;FA;;;SY)"),
        ("(A;OICIIO;GXGR;;;BU)", "(A;ID;0x1200a9;;;BU)(A;OICIIOID;GXGR;;;BU)", "(A;ID;0x1200a9;;;BU)"),
    ];
    for (parent, directory, file) in table {
        let parent = read(&format!("O:SYG:BUD:{parent}"));
        for (is_directory, expected) in [(true, directory), (false, file)] {
            let expected = format!("O:SYG:BUD:AI{expected}S:NO_ACCESS_CONTROL");
            assert_eq!(parent.handed_down(is_directory).unwrap().to_string(), expected);
        }
    }
    let alone = read("O:SYG:SYD:(A;;FA;;;BU)").handed_down(false).unwrap().to_string();
    assert_eq!(
        alone, "O:SYG:SYD:(A;;FA;;;SY)(A;;FA;;;BA)S:NO_ACCESS_CONTROL",
        "who hands nothing down locks nobody out"
    );
    let open = read("O:SYG:SY").handed_down(true).unwrap().to_string();
    assert_eq!(open, "O:SYG:SYD:AINO_ACCESS_CONTROLS:NO_ACCESS_CONTROL");
}

#[test]
fn what_is_handed_down_does_not_change_from_level_to_level() {
    let root = SecurityDescriptor::of_root().unwrap();
    let first = root.handed_down(true).unwrap();
    assert_eq!(first.handed_down(true).unwrap(), first.handed_down(true).unwrap().handed_down(true).unwrap());
}
