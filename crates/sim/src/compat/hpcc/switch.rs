//! A switch whose events come one by one in the order of the whole network (see [`crate::compat::hpcc::in_order`]).
//!
//! A port is taken until the end of its transmission has come up as an event of its own: what arrives at the same instant but
//! was scheduled earlier still finds it taken, and is counted in the queue when the next packet is marked.

use crate::compat::hpcc::wheel::{Event, What};
use crate::net::link::Fabric;
use crate::net::switch_node::SwitchNode;
use crate::observe::Observer;
use backwater_dataplane::{DataPlane, Departed};
use backwater_types::{Instant, Kind, Packet, PortId};

impl<D: DataPlane> SwitchNode<D> {
    /// A frame has arrived by `ingress`.
    #[inline]
    pub fn arrived<O: Observer>(
        &mut self,
        now: Instant,
        ingress: PortId,
        packet: Packet,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        fabric.packet_hops += 1;
        if packet.kind == Kind::Control {
            self.obey(now, ingress, &packet, observer);
            self.serve(now, ingress, fabric, observer);
            return observer.settled(now, self.id, &|| self.plane.readings().audit());
        }
        let Some(egress) = self.route(now, &packet, observer) else { return };
        let as_data = self.plane.queues_as_data(packet.kind);
        let idle = !self.ports[egress as usize].sending && self.meters.is_none();
        if idle && let Some(queue) = self.plane.pass(now, &packet, ingress, egress) {
            if as_data {
                observer.enqueued(now, self.id, egress, &packet);
            }
            let p = &mut self.ports[egress as usize];
            let free_at = p.depart(now, &packet, queue, fabric, &mut self.drops, self.id, observer);
            p.sending = true;
            fabric.schedule(free_at, Event::new(What::Free, self.id as u32, egress));
            let departed = Departed { queue: as_data.then_some(queue), control_on: None, entered: now };
            observer.departed(now, self.id, egress, &packet, &departed);
            return observer.settled(now, self.id, &|| self.plane.readings().audit());
        }
        let received = self.plane.receive(now, &packet, ingress, egress);
        if let Some(reason) = received.dropped {
            return self.drop_packet(now, egress, &packet, reason, observer);
        }
        if as_data {
            observer.enqueued(now, self.id, egress, &packet);
            if let Some(meters) = &mut self.meters {
                meters.enter(egress, &packet);
            }
        }
        if let Some(port) = received.control_on {
            self.serve(now, port, fabric, observer);
        }
        self.serve(now, egress, fabric, observer);
        observer.settled(now, self.id, &|| self.plane.readings().audit());
    }

    /// `port` has finished its transmission.
    #[inline]
    pub fn freed<O: Observer>(&mut self, now: Instant, port: PortId, fabric: &mut Fabric, observer: &mut O) {
        self.ports[port as usize].sending = false;
        self.serve(now, port, fabric, observer);
        observer.settled(now, self.id, &|| self.plane.readings().audit());
    }

    /// Links of this switch change.
    pub fn changed<O: Observer>(&mut self, now: Instant, fabric: &mut Fabric, observer: &mut O) {
        let mut touched = std::mem::take(&mut self.kicked);
        self.apply_changes(now, &mut touched, observer);
        for port in touched.drain(..) {
            self.serve(now, port, fabric, observer);
        }
        self.kicked = touched;
    }

    /// When its links change, ascending.
    pub fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().map(|change| change.at)
    }

    /// Sends the next frame of `port`, if it is free and one may go, and then a control frame that causes.
    fn serve<O: Observer>(&mut self, now: Instant, port: PortId, fabric: &mut Fabric, observer: &mut O) {
        let mut next = Some(port);
        while let Some(port) = next.take_if(|port| !self.ports[*port as usize].sending) {
            let (free_at, control_on) = self.transmit_next(now, port, fabric, observer);
            if let Some(at) = free_at {
                self.ports[port as usize].sending = true;
                fabric.schedule(at, Event::new(What::Free, self.id as u32, port));
            }
            next = control_on;
        }
    }
}
