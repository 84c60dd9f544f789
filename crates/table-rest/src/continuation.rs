//! Where a query goes on, as clients carry it around: `1!<length>!<base64>`, of which they need to know nothing.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Longest token: a key has at most 512 UTF-16 units, so at most 1,536 bytes.
const LENGTH_MAX: usize = 4096;

/// The token of a key.
pub(crate) fn encode(key: &str) -> String {
    let encoded = STANDARD.encode(key).replace('=', "-");
    format!("1!{}!{encoded}", encoded.len())
}

/// The key of a token; `None` for a text that was never given out.
pub(crate) fn decode(token: &str) -> Option<String> {
    if token.len() > LENGTH_MAX {
        return None;
    }
    let (length, encoded) = token.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(encoded.len()) {
        return None;
    }
    String::from_utf8(STANDARD.decode(encoded.replace('-', "=")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_form_is_that_of_the_service() {
        assert_eq!(encode("key"), "1!4!a2V5");
        assert_eq!(encode("k"), "1!4!aw--");
        assert_eq!(encode(""), "1!0!");
    }

    proptest! {
        #[test]
        fn keys_come_back(key in "\\PC{0,200}") {
            prop_assert_eq!(decode(&encode(&key)), Some(key));
        }

        #[test]
        fn any_text_is_read_or_refused(token in "\\PC*|1![0-9]{0,2}![a-zA-Z-]*") {
            let _read = decode(&token);
        }
    }
}
