//! Drives the target `smb_ntlm`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("smb_ntlm", data));
