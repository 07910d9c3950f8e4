//! A port of a switch, and all ports as a policy sees them.

use crate::buffer::cells::Cells;
use crate::buffer::ring::Ring;
use crate::marking::Red;
use crate::queues::Queues;
use alloc::vec::Vec;
use backwater_types::{ControlFrame, Effect, Extension, Frame, Instant, Kind, Packet, PortId, Target};

/// A port, from the start of a cache line on.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Port<Q, E: Extension> {
    pub(crate) queues: Q,
    pub(crate) control: Ring<Frame<E>>,
    pub(crate) acks: Ring<Frame<E>>,
    /// Its MMU.
    pub(crate) mmu: u8,
    pub(crate) red: Red,
    /// What is kept for packets that carry telemetry.
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
    /// A packet that no queue holds any more takes the link.
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

/// The ports of a switch, as a policy sees them outside the path of packets.
pub struct Ports<'a, Q, E: Extension> {
    pub(crate) ports: &'a mut [Port<Q, E>],
    pub(crate) cells: &'a mut Cells<E>,
    pub(crate) pfc_frame: u16,
    /// Ports that may have something to send now.
    pub(crate) to_poll: &'a mut Vec<PortId>,
}

impl<Q, E: Extension> Ports<'_, Q, E> {
    /// Sends a frame out of `port`.
    pub fn send(&mut self, port: PortId, frame: ControlFrame) {
        self.ports[port as usize].queue_frame(frame, self.pfc_frame);
        self.to_poll.push(port);
    }

    /// The queues of `port`, of which some may be opened, and the cells they are made of.
    pub fn open(&mut self, port: PortId) -> (&mut Q, &mut Cells<E>) {
        self.to_poll.push(port);
        (&mut self.ports[port as usize].queues, self.cells)
    }
}
