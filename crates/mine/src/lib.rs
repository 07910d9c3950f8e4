//! `backwater._core` with schemes of the user's own. `backwater build-scheme` compiles this crate with the schemes that
//! `build.rs` lists; everything else in the module is compiled before.

use pyo3::prelude::*;

include!(concat!(env!("OUT_DIR"), "/schemes.rs"));

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater::add(schemes());
    backwater_bindings::fill(m)
}
