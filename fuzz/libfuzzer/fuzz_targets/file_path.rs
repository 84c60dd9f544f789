//! Drives the target `file_path`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("file_path", data));
