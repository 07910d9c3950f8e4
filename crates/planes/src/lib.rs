//! Switches behind dynamic dispatch, of every accepted product and for the packets of every transport.
//!
//! They are compiled here once. The functions for callers are generic in the packet's metadata, but name it only by its
//! type's identity, so no caller compiles a switch.

use backwater_dataplane::Shape;
use backwater_schemes::conventions::Memory;
use backwater_schemes::planes::boxed;
use backwater_schemes::{AnySwitch, ExtensionVisitor, Network, Product, Switch, SwitchSite, visit_extension};
use backwater_types::Extension;
use std::any::{Any, TypeId};

/// Builds the switch that a table asks for, of this shape.
///
/// # Panics
/// On products that the scenario reader refuses, and if no transport of the registry has this extension.
pub fn any<E: Extension>(memory: Memory, shape: &Shape, table: &Switch) -> AnySwitch<E> {
    taken(made(TypeId::of::<E>(), None, memory, shape, table))
}

/// Builds a switch of this product.
///
/// # Panics
/// If no transport of the registry has this extension.
pub fn of<E: Extension>(product: Product, shape: &Shape, table: &Switch) -> AnySwitch<E> {
    taken(made(TypeId::of::<E>(), Some(product), Memory::Exact, shape, table))
}

/// Builds the switch of a table at its place in a network.
///
/// # Panics
/// As [`any`].
pub fn at<E: Extension>(network: &Network, table: &Switch, site: &SwitchSite) -> AnySwitch<E> {
    any(network.conventions.memory, &network.shape(table, site), table)
}

fn taken<E: Extension>(made: Box<dyn Any>) -> AnySwitch<E> {
    *made.downcast().expect("it was made for this extension")
}

fn made(extension: TypeId, product: Option<Product>, memory: Memory, shape: &Shape, table: &Switch) -> Box<dyn Any> {
    visit_extension(extension, Made { product, memory, shape, table })
        .expect("a registered transport has this extension")
}

/// Builder of one switch, called with the extension as a type.
struct Made<'a> {
    product: Option<Product>,
    memory: Memory,
    shape: &'a Shape,
    table: &'a Switch,
}

impl ExtensionVisitor for Made<'_> {
    type Out = Box<dyn Any>;

    fn extension<E: Extension>(self) -> Box<dyn Any> {
        let plane: AnySwitch<E> = match self.product {
            Some(product) => product.boxed(self.shape, self.table),
            None => boxed(self.memory, self.shape, self.table),
        };
        Box::new(plane)
    }
}
