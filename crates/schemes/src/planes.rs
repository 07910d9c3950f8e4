//! Products: the combinations of assignment and backpressure that make a switch, and their types.

use crate::conventions::Memory;
use crate::mine_planes;
use crate::registry::{Backpressure, Switch as Table};
use crate::switch::{Assignment, Scheduler};
use backwater_dataplane::policy::recirculating::RecirculatingParams;
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::queues::hardware_queues::HardwareQueues;
use backwater_dataplane::queues::round_robin::RoundRobin;
use backwater_dataplane::queues::srf_flows::SrfFlows;
use backwater_dataplane::queues::srf_queues::SrfQueues;
use backwater_dataplane::{
    Bfc, BfcByFlow, BfcExtended, BfcParams, ByClass, ByPriority, Composed, DataPlane, Dynamic, FlowSail,
    FlowSailAsPrinted, FlowSailParams, HomaDynamic, HpccMemory, IdealFlowControl, NoBackpressure, PauseByFlowParams,
    PerFlow, Pfc, PfcInterop, PfcParams, Recirculating, Shape, Single, SingleFifo, Stochastic, Switch,
};
use backwater_types::Extension;
use std::any::TypeId;

/// A data plane that can be built from the shape of a switch and its table of parameters.
pub trait Build: DataPlane {
    /// Builds the data plane.
    fn build(shape: &Shape, table: &Table) -> Self;
}

/// Queues whose states fit one word of bits.
type Narrow = PausableQueues<1>;

macro_rules! products {
    ($($name:ident: $($assignment:ident)|+, $backpressure:ident $(if $($trait:ident)+)? => $policy:ty, $params:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($policy), "`.")]
            pub type $name<E = ()> = Switch<$policy, E>;

            impl<E: Extension> Build for $name<E> {
                fn build(shape: &Shape, table: &Table) -> $name<E> {
                    Switch::new(shape, &$params(table))
                }
            }
        )*

        /// A product: a type of switch that is compiled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Product {
            $(#[doc = concat!("[`", stringify!($name), "`](type@", stringify!($name), ")")] $name,)*
        }

        impl Product {
            /// All products, in the order of the list.
            pub const ALL: &[Product] = &[$(Product::$name),*];

            /// Product that a table asks for: the first line of the list that fits. `None`: no line fits.
            fn first(table: &Table, at: Traits) -> Option<Product> {
                $(
                    let fits = matches!(table.built_as(), $(Assignment::$assignment)|+);
                    if fits && table.backpressure == Backpressure::$backpressure $($(&& at.$trait)+)? {
                        return Some(Product::$name);
                    }
                )*
                None
            }

            /// Builds a switch of this product behind a table of functions.
            pub fn boxed<E: Extension>(self, shape: &Shape, table: &Table) -> AnySwitch<E> {
                match self {
                    $(Product::$name => Box::new($name::<E>::build(shape, table)),)*
                }
            }
        }

        /// Combinations of assignment and backpressure that are accepted.
        pub const PRODUCTS: &[(Assignment, Backpressure)] =
            &[$($((Assignment::$assignment, Backpressure::$backpressure)),+),*];
    };
}

/// Any accepted product, behind a table of functions.
pub type AnySwitch<E = ()> = Box<dyn DataPlane<Extension = E>>;

fn none(_: &Table) {}

fn bfc(table: &Table) -> BfcParams {
    table.bfc.clone()
}

fn both_bfc(table: &Table) -> (BfcParams, BfcParams) {
    (bfc(table), bfc(table))
}

fn only_bfc(table: &Table) -> ((), BfcParams) {
    ((), bfc(table))
}

fn pfc(table: &Table) -> PfcParams {
    table.pfc.clone()
}

fn flowsail(table: &Table) -> FlowSailParams {
    table.flowsail.clone()
}

