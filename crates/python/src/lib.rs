//! `backwater._core`, the module that is shipped. [`backwater_bindings`] has its contents.

use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater_bindings::fill(m)
}
