//! Data planes behind one interface: each published combination as itself, any other accepted one through an enum.

use backwater_dataplane::assign::{Assigned, DynamicParams, SingleFifo};
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{
    Assignment, Backpressure, Bfc, BfcParams, Departed, Dynamic, HpccMemory, HpccMemoryParams, NoBackpressure, PerFlow,
    Pfc, PfcParams, Received, Sent, Shape, Single, Stochastic, Switch,
};
use backwater_scenario::model::{self, Memory};
use backwater_types::{ControlFrame, Instant, Kind, Packet, PortId, QueueId};

/// What the network asks of a switch; see [`Switch`] for each.
#[allow(missing_docs)]
pub trait DataPlane: Send + Sized + 'static {
    fn receive(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Received;
    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent>;
    fn transmit_to(&mut self, now: Instant, port: PortId, out: impl FnOnce(&Packet, &Departed)) -> Option<Departed> {
        let Sent { packet, queue, control_on, entered } = self.transmit(now, port)?;
        let departed = Departed { queue, control_on, entered };
        out(&packet, &departed);
        Some(departed)
    }
    fn pass(&mut self, _: Instant, _: &Packet, _: PortId, _: PortId) -> Option<QueueId> {
        None
    }
    fn queues_as_data(&self, kind: Kind) -> bool {
        kind == Kind::Data
    }
    fn sendable(&self, port: PortId) -> bool;
    fn control(&mut self, port: PortId, frame: ControlFrame);
    fn next_timer(&self) -> Instant;
    fn timer(&mut self, now: Instant, kicked: &mut Vec<PortId>);
    fn link_down(&mut self, port: PortId);
    fn link_up(&mut self, now: Instant, port: PortId);
    fn buffered(&self) -> u64;
    fn active_flows(&self, port: PortId) -> Option<u32>;
    fn assigned(&self, port: PortId) -> Assigned;
    fn audit(&self) -> Result<(), String>;
}

