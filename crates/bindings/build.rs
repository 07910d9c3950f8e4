//! Finds the commit that this module is built from, for an installation without a checkout: `BACKWATER_COMMIT`, or
//! git's.
//!
//! The script runs when this crate is compiled, and not again at each commit. In a checkout Python asks git itself.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BACKWATER_COMMIT");
    let commit = std::env::var("BACKWATER_COMMIT").ok().or_else(of_checkout).unwrap_or_default();
    println!("cargo:rustc-env=BACKWATER_COMMIT={commit}");
}

fn of_checkout() -> Option<String> {
    let output =
        Command::new("git").args(["rev-parse", "HEAD"]).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
