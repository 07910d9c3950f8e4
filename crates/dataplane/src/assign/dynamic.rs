//! BFC's dynamic assignment.

use crate::assign::Assignment;
use crate::backpressure::BfcParams;
use crate::canonical::Canonical;
use crate::hardware::pipeline_of;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::queues::PausableQueues;
use crate::queues::bits::Bits;
use crate::queues::groups::Members;
use crate::queues::numbered::Numbered;
use crate::shape::Shape;
use crate::ticks::{age, ticks};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::hash::{self, Stream};
use backwater_types::{Duration, Instant, Packet, PortId, QueueId, flags};
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::Add;

/// BFC's dynamic assignment: an empty queue for each newly active flow, kept while the flow is active.
///
/// Source: spec A.1, A.3, A.4, BFC section 3.3. A hash maps a flow to an entry of a table with a few entries per queue;
/// flows that share an entry share a queue.
///
/// Each priority class of a port is assigned separately (spec B, "Priority classes"). A class has queues of its own and
/// an equal share of the table entries, because flows of two classes that shared an entry would share a queue. With
/// [`BfcParams::shared_queues`] a class has one queue of its own, and any other empty queue goes to the class that
/// needs it.
///
/// Each ingress pipeline of a chip is assigned separately too (spec B.1). Packets of a pipeline use its own part of the
/// table. A pipeline with a copy of the map of empty queues does not reuse queues that it has assigned since the copy
/// was last renewed.
#[derive(Clone, Debug)]
pub struct Dynamic<const W: usize, Q = PausableQueues<W>> {
    /// Flow-table entries for each class of a port.
    entries: u32,
    /// Ignore whether an empty queue is paused (BFC-A9).
    literal_empty: bool,
    /// Leave an empty queue alone while its last flow may return (BFC-A8).
    sticky_reserve: bool,
    /// Labelled incast flows share the first queue (spec B, incast label).
    incast_label: bool,
    /// A flow that finds no empty queue shares the queue with the most similar remaining size.
    similar: bool,
    /// Sticky time in ticks.
    sticky: u32,
    queues: usize,
    salt: u64,
    /// `[class]`: queues of the class.
    classes: Box<[Members<W>]>,
    /// Queues that belong to no single class go to the class that needs them.
    shared: bool,
    /// Number of ingress pipelines, and `[port]`: pipeline of the port.
    pipelines: usize,
    pipeline: Vec<u8>,
    /// Classes times pipelines: parts of the table for each port.
    lanes: usize,
    /// `[port x class x pipeline x entry]`: flow table.
    table: Vec<Entry>,
    /// `[port x class x pipeline]`: assignment state.
    places: Vec<Place>,
    /// Period of the copied map of empty queues (0: no copies), and `[port x pipeline]`: queues assigned in the current
    /// period.
    map_period: u64,
    given: Vec<Given<W>>,
    over: PhantomData<Q>,
}

/// Assignment state of one class of a port in one pipeline.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Place {
    /// Start of the search for an empty queue.
    rotor: usize,
    active_flows: u32,
    assigned: Assigned,
    /// Whether a labelled packet has been seen; the first queue is then reserved for labelled packets.
    labelled: bool,
    /// `[queue]`: last departure, in ticks. Only with `sticky_reserve`.
    left: Vec<u32>,
}

/// Queues that a pipeline has assigned since its map was renewed, and the number of that period.
#[derive(Clone, Copy, Debug)]
struct Given<const W: usize> {
    period: u64,
    queues: Bits<W>,
}

/// A flow-table entry of 8 bytes: eight share a cache line. On workloads of short flows the first access to a cold
/// entry is a quarter of the run time.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Time of the last enqueue or dequeue, in ticks.
    touched: u32,
    /// Packets held, 24 bits (12 MB of the smallest packets are 245 000), and the queue, 8 bits.
    size_queue: u32,
}

const _: () = assert!(size_of::<Entry>() == 8);
const NEVER: u32 = 0xff;

