//! Engines by the types of their hosts and switches.

use crate::planes::Maker;
use crate::{AnyObserver, Partitions};
use backwater_dataplane::{DataPlane, Shape};
use backwater_engine::host::port::{EndHost, ExtensionOf};
use backwater_engine::hosts::{HpccHost, RdmaHost, SelectiveHost};
use backwater_engine::hpcc::in_order::InOrder;
use backwater_engine::hpcc::ranked::Ranked;
use backwater_engine::node_by_node::NodeByNode;
use backwater_engine::observe::NoObserver;
use backwater_engine::windows::Windows;
use backwater_engine::{Order, Setup};
use backwater_scenario::model::{Hosts, LossRecovery, Switch};
use backwater_schemes::{AnySwitch, planes};
use backwater_transport::{Control, Site};
use backwater_types::Extension;
use std::any::TypeId;

/// Where the switches of an engine come from.
pub trait Source {
    /// Makes a switch.
    fn switch<E: Extension>(setup: &Setup, planes: &dyn Maker, shape: &Shape, table: &Switch) -> AnySwitch<E>;
}

/// Switches of the maker: for packets whose extension a transport of the registry has, such as none.
pub struct Shared;

impl Source for Shared {
    fn switch<E: Extension>(_: &Setup, planes: &dyn Maker, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        let made = planes.make_any(TypeId::of::<E>(), shape, table);
        *made.downcast().expect("the maker builds switches for this extension")
    }
}

/// Switches of the scenario, compiled with the transport, for packets whose extension no other transport has.
pub struct Compiling;

impl Source for Compiling {
    fn switch<E: Extension>(setup: &Setup, _: &dyn Maker, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        planes::boxed(setup.scenario.conventions.memory, shape, table)
    }
}

/// Builds the partitions of a run with hosts `H` under `transport`.
pub fn hosts<H, F: Source>(
    setup: &Setup,
    transport: H::Params,
    planes: &dyn Maker,
    observer: &dyn Fn() -> AnyObserver,
) -> Partitions
where
    H: EndHost<Schedule: Windows<H, AnySwitch<ExtensionOf<H>>, AnyObserver>> + 'static,
{
    let plane = |shape: &Shape, table: &Switch| F::switch::<ExtensionOf<H>>(setup, planes, shape, table);
    backwater_engine::build::<H, _, _>(setup, transport, &plane, observer)
}

/// Builds the partitions of a run under the congestion control `C`; `at` gives its parameters for flows that start at a
/// site.
pub fn control<C: Control, F: Source>(
    setup: &Setup,
    at: impl Fn(Site) -> C::Params,
    planes: &dyn Maker,
    observer: &dyn Fn() -> AnyObserver,
) -> Partitions {
    let scenario = setup.scenario;
    if scenario.host.recovery == LossRecovery::Selective {
        return hosts::<SelectiveHost<C>, F>(setup, setup.selective::<C>(at), planes, observer);
    }
    let transport = setup.go_back_n::<C>(at);
    match (scenario.conventions.hosts, setup.order) {
        (Hosts::Rings, _) => hosts::<RdmaHost<C>, F>(setup, transport, planes, observer),
        (Hosts::HpccSim, Order::Random) => {
            hosts::<HpccHost<C, NodeByNode<C::Extension>>, F>(setup, transport, planes, observer)
        }
        (Hosts::HpccSim, Order::Ranked) => {
            hosts::<HpccHost<C, Ranked<C::Extension>>, F>(setup, transport, planes, observer)
        }
        (Hosts::HpccSim, Order::OneByOne) => {
            hosts::<HpccHost<C, InOrder<C::Extension>>, F>(setup, transport, planes, observer)
        }
    }
}

/// Builds the partitions of a run with hosts `H`, and switches that `plane` makes.
pub fn engine<H, D>(setup: &Setup, transport: H::Params, plane: &dyn Fn(&Shape, &Switch) -> D) -> Partitions
where
    H: EndHost<Schedule: Windows<H, D, NoObserver>> + 'static,
    D: DataPlane<Extension = ExtensionOf<H>>,
{
    backwater_engine::build::<H, D, NoObserver>(setup, transport, plane, &|| NoObserver)
}
