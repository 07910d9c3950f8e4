//! Captures of ports of a fabric, as pcapng files.
//!
//! A frame leaves a port when its first bit does, and arrives when its last bit does, in time of the network. The file
//! has it as `backwater-wire` does, around the frame of its host.

use crate::slab::{Handle, Slab};
use backwater_capture::{CaptureFile, Place, Way, port_address};
use backwater_fabric::ports;
use backwater_replay::Error;
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, Kind, Packet, PortId};
use backwater_wire::Address;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Ports to capture into one file: name, node in the graph, and port of the node.
pub type Wanted = (PathBuf, Vec<(String, u32, PortId)>);

/// Captures of some ports of a network, in files.
#[derive(Debug, Default)]
pub struct Captures(Vec<OneFile>);

#[derive(Debug)]
struct OneFile {
    path: PathBuf,
    /// Node and port of each interface, and its end of which link.
    ports: Vec<(usize, PortId, usize, bool)>,
    sink: Sink,
}

/// A file, or the error that ended it.
#[derive(Clone)]
struct Sink(Arc<Mutex<io::Result<CaptureFile>>>);

impl std::fmt::Debug for Sink {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Sink")
    }
}

impl Captures {
    /// Starts the files, which replace those that are there.
    ///
    /// # Errors
    /// If one cannot be written.
    ///
    /// # Panics
    /// If the network has no such port.
    pub fn create(graph: &Graph, wanted: Vec<Wanted>) -> Result<Captures, Error> {
        let links = ports(graph);
        let one = |(path, wanted): Wanted| {
            let names = wanted.iter().map(|(name, ..)| name.as_str());
            let file = CaptureFile::create(&path, names).map_err(|error| unwritten(&path, &error))?;
            let end = |(_, node, port): &(String, u32, PortId)| {
                let (node, link) = (*node as usize, links[*node as usize][usize::from(*port)]);
                (node, *port, link, graph.links[link].b == node)
            };
            Ok(OneFile { ports: wanted.iter().map(end).collect(), sink: Sink(Arc::new(Mutex::new(Ok(file)))), path })
        };
        wanted.into_iter().map(one).collect::<Result<_, _>>().map(Captures)
    }

    /// Taps of the captured ports. `ways` names the directions of the link into a port of a node, and out of it; `None`:
    /// the port is in another part of the network. Without captures there are none.
    pub(crate) fn taps(&self, ways: impl Fn(usize, PortId) -> Option<[u32; 2]>) -> Option<Taps> {
        let mut taps = Taps::default();
        for OneFile { ports, sink, .. } in &self.0 {
            for (&(node, port, link, b), interface) in ports.iter().zip(0..) {
                let Some([into, out]) = ways(node, port) else { continue };
                let tap = |way, from_b| Tap { sink: sink.clone(), interface, way, source: port_address(link, from_b) };
                at(&mut taps.arrive, into).push(tap(Way::In, !b));
                at(&mut taps.leave, out).push(tap(Way::Out, b));
            }
        }
        (!self.0.is_empty()).then_some(taps)
    }

    /// Ends all captures.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(|one| {
            let Ok(mut sink) = one.sink.0.lock() else { return Ok(()) };
            let flushed = match &mut *sink {
                Ok(file) => file.flush(),
                Err(error) => return Err(unwritten(&one.path, error)),
            };
            flushed.map_err(|error| unwritten(&one.path, &error))
        })
    }
}

fn unwritten(path: &std::path::Path, error: &io::Error) -> Error {
    Error::whole(format!("{}: cannot be written: {error}", path.display()))
}

fn at(lists: &mut Vec<Vec<Tap>>, way: u32) -> &mut Vec<Tap> {
    let way = way as usize;
    lists.resize_with(lists.len().max(way + 1), Vec::new);
    &mut lists[way]
}

/// Observer of the packets at captured ports.
#[derive(Default)]
pub(crate) struct Taps {
    /// `[direction of a link]`: taps of the port that sends, and of the one that receives.
    leave: Vec<Vec<Tap>>,
    arrive: Vec<Vec<Tap>>,
}

struct Tap {
    sink: Sink,
    interface: u32,
    way: Way,
    source: Address,
}

impl Taps {
    /// Sees a packet that leaves by a link.
    pub(crate) fn leaves(&self, now: Instant, link: u32, packet: &Packet, slab: &Slab) {
        self.leave.get(link as usize).into_iter().flatten().for_each(|tap| tap.see(now, packet, slab));
    }

    /// Sees a packet that arrives on a link.
    pub(crate) fn arrives(&self, now: Instant, link: u32, packet: &Packet, slab: &Slab) {
        self.arrive.get(link as usize).into_iter().flatten().for_each(|tap| tap.see(now, packet, slab));
    }
}

impl Tap {
    fn see(&self, now: Instant, packet: &Packet, slab: &Slab) {
        let Ok(mut sink) = self.sink.0.lock() else { return };
        let Ok(file) = &mut *sink else { return };
        let place = Place { at: now, port: self.interface, way: self.way, source: self.source };
        // A control frame owns no frame: in the place of a handle it has a part of what it says.
        let handle = Handle::of(packet).filter(|_| packet.kind != Kind::Control);
        let added = file.add(|capture| match handle {
            Some(handle) => capture.frame(place, packet, slab.bytes(&handle)),
            None => capture.packet(place, packet),
        });
        if let Err(error) = added {
            *sink = Err(error);
        }
    }
}
