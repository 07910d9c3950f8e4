//! Observer that logs the events which tests of exact times compare.

use backwater_dataplane::Departed;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_types::{ControlFrame, DropReason, Instant, Kind, Packet, PortId};

/// Events in order, with times in ps.
#[derive(Default)]
pub struct Log {
    /// Data packets put on the wire by hosts: time, host, flow, sequence number.
    pub host_sent: Vec<(u64, usize, u32, u32)>,
    /// Packets enqueued by switches: time, switch, flow, sequence number.
    pub enqueued: Vec<(u64, usize, u32, u32)>,
    /// Data packets put on the wire by switches: time, switch, port, flow, sequence number.
    pub departed: Vec<(u64, usize, PortId, u32, u32)>,
    /// Control frames put on the wire: time, switch, port.
    pub frames_sent: Vec<(u64, usize, PortId, ControlFrame)>,
    /// Control frames received: time, node, port.
    pub frames_received: Vec<(u64, usize, PortId, ControlFrame)>,
    /// Packets dropped: time, node, flow, reason.
    pub dropped: Vec<(u64, usize, u32, DropReason)>,
    /// Packets that reached their host: time, host, kind, sequence number.
    pub received: Vec<(u64, usize, Kind, u32)>,
}

impl Observer for Log {
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        if packet.kind == Kind::Data {
            self.host_sent.push((now.0, host, packet.flow, packet.seq));
        }
    }

    fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        self.received.push((now.0, host, packet.kind, packet.seq));
    }

    fn enqueued(&mut self, now: Instant, switch: usize, _joined: Joined, packet: &Packet, _last: &Transmission) {
        self.enqueued.push((now.0, switch, packet.flow, packet.seq));
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        if let Some(frame) = packet.control() {
            self.frames_sent.push((now.0, switch, port, frame));
        } else if sent.queue.is_some() {
            self.departed.push((now.0, switch, port, packet.flow, packet.seq));
        }
    }

    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        self.dropped.push((now.0, node, packet.flow, reason));
    }

    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        self.frames_received.push((now.0, node, port, frame));
    }
}
