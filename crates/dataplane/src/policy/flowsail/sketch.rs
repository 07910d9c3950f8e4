//! Sizes of flows in a queue from a count-min sketch (Cormode and Muthukrishnan, 2005), an extension of FlowSail's
//! paper. Its memory does not grow with the number of flows, and its sizes are never too small.

use alloc::vec;
use alloc::vec::Vec;
use backwater_types::{PortId, hash};

/// Sketches of all ports of a switch: rows of byte counters.
#[derive(Clone, Debug, Hash)]
pub(super) struct Sketch {
    /// `[port x row x column]`.
    bytes: Vec<u32>,
    rows: usize,
    columns: usize,
}

impl Sketch {
    /// Creates `rows` rows of `columns` counters (a power of two) for each of `ports` ports.
    pub(super) fn new(ports: usize, rows: u32, columns: u32) -> Sketch {
        let (rows, columns) = (rows as usize, columns as usize);
        Sketch { bytes: vec![0; ports * rows * columns], rows, columns }
    }

    /// Adds a packet that joined the flow's isolation or normal queue. Returns an upper bound of the flow's bytes
    /// there.
    #[inline(always)]
    pub(super) fn add(&mut self, port: PortId, flow: u32, isolated: bool, wire: u32) -> u64 {
        let places = self.places(port, flow, isolated);
        let mut least = u32::MAX;
        for at in places {
            self.bytes[at] += wire;
            least = least.min(self.bytes[at]);
        }
        least as u64
    }

    /// Subtracts a packet that left.
    #[inline(always)]
    pub(super) fn take(&mut self, port: PortId, flow: u32, isolated: bool, wire: u32) {
        for at in self.places(port, flow, isolated) {
            self.bytes[at] -= wire;
        }
    }

    #[inline(always)]
    fn places(&self, port: PortId, flow: u32, isolated: bool) -> impl Iterator<Item = usize> + use<> {
        let (rows, columns) = (self.rows, self.columns);
        let name = (flow as u64) << 1 | isolated as u64;
        (0..rows).map(move |row| {
            let column = hash::draw(name, row as u64) as usize & (columns - 1);
            (port as usize * rows + row) * columns + column
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backpressure::Pauses;
    use crate::policy::{FlowSailParams, SketchParams};

    #[test]
    fn sketch_memory_equals_the_stated_memory() {
        let sketch = Sketch::new(32, 3, 16);
        let params =
            FlowSailParams { sketch: Some(SketchParams { rows: 3, columns: 16 }), ..FlowSailParams::default() };
        let stated = params.pausing().state.map(|state| 32 * state.per_port);
        assert_eq!(stated, Some(size_of_val(&sketch.bytes[..]) as u64));
    }

    #[test]
    fn sizes_are_never_too_small_and_departures_are_forgotten() {
        let mut sketch = Sketch::new(2, 3, 16);
        for flow in 0..100 {
            assert!(sketch.add(1, flow, flow % 2 == 0, 100) >= 100);
        }
        assert!(sketch.add(0, 3, false, 7) == 7, "a port has counters of its own");
        (0..100).for_each(|flow| sketch.take(1, flow, flow % 2 == 0, 100));
        sketch.take(0, 3, false, 7);
        assert!(sketch.bytes.iter().all(|bytes| *bytes == 0));
    }
}
