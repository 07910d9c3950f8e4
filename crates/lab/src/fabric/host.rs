//! A host of the fabric: the simulator's NIC, whose flows are queues of frames that programs send.

use crate::fabric::agenda::{Event, Place};
use crate::fabric::links::{Alarm, Port, Shared, lose};
use crate::frames::{Frames, Waiting};
use crate::ip::{FiveTuple, Seen};
use crate::slab::Handle;
use backwater_counters::link_meter::{FlowsHeld, LinkCount};
use backwater_counters::stats::{Drops, PauseStats, PortStats};
use backwater_fabric::HostPlan;
use backwater_nic::{Context, Flow, Flows, NewFlow, Nic, NicParams};
use backwater_transport::{Sender, Source};
use backwater_types::{DropReason, Duration, Instant, Kind, Packet, flags};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Frames of one flow that may wait in its NIC. A program that sends more loses them, as at a socket's buffer.
const FLOW_ROOM: usize = 8_192;

/// Time after which a flow that sends nothing has ended. Its queue in the NIC and its number are then free.
const IDLE: Duration = Duration::from_us(10_000);

/// A frame of a program, ready for the NIC.
#[derive(Debug)]
pub(super) struct Entry {
    /// The frame.
    pub(super) handle: Handle,
    /// Fields of its headers.
    pub(super) seen: Seen,
    /// Destination host.
    pub(super) dst: u16,
    /// Bytes on the wire.
    pub(super) wire: u16,
    /// Traffic class.
    pub(super) class: u8,
}

/// A host.
pub(super) struct HostNode<N: Nic<Frames>> {
    id: u32,
    nic: N,
    port: Port,
    flows: Flows<Frames, N::Flow>,
    /// Slot of each flow that has sent.
    names: FxHashMap<FiveTuple, u32>,
    /// Earliest time at which idle flows are looked for again.
    next_sweep: Instant,
    entries: VecDeque<(Place, Entry)>,
    alarm: Alarm,
    changes: VecDeque<Instant>,
    held: PauseStats,
    /// Flows that the switch pauses; `None` unless pauses name flows and the scenario samples links.
    flows_held: Option<FlowsHeld>,
    drops: Drops,
    dropped: u64,
}

/// State that hosts share.
pub(super) struct HostsShared {
    /// Parameters of all NICs.
    pub(super) params: NicParams<()>,
    /// Number of the next flow. Numbers are not reused.
    pub(super) next_flow: u32,
    /// Seed of the flows' hashes.
    pub(super) seed: u64,
    /// Number and hash of flows that have them already.
    pub(super) named: FxHashMap<FiveTuple, (u32, u32)>,
    /// Whether pure ACKs go before data.
    pub(super) acks_first: bool,
}

impl<N: Nic<Frames>> HostNode<N> {
    /// Creates host number `id` of a plan, with a record of the flows that its switch pauses, where it is asked for.
    pub(super) fn new(id: u32, plan: HostPlan, flows_held: Option<FlowsHeld>, shared: &mut Shared) -> HostNode<N> {
        let mut alarm = Alarm::default();
        alarm.set(plan.changes.front().copied().unwrap_or(Instant::NEVER), id, &mut shared.agenda);
        HostNode {
            id,
            nic: N::new(plan.nic),
            port: Port::new(plan.port),
            flows: Flows::default(),
            names: FxHashMap::default(),
            next_sweep: Instant::ZERO,
            entries: VecDeque::new(),
            alarm,
            changes: plan.changes,
            held: PauseStats::default(),
            flows_held,
            drops: Drops::default(),
            dropped: 0,
        }
    }

    /// Directions of the host's link into it, and out of it.
    pub(super) fn ways(&self) -> [u32; 2] {
        self.port.ways()
    }

    /// The link into this host.
    pub(super) fn link_in(&self) -> u32 {
        self.port.link_in
    }

