//! Makers of switches: what a scenario asks for, or what a test puts in its place.

use backwater_dataplane::{DataPlane, Shape};
use backwater_scenario::model::{Memory, Switch};
use backwater_schemes::planes::{self, AnySwitch};
use backwater_schemes::{ExtensionVisitor, visit_extension};
use backwater_types::Extension;
use std::any::{Any, TypeId};

/// Makes the switches of a network, whatever its packets carry.
pub trait Planes {
    /// Its switches.
    type Plane<E: Extension>: DataPlane<Extension = E>;
    /// Makes a switch of this shape, for its part of a scenario.
    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> Self::Plane<E>;
}

/// Makes the switches that a scenario asks for.
struct Asked(Memory);

impl Planes for Asked {
    type Plane<E: Extension> = AnySwitch<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        planes::any(self.0, shape, table)
    }
}

/// Makes switches by a function, for packets that carry nothing beside their headers.
pub struct Plain<F>(pub F);

impl<D: DataPlane<Extension = ()>, F: Fn(&Shape, &Switch) -> D> Planes for Plain<F> {
    type Plane<E: Extension> = AnySwitch<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        let plane: AnySwitch = Box::new((self.0)(shape, table));
        *(Box::new(plane) as Box<dyn Any>).downcast().expect("packets carry nothing beside their headers")
    }
}

/// [`Planes`] behind a table of functions, so that an engine is not compiled for each.
pub trait Maker {
    /// An [`AnySwitch`] for packets that carry the extension of this type.
    fn make_any(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any>;
}

impl<P: Planes> Maker for P {
    fn make_any(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any> {
        visit_extension(extension, Make(self, shape, table)).expect("a registered transport's packets carry it")
    }
}

/// Makes one switch, once the extension is known by type.
struct Make<'a, P>(&'a P, &'a Shape, &'a Switch);

impl<P: Planes> ExtensionVisitor for Make<'_, P> {
    type Out = Box<dyn Any>;

    fn extension<E: Extension>(self) -> Box<dyn Any> {
        let plane: AnySwitch<E> = Box::new(self.0.make::<E>(self.1, self.2));
        Box::new(plane)
    }
}

/// Makes the switches that a scenario asks for, under its convention for memory. Compiled here, not where it is called.
pub fn asked(memory: Memory) -> impl Maker {
    Asked(memory)
}
