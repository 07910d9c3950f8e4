//! BFC's backpressure: pauses of upstream queues, by pause counters.
//!
//! Source: spec A.1 to A.5 and A.11; Goyal et al., "Backpressure Flow Control", NSDI 2022, section 3.3.
//!
//! ```text
//! on enqueue:  if the queue held more than Th before this packet, and the packet is not its flow's last:
//!                  mark it counted; counter[ingress, upstream queue] += 1; on 0 -> 1 send PAUSE
//! on dequeue:  if counted: counter[...] -= 1; on 1 -> 0 send RESUME
//! Th = HRTT x rate / (8 x max(1, queues with data and not paused))
//! ```
//!
//! With priority classes only the queues of the packet's own class count (spec B, "Priority classes"). They do not
//! drain at all while a higher class has data; the paper does not adjust Th for that, and neither does this code
//! (BFC-B6).
//!
//! Differs from the printed pseudo-code as BFC-A1 to A7 say: PAUSE only on 0 -> 1, and the upstream queue taken from
//! the arriving header before it is rewritten.
//!
//! A flow's last packet is not counted (BFC-A29). The printed rule counts it, and pauses an upstream queue for a flow
//! that has nothing left to send. Where most flows are one to three packets long, such pauses take most queues of the
//! ports above a congested one from flows to other destinations. The text asks to pause a queue "if any of its flows"
//! is behind a congested one, which a finished flow is not. [`BfcParams::count_last`] selects the printed rule.

use crate::backpressure::{
    Backpressure, CreditParams, Grain, NicPausing, PausedPorts, Pauses, Pausing, Refresh, State, Upstream,
};
use crate::canonical::Canonical;
use crate::elide::{Elide, ElidedTurns};
use crate::hardware::HardwareParams;
use crate::meta::{Meta, Resident};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::shape::Shape;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::hash::Stream;
use backwater_types::{
    Bytes, ControlFrame, Duration, Effect, Instant, OutOfRange, PERIOD_MIN, Packet, PortId, QueueId, QueueMap, Ranges,
    Target, flags,
};
use core::hash::{Hash, Hasher};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// BFC's parameters and knobs (spec A and B).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct BfcParams {
    /// Flow-table entries per hardware queue.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = TABLE_ENTRIES_MAX)))]
    pub table_entries_per_queue: u32,
    /// Time for which an idle flow keeps its queue. Absent: 2 HRTT.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub sticky: Option<Duration>,
    /// Round trip to a neighbour, which sets the pause threshold. Absent: twice the largest propagation delay of the
    /// switch.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub hrtt: Option<Duration>,
    /// A fixed pause threshold instead of HRTT x rate / active queues.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub fixed_threshold: Option<Bytes>,
    /// Use each ingress port's own HRTT instead of the largest (BFC-A12).
    pub per_ingress_threshold: bool,
    /// Period of the bitmap that repairs the loss of frames.
    pub refresh: Duration,
    /// Adds the control queue to `queues` instead of taking it from them (BFC-A5).
    pub extra_control_queue: bool,
    /// Looks for an empty queue whether or not it is paused (BFC-A9).
    pub literal_empty: bool,
    /// Does not give an empty queue to another flow within the sticky time of its last flow (BFC-A8).
    pub sticky_reserve: bool,
    /// Share of packets that take part in bookkeeping, 0 to 1 (spec B, sampling).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub sampling: f64,
    /// A flow's last packet counts towards a pause, as in the printed pseudo-code (BFC-A29).
    pub count_last: bool,
    /// Labelled incast flows of an egress share one queue (spec B, incast label).
    pub incast_label: bool,
    /// A new flow that finds no empty queue shares the queue whose first packet has the most similar remaining flow
    /// size, in place of a random one: for queues served by remaining size (BFC, appendix A.2).
    pub similar: bool,
    /// Data queues of a NIC at the switch, 1 to 128. Absent: as many as the switch has.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 128)))]
    pub nic_queues: Option<u16>,
    /// NICs obey PAUSE. False: BFC - NIC, which needs a window at the host.
    pub nic_obeys: bool,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elide: Elide,
    /// Ingress pipelines that divide the flow table among them, 1 to 16. Ports are mapped to them in blocks (spec B.1).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = PIPELINES_MAX)))]
    pub pipelines: u8,
    /// An upstream queue resumes once all queues with its counted packets have dropped to their threshold, not only
    /// once all of these packets have departed. Beyond the paper.
    pub early_resume: bool,
    /// With priority groups: any empty queue goes to the class that needs one; classes have no fixed share of the
    /// queues. Beyond the paper.
    pub shared_queues: bool,
    /// Neighbours send only data that fits the buffer: each ingress link has credits for its share. Beyond the paper.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub credits: Option<CreditParams>,
    /// Hardware limits of a Tofino2: see [`HardwareParams`] (spec B.1).
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub tofino: Option<HardwareParams>,
}

