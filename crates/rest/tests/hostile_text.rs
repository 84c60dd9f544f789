//! Whatever text a client sends, the readers answer, and what they accept has a meaning.

use proptest::prelude::*;
use rest::{ByteRange, Query, Target, checksum, dates, headers, xml};
use types::Timestamp;

/// Text that is nearly right is more dangerous than noise.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "(/|%|2|F|a|&|=|\\?|é|\u{0}){0,30}",
        "(Mon|Sunday), [0-9]{1,2}[ -](Jan|Feb)[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{0,20}Z)?",
        "bytes=[0-9]{0,25}-[0-9]{0,25}",
        "(<a>|</a>|<b c='d'/>|&lt;|&#x[0-9A-F]{1,8};|<!DOCTYPE a>|<!--|-->|<!\\[CDATA\\[|\\]\\]>|t){0,20}",
    ]
}

proptest! {
    #[test]
    fn readers_answer(text in text()) {
        let now = Timestamp::from_seconds(1_790_000_000);
        if let Some(instant) = dates::parse_http(&text, now) {
            prop_assert_eq!(dates::parse_http(&dates::rfc1123(instant), now), Some(instant));
        }
        if let Some(instant) = dates::parse_iso8601(&text) {
            prop_assert_eq!(dates::parse_iso8601(&dates::iso8601(instant)), Some(instant));
        }
        if let Some(range) = ByteRange::parse(&text) && let Ok(bytes) = range.within(1000) {
            prop_assert!(bytes.start < bytes.end && bytes.end <= 1000);
        }
        let _either_way = checksum::parse_md5(&headers::CONTENT_MD5, &text).is_ok();
        let _either_way = checksum::parse_crc64(&headers::X_MS_CONTENT_CRC64, &text).is_ok();
        if let Ok(root) = xml::parse(text.as_bytes()) {
            prop_assert!(!root.name.is_empty());
        }
        let _either_way = Query::parse(&text).is_ok();
        if let Ok(target) = Target::parse(&text, "") {
            prop_assert!(target.raw_path.ends_with(target.raw_resource_path()));
            prop_assert!(!target.account.is_empty());
        }
    }

    #[test]
    fn what_is_written_is_read_again(text in any::<String>()) {
        let mut document = xml::XmlWriter::document();
        document.open("Root");
        document.encoded_element("Name", &text);
        document.close("Root");
        let root = xml::parse(&document.finish()).unwrap();
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
        if text.chars().all(allowed) {
            prop_assert_eq!(root.text_of("Name"), Some(&*text));
        } else {
            let encoded = format!("n={}", root.text_of("Name").unwrap_or_default());
            let query = Query::parse(&encoded).unwrap();
            prop_assert_eq!(query.get("n"), Some(&*text));
        }
    }
}
