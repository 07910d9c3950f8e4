//! Captures of ports of a fabric, as pcapng files.
//!
//! A frame leaves a port when its first bit does, and arrives when its last bit does, in time of the network. The file
//! has it as `backwater-wire` does, around the frame of its host. Between processes, what arrives is in the file as it
//! came, whether or not it is a valid frame.

use crate::slab::{Handle, Slab};
use backwater_capture::{Capture, CaptureFile, Place, Way, port_address};
use backwater_fabric::ports;
use backwater_replay::Error;
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, Kind, Packet, PortId};
use backwater_wire::Address;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Ports to capture into one file: name, node in the graph, and port of the node.
pub type Wanted = (PathBuf, Vec<(String, u32, PortId)>);

/// Captures of some ports of a network, in files. Copies write the same files.
#[derive(Clone, Debug, Default)]
pub struct Captures(Vec<OneFile>);

#[derive(Clone, Debug)]
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
        Captures::open(graph, wanted, |path, names| CaptureFile::create(path, names.iter().copied()))
    }

    /// Goes on with files that were started with the same ports, behind their last whole frames.
    ///
    /// # Errors
    /// If one cannot be written.
    ///
    /// # Panics
    /// As [`Captures::create`].
    pub fn append(graph: &Graph, wanted: Vec<Wanted>) -> Result<Captures, Error> {
        Captures::open(graph, wanted, |path, names| CaptureFile::append(path, names.iter().copied()))
    }

    fn open(
        graph: &Graph,
        wanted: Vec<Wanted>,
        open: impl Fn(&Path, &[&str]) -> io::Result<CaptureFile>,
    ) -> Result<Captures, Error> {
        let links = ports(graph);
        let one = |(path, wanted): Wanted| {
            let names: Vec<&str> = wanted.iter().map(|(name, ..)| name.as_str()).collect();
            let file = open(&path, &names).map_err(|error| unwritten(&path, &error))?;
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

    /// Writes the frames that wait in memory.
    ///
    /// # Errors
    /// The first error in writing. A file has nothing that came after it.
    pub fn flush(&self) -> Result<(), Error> {
        let one = |one: &OneFile| {
            let Ok(mut sink) = one.sink.0.lock() else { return Ok(()) };
            if let Ok(file) = &mut *sink
                && let Err(error) = file.flush()
            {
                *sink = Err(error);
            }
            sink.as_ref().map_or_else(|error| Err(unwritten(&one.path, error)), |_| Ok(()))
        };
        // All of them, also after an error.
        self.0.iter().map(one).fold(Ok(()), Result::and)
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
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
    /// The same of ports that receive from other processes. They see bytes in place of packets.
    come: Vec<Vec<Tap>>,
    /// Frames between processes that are not in the files yet, in the order of time.
    crossing: VecDeque<Crossing>,
}

/// A frame between processes, at a port.
struct Crossing {
    at: Instant,
    way: Way,
    link: u32,
    bytes: Vec<u8>,
}

struct Tap {
    sink: Sink,
    interface: u32,
    way: Way,
    source: Address,
}

impl Taps {
    /// Lets the port at which a link ends see the bytes that come from another process. The packets that arrive by it are
    /// not all that crosses it, and some of them never did: those by which a watchdog ends a pause.
    pub(crate) fn comes_from_outside(&mut self, link: u32) {
        let taps = std::mem::take(at(&mut self.arrive, link));
        *at(&mut self.come, link) = taps;
    }

    /// Sees a packet that leaves by a link.
    pub(crate) fn leaves(&mut self, now: Instant, link: u32, packet: &Packet, slab: &Slab) {
        self.settle(now);
        of(&self.leave, link).for_each(|tap| tap.see(now, packet, slab));
    }

    /// Sees a packet that arrives on a link.
    pub(crate) fn arrives(&mut self, now: Instant, link: u32, packet: &Packet, slab: &Slab) {
        self.settle(now);
        of(&self.arrive, link).for_each(|tap| tap.see(now, packet, slab));
    }

    /// Sees the bytes of a frame that crosses a port on the way from another process, or to it without being a packet.
    pub(crate) fn crosses(&mut self, at: Instant, way: Way, link: u32, bytes: &[u8]) {
        let taps = if way == Way::In { &self.come } else { &self.leave };
        if of(taps, link).next().is_some() {
            let place = self.crossing.partition_point(|one| one.at <= at);
            self.crossing.insert(place, Crossing { at, way, link, bytes: bytes.to_vec() });
        }
    }

    /// Writes the frames between processes up to `now`.
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(Crossing { at, way, link, bytes }) = self.crossing.pop_front_if(|one| one.at <= now) {
            let taps = if way == Way::In { &self.come } else { &self.leave };
            of(taps, link).for_each(|tap| tap.add(at, |capture, place| capture.bytes(place, &bytes)));
        }
    }
}

fn of(lists: &[Vec<Tap>], link: u32) -> impl Iterator<Item = &Tap> {
    lists.get(link as usize).into_iter().flatten()
}

impl Tap {
    fn see(&self, now: Instant, packet: &Packet, slab: &Slab) {
        // A control frame owns no frame: in the place of a handle it has a part of what it says.
        let handle = Handle::of(packet).filter(|_| packet.kind != Kind::Control);
        self.add(now, |capture, place| match handle {
            Some(handle) => capture.frame(place, packet, slab.bytes(&handle)),
            None => capture.packet(place, packet),
        });
    }

    fn add(&self, at: Instant, write: impl FnOnce(&mut Capture<Vec<u8>>, Place) -> io::Result<()>) {
        let Ok(mut sink) = self.sink.0.lock() else { return };
        let Ok(file) = &mut *sink else { return };
        let place = Place { at, port: self.interface, way: self.way, source: self.source };
        if let Err(error) = file.add(|capture| write(capture, place)) {
            *sink = Err(error);
        }
    }
}
