//! Captured packets of a run, as a pcapng file.

use backwater_capture::{Capture, Place, Way, port_address};
use backwater_sim::{Outcome, ports};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes the packets of some captured ports: name, number in the request, node and port. Returns their number.
///
/// # Errors
/// Those of the file.
pub(crate) fn write(outcome: &Outcome, path: &Path, wanted: &[(String, u32, u32, u16)]) -> io::Result<usize> {
    let mut capture = Capture::new(BufWriter::new(File::create(path)?), wanted.iter().map(|(name, ..)| name.as_str()))?;
    let links = ports(&outcome.graph);
    let interface = |(interface, (_, number, node, port)): (u32, &(String, u32, u32, u16))| {
        let link = links[*node as usize][usize::from(*port)];
        (*number, (interface, link, outcome.graph.links[link].b == *node as usize))
    };
    let interfaces: HashMap<u32, (u32, usize, bool)> = (0..).zip(wanted).map(interface).collect();
    let mut count = 0;
    for one in &outcome.recorded.captured.packets {
        let Some((interface, link, is_b)) = interfaces.get(&one.port).copied() else { continue };
        let (way, from_b) = if one.arrives { (Way::In, !is_b) } else { (Way::Out, is_b) };
        let place = Place { at: one.at, port: interface, way, source: port_address(link, from_b) };
        capture.packet(place, &one.packet)?;
        count += 1;
    }
    capture.finish()?;
    Ok(count)
}