fn by_flow(table: &Table) -> PauseByFlowParams {
    PauseByFlowParams {
        threshold: table.flowsail.ql,
        count_last: table.assignment == Assignment::PerFlow || table.bfc.count_last,
        refresh: table.flowsail.refresh,
    }
}

fn extended(table: &Table) -> ((BfcParams, BfcParams), RecirculatingParams) {
    let late = RecirculatingParams {
        pipelines: table.bfc.pipelines,
        all_may_signal: table.bfc.credits.is_some(),
        hardware: table.bfc.tofino.clone(),
    };
    ((bfc(table), bfc(table)), late)
}

/// Parameters of a [`Composed`] policy, or of one [`PfcInterop`] PFC, from those of its parts.
fn both<A, B>(a: fn(&Table) -> A, b: fn(&Table) -> B) -> impl Fn(&Table) -> (A, B) {
    move |table| (a(table), b(table))
}

products! {
    Fifo: Single, None => Composed<SingleFifo, NoBackpressure>, both(none, none);
    HpccSim: Single | Class, Pfc if hpcc => Composed<ByClass<RoundRobin>, HpccMemory>, both(none, pfc);
    FifoPfc: Single, Pfc => Composed<SingleFifo, Pfc>, both(none, pfc);
    IdealSrf: PerFlow, None if srf => Composed<PerFlow<SrfFlows>, NoBackpressure>, both(none, none);
    FairQueueing: PerFlow, None => Composed<PerFlow, NoBackpressure>, both(none, none);
    BfcBeyond: Dynamic, Bfc if extended =>
        Recirculating<Composed<Dynamic<2, HardwareQueues>, BfcExtended>>, extended;
    BfcSrfWide: Dynamic, Bfc if srf wide => Composed<Dynamic<2, SrfQueues<2>>, Bfc>, both(bfc, bfc);
    BfcSrf: Dynamic, Bfc if srf => Composed<Dynamic<1, SrfQueues<1>>, Bfc>, both(bfc, bfc);
    BfcPfcWide: Dynamic, Bfc if beside wide => PfcInterop<Composed<Dynamic<2>, Bfc>>, both(both_bfc, pfc);
    BfcPfc: Dynamic, Bfc if beside => PfcInterop<Composed<Dynamic<1>, Bfc>>, both(both_bfc, pfc);
    BfcSinglePfc: Single, Bfc if beside => PfcInterop<Composed<Single<Narrow>, Bfc>>, both(only_bfc, pfc);
    BfcStochasticPfcWide: Stochastic, Bfc if beside wide => PfcInterop<Composed<Stochastic<2>, Bfc>>, both(only_bfc, pfc);
    BfcStochasticPfc: Stochastic, Bfc if beside => PfcInterop<Composed<Stochastic<1>, Bfc>>, both(only_bfc, pfc);
    BfcWide: Dynamic, Bfc if wide => Composed<Dynamic<2>, Bfc>, both(bfc, bfc);
    BfcSwitch: Dynamic, Bfc => Composed<Dynamic<1>, Bfc>, both(bfc, bfc);
    BfcSingle: Single, Bfc => Composed<Single<Narrow>, Bfc>, both(none, bfc);
    BfcStochasticWide: Stochastic, Bfc if wide => Composed<Stochastic<2>, Bfc>, both(none, bfc);
    BfcStochastic: Stochastic, Bfc => Composed<Stochastic<1>, Bfc>, both(none, bfc);
    DqaWide: Dynamic, None if wide => Composed<Dynamic<2>, NoBackpressure>, both(bfc, none);
    Dqa: Dynamic, None => Composed<Dynamic<1>, NoBackpressure>, both(bfc, none);
    DqaPfcWide: Dynamic, Pfc if wide => Composed<Dynamic<2>, Pfc>, both(bfc, pfc);
    DqaPfc: Dynamic, Pfc => Composed<Dynamic<1>, Pfc>, both(bfc, pfc);
    SfqWide: Stochastic, None if wide => Composed<Stochastic<2>, NoBackpressure>, both(none, none);
    Sfq: Stochastic, None => Composed<Stochastic<1>, NoBackpressure>, both(none, none);
    SfqPfcWide: Stochastic, Pfc if wide => Composed<Stochastic<2>, Pfc>, both(none, pfc);
    SfqPfc: Stochastic, Pfc => Composed<Stochastic<1>, Pfc>, both(none, pfc);
    Classes: Class, None => Composed<ByClass, NoBackpressure>, both(none, none);
    ClassesPfc: Class, Pfc => Composed<ByClass, Pfc>, both(none, pfc);
    Priorities: Priority, None => Composed<ByPriority, NoBackpressure>, both(none, none);
    PrioritiesPfc: Priority, Pfc => Composed<ByPriority, Pfc>, both(none, pfc);
    HomaDqa: HomaDynamic, None => Composed<HomaDynamic, NoBackpressure>, both(bfc, none);
    FlowSailLiteral: Flowsail, Flowsail if as_printed => FlowSailAsPrinted, flowsail;
    FlowSailPfcWide: Flowsail, Flowsail if beside wide => PfcInterop<FlowSail<2>>, both(flowsail, pfc);
    FlowSailPfc: Flowsail, Flowsail if beside => PfcInterop<FlowSail<1>>, both(flowsail, pfc);
    FlowSailWide: Flowsail, Flowsail if wide => FlowSail<2>, flowsail;
    FlowSailSwitch: Flowsail, Flowsail => FlowSail<1>, flowsail;
    IdealFc: PerFlow, PerFlow => IdealFlowControl, by_flow;
    BfcFlowId: Dynamic, PerFlow => BfcByFlow, by_flow;
}

