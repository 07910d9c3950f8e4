//! Engines for the combinations of the public HPCC simulator, in its order of events. Each combination is compiled as
//! an engine of its own.

use backwater_engine::hosts::HpccHost;
use backwater_engine::hpcc::ranked::Ranked;
use backwater_engine::observe::NoObserver;
use backwater_engine::{Order, Partition, Setup};
use backwater_scenario::model::{Hosts, Transport};
use backwater_schemes::Product;
use backwater_schemes::planes::{Build, HpccSim};
use backwater_transport::{Control, Dcqcn, Dctcp, Hpcc, LineRate, Pint, Timely};

type Partitions = Vec<Box<dyn Partition>>;

/// Builds the partitions of a run if the simulator has its combination and its events are ranked; otherwise returns
/// `None`. Builds with debug assertions always return `None`, as in `backwater-engines-published`.
pub fn build(setup: &Setup) -> Option<Partitions> {
    let (host, hosts) = (&setup.scenario.host, setup.scenario.conventions.hosts);
    let theirs = setup.product() == Some(Product::HpccSim) && hosts == Hosts::HpccSim;
    if cfg!(debug_assertions) || !theirs || setup.order != Order::Ranked {
        return None;
    }
    Some(match host.paced() {
        Transport::LineRate => engine::<LineRate>(setup, &()),
        Transport::Dctcp => engine::<Dctcp>(setup, &host.dctcp),
        Transport::Dcqcn => engine::<Dcqcn>(setup, &host.dcqcn),
        Transport::Hpcc => engine::<Hpcc>(setup, &host.hpcc),
        Transport::Timely => engine::<Timely>(setup, &host.timely),
        Transport::Pint => engine::<Pint>(setup, &host.pint),
        _ => return None,
    })
}

/// Builds the partitions of an engine with the simulator's hosts under congestion control `C`.
fn engine<C: Control>(setup: &Setup, params: &C::Params) -> Partitions {
    type Host<C> = HpccHost<C, Ranked<<C as Control>::Extension>>;
    let transport = setup.go_back_n::<C>(|site| C::at(params, site));
    let plane = HpccSim::<C::Extension>::build;
    backwater_engine::build::<Host<C>, HpccSim<C::Extension>, NoObserver>(setup, transport, &plane, &|| NoObserver)
}