impl BfcParams {
    /// Whether a parameter needs the extended switch, [`BfcExtended`](crate::BfcExtended).
    pub fn is_extended(&self) -> bool {
        self.early_resume || self.shared_queues || self.credits.is_some() || self.tofino.is_some()
    }
}

impl Default for BfcParams {
    fn default() -> BfcParams {
        BfcParams {
            table_entries_per_queue: 100,
            sticky: None,
            hrtt: None,
            fixed_threshold: None,
            per_ingress_threshold: false,
            refresh: Duration::from_us(10),
            extra_control_queue: false,
            literal_empty: false,
            sticky_reserve: false,
            sampling: 1.0,
            count_last: false,
            incast_label: false,
            similar: false,
            nic_queues: None,
            nic_obeys: true,
            elide: Elide::default(),
            pipelines: 1,
            early_resume: false,
            shared_queues: false,
            credits: None,
            tofino: None,
        }
    }
}

/// Most entries per queue: a longer table fits no machine's memory.
const TABLE_ENTRIES_MAX: u32 = 10_000;
/// Most pipelines: more than any chip has.
const PIPELINES_MAX: u8 = 16;

impl Ranges for BfcParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let entries = (1..=TABLE_ENTRIES_MAX).contains(&self.table_entries_per_queue);
        OutOfRange::unless(entries, "table_entries_per_queue", &format!("1 to {TABLE_ENTRIES_MAX}"))?;
        OutOfRange::unless_timer("sticky", self.sticky.unwrap_or_default(), Duration::ZERO)?;
        OutOfRange::unless_timer("hrtt", self.hrtt.unwrap_or(Duration(1)), Duration(1))?;
        OutOfRange::unless(self.fixed_threshold.is_none_or(|bytes| bytes.0 > 0), "fixed_threshold", "more than 0")?;
        OutOfRange::unless_timer("refresh", self.refresh, PERIOD_MIN)?;
        OutOfRange::unless(
            (1..=PIPELINES_MAX).contains(&self.pipelines),
            "pipelines",
            &format!("1 to {PIPELINES_MAX}"),
        )?;
        if let Some(credits) = &self.credits {
            credits.check().map_err(|wrong| wrong.within("credits"))?;
        }
        if let Some(tofino) = &self.tofino {
            tofino.check().map_err(|wrong| wrong.within("tofino"))?;
        }
        let nic_queues = self.nic_queues.is_none_or(|queues| (1..=128).contains(&queues));
        OutOfRange::unless(nic_queues, "nic_queues", "1 to 128")?;
        OutOfRange::unless(self.sampling > 0.0 && self.sampling <= 1.0, "sampling", "more than 0 and at most 1")
    }
}

/// Upper bound of the memory for a flow-table entry, bytes.
const TABLE_ENTRY: u64 = 64;