/// Combinations of assignment and backpressure that are accepted: those of the list, and those of the user's own.
pub fn accepted() -> impl Iterator<Item = (Assignment, Backpressure)> {
    PRODUCTS.iter().copied().chain(mine_planes::combinations())
}

/// Properties beside the two names by which a product is chosen.
#[derive(Clone, Copy, Debug)]
struct Traits {
    /// More queues than a word has bits.
    wide: bool,
    /// Memory accounting of the HPCC simulator.
    hpcc: bool,
    /// Some neighbours obey only PFC.
    beside: bool,
    /// FlowSail exactly as its pseudo-code is printed.
    as_printed: bool,
    /// Scheduling by remaining flow size.
    srf: bool,
    /// BFC with an extension, such as credits or early resume.
    extended: bool,
}

impl Product {
    /// Product that a table asks for; `beside`: some neighbours obey only PFC. `None`: its assignment and backpressure
    /// do not go together; scenario files with such a table are refused.
    pub fn of(memory: Memory, table: &Table, beside: bool) -> Option<Product> {
        let at = Traits {
            wide: table.data_queues() > 64,
            hpcc: memory == Memory::HpccSim,
            beside,
            as_printed: table.flowsail.as_printed,
            srf: table.scheduler == Scheduler::Srf,
            extended: table.bfc.is_extended(),
        };
        Product::first(table, at)
    }
}

/// Builds the switch that a table asks for, of this shape, behind a table of functions. Each caller compiles all
/// products; `backwater-planes` has them compiled.
///
/// # Panics
/// On products that the scenario reader refuses.
pub fn boxed<E: Extension>(memory: Memory, shape: &Shape, table: &Table) -> AnySwitch<E> {
    if let Some(product) = mine_planes::product(table, TypeId::of::<E>()) {
        let made = (product.boxed)(TypeId::of::<E>(), shape, table);
        return *made.downcast().expect("a product is built for the extension that is asked for");
    }
    let beside = shape.ports.iter().any(|port| port.pfc_only);
    Product::of(memory, table, beside)
        .unwrap_or_else(|| panic!("{:?} does not go with {:?}", table.assignment, table.backpressure))
        .boxed(shape, table)
}