    /// Queues a frame that a program sent at `at`, when it enters the NIC. It does not overtake earlier ones.
    pub(super) fn queue(&mut self, at: Instant, entry: Entry, shared: &mut Shared) {
        let place = shared.agenda.place(self.entries.back().map_or(at, |(last, _)| last.at().max(at)));
        if self.entries.is_empty() {
            shared.agenda.push_at(place, Event::Enter(self.id));
        }
        self.entries.push_back((place, entry));
    }

    /// Lets the next frame enter the NIC.
    pub(super) fn enter(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) {
        let Some((_, Entry { handle, seen, dst, wire, class })) = self.entries.pop_front() else { return };
        if let Some((place, _)) = self.entries.front() {
            shared.agenda.push_at(*place, Event::Enter(self.id));
        }
        let slot = self.slot(now, &seen.flow, dst, class, hosts, shared);
        let flags = if seen.ect { flags::ECT } else { 0 }
            | if seen.ce { flags::CE } else { 0 }
            | if seen.last { flags::LAST } else { 0 };
        let flow = &mut self.flows[slot];
        let Source::Flow(frames) = &mut flow.source else { return };
        frames.touch(now);
        let packet = Packet {
            flow: flow.id,
            key: frames.key(),
            sender_slot: slot,
            receiver_slot: handle.word(),
            dst,
            src: self.id as u16,
            wire,
            class,
            kind: if seen.pure_ack && hosts.acks_first { Kind::Ack } else { Kind::Data },
            flags,
            ..Packet::NONE
        };
        if packet.kind == Kind::Ack {
            self.nic.reply(&hosts.params, packet.into());
        } else if frames.len() < FLOW_ROOM {
            frames.push(Waiting { handle, wire, flags });
            self.at_nic(now, hosts, shared, |nic, cx| nic.offer(cx, slot));
        } else {
            self.dropped += 1;
            return lose(&packet, DropReason::Nic, &mut shared.slab, &mut self.drops);
        }
        self.poll_port(now, hosts, shared);
    }

    /// Finds the slot of a flow, or gives it one.
    fn slot(
        &mut self,
        now: Instant,
        five: &FiveTuple,
        dst: u16,
        class: u8,
        hosts: &mut HostsShared,
        shared: &mut Shared,
    ) -> u32 {
        if let Some(slot) = self.names.get(five) {
            return *slot;
        }
        self.end_idle_flows(now, hosts, shared);
        let (id, key) = hosts.named.get(five).copied().unwrap_or_else(|| {
            let id = hosts.next_flow;
            hosts.next_flow = hosts.next_flow.wrapping_add(1);
            (id, five.key(hosts.seed))
        });
        let source = Source::Flow(Frames::new(key, class));
        let new = NewFlow { id, dst, size: u64::MAX, receiver_slot: Packet::NO_FRAME, class: 0 };
        let slot = self.flows.add(Flow::new(source, new));
        self.names.insert(*five, slot);
        slot
    }

