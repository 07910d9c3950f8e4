//! Interface of Backwater for a scheme of your own, in a crate outside this repository.
//!
//! `backwater new-scheme` writes such a crate. Its one file implements a congestion control, a transport, a queue
//! assignment or a backpressure, and ends with a function `scheme()`, which says what the scheme is made of:
//!
//! ```
//! # use backwater_scheme::parts::{Pfc, SingleFifo};
//! # use backwater_scheme::{Scheme, transport};
//! # type Aimd = transport::Dctcp;
//! # const PRESET: &str = "";
//! pub fn scheme() -> Scheme {
//!     Scheme::new("mine/aimd", PRESET)
//!         .control::<Aimd>("A rate that marks cut and round trips without marks raise.")
//!         .engine::<Aimd, SingleFifo, Pfc>()
//! }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`transport`] | what an end host does: `Control`, `Transport`, and the controls that exist |
//! | [`dataplane`] | what a switch does: `Assignment`, `Backpressure`, queues |
//! | [`types`] | units, packets, frames, hashes |
//! | [`parts`] | assignments, backpressures and controls that go with a part of your own |

mod engines;
pub mod parts;

pub use backwater_dataplane as dataplane;
pub use backwater_engine as engine;
pub use backwater_nic as nic;
pub use backwater_schemes::mine::Parameters;
pub use backwater_schemes::{Host, Stated, Switch as SwitchTable};
pub use backwater_transport as transport;
pub use backwater_types as types;

use crate::engines::{Boxed, Known, any_control, any_transport, compiled_control, compiled_transport};
use crate::parts::{AssignmentPart, BackpressurePart, ControlPart, TransportPart};
use backwater_dataplane::Pauses;
use backwater_engines_any::engines::{Compiling, Shared};
use backwater_engines_any::mine::MineEngines;
use backwater_schemes::mine::{MineScheme, Part};
use backwater_schemes::mine_planes::MineProduct;
use backwater_schemes::{ExtensionVisitor, visit_extension};
use backwater_transport::ClosedForm;
use std::any::TypeId;

/// A scheme of your own: its preset, its parts and its engines.
pub struct Scheme {
    scheme: MineScheme,
    products: Vec<MineProduct>,
    engines: MineEngines,
}

impl Scheme {
    /// Begins a scheme with its name, `mine/NAME`, and its preset. The preset is a fragment of a scenario: `[preset]`
    /// with `title`, `summary` and `source`, and the keys that the scheme sets.
    pub fn new(name: &'static str, preset: &'static str) -> Scheme {
        let scheme = MineScheme { name, preset, parts: Vec::new() };
        Scheme { scheme, products: Vec::new(), engines: MineEngines::default() }
    }

    /// Adds the congestion control `C`, for `host.transport`. Its packets carry nothing but their headers.
    pub fn control<C: ControlPart<Extension = (), Params: Parameters> + ClosedForm>(
        mut self,
        about: &'static str,
    ) -> Scheme {
        self.scheme.parts.push(Part::control::<C>(C::NAME, about));
        self.engines.transports.push((C::NAME, any_control::<C, Shared>));
        self
    }

    /// Adds the congestion control `C`, whose packets carry metadata. All switches are compiled for that metadata.
    pub fn carrying_control<C: ControlPart<Params: Parameters> + ClosedForm>(mut self, about: &'static str) -> Scheme {
        self.scheme.parts.push(Part::control::<C>(C::NAME, about));
        self.engines.transports.push((C::NAME, any_control::<C, Compiling>));
        self
    }

    /// Adds the transport `T`, for `host.transport`.
    pub fn transport<T: TransportPart>(mut self, about: &'static str) -> Scheme {
        self.scheme.parts.push(Part::transport::<T::Table>(T::NAME, about));
        self.engines.transports.push((T::NAME, any_transport::<T>));
        self
    }

    /// Adds a backpressure with parameters `P`, for `switch.backpressure`.
    pub fn backpressure<P: Parameters + Pauses>(mut self, name: &'static str, about: &'static str) -> Scheme {
        self.scheme.parts.push(Part::backpressure::<P>(name, about));
        self
    }

    /// Adds a queue assignment with parameters `P`, for `switch.assignment`.
    pub fn assignment<P: Parameters>(mut self, name: &'static str, about: &'static str) -> Scheme {
        self.scheme.parts.push(Part::assignment::<P>(name, about));
        self
    }

    /// Adds the switch that assigns with `A` and pauses with `B`, one of which is your own. It goes with every
    /// transport of the registry.
    pub fn switch<A: AssignmentPart, B: BackpressurePart<A::Queues>>(mut self) -> Scheme {
        self.products.push(MineProduct {
            assignment: A::NAME,
            backpressure: B::NAME,
            carries: |extension| visit_extension(extension, Known).is_some(),
            boxed: |extension, shape, table| {
                let known = visit_extension(extension, Boxed::<A, B>::new(shape, table));
                known.expect("it carries the metadata of the registry")
            },
        });
        self
    }

    /// Adds the switch of `A` and `B` as [`Scheme::switch`] does, also for packets with the metadata of `C`. A control
    /// that carries metadata of its own needs it.
    pub fn switch_for<C, A, B>(self) -> Scheme
    where
        C: ControlPart,
        A: AssignmentPart,
        B: BackpressurePart<A::Queues>,
    {
        let mut scheme = self.switch::<A, B>();
        scheme.products.push(MineProduct {
            assignment: A::NAME,
            backpressure: B::NAME,
            carries: |extension| extension == TypeId::of::<C::Extension>(),
            boxed: |_, shape, table| Boxed::<A, B>::new(shape, table).extension::<C::Extension>(),
        });
        scheme
    }

    /// Compiles an engine for senders under control `C` and switches of `A` and `B`. It has no dynamic dispatch, and so
    /// is faster than the one that runs every other combination.
    pub fn engine<C: ControlPart, A: AssignmentPart, B: BackpressurePart<A::Queues>>(mut self) -> Scheme {
        self.engines.compiled.push(compiled_control::<C, A, B>);
        self
    }

    /// Compiles an engine for the transport `T` and switches of `A` and `B`, as [`Scheme::engine`] does.
    pub fn transport_engine<T, A, B>(mut self) -> Scheme
    where
        T: TransportPart,
        A: AssignmentPart,
        B: BackpressurePart<A::Queues>,
    {
        self.engines.compiled.push(compiled_transport::<T, A, B>);
        self
    }
}

/// Adds schemes to Backwater's own. A module calls it once, before it reads a scenario.
///
/// # Panics
/// If it was called before.
pub fn add(schemes: Vec<Scheme>) {
    let (mut parts, mut products, mut engines) = (Vec::new(), Vec::new(), Vec::new());
    for scheme in schemes {
        parts.push(scheme.scheme);
        products.extend(scheme.products);
        engines.push(scheme.engines);
    }
    backwater_schemes::mine::add(parts);
    backwater_schemes::mine_planes::add(products);
    backwater_engines_any::mine::add(engines);
}
