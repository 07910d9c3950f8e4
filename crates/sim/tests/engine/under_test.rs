//! Schemes and transports under test: all of the registry.

use backwater_schemes::Transport;
use backwater_schemes::registry::PRESETS;

/// Whether the whole registry is under test.
pub const ALL: bool = true;

/// Names of the schemes.
pub fn schemes() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The transports.
pub fn transports() -> Vec<Transport> {
    Transport::ALL.to_vec()
}

/// Adds what is not in the registry. Everything that reads a scenario calls it first.
pub fn ready() {}
