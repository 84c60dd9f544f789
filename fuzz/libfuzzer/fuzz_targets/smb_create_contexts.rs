//! Drives the target `smb_create_contexts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("smb_create_contexts", data));