impl Pauses for BfcParams {
    fn pausing(&self) -> Pausing<'_> {
        Pausing {
            pfc_interop: !self.is_extended(),
            elide: Some(&self.elide),
            hrtt: self.hrtt,
            refresh: self.refresh,
            nic: NicPausing { obeys: self.nic_obeys, queues: self.nic_queues, labels: self.incast_label },
            credits: self.credits.as_ref(),
            state: Some(State {
                key: "table_entries_per_queue",
                what: "tables of flows",
                per_port: 0,
                per_queue: TABLE_ENTRY * u64::from(self.table_entries_per_queue),
            }),
            ..Pausing::of(Grain::Queue)
        }
    }
}

/// Pause counters of one switch.
#[derive(Clone, Debug)]
pub struct Bfc {
    /// `[ingress x upstream queue]`: counted packets held.
    counters: Vec<u32>,
    /// Number of upstream queues per ingress.
    stride: usize,
    /// `[ingress]`: upstream queues with a counter above zero.
    paused: Vec<Bits<2>>,
    /// `[egress x active queues]`: threshold, bytes.
    thresholds: Vec<u64>,
    /// `[ingress x egress]`: threshold with one active queue, bytes. Only with a threshold per ingress.
    per_ingress: Vec<u64>,
    ports: usize,
    elided: ElidedTurns,
    /// Bound of a 32-bit random number: a packet takes part in bookkeeping below it.
    sample_below: u64,
    /// Packet flags that exempt a packet from being counted.
    exempt: u8,
    refresh: Refresh,
}

impl Bfc {
    #[inline(always)]
    pub(super) fn threshold(&self, ingress: PortId, egress: PortId, active: u32) -> u64 {
        if self.per_ingress.is_empty() {
            self.thresholds[egress as usize * (self.stride + 1) + active as usize]
        } else {
            self.per_ingress[ingress as usize * self.ports + egress as usize] / active.max(1) as u64
        }
    }

    /// Removes one packet from the counter of queue `upstream` of the neighbour at `ingress`.
    #[inline(always)]
    pub(super) fn discount(&mut self, now: Instant, ingress: PortId, upstream: QueueId) -> Option<ControlFrame> {
        let counter = &mut self.counters[ingress as usize * self.stride + upstream as usize];
        *counter -= 1;
        if *counter > 0 {
            return None;
        }
        self.paused[ingress as usize].remove(upstream as usize);
        self.refresh.on_transition(now, ingress);
        Some(ControlFrame::Resume(upstream))
    }
}

impl<Q: Queues + PausableByNumber> Backpressure<Q> for Bfc {
    type Params = BfcParams;
    type Upstream = PausedQueues;
    // A packet may bypass the queues (see the trait): an empty queue is never above its threshold.

    fn new(params: &BfcParams, shape: &Shape) -> Bfc {
        let (ports, stride) = (shape.ports.len(), shape.queues.max(params.nic_queues.unwrap_or(0)) as usize);
        let at =
            |hrtt: Duration, egress: usize| params.fixed_threshold.unwrap_or(hrtt.bytes_at(shape.ports[egress].rate)).0;
        let mut thresholds = Vec::with_capacity(ports * (stride + 1));
        for egress in 0..ports {
            for active in 0..=stride {
                let share = if params.fixed_threshold.is_some() { 1 } else { active.max(1) as u64 };
                thresholds.push(at(shape.hrtt(), egress) / share);
            }
        }
        let mut per_ingress = Vec::new();
        if params.per_ingress_threshold {
            for ingress in 0..ports {
                per_ingress.extend((0..ports).map(|egress| at(shape.ports[ingress].hrtt, egress)));
            }
        }
        Bfc {
            counters: vec![0; ports * stride],
            stride,
            paused: vec![Bits::EMPTY; ports],
            thresholds,
            per_ingress,
            ports,
            elided: shape.elided.clone(),
            sample_below: (params.sampling * 4_294_967_296.0) as u64,
            exempt: if params.count_last { 0 } else { flags::LAST },
            refresh: Refresh::new(ports, params.refresh),
        }
    }

    fn upstream(_params: &Self::Params, _shape: &Shape) -> PausedQueues {
        PausedQueues::default()
    }

