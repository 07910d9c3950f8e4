//! How many cases a test tries. Tests of several crates have this file.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

/// Returns `long` with the environment variable `LONG`, as in `make test-long`, else `everyday`.
pub fn cases(everyday: u64, long: u64) -> u64 {
    if std::env::var_os("LONG").is_some() { long } else { everyday }
}
