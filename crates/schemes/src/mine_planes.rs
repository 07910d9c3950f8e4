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
    /// Builds the switch for packets with this extension, as an [`AnySwitch`](crate::AnySwitch).
    pub boxed: fn(extension: TypeId, shape: &Shape, table: &Table) -> Box<dyn Any>,
}

/// Product of a table, if it is one that was added.
pub(crate) fn product(table: &Table) -> Option<&'static MineProduct> {
    let [assignment, backpressure] = [word(&table.assignment), word(&table.backpressure)];
    products().iter().find(|product| product.assignment == assignment && product.backpressure == backpressure)
}

/// Assignment and backpressure of every product that was added.
pub(crate) fn combinations() -> impl Iterator<Item = (Assignment, Backpressure)> {
    fn named<T: DeserializeOwned>(word: &str) -> T {
        serde_json::from_value(word.into()).expect("a product is of parts that exist")
    }
    products().iter().map(|product| (named(product.assignment), named(product.backpressure)))
}