    /// Ends the flows that have been idle for long. A new flow asks for it, at most twice in that time.
    fn end_idle_flows(&mut self, now: Instant, hosts: &HostsShared, shared: &mut Shared) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + Duration(IDLE.0 / 2);
        let since = Instant(now.0.saturating_sub(IDLE.0));
        let flows = &mut self.flows;
        let mut ends = |slot: u32| match &mut flows[slot].source {
            Source::Flow(frames) => frames.close_if_idle(since),
            Source::Datagrams(_) => false,
        };
        let ended: Vec<u32> = self.names.extract_if(|_, slot| ends(*slot)).map(|(_, slot)| slot).collect();
        for slot in ended {
            self.at_nic(now, hosts, shared, |nic, cx| nic.done(cx, slot));
        }
    }

    /// Handles the arrival of the next packet on the link: obeys a control frame, and returns any other packet.
    pub(super) fn arrive(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) -> Option<Packet> {
        let packet = shared.take(now, self.port.link_in, (self.id, 0))?;
        shared.packet_hops += 1;
        let Some(frame) = packet.control() else { return Some(packet) };
        self.held.on_control(now, frame);
        if let Some(flows) = &mut self.flows_held {
            flows.on_control(now, frame);
        }
        self.at_nic(now, hosts, shared, |nic, cx| nic.on_control(cx, frame));
        self.poll_port(now, hosts, shared);
        None
    }

    /// Polls the port, because a transmission was to end.
    pub(super) fn poll(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) {
        if self.port.take_poll(now) {
            self.poll_port(now, hosts, shared);
        }
    }

    /// Handles the expiry of the timer.
    pub(super) fn timer(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) {
        if !self.alarm.take(now) {
            return;
        }
        while self.changes.pop_front_if(|at| *at <= now).is_some() {
            self.release(now, hosts, shared);
        }
        self.at_nic(now, hosts, shared, |nic, cx| nic.on_timer(cx));
        let next = self.nic.next_timer().min(self.changes.front().copied().unwrap_or(Instant::NEVER));
        self.alarm.set(next, self.id, &mut shared.agenda);
        self.poll_port(now, hosts, shared);
    }

    /// Forgets all pauses by the switch, which has started again.
    pub(super) fn neighbour_started(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) {
        self.release(now, hosts, shared);
        self.poll_port(now, hosts, shared);
    }

    /// Ends all pauses.
    fn release(&mut self, now: Instant, hosts: &HostsShared, shared: &mut Shared) {
        self.held.on_link_change(now);
        if let Some(flows) = &mut self.flows_held {
            flows.on_link_change(now);
        }
        self.at_nic(now, hosts, shared, |nic, cx| nic.release(cx));
    }

    /// Passes an event to the NIC, and sets the alarm if the NIC asks for an earlier one.
    fn at_nic<R>(
        &mut self,
        now: Instant,
        hosts: &HostsShared,
        shared: &mut Shared,
        event: impl FnOnce(&mut N, &mut Context<Frames, N::Flow>) -> R,
    ) -> R {
        let mut cx = Context {
            now,
            busy_until: self.port.busy_until,
            ser: self.port.wire().ser,
            host: self.id as u16,
            params: &hosts.params,
            flows: &mut self.flows,
            wake: Instant::NEVER,
        };
        let result = event(&mut self.nic, &mut cx);
        let wake = cx.wake.min(self.alarm.at());
        self.alarm.set(wake, self.id, &mut shared.agenda);
        result
    }

    /// Sends if the link is free, else polls again when it is.
    fn poll_port(&mut self, now: Instant, hosts: &mut HostsShared, shared: &mut Shared) {
        let name = (self.id, 0);
        if self.port.busy_until > now {
            if self.nic.sendable() {
                self.port.poll_at(self.port.busy_until, name, &mut shared.agenda);
            }
            return;
        }
        let packet = match self.nic.next_reply(&hosts.params) {
            Some(reply) => reply.packet,
            None => {
                let Some(data) = self.at_nic(now, hosts, shared, |nic, cx| nic.next_data(cx)) else { return };
                let Source::Flow(frames) = &mut self.flows[data.sender_slot].source else { return };
                let handle = frames.take().map_or(Packet::NO_FRAME, |handle| handle.word());
                Packet { receiver_slot: handle, ..data.packet }
            }
        };
        let free_at = self.port.send(now, &packet, shared, &mut self.drops);
        let again = if self.nic.sendable() { free_at } else { Instant::NEVER };
        self.port.poll_at(again, name, &mut shared.agenda);
    }

    /// Returns the counters of the port up to `now`.
    pub(super) fn stats(&mut self, now: Instant) -> PortStats {
        self.held.settle(now);
        PortStats { sent: self.port.sent, dropped: self.dropped, held: self.held }
    }

    /// Returns the counts of the port up to `now`, for samples of links. Queued data is 0, as in the simulator, because
    /// data waits with flows, not at the port.
    pub(super) fn link_count(&mut self, now: Instant) -> LinkCount {
        let flows = self.flows_held.as_mut().map_or(0, |flows| flows.paused(now));
        LinkCount::new(&self.stats(now), 0, flows)
    }

    /// Returns the packets dropped here.
    pub(super) fn drops(&self) -> Drops {
        self.drops
    }
}