impl<const W: usize> Given<W> {
    fn give(&mut self, period: u64, queue: QueueId) {
        if self.period != period {
            *self = Given { period, queues: Bits::EMPTY };
        }
        self.queues.insert(queue.into());
    }
}

impl Entry {
    const UNUSED: Entry = Entry { touched: 0, size_queue: NEVER };

    #[inline(always)]
    fn size(self) -> u32 {
        self.size_queue >> 8
    }

    #[inline(always)]
    fn queue(self) -> u32 {
        self.size_queue & 0xff
    }
}

impl<const W: usize, Q: Numbered<W>> Dynamic<W, Q> {
    /// Picks the first empty and unpaused queue from the rotating start, else the first empty one, else a random one
    /// (BFC-A9, A11).
    fn pick_queue(&self, now: Instant, at: (usize, usize), given: usize, queues: &Q, rng: &mut Stream) -> QueueId {
        let (number, place) = at;
        let (class, place) = (&self.classes[number], &self.places[place]);
        let mut empty = queues.seen_empty(now).and(&class.all);
        if let Some(given) = self.given.get(given).filter(|given| given.period == now.0 / self.map_period) {
            empty = empty.minus(&given.queues);
        }
        let labelled = place.labelled && class.count > 1;
        if self.sticky_reserve {
            for q in empty.iter() {
                if ticks(now).wrapping_sub(place.left[q]) <= self.sticky && place.left[q] != 0 {
                    empty.remove(q);
                }
            }
        }
        if labelled {
            empty.remove(class.first as usize);
        }
        if !self.literal_empty
            && let Some(q) = empty.minus(&queues.closed()).next_from(place.rotor)
        {
            return q as QueueId;
        }
        match empty.next_from(place.rotor) {
            Some(q) => q as QueueId,
            None if self.shared => {
                let own = queues.of_class(number).and(&class.all);
                let nth = hash::range32(rng.next_u32(), own.count());
                own.iter().nth(nth as usize).unwrap_or(class.first.into()) as QueueId
            }
            None => {
                let kept = labelled as u16;
                class.first + kept + hash::range32(rng.next_u32(), (class.count - kept).into()) as QueueId
            }
        }
    }

    /// Returns the class of a packet that arrived by `ingress`, and the index of its place at `port`.
    #[inline(always)]
    fn place(&self, port: PortId, ingress: PortId, packet: &Packet) -> (usize, usize) {
        match self.lanes {
            1 => (0, port as usize),
            lanes => {
                let class = (packet.class as usize).min(self.classes.len() - 1);
                let pipeline = self.pipeline[ingress as usize] as usize;
                (class, port as usize * lanes + class * self.pipelines + pipeline)
            }
        }
    }

    /// Returns the class of a packet that arrived by `ingress`, the index of its place at `port`, and its table entry.
    #[inline(always)]
    fn entry(&self, packet: &Packet, ingress: PortId, port: PortId) -> (usize, usize, u32) {
        let (class, place) = self.place(port, ingress, packet);
        let slot = hash::range32(hash::salted(packet.key, self.salt), self.entries);
        (class, place, place as u32 * self.entries + slot)
    }

    /// Index into `given` for egress `port` and the pipeline of `ingress`.
    fn given_at(&self, port: PortId, ingress: PortId) -> usize {
        port as usize * self.pipelines + self.pipeline[ingress as usize] as usize
    }

    /// Index of the place at `port` that table entry `tag` belongs to.
    #[inline(always)]
    fn place_of(&self, port: PortId, tag: u32) -> usize {
        if self.lanes == 1 { port as usize } else { (tag / self.entries) as usize }
    }

    /// Places of a port.
    fn places(&self, port: PortId) -> &[Place] {
        &self.places[port as usize * self.lanes..][..self.lanes]
    }
}

impl<const W: usize, Q: Numbered<W>> Assignment for Dynamic<W, Q> {
    type Queues = Q;
    type Params = BfcParams;

    fn queues(params: &BfcParams, shape: &Shape) -> Q {
        Q::of(params.shared_queues, params.tofino.as_ref(), shape)
    }

