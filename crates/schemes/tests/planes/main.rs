//! Every switch of `planes.rs` under random packets. One program, so that all of them are compiled once.

mod handles;
mod pauses;
#[path = "../traffic/mod.rs"]
mod traffic;