impl<A, B> DataPlane for Switch<A, B>
where
    A: Assignment + Send + 'static,
    A::Queues: Send,
    B: Backpressure<A::Queues> + Send + 'static,
{
    #[inline(always)]
    fn receive(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Received {
        Switch::receive(self, now, packet, ingress, egress)
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Option<QueueId> {
        Switch::pass(self, now, packet, ingress, egress)
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        Switch::transmit(self, now, port)
    }

    #[inline(always)]
    fn transmit_to(&mut self, now: Instant, port: PortId, out: impl FnOnce(&Packet, &Departed)) -> Option<Departed> {
        Switch::transmit_to(self, now, port, out)
    }

    #[inline(always)]
    fn queues_as_data(&self, kind: Kind) -> bool {
        Switch::queues_as_data(self, kind)
    }

    #[inline(always)]
    fn sendable(&self, port: PortId) -> bool {
        Switch::sendable(self, port)
    }

    fn control(&mut self, port: PortId, frame: ControlFrame) {
        Switch::control(self, port, frame);
    }

    #[inline(always)]
    fn next_timer(&self) -> Instant {
        Switch::next_timer(self)
    }

    fn timer(&mut self, now: Instant, kicked: &mut Vec<PortId>) {
        Switch::timer(self, now, kicked);
    }

    fn link_down(&mut self, port: PortId) {
        Switch::link_down(self, port);
    }

    fn link_up(&mut self, now: Instant, port: PortId) {
        Switch::link_up(self, now, port);
    }

    fn buffered(&self) -> u64 {
        Switch::buffered(self)
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        Switch::active_flows(self, port)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        Switch::assigned(self, port)
    }

    fn audit(&self) -> Result<(), String> {
        Switch::audit(self)
    }
}

/// Parameters for whichever parts a product has.
#[derive(Clone, Debug)]
pub struct PlaneParams {
    /// For [`Dynamic`].
    pub dynamic: DynamicParams,
    /// For [`Bfc`].
    pub bfc: BfcParams,
    /// For [`Pfc`].
    pub pfc: Option<PfcParams>,
    /// For [`HpccMemory`].
    pub hpcc: Option<HpccMemoryParams>,
}

/// A data plane that can be built from a switch's shape and parameters.
pub trait Build: DataPlane {
    /// Builds it.
    fn build(shape: &Shape, params: &PlaneParams) -> Self;
}

/// One word of queues.
type Narrow = PausableQueues<1>;

macro_rules! products {
    ($($name:ident = $assignment:ty, $backpressure:ty, $a:expr, $b:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($assignment), "` with `", stringify!($backpressure), "`.")]
            pub type $name = Switch<$assignment, $backpressure>;

            impl Build for $name {
                fn build(shape: &Shape, params: &PlaneParams) -> $name {
                    Switch::new(shape, &$a(params), &$b(params))
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
            fn control(&mut self, port: PortId, frame: ControlFrame) {
                match self { $(AnySwitch::$name(s) => s.control(port, frame),)* }
            }
            fn next_timer(&self) -> Instant {
                match self { $(AnySwitch::$name(s) => s.next_timer(),)* }
            }
            fn timer(&mut self, now: Instant, kicked: &mut Vec<PortId>) {
                match self { $(AnySwitch::$name(s) => s.timer(now, kicked),)* }
            }
            fn link_down(&mut self, port: PortId) {
                match self { $(AnySwitch::$name(s) => s.link_down(port),)* }
            }
            fn link_up(&mut self, now: Instant, port: PortId) {
                match self { $(AnySwitch::$name(s) => s.link_up(now, port),)* }
            }
            fn buffered(&self) -> u64 {
                match self { $(AnySwitch::$name(s) => s.buffered(),)* }
            }
            fn active_flows(&self, port: PortId) -> Option<u32> {
                match self { $(AnySwitch::$name(s) => s.active_flows(port),)* }
            }
            fn assigned(&self, port: PortId) -> Assigned {
                match self { $(AnySwitch::$name(s) => s.assigned(port),)* }
            }
            fn audit(&self) -> Result<(), String> {
                match self { $(AnySwitch::$name(s) => s.audit(),)* }
            }
        }
    };
}

fn none(_: &PlaneParams) {}

fn dynamic(params: &PlaneParams) -> DynamicParams {
    params.dynamic
}

fn bfc(params: &PlaneParams) -> BfcParams {
    params.bfc.clone()
}

fn pfc(params: &PlaneParams) -> PfcParams {
    params.pfc.clone().expect("a product with PFC has its parameters")
}

fn hpcc(params: &PlaneParams) -> HpccMemoryParams {
    params.hpcc.clone().expect("a product with HPCC's memory has its parameters")
}

products! {
    Fifo = SingleFifo, NoBackpressure, none, none;
    FifoPfc = SingleFifo, Pfc, none, pfc;
    FifoHpcc = SingleFifo, HpccMemory, none, hpcc;
    FairQueueing = PerFlow, NoBackpressure, none, none;
    BfcSwitch = Dynamic<1>, Bfc, dynamic, bfc;
    BfcWide = Dynamic<2>, Bfc, dynamic, bfc;
    BfcSingle = Single<Narrow>, Bfc, none, bfc;
    BfcStochastic = Stochastic<1>, Bfc, none, bfc;
    BfcStochasticWide = Stochastic<2>, Bfc, none, bfc;
    Dqa = Dynamic<1>, NoBackpressure, dynamic, none;
    DqaWide = Dynamic<2>, NoBackpressure, dynamic, none;
    DqaPfc = Dynamic<1>, Pfc, dynamic, pfc;
    DqaPfcWide = Dynamic<2>, Pfc, dynamic, pfc;
    Sfq = Stochastic<1>, NoBackpressure, none, none;
    SfqWide = Stochastic<2>, NoBackpressure, none, none;
    SfqPfc = Stochastic<1>, Pfc, none, pfc;
    SfqPfcWide = Stochastic<2>, Pfc, none, pfc;
}

/// The product a scenario asks for.
///
/// # Panics
/// On products the scenario reader refuses.
pub fn any(switch: &model::Switch, memory: Memory, shape: &Shape, params: &PlaneParams) -> AnySwitch {
    use model::{Assignment as A, Backpressure as B};
    let wide = shape.queues > 64;
    macro_rules! boxed {
        ($name:ident) => {
            AnySwitch::$name(Box::new($name::build(shape, params)))
        };
    }
    match (switch.assignment, switch.backpressure, wide) {
        (A::Single, B::None, _) => boxed!(Fifo),
        (A::Single, B::Pfc, _) if memory == Memory::HpccSim => boxed!(FifoHpcc),
        (A::Single, B::Pfc, _) => boxed!(FifoPfc),
        (A::Single, B::Bfc, _) => boxed!(BfcSingle),
        (A::PerFlow, B::None, _) => boxed!(FairQueueing),
        (A::PerFlow, ..) => panic!("per-flow queues go without backpressure"),
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
