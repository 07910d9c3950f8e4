//! Switches of schemes of the user's own: combinations of assignment and backpressure that a module adds to those of
//! [`planes`](crate::planes).

use crate::mine::word;
use crate::registry::{Backpressure, Switch as Table};
use crate::switch::Assignment;
use backwater_dataplane::Shape;
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId};
use std::sync::OnceLock;

static ADDED: OnceLock<Vec<MineProduct>> = OnceLock::new();

/// Adds switches. Call it once, after the parts that they are made of.
///
/// # Panics
/// If it was called before.
pub fn add(products: Vec<MineProduct>) {
    assert!(ADDED.set(products).is_ok(), "switches are added once");
}

fn products() -> &'static [MineProduct] {
    ADDED.get().map_or(&[], |all| all)
}

/// A switch of an assignment and a backpressure, at least one of which was added.
pub struct MineProduct {
    /// Value of `switch.assignment`.
    pub assignment: &'static str,
    /// Value of `switch.backpressure`.
    pub backpressure: &'static str,
    /// Whether it is compiled for packets with this extension.
    pub carries: fn(extension: TypeId) -> bool,
    /// Builds the switch for packets with an extension that it carries, as an [`AnySwitch`](crate::AnySwitch).
    pub boxed: fn(extension: TypeId, shape: &Shape, table: &Table) -> Box<dyn Any>,
}

/// Products of a table, if it is of those that were added.
fn of(table: &Table) -> impl Iterator<Item = &'static MineProduct> {
    let [assignment, backpressure] = [word(&table.assignment), word(&table.backpressure)];
    products().iter().filter(move |product| product.assignment == assignment && product.backpressure == backpressure)
}

/// Product of a table for packets with `extension`, if one was added.
pub(crate) fn product(table: &Table, extension: TypeId) -> Option<&'static MineProduct> {
    of(table).find(|product| (product.carries)(extension))
}

/// Whether the switch of a table can be built for packets with `extension`: all of the registry can, and of those that
/// were added those that carry it.
pub fn builds(table: &Table, extension: TypeId) -> bool {
    of(table).next().is_none() || product(table, extension).is_some()
}

/// Assignment and backpressure of every product that was added.
pub(crate) fn combinations() -> impl Iterator<Item = (Assignment, Backpressure)> {
    fn named<T: DeserializeOwned>(word: &str) -> T {
        serde_json::from_value(word.into()).expect("a product is of parts that exist")
    }
    products().iter().map(|product| (named(product.assignment), named(product.backpressure)))
}
