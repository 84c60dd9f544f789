//! Drives the target `smb_ndr`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("smb_ndr", data));