    fn new(params: &BfcParams, shape: &Shape) -> Dynamic<W, Q> {
        let shared = params.shared_queues;
        let classes =
            if shared { Members::sharing(shape.queues, shape.groups) } else { Members::of(shape.queues, shape.groups) };
        let (ports, pipelines) = (shape.ports.len(), params.pipelines as usize);
        let lanes = classes.len() * pipelines;
        let entries = (params.table_entries_per_queue * shape.hardware_queues as u32 / lanes as u32).max(1);
        let sticky = params.sticky.unwrap_or(Duration(2 * shape.hrtt().0));
        let left = if params.sticky_reserve { vec![0; shape.queues as usize] } else { Vec::new() };
        let place = Place { rotor: 0, active_flows: 0, assigned: Assigned::default(), labelled: false, left };
        // The start differs by pipeline, so that two pipelines with copies of a map do not pick the same queue first.
        let rotor = |place: usize| place % pipelines * shape.queues as usize / pipelines;
        let places = (0..ports * lanes).map(|at| Place { rotor: rotor(at), ..place.clone() }).collect::<Vec<_>>();
        let map_period = params.tofino.as_ref().map_or(0, |tofino| tofino.bitmap_period.0);
        let given = vec![Given { period: 0, queues: Bits::EMPTY }; if map_period > 0 { ports * pipelines } else { 0 }];
        Dynamic {
            entries,
            literal_empty: params.literal_empty,
            sticky_reserve: params.sticky_reserve,
            incast_label: params.incast_label,
            similar: params.similar,
            sticky: (sticky.0 >> 10) as u32,
            queues: shape.queues as usize,
            // The salt differs from that of the routing hash, on whose value all flows at one egress agree.
            salt: hash::mix64(shape.salt ^ 0x666c_6f77),
            classes,
            shared,
            pipelines,
            pipeline: (0..ports).map(|port| pipeline_of(port, ports, pipelines) as u8).collect(),
            lanes,
            map_period,
            given,
            table: vec![Entry::UNUSED; entries as usize * places.len()],
            places,
            over: PhantomData,
        }
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        let (_, _, tag) = self.entry(packet, ingress, port);
        self.table[tag as usize].size_queue
    }

