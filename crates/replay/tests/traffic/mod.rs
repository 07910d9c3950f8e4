//! Logs of a switch under random traffic.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part")]

#[path = "../../../schemes/tests/traffic/mod.rs"]
mod random;

use backwater_replay::{Head, Log, Recorded};
use backwater_schemes::AnySwitch;
pub use random::{Did, Drops, PORTS, Traffic, build};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Bytes that outlive their writer.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no writer panics").clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A head for switches that no scenario describes.
pub fn head() -> Head {
    Head { backwater: "test".into(), switch: "one".into(), scenario: serde_json::json!({}) }
}

/// Lets `packets` packets cross a plane. Returns what it did, and the log.
pub fn recorded(plane: AnySwitch, drops: Drops, packets: u64, head: &Head) -> (Vec<Did>, Vec<u8>) {
    let bytes = Shared::default();
    let log = Log::new(bytes.clone(), head).expect("memory takes a log");
    let mut traffic = Traffic::new(Recorded::new(plane, log.clone()), drops);
    traffic.run(packets);
    log.finish().expect("memory takes a log");
    (traffic.holder.did, bytes.bytes())
}
