//! Flows to explain, and their packets to follow.

use crate::record::asked::Asked;
use crate::record::label::Label;
use backwater_scenario::Scenario;
use backwater_scenario::model::{LossRecovery, Transport};
use backwater_types::{Instant, Kind, Packet, flags};

/// Flows to explain. Only packets that may complete their flow are followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    asked: Asked,
    /// `[rank of the flow among those asked for]`: completion time at the receiver.
    finish: Vec<Instant>,
    /// Whether receivers take packets in order, so that only a flow's last packet completes it.
    in_order: bool,
    /// Flags by which a packet is known to be followed.
    completes: u8,
}

impl Followed {
    /// Builds the set of these flows, each with its completion time at the receiver.
    pub(super) fn new(flows: &[(u32, Instant)], asked: Asked, scenario: &Scenario) -> Followed {
        let mut finish = vec![Instant::NEVER; asked.count()];
        flows.iter().for_each(|(flow, at)| finish[asked.rank(*flow)] = *at);
        let any_order = matches!(scenario.host.transport, Transport::Tcp | Transport::Homa);
        let in_order = !any_order && scenario.host.recovery != LossRecovery::Selective;
        let completes = flags::FOLLOWED | if in_order { flags::LAST } else { 0 };
        Followed { asked, finish, in_order, completes }
    }

    /// Whether this flow is to be explained.
    #[inline(always)]
    pub(super) fn has(&self, flow: u32) -> bool {
        self.asked.has(flow)
    }

    /// Whether this packet is followed.
    #[inline(always)]
    pub(super) fn follows(&self, packet: &Packet) -> bool {
        let asked = || packet.kind == Kind::Data && self.asked.has(packet.flow);
        debug_assert_eq!(packet.has(flags::FOLLOWED), asked(), "{packet:?}");
        packet.has(self.completes)
    }

    /// Whether this packet of a flow to explain is followed.
    pub(super) fn may_complete(&self, packet: Label) -> bool {
        packet.data && (!self.in_order || packet.last)
    }

    /// Whether the packet of this flow that reaches its receiver at `now` completes the flow.
    pub(super) fn completes(&self, flow: u32, now: Instant) -> bool {
        self.finish[self.asked.rank(flow)] == now
    }
}
