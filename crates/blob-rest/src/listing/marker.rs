//! Where a listing of blobs goes on, as text: opaque to clients, and safe for names that XML cannot carry.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blob::list::Marker;
use types::Timestamp;

/// A name follows.
const NAME: u8 = 0;
/// The time of a snapshot follows, then a name.
const SNAPSHOT: u8 = 1;

pub(super) fn encode(marker: &Marker) -> String {
    let mut bytes = Vec::with_capacity(marker.name.len() + 9);
    match marker.snapshot {
        None => bytes.push(NAME),
        Some(time) => {
            bytes.push(SNAPSHOT);
            bytes.extend_from_slice(&time.ticks().to_be_bytes());
        }
    }
    bytes.extend_from_slice(marker.name.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn decode(text: &str) -> Option<Marker> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (snapshot, name) = match bytes.split_first()? {
        (&NAME, name) => (None, name),
        (&SNAPSHOT, rest) => {
            let (ticks, name) = rest.split_first_chunk()?;
            (Some(Timestamp::from_ticks(u64::from_be_bytes(*ticks))), name)
        }
        _ => return None,
    };
    Some(Marker { name: String::from_utf8(name.to_vec()).ok()?, snapshot })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_come_back() {
        for (name, snapshot) in [("", None), ("a/ä\u{1}", None), ("a", Some(0)), ("\0", Some(u64::MAX))] {
            let marker = Marker { name: name.to_owned(), snapshot: snapshot.map(Timestamp::from_ticks) };
            assert_eq!(decode(&encode(&marker)), Some(marker));
        }
        for wrong in ["", "!", "Ag", "AQAA", "AP8"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
