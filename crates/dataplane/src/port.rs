//! A port of a switch, and all ports as a policy sees them.

use crate::buffer::cells::Cells;
use crate::buffer::ring::Ring;
use crate::marking::Red;
use alloc::vec::Vec;
use backwater_types::{ControlFrame, Packet, PortId};

#[derive(Clone, Debug)]
pub(crate) struct Port<Q> {
    pub(crate) queues: Q,
    pub(crate) control: Ring<Packet>,
    pub(crate) acks: Ring<Packet>,
    /// Its MMU.
    pub(crate) mmu: u8,
    pub(crate) red: Red,
}

impl<Q> Port<Q> {
    pub(crate) fn queue_frame(&mut self, frame: ControlFrame, pfc_frame: u16) {
        let pfc = matches!(frame, ControlFrame::PfcPause(_) | ControlFrame::PfcResume(_));
        let mut packet = Packet::from(frame);
        packet.wire = if pfc { pfc_frame } else { packet.wire };
        self.control.push_back(packet);
    }
}

/// The ports of a switch, as a policy sees them outside the path of packets.
pub struct Ports<'a, Q> {
    pub(crate) ports: &'a mut [Port<Q>],
    pub(crate) cells: &'a mut Cells,
    pub(crate) pfc_frame: u16,
    /// Ports that may have something to send now.
    pub(crate) kicked: &'a mut Vec<PortId>,
}

impl<Q> Ports<'_, Q> {
    /// Sends a frame out of `port`.
    pub fn send(&mut self, port: PortId, frame: ControlFrame) {
        self.ports[port as usize].queue_frame(frame, self.pfc_frame);
        self.kicked.push(port);
    }

    /// The queues of `port`, of which some may be opened, and the cells they are made of.
    pub fn open(&mut self, port: PortId) -> (&mut Q, &mut Cells) {
        self.kicked.push(port);
        (&mut self.ports[port as usize].queues, self.cells)
    }
}
