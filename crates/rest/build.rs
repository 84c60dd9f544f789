//! Notes the day of the build: a service version that is far ahead of it is none. `SOURCE_DATE_EPOCH` sets it, so that the
//! same tree can be built twice to the same bytes.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_SECONDS: u64 = 86_400;

#[expect(clippy::disallowed_methods, reason = "a build happens at a time, and nothing else can tell which")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse::<u64>().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    println!("cargo:rustc-env=LAZULI_BUILD_DAY={}", given.unwrap_or_else(now) / DAY_SECONDS);
}
