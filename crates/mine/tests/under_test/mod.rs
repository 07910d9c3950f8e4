//! Schemes and transports under test: all that are listed.

use backwater_schemes::{Transport, mine};
use std::sync::Once;

/// Whether the whole registry is under test.
pub const ALL: bool = false;

/// Names of the schemes.
pub fn schemes() -> Vec<&'static str> {
    ready();
    mine::presets().iter().map(|(name, _)| *name).collect()
}

/// The transports that no registry has.
pub fn transports() -> Vec<Transport> {
    ready();
    let parts = mine::parts().iter().filter(|part| part.role == mine::Role::Transport);
    parts.map(|part| serde_json::from_value(part.name.into()).expect("it was added")).collect()
}

/// Adds the schemes that are listed. Everything that reads a scenario calls it first.
pub fn ready() {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| backwater::add(crate::schemes()));
}