    #[inline(always)]
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Q,
        rng: &mut Stream,
    ) -> Choice {
        let (class, place, tag) = self.entry(packet, ingress, port);
        if self.incast_label && packet.has(flags::INCAST) {
            return Choice { queue: self.classes[class].first, tag, fresh: false };
        }
        let entry = self.table[tag as usize];
        let known = entry.queue() != NEVER;
        let sticks =
            || ticks(now).wrapping_sub(entry.touched) <= self.sticky && queues.takes(entry.queue() as QueueId, class);
        if known && (entry.size() > 0 || sticks()) {
            return Choice { queue: entry.queue() as QueueId, tag, fresh: false };
        }
        let given = if self.given.is_empty() { 0 } else { self.given_at(port, ingress) };
        let queue = self.pick_queue(now, (class, place), given, queues, rng);
        Choice { queue, tag, fresh: true }
    }

    fn adjust(&self, choice: Choice, left: u64, queues: &Q) -> Choice {
        if !self.similar || !choice.fresh || queues.bytes(choice.queue) == 0 {
            return choice;
        }
        Choice { queue: queues.nearest(left).unwrap_or(choice.queue), ..choice }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, now: Instant, packet: &Packet, held: &Meta, port: PortId, choice: Choice, queues: &Q) {
        let (_, place) = self.place(port, held.ingress as PortId, packet);
        if choice.fresh && !self.given.is_empty() {
            let at = self.given_at(port, held.ingress as PortId);
            self.given[at].give(now.0 / self.map_period, choice.queue);
        }
        let state = &mut self.places[place];
        let entry = &mut self.table[choice.tag as usize];
        state.labelled |= self.incast_label && packet.has(flags::INCAST);
        if choice.fresh {
            state.rotor = if choice.queue as usize + 1 == self.queues { 0 } else { choice.queue as usize + 1 };
            entry.size_queue = entry.size_queue & !0xff | choice.queue as u32;
        }
        entry.touched = ticks(now);
        // With sampling an unsampled packet does not count (BFC-B3), although its entry has been read. Sampling saves
        // the update of the entry at departure.
        if !held.sampled {
            return;
        }
        if entry.size() == 0 {
            state.active_flows += 1;
            state.assigned.assignments += 1;
            state.assigned.collisions += (queues.bytes(choice.queue) > 0) as u64;
        }
        // The entry keeps its queue: a labelled packet joins the first queue without moving the flows that share its
        // entry.
        entry.size_queue += 0x100;
    }

    #[inline(always)]
    fn on_dequeue(&mut self, now: Instant, held: &Meta, port: PortId, queue: QueueId) {
        let place = self.place_of(port, held.tag);
        if self.sticky_reserve {
            self.places[place].left[queue as usize] = ticks(now);
        }
        if !held.sampled {
            return;
        }
        let entry = &mut self.table[held.tag as usize];
        entry.size_queue -= 0x100;
        entry.touched = ticks(now);
        self.places[place].active_flows -= (entry.size() == 0) as u32;
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        Some(self.places(port).iter().map(|place| place.active_flows).sum())
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.places(port).iter().map(|place| place.assigned).fold(Assigned::default(), Add::add)
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut tags = Vec::with_capacity(residents.len());
        for r in residents {
            let class = &self.classes[self.place(r.port, r.held.ingress as PortId, &r.packet).0];
            if !class.all.contains(r.queue as usize) {
                return Err(format!("queue {} of port {} holds a packet of class {}", r.queue, r.port, r.packet.class));
            }
            if !r.held.sampled {
                continue;
            }
            tags.push(r.held.tag);
            let labelled = self.incast_label && r.packet.has(flags::INCAST);
            if !labelled && self.table[r.held.tag as usize].queue() != r.queue as u32 {
                return Err(format!("flow-table entry {} names another queue than its packets are in", r.held.tag));
            }
        }
        tags.sort_unstable();
        let mut active = vec![0; self.places.len()];
        let wrong = |tag: usize, held: usize| {
            Err(format!("flow-table entry {tag} counts {} packets, {held} are held", self.table[tag].size()))
        };
        for same in tags.chunk_by(|a, b| a == b) {
            let tag = same[0] as usize;
            if self.table[tag].size() as usize != same.len() {
                return wrong(tag, same.len());
            }
            active[tag / self.entries as usize] += 1;
        }
        // So no other entry counts packets, if the sum is right. The sum is cheap, and tables are large.
        let counted = self.table.iter().fold(0, |sum: u64, entry| sum.wrapping_add(u64::from(entry.size())));
        if counted != tags.len() as u64 {
            let other = |tag: &usize| self.table[*tag].size() > 0 && tags.binary_search(&(*tag as u32)).is_err();
            let tag = (0..self.table.len()).find(other).expect("an entry counts packets that are not held");
            return wrong(tag, 0);
        }
        for (p, (place, active)) in self.places.iter().zip(active).enumerate() {
            if place.active_flows != active {
                let port = p / self.lanes;
                return Err(format!("port {port} counts {} active flows of a class, {active} are", place.active_flows));
            }
        }
        Ok(())
    }
}

impl<const W: usize, Q: Numbered<W>> Canonical for Dynamic<W, Q> {
    /// Encodes an entry without packets and past its sticky time as unused. With labels its queue stays significant:
    /// labelled packets do not change it.
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        for entry in &self.table {
            let (size, idle) = (entry.size(), age(now, entry.touched, self.sticky));
            let used = entry.queue() != NEVER && (size > 0 || idle <= self.sticky || self.incast_label);
            used.then_some((entry.size_queue, if size > 0 { 0 } else { idle })).hash(state);
        }
        for place in &self.places {
            (place.rotor, place.active_flows, place.labelled).hash(state);
            place.left.iter().for_each(|left| (*left != 0).then(|| age(now, *left, self.sticky)).hash(state));
        }
    }
}
