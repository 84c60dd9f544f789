//! Drives the target `smb_spnego`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("smb_spnego", data));
