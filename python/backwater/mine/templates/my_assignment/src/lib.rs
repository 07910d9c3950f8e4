//! The shorter of two: a flow that becomes active joins the shorter of two queues, which two hashes choose, and stays
//! there while it has packets in the switch.
//!
//! Source: Mitzenmacher, "The power of two choices in randomized load balancing", 2001, for queues.
//!
//! ```text
//! entry = table[port][hash(flow) mod entries]
//! entry holds packets:  its queue
//! else:                 the one of queue1(flow), queue2(flow) with fewer bytes
//! ```
//!
//! Parameter: `entries`, the size of a port's table of active flows. Flows with the same entry share a queue.

use backwater::Scheme;
use backwater::dataplane::queues::groups::Members;
use backwater::dataplane::queues::{PausableQueues, Queues};
use backwater::dataplane::{Assignment, Choice, Meta, Resident, Shape};
use backwater::parts::{AssignmentPart, Bfc, LineRate, NoBackpressure, Pfc};
use backwater::types::hash::{self, Stream};
use backwater::types::{Instant, OutOfRange, Packet, PortId, QueueId, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters, in the table `[switch.mine.my_assignment]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MyAssignmentParams {
    /// Entries in the table of active flows of a port.
    pub entries: u32,
}

impl Default for MyAssignmentParams {
    fn default() -> MyAssignmentParams {
        MyAssignmentParams { entries: 4096 }
    }
}

impl Ranges for MyAssignmentParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless((1..=1 << 20).contains(&self.entries), "entries", "1 to 1048576")
    }
}

/// Tables of one switch.
#[derive(Clone, Debug)]
pub struct MyAssignment {
    /// `[class]`: queues of the class.
    classes: Box<[Members<1>]>,
    entries: u32,
    salt: u64,
    /// `[port x entry]`
    table: Vec<Entry>,
}

/// Flows with the same hash.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    packets: u32,
    queue: QueueId,
}

impl MyAssignment {
    /// Index of a flow's entry.
    fn entry(&self, packet: &Packet, port: PortId) -> u32 {
        port as u32 * self.entries + hash::range32(hash::salted(packet.key, self.salt), self.entries)
    }
}

impl Assignment for MyAssignment {
    type Queues = PausableQueues<1>;
    type Params = MyAssignmentParams;

    fn new(params: &MyAssignmentParams, shape: &Shape) -> MyAssignment {
        MyAssignment {
            classes: Members::of(shape.queues, shape.groups),
            entries: params.entries,
            // Another salt than that of routing: all flows of a port have routing hashes in common.
            salt: hash::mix64(shape.salt),
            table: vec![Entry::default(); params.entries as usize * shape.ports.len()],
        }
    }

    fn prefetch(&self, packet: &Packet, _ingress: PortId, port: PortId) -> u32 {
        self.table[self.entry(packet, port) as usize].packets
    }

    fn choose(
        &self,
        _now: Instant,
        packet: &Packet,
        _ingress: PortId,
        port: PortId,
        queues: &PausableQueues<1>,
        _rng: &mut Stream,
    ) -> Choice {
        let tag = self.entry(packet, port);
        let entry = self.table[tag as usize];
        if entry.packets > 0 {
            return Choice { queue: entry.queue, tag, fresh: false };
        }
        let class = &self.classes[(packet.class as usize).min(self.classes.len() - 1)];
        let of = |salt| class.first + hash::range32(hash::salted(packet.key, salt), class.count.into()) as QueueId;
        let [one, other] = [of(self.salt + 1), of(self.salt + 2)];
        let queue = if queues.bytes(other) < queues.bytes(one) { other } else { one };
        Choice { queue, tag, fresh: true }
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        _held: &Meta,
        _port: PortId,
        choice: Choice,
        _queues: &PausableQueues<1>,
    ) {
        let entry = &mut self.table[choice.tag as usize];
        *entry = Entry { packets: entry.packets + 1, queue: choice.queue };
    }

    fn on_dequeue(&mut self, _now: Instant, held: &Meta, _port: PortId, _queue: QueueId) {
        self.table[held.tag as usize].packets -= 1;
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut held = vec![0; self.table.len()];
        for resident in residents {
            held[resident.held.tag as usize] += 1;
            let named = self.table[resident.held.tag as usize].queue;
            if named != resident.queue {
                return Err(format!("a packet of queue {} has an entry that names queue {named}", resident.queue));
            }
        }
        match self.table.iter().zip(&held).position(|(entry, held)| entry.packets != *held) {
            None => Ok(()),
            Some(at) => Err(format!("entry {at} counts {} packets, {} are held", self.table[at].packets, held[at])),
        }
    }
}

impl AssignmentPart for MyAssignment {
    const NAME: &'static str = "mine/my_assignment";
}

/// The scheme: this assignment with BFC's pauses of queues, and senders without control. It goes with PFC and with no
/// backpressure, too.
pub fn scheme() -> Scheme {
    Scheme::new("mine/my_assignment", include_str!("../preset.toml"))
        .assignment::<MyAssignmentParams>("mine/my_assignment", "The shorter of two queues, for each active flow.")
        .switch::<MyAssignment, Bfc>()
        .switch::<MyAssignment, Pfc>()
        .switch::<MyAssignment, NoBackpressure>()
        .engine::<LineRate, MyAssignment, Bfc>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater::dataplane::PortShape;
    use backwater::types::{BitsPerSec, Duration};

    #[test]
    fn a_flow_keeps_its_queue_while_it_has_packets() {
        let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
        let shape = Shape::new(vec![port; 2], 8);
        let mut assignment = MyAssignment::new(&MyAssignmentParams::default(), &shape);
        let queues = MyAssignment::queues(&MyAssignmentParams::default(), &shape);
        let packet = Packet { key: 7, ..Packet::NONE };
        let choose = |assignment: &MyAssignment| {
            assignment.choose(Instant(0), &packet, 0, 1, &queues, &mut Stream::new(1, 0, 0))
        };
        let first = choose(&assignment);
        assert!(first.fresh);
        assignment.on_enqueue(Instant(0), &packet, &Meta::default(), 1, first, &queues);
        let second = choose(&assignment);
        assert_eq!((second.queue, second.fresh), (first.queue, false));
        assignment.on_dequeue(Instant(0), &Meta { tag: first.tag, ..Meta::default() }, 1, first.queue);
        assert!(choose(&assignment).fresh);
        assert_eq!(assignment.audit(&[]), Ok(()));
    }
}