    #[inline(always)]
    fn samples(&self, rng: &mut Stream) -> bool {
        self.sample_below > u32::MAX as u64 || (rng.next_u32() as u64) < self.sample_below
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Q,
    ) -> Option<ControlFrame> {
        let ingress = held.ingress as PortId;
        // The length is that before this packet (BFC-A6), the active count that with it (BFC-A7).
        let before = queues.seen_bytes(now, queue);
        if before == 0
            || packet.flags & self.exempt != 0
            || before <= self.threshold(ingress, egress, queues.active_in_group(queue))
        {
            return None;
        }
        let upstream = held.upstream_queue;
        if upstream as usize >= self.stride || self.elided.contains(ingress, egress) || !held.sampled {
            return None;
        }
        held.counted = true;
        let counter = &mut self.counters[ingress as usize * self.stride + upstream as usize];
        *counter += 1;
        if *counter > 1 {
            return None;
        }
        self.paused[ingress as usize].insert(upstream as usize);
        self.refresh.on_transition(now, ingress);
        Some(ControlFrame::Pause(upstream))
    }

    #[inline(always)]
    fn on_dequeue(
        &mut self,
        now: Instant,
        _packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        if !held.counted {
            return None;
        }
        self.discount(now, held.ingress as PortId, held.upstream_queue)
    }

    fn next_refresh(&self) -> Instant {
        self.refresh.next()
    }

    fn refresh(&mut self, now: Instant, send: &mut dyn FnMut(PortId, ControlFrame)) {
        let paused = &self.paused;
        let state = |port: PortId| {
            let held = paused[port as usize];
            (ControlFrame::Bitmap(held.to_map()), held.is_empty())
        };
        self.refresh.run(now, state, send);
    }

    fn state_of(&mut self, now: Instant, port: PortId, send: &mut dyn FnMut(ControlFrame)) {
        self.refresh.on_transition(now, port);
        send(ControlFrame::Bitmap(self.paused[port as usize].to_map()));
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut recount = vec![0u32; self.counters.len()];
        for r in residents.iter().filter(|r| r.held.counted) {
            recount[r.held.ingress as usize * self.stride + r.held.upstream_queue as usize] += 1;
        }
        for (at, (counter, held)) in self.counters.iter().zip(&recount).enumerate() {
            let (ingress, upstream) = (at / self.stride, at % self.stride);
            if counter != held {
                return Err(format!(
                    "pause counter ({ingress}, {upstream}) is {counter}, {held} counted packets are held"
                ));
            }
            if self.paused[ingress].contains(upstream) != (*counter > 0) {
                return Err(format!("pause map of ingress {ingress} disagrees with counter {upstream} = {counter}"));
            }
        }
        Ok(())
    }
}

/// BFC's upstream half, for a switch or a NIC. The queues themselves store which of them are paused, where the
/// scheduler looks. Obeys PFC too.
#[derive(Clone, Debug, Default)]
pub struct PausedQueues {
    ports: PausedPorts,
}

impl<Q: PausableByNumber> Upstream<Q> for PausedQueues {
    #[inline]
    fn on_control(&mut self, _now: Instant, port: PortId, frame: ControlFrame, queues: &mut Q) {
        match frame.effect() {
            Effect::Set { target: Target::Queue(queue), holds } => queues.set_closed(queue, holds),
            Effect::SetQueues(map) => queues.set_all_closed(map),
            Effect::Set { target: Target::Class(_), .. } => self.ports.obey(port, frame),
            Effect::Set { target: Target::Flow(_), .. } | Effect::Limit(_) | Effect::Ask(_) => {}
        }
    }

    fn release(&mut self, port: PortId, queues: &mut Q) {
        self.ports.release(port);
        queues.set_all_closed(QueueMap::default());
    }

    #[inline(always)]
    fn may_send(&self, port: PortId) -> bool {
        self.ports.may_send(port)
    }
}

impl Canonical for PausedQueues {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.ports.canonical(now, state);
    }
}

impl Canonical for Bfc {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        (&self.counters, &self.paused).hash(state);
        self.refresh.canonical(now, state);
    }
}
