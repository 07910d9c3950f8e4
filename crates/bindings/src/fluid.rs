//! Flows that share one link as a fluid, for computations of closed forms beside a simulation.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Runs flows over a link that shares its rate equally at every instant. `gaps` are the times between arrivals, and
/// `sizes` the times that the link takes for each flow alone, both as 64-bit floats in bytes. `permanent` more flows
/// never leave.
///
/// Returns when flows arrive or leave, as 64-bit floats, and the number of flows from then on without permanent ones,
/// as 64-bit integers. The link begins empty at time 0 and ends with the last arrival.
#[pyfunction]
pub(crate) fn fluid_trajectory<'py>(
    py: Python<'py>,
    gaps: &[u8],
    sizes: &[u8],
    permanent: u32,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    if gaps.len() != sizes.len() || !gaps.len().is_multiple_of(8) {
        return Err(PyValueError::new_err("expected as many gaps as sizes, each a 64-bit float"));
    }
    let (times, numbers) = py.detach(|| trajectory(floats(gaps).zip(floats(sizes)), permanent));
    Ok((PyBytes::new(py, &times), PyBytes::new(py, &numbers)))
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().expect("eight bytes")))
}

/// Service after which a flow leaves, counted from the start. All flows get the same service, so the lowest leaves
/// first.
#[derive(PartialEq)]
struct Leaves(f64);

impl Eq for Leaves {}

impl Ord for Leaves {
    fn cmp(&self, other: &Leaves) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Leaves {
    fn partial_cmp(&self, other: &Leaves) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn trajectory(flows: impl Iterator<Item = (f64, f64)>, permanent: u32) -> (Vec<u8>, Vec<u8>) {
    let (mut times, mut numbers) = (Vec::new(), Vec::new());
    let mut note = |time: f64, number: usize| {
        times.extend(time.to_le_bytes());
        numbers.extend((number as u64).to_le_bytes());
    };
    note(0.0, 0);
    let mut there = BinaryHeap::new();
    let (mut now, mut arrival, mut served) = (0.0, 0.0, 0.0);
    for (gap, size) in flows {
        arrival += gap;
        while let Some(Leaves(first)) = there.peek() {
            let sharing = (there.len() + permanent as usize) as f64;
            let left = now + (first - served) * sharing;
            if left > arrival {
                served += (arrival - now) / sharing;
                break;
            }
            (now, served) = (left, *first);
            there.pop();
            note(now, there.len());
        }
        if there.is_empty() {
            served = 0.0; // Nobody is there to remember it, and small numbers are exact.
        }
        now = arrival;
        there.push(Leaves(served + size));
        note(now, there.len());
    }
    (times, numbers)
}
