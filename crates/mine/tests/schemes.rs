//! Tests of the schemes that `build.rs` lists: those that their files bring, and the conformance tests, which run every
//! scheme without naming it. `backwater build-scheme --test` runs them on a scheme of the user's own.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../sim/tests/engine/common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../sim/tests/engine/conformance/mod.rs"]
mod conformance;
mod under_test;

include!(concat!(env!("OUT_DIR"), "/schemes.rs"));
