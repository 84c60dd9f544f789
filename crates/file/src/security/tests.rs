//! Descriptors as text and as bytes.
