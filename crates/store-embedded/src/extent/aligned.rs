//! A buffer that the device can take bytes from without a copy: it begins at a multiple of a page in memory, and what is
//! written of it is a multiple of a page.

use crate::disk::PAGE_BYTES;

/// Bytes for the device. It never grows past its capacity, so that it stays where it is.
pub(super) struct Aligned {
    storage: Vec<u8>,
    /// Bytes of the storage before the first aligned one.
    before: usize,
}

impl Aligned {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut storage = Vec::<u8>::with_capacity(bytes + PAGE_BYTES);
        let address = storage.as_ptr().addr();
        let before = address.next_multiple_of(PAGE_BYTES) - address;
        storage.resize(before, 0);
        Self { storage, before }
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        debug_assert!(self.storage.capacity() - self.storage.len() >= bytes.len(), "it would move");
        self.storage.extend_from_slice(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.storage.len() - self.before
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.storage.get(self.before..).unwrap_or_default()
    }

    /// The whole pages, and what is behind them.
    pub(super) fn pages(&self) -> (&[u8], &[u8]) {
        let bytes = self.bytes();
        bytes.split_at(bytes.len() / PAGE_BYTES * PAGE_BYTES)
    }

    /// Fills the last page with zeros.
    pub(super) fn pad(&mut self) {
        self.storage.resize(self.before + self.len().next_multiple_of(PAGE_BYTES), 0);
    }

    pub(super) fn clear(&mut self) {
        self.storage.truncate(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_and_ends_at_one_when_it_is_padded() {
        for capacity in [1, PAGE_BYTES, 3 * PAGE_BYTES + 77] {
            let mut buffer = Aligned::with_capacity(capacity.next_multiple_of(PAGE_BYTES));
            for _ in 0..2 {
                assert_eq!(buffer.bytes().as_ptr().addr() % PAGE_BYTES, 0);
                assert_eq!(buffer.len(), 0);
                let data: Vec<u8> = (0..=250).cycle().take(capacity).collect();
                buffer.extend(&data);
                assert_eq!(buffer.bytes(), data);
                let (pages, rest) = buffer.pages();
                assert_eq!((pages.len() % PAGE_BYTES, rest.len()), (0, capacity % PAGE_BYTES));
                assert_eq!([pages, rest].concat(), data);
                buffer.pad();
                assert_eq!(buffer.pages().1, b"");
                assert!(
                    buffer.bytes().starts_with(&data) && buffer.bytes().iter().skip(capacity).all(|byte| *byte == 0)
                );
                assert_eq!(buffer.bytes().as_ptr().addr() % PAGE_BYTES, 0, "it did not move");
                buffer.clear();
            }
        }
    }
}
