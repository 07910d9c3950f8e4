//! Ports of a switch, and the view of them that a policy has.

use crate::buffer::cells::Cells;
use crate::buffer::ring::Ring;
use crate::marking::Red;
use crate::queues::Queues;
use alloc::vec::Vec;
use backwater_types::{ControlFrame, Effect, Extension, Frame, Instant, Kind, Packet, PortId, Target};

/// State of one port, aligned to a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Port<Q, E: Extension> {
    pub(crate) queues: Q,
    pub(crate) control: Ring<Frame<E>>,
    pub(crate) acks: Ring<Frame<E>>,
    /// MMU of the port.
    pub(crate) mmu: u8,
    pub(crate) red: Red,
    /// Port state for packets with telemetry.
    pub(crate) telemetry: E::Port,
}

impl<Q, E: Extension> Port<Q, E> {
    pub(crate) fn queue_frame(&mut self, frame: ControlFrame, pfc_frame: u16) {
        let pfc = matches!(frame.effect(), Effect::Set { target: Target::Class(_), .. });
        let mut packet = Packet::from(frame);
        packet.wire = if pfc { pfc_frame } else { packet.wire };
        self.control.push_back(packet.into());
    }
}

impl<Q: Queues, E: Extension> Port<Q, E> {
    /// Writes telemetry into a packet that leaves its queue for the link.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, now: Instant, frame: &mut Frame<E>) {
        if E::STAMPED && frame.kind == Kind::Data {
            let waiting = |frames: &Ring<Frame<E>>| frames.iter().map(|frame| frame.wire as u64).sum::<u64>();
            let queued = self.queues.all_bytes() + waiting(&self.acks) + waiting(&self.control);
            frame.extension.stamp(&mut self.telemetry, now, queued);
        }
        E::sent(&mut self.telemetry, now, frame.wire);
    }
}

/// Ports of a switch, as a policy accesses them in timers and link changes.
pub struct Ports<'a, Q, E: Extension> {
    pub(crate) ports: &'a mut [Port<Q, E>],
    pub(crate) cells: &'a mut Cells<E>,
    pub(crate) pfc_frame: u16,
    /// Ports that may have something to send now.
    pub(crate) to_poll: &'a mut Vec<PortId>,
}

impl<Q, E: Extension> Ports<'_, Q, E> {
    /// Sends `frame` out of `port`.
    pub fn send(&mut self, port: PortId, frame: ControlFrame) {
        self.ports[port as usize].queue_frame(frame, self.pfc_frame);
        self.to_poll.push(port);
    }

    /// Queues of `port`, some of which the caller may open, and their cells.
    pub fn open(&mut self, port: PortId) -> (&mut Q, &mut Cells<E>) {
        self.to_poll.push(port);
        (&mut self.ports[port as usize].queues, self.cells)
    }
}
