//! Engines for the published combinations of a transport and a switch. Each combination is compiled as an engine of its
//! own, without dynamic dispatch per packet.
//!
//! Every line of the tables below is one engine. `experiments/smoke/schemes.toml` runs all of them. Their golden
//! digests equal those of `backwater-engines-any`, which runs any combination.

use backwater_engine::host::EndHost;
use backwater_engine::host::port::ExtensionOf;
use backwater_engine::hosts::{ExpressPassHost, HomaHost, RdmaHost, SelectiveHost, SrfHost, TcpHost};
use backwater_engine::observe::NoObserver;
use backwater_engine::windows::Windows;
use backwater_engine::{Partition, Setup};
use backwater_scenario::model::{Hosts, LossRecovery, Transport};
use backwater_schemes::Product;
use backwater_schemes::planes::{
    BfcSrf, BfcSwitch, BfcWide, Build, FairQueueing, Fifo, FifoPfc, FlowSailSwitch, FlowSailWide, IdealSrf, Priorities,
};
use backwater_transport::{
    Control, Dcqcn, Dctcp, ExpressPassHeader, HomaHeader, Hpcc, Int, Left, LineRate, Pint, Power, Rtt, SentAt, Swift,
    Timely, Trip, Window,
};

type Partitions = Vec<Box<dyn Partition>>;

/// Builds the partitions of a run if its combination is published; otherwise returns `None`. Builds with debug
/// assertions always return `None`: their tests run every combination through `backwater-engines-any`.
pub fn build(setup: &Setup) -> Option<Partitions> {
    if cfg!(debug_assertions) || setup.scenario.conventions.hosts != Hosts::Rings {
        return None;
    }
    let product = setup.product()?;
    own_recovery(setup, product).or_else(|| match setup.scenario.host.recovery {
        LossRecovery::GoBackN => go_back_n(setup, product),
        LossRecovery::Selective => selective(setup, product),
    })
}

/// Transports with a loss recovery of their own.
fn own_recovery(setup: &Setup, product: Product) -> Option<Partitions> {
    Some(match (setup.scenario.host.transport, product) {
        (Transport::Tcp, Product::Fifo) => engine::<TcpHost, Fifo>(setup, setup.tcp()),
        (Transport::Expresspass, Product::Fifo) => {
            engine::<ExpressPassHost, Fifo<ExpressPassHeader>>(setup, setup.expresspass())
        }
        (Transport::Homa, Product::Priorities) => engine::<HomaHost, Priorities<HomaHeader>>(setup, setup.homa()),
        (Transport::Srf, Product::IdealSrf) => engine::<SrfHost, IdealSrf<Left>>(setup, setup.srf()),
        (Transport::Srf, Product::BfcSrf) => engine::<SrfHost, BfcSrf<Left>>(setup, setup.srf()),
        _ => return None,
    })
}

/// Congestion controls over go-back-N.
fn go_back_n(setup: &Setup, product: Product) -> Option<Partitions> {
    let host = &setup.scenario.host;
    Some(match (host.paced(), product) {
        (Transport::LineRate, Product::BfcSwitch) => rdma::<LineRate, BfcSwitch>(setup, &()),
        (Transport::LineRate, Product::BfcWide) => rdma::<LineRate, BfcWide>(setup, &()),
        (Transport::LineRate, Product::FlowSailSwitch) => rdma::<LineRate, FlowSailSwitch>(setup, &()),
        (Transport::LineRate, Product::FlowSailWide) => rdma::<LineRate, FlowSailWide>(setup, &()),
        (Transport::Rtt, Product::BfcSwitch) => rdma::<Rtt, BfcSwitch<SentAt>>(setup, &host.rtt),
        (Transport::Window, Product::FairQueueing) => rdma::<Window, FairQueueing>(setup, &Default::default()),
        (Transport::Dctcp, Product::FifoPfc) => rdma::<Dctcp, FifoPfc>(setup, &host.dctcp),
        (Transport::Dcqcn, Product::FifoPfc) => rdma::<Dcqcn, FifoPfc>(setup, &host.dcqcn),
        (Transport::Hpcc, Product::FifoPfc) => rdma::<Hpcc, FifoPfc<Int>>(setup, &host.hpcc),
        (Transport::Timely, Product::FifoPfc) => rdma::<Timely, FifoPfc<SentAt>>(setup, &host.timely),
        (Transport::Pint, Product::FifoPfc) => rdma::<Pint, FifoPfc<Power>>(setup, &host.pint),
        (Transport::Swift, Product::FifoPfc) => rdma::<Swift, FifoPfc<Trip>>(setup, &host.swift),
        _ => return None,
    })
}

/// Congestion controls over selective retransmission.
fn selective(setup: &Setup, product: Product) -> Option<Partitions> {
    let host = &setup.scenario.host;
    Some(match (host.paced(), product) {
        (Transport::Window, Product::Fifo) => {
            let transport = setup.selective::<Window>(|site| Window::at(&Default::default(), site));
            engine::<SelectiveHost<Window>, Fifo>(setup, transport)
        }
        (Transport::Hpcc, Product::Fifo) => {
            let transport = setup.selective::<Hpcc>(|site| Hpcc::at(&host.hpcc, site));
            engine::<SelectiveHost<Hpcc>, Fifo<Int>>(setup, transport)
        }
        _ => return None,
    })
}

/// Builds the partitions of an engine with RDMA hosts under congestion control `C`, and switches `D`.
fn rdma<C: Control, D: Build<Extension = C::Extension>>(setup: &Setup, params: &C::Params) -> Partitions {
    engine::<RdmaHost<C>, D>(setup, setup.go_back_n::<C>(|site| C::at(params, site)))
}

/// Builds the partitions of an engine with hosts `H` and switches `D`.
fn engine<H, D>(setup: &Setup, transport: H::Params) -> Partitions
where
    H: EndHost<Schedule: Windows<H, D, NoObserver>> + 'static,
    D: Build<Extension = ExtensionOf<H>>,
{
    backwater_engine::build::<H, D, NoObserver>(setup, transport, &D::build, &|| NoObserver)
}
