//! Engines with dynamic dispatch, for any accepted combination of hosts and switches with any observer.
//!
//! Switches and observers are trait objects, and congestion controls are enums. One compiled engine therefore serves
//! many combinations, with the same packets and the same order of events as an engine of their own. Tests of every
//! combination and runs that record use these engines.

pub mod engines;
pub mod mine;
pub mod planes;

use crate::engines::{Shared, control, hosts};
use crate::planes::Maker;
use backwater_engine::hosts::{ExpressPassHost, HomaHost, SrfHost, TcpHost};
use backwater_engine::observe::Observer;
use backwater_engine::{Partition, Setup};
use backwater_scenario::model::{Memory, Transport};
use backwater_schemes::Visitor;
use backwater_transport::{Control, Site};

/// Partitions of a run.
pub type Partitions = Vec<Box<dyn Partition>>;

/// An optional observer.
pub type AnyObserver = Option<Box<dyn Observer>>;

/// Builds the partitions of a run with the switches of its scenario. `observer` creates an observer for each partition.
pub fn build(setup: &Setup, observer: &dyn Fn() -> AnyObserver) -> Partitions {
    let memory: Memory = setup.scenario.conventions.memory;
    build_with(setup, &planes::asked(memory), observer)
}

/// Builds the partitions of a run with switches from `planes`.
pub fn build_with(setup: &Setup, planes: &dyn Maker, observer: &dyn Fn() -> AnyObserver) -> Partitions {
    match setup.scenario.host.transport {
        Transport::Tcp => hosts::<TcpHost, Shared>(setup, setup.tcp(), planes, observer),
        Transport::Expresspass => hosts::<ExpressPassHost, Shared>(setup, setup.expresspass(), planes, observer),
        Transport::Homa => hosts::<HomaHost, Shared>(setup, setup.homa(), planes, observer),
        Transport::Srf => hosts::<SrfHost, Shared>(setup, setup.srf(), planes, observer),
        Transport::Mine(mine) => mine::build(mine, setup, planes, observer),
        _ => {
            let controls = Controls { setup, planes, observer };
            setup.scenario.host.visit(&controls).expect("every other transport is a congestion control")
        }
    }
}

/// Builder of partitions under the congestion controls of the registry.
struct Controls<'a> {
    setup: &'a Setup<'a>,
    planes: &'a dyn Maker,
    observer: &'a dyn Fn() -> AnyObserver,
}

impl Visitor for &Controls<'_> {
    type Out = Partitions;

    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Partitions {
        control::<C, Shared>(self.setup, at, self.planes, self.observer)
    }
}
