//! Switches of the user's own: which packets they are compiled for.

use backwater_schemes::Switch;
use backwater_schemes::mine_planes::{MineProduct, add, builds};
use std::any::TypeId;

/// Metadata of a control of the user's own.
struct Own;

#[test]
fn a_switch_is_built_for_the_metadata_that_it_carries() {
    let none = TypeId::of::<()>();
    let product = |backpressure, carries| MineProduct {
        assignment: "single",
        backpressure,
        carries,
        boxed: |_, _, _| unreachable!("nothing is built"),
    };
    add(vec![
        product("pfc", |extension| extension == TypeId::of::<()>()),
        product("none", |extension| extension == TypeId::of::<()>()),
        product("none", |extension| extension == TypeId::of::<Own>()),
    ]);
    let table = |backpressure: &str| -> Switch {
        serde_json::from_value(serde_json::json!({"assignment": "single", "backpressure": backpressure}))
            .expect("valid")
    };
    let of = |backpressure| [none, TypeId::of::<Own>()].map(|extension| builds(&table(backpressure), extension));
    assert_eq!(of("pfc"), [true, false]);
    assert_eq!(of("none"), [true, true]);
    // One of the registry.
    assert_eq!(of("bfc"), [true, true]);
}
