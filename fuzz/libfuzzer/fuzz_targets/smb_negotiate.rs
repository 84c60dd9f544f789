//! Drives the target `smb_negotiate`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("smb_negotiate", data));
