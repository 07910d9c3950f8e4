//! Engines for the parts of a scheme.

use crate::parts::{AssignmentPart, BackpressurePart, ControlPart, TransportPart};
use backwater_dataplane::{Composed, Shape, Switch};
use backwater_engine::Setup;
use backwater_engine::host::Host;
use backwater_engine::host::port::{EndHost, ExtensionOf};
use backwater_engine::hosts::RdmaHost;
use backwater_engine::node_by_node::NodeByNode;
use backwater_engine::observe::NoObserver;
use backwater_engine::windows::Windows;
use backwater_engines_any::engines::{Shared, Source, control, engine, hosts};
use backwater_engines_any::planes::Maker;
use backwater_engines_any::{AnyObserver, Partitions};
use backwater_scenario::model::{LossRecovery, Memory, Scheduler, Switch as Table, Transport};
use backwater_schemes::mine::word;
use backwater_schemes::{AnySwitch, ExtensionVisitor};
use backwater_types::Extension;
use std::any::Any;
use std::marker::PhantomData;

/// Queues whose states fit one word of bits, as in all parts by name.
const QUEUES_MAX: u16 = 64;

/// Engine of the control `C` with any switch.
pub(crate) fn any_control<C: ControlPart, F: Source>(
    setup: &Setup,
    planes: &dyn Maker,
    observer: &dyn Fn() -> AnyObserver,
) -> Partitions {
    let params = C::params(&setup.scenario.host);
    control::<C, F>(setup, |site| C::at(&params, site), planes, observer)
}

/// Host of the transport `T`.
type HostOf<T> = Host<<T as TransportPart>::Nic, T, NodeByNode<()>>;

/// Engine of the transport `T` with any switch.
pub(crate) fn any_transport<T: TransportPart>(
    setup: &Setup,
    planes: &dyn Maker,
    observer: &dyn Fn() -> AnyObserver,
) -> Partitions {
    hosts::<HostOf<T>, Shared>(setup, transport_params::<T>(setup), planes, observer)
}

fn transport_params<T: TransportPart>(setup: &Setup) -> T::Params {
    let host = &setup.scenario.host;
    T::params(host.mine.named::<T::Table>(T::NAME), host, &setup.sites.list)
}

/// Engine of the control `C` with switches of `A` and `B` alone.
pub(crate) fn compiled_control<C, A, B>(setup: &Setup) -> Option<Partitions>
where
    C: ControlPart,
    A: AssignmentPart,
    B: BackpressurePart<A::Queues>,
{
    let host = &setup.scenario.host;
    let fits = is(&host.paced(), C::NAME) && host.recovery == LossRecovery::GoBackN && switches_are::<A, B>(setup);
    let params = C::params(host);
    fits.then(|| composed::<RdmaHost<C>, A, B>(setup, setup.go_back_n::<C>(|site| C::at(&params, site))))
}

/// Engine of the transport `T` with switches of `A` and `B` alone.
pub(crate) fn compiled_transport<T, A, B>(setup: &Setup) -> Option<Partitions>
where
    T: TransportPart,
    A: AssignmentPart,
    B: BackpressurePart<A::Queues>,
{
    let fits = is(&setup.scenario.host.transport, T::NAME) && switches_are::<A, B>(setup);
    fits.then(|| composed::<HostOf<T>, A, B>(setup, transport_params::<T>(setup)))
}

fn composed<H, A, B>(setup: &Setup, transport: H::Params) -> Partitions
where
    H: EndHost<Schedule: Windows<H, Switch<Composed<A, B>, ExtensionOf<H>>, NoObserver>> + 'static,
    A: AssignmentPart,
    B: BackpressurePart<A::Queues>,
{
    engine::<H, Switch<Composed<A, B>, ExtensionOf<H>>>(setup, transport, &build::<A, B, ExtensionOf<H>>)
}

fn is(transport: &Transport, name: &str) -> bool {
    word(transport) == name
}

/// Whether all switches are made of `A` and `B`, and of nothing beside.
fn switches_are<A: AssignmentPart, B: BackpressurePart<A::Queues>>(setup: &Setup) -> bool {
    let (scenario, table) = (setup.scenario, &setup.scenario.switch);
    let named = word(&table.built_as()) == A::NAME && word(&table.backpressure) == B::NAME;
    let plain = table.scheduler == Scheduler::Drr && !table.bfc.is_extended() && table.data_queues() <= QUEUES_MAX;
    named && plain && scenario.conventions.memory == Memory::Exact && scenario.region.is_empty()
}

/// Builds a switch of `A` and `B`.
fn build<A: AssignmentPart, B: BackpressurePart<A::Queues>, E: Extension>(
    shape: &Shape,
    table: &Table,
) -> Switch<Composed<A, B>, E> {
    Switch::new(shape, &(A::params(table), B::params(table)))
}

/// Builder of a switch of `A` and `B`, called with the extension of its packets as a type.
pub(crate) struct Boxed<'a, A, B> {
    shape: &'a Shape,
    table: &'a Table,
    parts: PhantomData<(A, B)>,
}

impl<'a, A, B> Boxed<'a, A, B> {
    pub(crate) fn new(shape: &'a Shape, table: &'a Table) -> Boxed<'a, A, B> {
        Boxed { shape, table, parts: PhantomData }
    }
}

/// Finds out whether an extension is known.
pub(crate) struct Known;

impl ExtensionVisitor for Known {
    type Out = ();

    fn extension<E: Extension>(self) {}
}

impl<A: AssignmentPart, B: BackpressurePart<A::Queues>> ExtensionVisitor for Boxed<'_, A, B> {
    type Out = Box<dyn Any>;

    fn extension<E: Extension>(self) -> Box<dyn Any> {
        let plane: AnySwitch<E> = Box::new(build::<A, B, E>(self.shape, self.table));
        Box::new(plane)
    }
}
