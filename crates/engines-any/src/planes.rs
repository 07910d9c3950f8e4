//! Makers of switches: the switches of a scenario, or substitutes from a test.

use backwater_dataplane::{DataPlane, Shape};
use backwater_scenario::model::{Memory, Switch};
use backwater_schemes::{AnySwitch, ExtensionVisitor, visit_extension};
use backwater_types::Extension;
use std::any::{Any, TypeId};

/// A maker of switches for packets with any extension header.
pub trait Planes {
    /// Type of the switches, for packets with extension `E`.
    type Plane<E: Extension>: DataPlane<Extension = E>;
    /// Builds a switch from its shape and its settings in the scenario.
    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> Self::Plane<E>;
}

/// Maker of the switches of a scenario.
struct Asked(Memory);

impl Planes for Asked {
    type Plane<E: Extension> = AnySwitch<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        backwater_planes::any(self.0, shape, table)
    }
}

/// Maker that calls a function, for packets without an extension header.
pub struct Plain<F>(pub F);

impl<D: DataPlane<Extension = ()>, F: Fn(&Shape, &Switch) -> D> Planes for Plain<F> {
    type Plane<E: Extension> = AnySwitch<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        let plane: AnySwitch = Box::new((self.0)(shape, table));
        *(Box::new(plane) as Box<dyn Any>).downcast().expect("packets have no extension header")
    }
}

/// Object-safe form of [`Planes`], so that no engine is compiled for each maker.
pub trait Maker {
    /// Builds an [`AnySwitch`] for packets with the extension of this type.
    fn make_any(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any>;
}

impl<P: Planes> Maker for P {
    fn make_any(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any> {
        visit_extension(extension, Make(self, shape, table)).expect("a registered transport has this extension")
    }
}

/// Builder of one switch, called with the extension as a type.
struct Make<'a, P>(&'a P, &'a Shape, &'a Switch);

impl<P: Planes> ExtensionVisitor for Make<'_, P> {
    type Out = Box<dyn Any>;

    fn extension<E: Extension>(self) -> Box<dyn Any> {
        let plane: AnySwitch<E> = Box::new(self.0.make::<E>(self.1, self.2));
        Box::new(plane)
    }
}

/// Returns the maker of the switches of a scenario, under its convention for memory.
pub fn asked(memory: Memory) -> impl Maker {
    Asked(memory)
}
