//! Engines for the combinations of the public HPCC simulator, in its order of events and with ties at random. Each
//! combination is compiled as an engine of its own, for either order.

use backwater_engine::hosts::HpccHost;
use backwater_engine::hpcc::ranked::Ranked;
use backwater_engine::node_by_node::NodeByNode;
use backwater_engine::observe::NoObserver;
use backwater_engine::schedule::Schedule;
use backwater_engine::windows::Windows;
use backwater_engine::{Order, Partition, Setup};
use backwater_scenario::model::{Hosts, Transport};
use backwater_schemes::Product;
use backwater_schemes::planes::{Build, HpccSim};
use backwater_transport::{Control, Dcqcn, Dctcp, Hpcc, LineRate, Pint, Timely};

type Partitions = Vec<Box<dyn Partition>>;

/// Builds the partitions of a run if the simulator has its combination, unless events come one by one; otherwise
/// returns `None`. Builds with debug assertions always return `None`, as in `backwater-engines-published`.
pub fn build(setup: &Setup) -> Option<Partitions> {
    let (host, hosts) = (&setup.scenario.host, setup.scenario.conventions.hosts);
    let theirs = setup.product() == Some(Product::HpccSim) && hosts == Hosts::HpccSim;
    if cfg!(debug_assertions) || !theirs {
        return None;
    }
    Some(match host.paced() {
        Transport::LineRate => either_order::<LineRate>(setup, &())?,
        Transport::Dctcp => either_order::<Dctcp>(setup, &host.dctcp)?,
        Transport::Dcqcn => either_order::<Dcqcn>(setup, &host.dcqcn)?,
        Transport::Hpcc => either_order::<Hpcc>(setup, &host.hpcc)?,
        Transport::Timely => either_order::<Timely>(setup, &host.timely)?,
        Transport::Pint => either_order::<Pint>(setup, &host.pint)?,
        _ => return None,
    })
}

/// Builds the partitions of an engine with the simulator's hosts under congestion control `C`, in the order of events
/// that is asked for. `None` if events come one by one.
fn either_order<C: Control>(setup: &Setup, params: &C::Params) -> Option<Partitions> {
    match setup.order {
        Order::Ranked => Some(engine::<C, Ranked<C::Extension>>(setup, params)),
        Order::Random => Some(engine::<C, NodeByNode<C::Extension>>(setup, params)),
        Order::OneByOne => None,
    }
}

/// Builds the partitions of an engine whose events schedule `S` orders.
fn engine<C, S>(setup: &Setup, params: &C::Params) -> Partitions
where
    C: Control,
    S: Windows<HpccHost<C, S>, HpccSim<C::Extension>, NoObserver> + Schedule<Extension = C::Extension> + 'static,
{
    let transport = setup.go_back_n::<C>(|site| C::at(params, site));
    let plane = HpccSim::<C::Extension>::build;
    backwater_engine::build::<HpccHost<C, S>, HpccSim<C::Extension>, NoObserver>(setup, transport, &plane, &|| {
        NoObserver
    })
}
