//! Engines with dynamic dispatch, for any accepted combination of hosts and switches with any observer.
//!
//! Switches and observers are trait objects, and congestion controls are enums. One compiled engine therefore serves
//! many combinations, with the same packets and the same order of events as an engine of their own. Tests of every
//! combination and runs that record use these engines.

pub mod planes;

use crate::planes::Maker;
use backwater_dataplane::Shape;
use backwater_engine::host::port::{EndHost, ExtensionOf};
use backwater_engine::hosts::{ExpressPassHost, HomaHost, HpccHost, RdmaHost, SelectiveHost, SrfHost, TcpHost};
use backwater_engine::hpcc::in_order::InOrder;
use backwater_engine::hpcc::ranked::Ranked;
use backwater_engine::node_by_node::NodeByNode;
use backwater_engine::observe::Observer;
use backwater_engine::windows::Windows;
use backwater_engine::{Order, Partition, Setup};
use backwater_scenario::model::{Hosts, LossRecovery, Memory, Switch, Transport};
use backwater_schemes::{AnySwitch, Visitor};
use backwater_transport::{Control, Site};
use std::any::TypeId;

type Partitions = Vec<Box<dyn Partition>>;

/// An optional observer.
pub type AnyObserver = Option<Box<dyn Observer>>;

/// Builds the partitions of a run with the switches of its scenario. `observer` creates an observer for each partition.
pub fn build(setup: &Setup, observer: &dyn Fn() -> AnyObserver) -> Partitions {
    let memory: Memory = setup.scenario.conventions.memory;
    build_with(setup, &planes::asked(memory), observer)
}

/// Builds the partitions of a run with switches from `planes`.
pub fn build_with(setup: &Setup, planes: &dyn Maker, observer: &dyn Fn() -> AnyObserver) -> Partitions {
    let engines = Engines { setup, planes, observer };
    match setup.scenario.host.transport {
        Transport::Tcp => engines.engine::<TcpHost>(setup.tcp()),
        Transport::Expresspass => engines.engine::<ExpressPassHost>(setup.expresspass()),
        Transport::Homa => engines.engine::<HomaHost>(setup.homa()),
        Transport::Srf => engines.engine::<SrfHost>(setup.srf()),
        _ => setup.scenario.host.visit(&engines).expect("every other transport is a congestion control"),
    }
}

/// Builder of partitions with any type of hosts and any type of switches.
struct Engines<'a> {
    setup: &'a Setup<'a>,
    planes: &'a dyn Maker,
    observer: &'a dyn Fn() -> AnyObserver,
}

impl Engines<'_> {
    /// Builds the partitions of an engine with hosts `H`.
    fn engine<H>(&self, transport: H::Params) -> Partitions
    where
        H: EndHost<Schedule: Windows<H, AnySwitch<ExtensionOf<H>>, AnyObserver>> + 'static,
    {
        let plane = |shape: &Shape, table: &Switch| -> AnySwitch<ExtensionOf<H>> {
            let made = self.planes.make_any(TypeId::of::<ExtensionOf<H>>(), shape, table);
            *made.downcast().expect("the maker builds switches for this extension")
        };
        backwater_engine::build::<H, _, _>(self.setup, transport, &plane, self.observer)
    }
}

impl Visitor for &Engines<'_> {
    type Out = Partitions;

    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Partitions {
        let (setup, scenario) = (self.setup, self.setup.scenario);
        if scenario.host.recovery == LossRecovery::Selective {
            return self.engine::<SelectiveHost<C>>(setup.selective::<C>(at));
        }
        let transport = setup.go_back_n::<C>(at);
        match (scenario.conventions.hosts, setup.order) {
            (Hosts::Rings, _) => self.engine::<RdmaHost<C>>(transport),
            (Hosts::HpccSim, Order::Random) => self.engine::<HpccHost<C, NodeByNode<C::Extension>>>(transport),
            (Hosts::HpccSim, Order::Ranked) => self.engine::<HpccHost<C, Ranked<C::Extension>>>(transport),
            (Hosts::HpccSim, Order::OneByOne) => self.engine::<HpccHost<C, InOrder<C::Extension>>>(transport),
        }
    }
}
