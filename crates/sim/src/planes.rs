//! Who makes the switches of a network, known to the engine by type or through a table of functions.

use backwater_dataplane::{DataPlane, Shape};
use backwater_scenario::model::{Memory, Switch};
use backwater_schemes::planes::{self, AnySwitch};
use backwater_schemes::{ExtensionVisitor, visit_extension};
use backwater_types::Extension;
use std::any::{Any, TypeId};

/// Makes the switches of a network, whatever its packets carry.
pub trait Planes {
    /// What it makes.
    type Plane<E: Extension>: DataPlane<Extension = E>;
    /// Makes one.
    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> Self::Plane<E>;
}

/// Those that tables ask for.
pub(crate) struct AnyPlanes(pub Memory);

impl Planes for AnyPlanes {
    type Plane<E: Extension> = AnySwitch<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> AnySwitch<E> {
        planes::any(self.0, shape, table)
    }
}

/// Those of a function that knows of nothing beside headers.
pub(crate) struct Plain<F>(pub F);

impl<D: DataPlane<Extension = ()>, F: Fn(&Shape, &Switch) -> D> Planes for Plain<F> {
    type Plane<E: Extension> = Box<dyn DataPlane<Extension = E>>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Switch) -> Self::Plane<E> {
        let plane: Box<dyn DataPlane<Extension = ()>> = Box::new((self.0)(shape, table));
        *(Box::new(plane) as Box<dyn Any>).downcast().expect("packets carry nothing beside their headers")
    }
}

/// [`Planes`] behind a table of functions, so that the engine need not be compiled for each.
pub(crate) trait Maker {
    /// A `Box<dyn DataPlane>` for packets that carry the extension of this type.
    fn make_boxed(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any>;
}

/// Makes one and puts it behind two boxes: of a switch for packets of its kind, and of whatever that is.
struct Boxed<'a, P>(&'a P, &'a Shape, &'a Switch);

impl<P: Planes> ExtensionVisitor for Boxed<'_, P> {
    type Out = Box<dyn Any>;

    fn extension<E: Extension>(self) -> Box<dyn Any> {
        let plane: Box<dyn DataPlane<Extension = E>> = Box::new(self.0.make::<E>(self.1, self.2));
        Box::new(plane)
    }
}

impl<P: Planes> Maker for P {
    fn make_boxed(&self, extension: TypeId, shape: &Shape, table: &Switch) -> Box<dyn Any> {
        visit_extension(extension, Boxed(self, shape, table)).expect("a registered transport's packets carry it")
    }
}
