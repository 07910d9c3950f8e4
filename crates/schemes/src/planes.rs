//! Data planes behind one interface: each published combination as itself, any other accepted one through an enum.

use crate::conventions::Memory;
use crate::switch::{Assignment, Backpressure, Switch as Table};
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{
    Beside, Bfc, BfcByFlow, BfcParams, ByClass, Composed, DataPlane, Departed, Dynamic, FlowSail, FlowSailAsPrinted,
    FlowSailParams, HpccMemory, IdealFlowControl, NoBackpressure, PauseByFlowParams, PerFlow, Pfc, PfcParams, Readings,
    Received, Sent, Shape, Single, SingleFifo, Stochastic, Switch,
};
use backwater_types::{ControlFrame, Instant, Kind, Packet, PortId, QueueId};

/// A data plane that can be built from the shape of a switch and its table of parameters.
pub trait Build: DataPlane {
    /// Builds it.
    fn build(shape: &Shape, table: &Table) -> Self;
}

/// One word of queues.
type Narrow = PausableQueues<1>;

macro_rules! products {
    ($($name:ident = $policy:ty, $params:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($policy), "`.")]
            pub type $name = Switch<$policy>;

            impl Build for $name {
                fn build(shape: &Shape, table: &Table) -> $name {
                    Switch::new(shape, &$params(table))
                }
            }
        )*

        /// Any accepted product.
        pub enum AnySwitch {
            $(#[doc = concat!("[`", stringify!($name), "`]")] $name(Box<$name>),)*
        }

        impl DataPlane for AnySwitch {
            #[inline]
            fn receive(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Received {
                match self { $(AnySwitch::$name(s) => s.receive(now, packet, ingress, egress),)* }
            }
            #[inline]
            fn pass(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Option<QueueId> {
                match self { $(AnySwitch::$name(s) => s.pass(now, packet, ingress, egress),)* }
            }
            #[inline]
            fn touch(&self, packet: &Packet) -> u32 {
                match self { $(AnySwitch::$name(s) => s.touch(packet),)* }
            }
            fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
                match self { $(AnySwitch::$name(s) => s.transmit(now, port),)* }
            }
            #[inline]
            fn transmit_to(
                &mut self,
                now: Instant,
                port: PortId,
                out: impl FnOnce(&Packet, &Departed),
            ) -> Option<Departed> {
                match self { $(AnySwitch::$name(s) => s.transmit_to(now, port, out),)* }
            }
            #[inline]
            fn queues_as_data(&self, kind: Kind) -> bool {
                match self { $(AnySwitch::$name(s) => s.queues_as_data(kind),)* }
            }
            #[inline]
            fn sendable(&self, port: PortId) -> bool {
                match self { $(AnySwitch::$name(s) => s.sendable(port),)* }
            }
            fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
                match self { $(AnySwitch::$name(s) => s.control(now, port, frame),)* }
            }
            fn next_timer(&self) -> Instant {
                match self { $(AnySwitch::$name(s) => s.next_timer(),)* }
            }
            fn timer(&mut self, now: Instant, kicked: &mut Vec<PortId>) {
                match self { $(AnySwitch::$name(s) => s.timer(now, kicked),)* }
            }
            fn link_down(&mut self, now: Instant, port: PortId, kicked: &mut Vec<PortId>) {
                match self { $(AnySwitch::$name(s) => s.link_down(now, port, kicked),)* }
            }
            fn link_up(&mut self, now: Instant, port: PortId, kicked: &mut Vec<PortId>) {
                match self { $(AnySwitch::$name(s) => s.link_up(now, port, kicked),)* }
            }
            #[inline]
            fn discarded(&mut self) -> &mut Vec<(Packet, Instant)> {
                match self { $(AnySwitch::$name(s) => s.discarded(),)* }
            }
            fn readings(&self) -> &dyn Readings {
                match self { $(AnySwitch::$name(s) => s.readings(),)* }
            }
        }
    };
}

fn none(_: &Table) {}

