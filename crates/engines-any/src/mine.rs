//! Engines of schemes of the user's own, which the module that has the schemes compiles and adds here.

use crate::planes::Maker;
use crate::{AnyObserver, Partitions};
use backwater_engine::Setup;
use backwater_scenario::model::Hosts;
use backwater_schemes::Mine;
use std::sync::OnceLock;

static ADDED: OnceLock<Vec<MineEngines>> = OnceLock::new();

/// Makes the partitions of a run on switches from a maker, with an observer in each partition.
pub type AnyEngine = fn(&Setup, &dyn Maker, &dyn Fn() -> AnyObserver) -> Partitions;

/// Makes the partitions of a run if this engine is compiled for its combination of hosts and switches.
pub type Compiled = fn(&Setup) -> Option<Partitions>;

/// Engines of one scheme.
#[derive(Default)]
pub struct MineEngines {
    /// Transports by name, each with the engine that goes with any switch.
    pub transports: Vec<(&'static str, AnyEngine)>,
    /// Engines for one combination each.
    pub compiled: Vec<Compiled>,
}

/// Adds engines. Call it once, before the first run.
///
/// # Panics
/// If it was called before.
pub fn add(engines: Vec<MineEngines>) {
    assert!(ADDED.set(engines).is_ok(), "engines are added once");
}

/// Builds the partitions of a run if an engine was compiled for its combination. Builds with debug assertions return
/// `None`, as in `backwater-engines-published`.
pub fn compiled(setup: &Setup) -> Option<Partitions> {
    if cfg!(debug_assertions) || setup.scenario.conventions.hosts != Hosts::Rings {
        return None;
    }
    ADDED.get()?.iter().flat_map(|engines| &engines.compiled).find_map(|compiled| compiled(setup))
}

/// Builds the partitions of a run under a transport that was added.
pub(crate) fn build(mine: Mine, setup: &Setup, planes: &dyn Maker, observer: &dyn Fn() -> AnyObserver) -> Partitions {
    let transports = ADDED.get().into_iter().flatten().flat_map(|engines| &engines.transports);
    let (_, engine) = transports.into_iter().find(|(name, _)| *name == mine.part().name).expect("it was added with it");
    engine(setup, planes, observer)
}