fn bfc(table: &Table) -> BfcParams {
    table.bfc.clone()
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

/// Parameters of a [`Composed`] policy, or of one [`Beside`] PFC, from those of its parts.
fn both<A, B>(a: fn(&Table) -> A, b: fn(&Table) -> B) -> impl Fn(&Table) -> (A, B) {
    move |table| (a(table), b(table))
}

products! {
    Fifo = Composed<SingleFifo, NoBackpressure>, both(none, none);
    FifoPfc = Composed<SingleFifo, Pfc>, both(none, pfc);
    FifoHpcc = Composed<SingleFifo, HpccMemory>, both(none, pfc);
    FairQueueing = Composed<PerFlow, NoBackpressure>, both(none, none);
    BfcSwitch = Composed<Dynamic<1>, Bfc>, both(bfc, bfc);
    BfcWide = Composed<Dynamic<2>, Bfc>, both(bfc, bfc);
    BfcSingle = Composed<Single<Narrow>, Bfc>, both(none, bfc);
    BfcStochastic = Composed<Stochastic<1>, Bfc>, both(none, bfc);
    BfcStochasticWide = Composed<Stochastic<2>, Bfc>, both(none, bfc);
    Dqa = Composed<Dynamic<1>, NoBackpressure>, both(bfc, none);
    DqaWide = Composed<Dynamic<2>, NoBackpressure>, both(bfc, none);
    DqaPfc = Composed<Dynamic<1>, Pfc>, both(bfc, pfc);
    DqaPfcWide = Composed<Dynamic<2>, Pfc>, both(bfc, pfc);
    Sfq = Composed<Stochastic<1>, NoBackpressure>, both(none, none);
    SfqWide = Composed<Stochastic<2>, NoBackpressure>, both(none, none);
    SfqPfc = Composed<Stochastic<1>, Pfc>, both(none, pfc);
    SfqPfcWide = Composed<Stochastic<2>, Pfc>, both(none, pfc);
    Classes = Composed<ByClass, NoBackpressure>, both(none, none);
    ClassesPfc = Composed<ByClass, Pfc>, both(none, pfc);
    FlowSailSwitch = FlowSail<1>, flowsail;
    FlowSailWide = FlowSail<2>, flowsail;
    FlowSailLiteral = FlowSailAsPrinted, flowsail;
    FlowSailPfc = Beside<FlowSail<1>>, both(flowsail, pfc);
    FlowSailPfcWide = Beside<FlowSail<2>>, both(flowsail, pfc);
    IdealFc = IdealFlowControl, by_flow;
    BfcFlowId = BfcByFlow, by_flow;
}

/// The product a scenario asks for.
///
/// # Panics
/// On products the scenario reader refuses.
pub fn any(memory: Memory, shape: &Shape, table: &Table) -> AnySwitch {
    use {Assignment as A, Backpressure as B};
    let wide = shape.queues > 64;
    let beside = shape.ports.iter().any(|port| port.pfc_only);
    macro_rules! boxed {
        ($name:ident) => {
            AnySwitch::$name(Box::new($name::build(shape, table)))
        };
    }
    match (table.assignment, table.backpressure, wide) {
        (A::Single, B::None, _) => boxed!(Fifo),
        (A::Single, B::Pfc, _) if memory == Memory::HpccSim => boxed!(FifoHpcc),
        (A::Single, B::Pfc, _) => boxed!(FifoPfc),
        (A::Single, B::Bfc, _) => boxed!(BfcSingle),
        (A::PerFlow, B::None, _) => boxed!(FairQueueing),
        (A::Class, B::None, _) => boxed!(Classes),
        (A::Class, B::Pfc, _) => boxed!(ClassesPfc),
        (A::PerFlow, B::PerFlow, _) => boxed!(IdealFc),
        (A::Dynamic, B::PerFlow, _) => boxed!(BfcFlowId),
        (A::Flowsail, B::Flowsail, _) if table.flowsail.as_printed => boxed!(FlowSailLiteral),
        (A::Flowsail, B::Flowsail, false) if beside => boxed!(FlowSailPfc),
        (A::Flowsail, B::Flowsail, true) if beside => boxed!(FlowSailPfcWide),
        (A::Flowsail, B::Flowsail, false) => boxed!(FlowSailSwitch),
        (A::Flowsail, B::Flowsail, true) => boxed!(FlowSailWide),
        (A::PerFlow | A::Flowsail | A::Class, ..) | (_, B::PerFlow | B::Flowsail, _) => {
            panic!("{:?} does not go with {:?}", table.assignment, table.backpressure)
        }
        (A::Dynamic, B::Bfc, false) => boxed!(BfcSwitch),
        (A::Dynamic, B::Bfc, true) => boxed!(BfcWide),
        (A::Dynamic, B::None, false) => boxed!(Dqa),
        (A::Dynamic, B::None, true) => boxed!(DqaWide),
        (A::Dynamic, B::Pfc, false) => boxed!(DqaPfc),
        (A::Dynamic, B::Pfc, true) => boxed!(DqaPfcWide),
        (A::Stochastic, B::Bfc, false) => boxed!(BfcStochastic),
        (A::Stochastic, B::Bfc, true) => boxed!(BfcStochasticWide),
        (A::Stochastic, B::None, false) => boxed!(Sfq),
        (A::Stochastic, B::None, true) => boxed!(SfqWide),
        (A::Stochastic, B::Pfc, false) => boxed!(SfqPfc),
        (A::Stochastic, B::Pfc, true) => boxed!(SfqPfcWide),
    }
}
