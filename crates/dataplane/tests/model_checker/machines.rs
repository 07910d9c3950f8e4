//! Switches as state machines: all states in which a shipped switch was seen, and the transition for every input.
//!
//! Each state and input is run once, on a copy of a real [`Switch`]; the states of the network are small products of
//! state numbers. Each state has a clock of its own: switches with equal encodings are in one state, whatever their
//! time. If two switches reached a state by different paths, both are run and have to agree.

use crate::plan::{PERIOD, Plan};
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{Canonical, DataPlane, Policy, Readings, Switch};
use backwater_types::hash::{Stream, mix64, range32};
use backwater_types::{ControlFrame, FlowName, Instant, PortId, QueueMap};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, RwLock};

/// Port towards the sources or the upstream switch, port towards the downstream switch, and the first of the ports
/// towards the receivers.
pub const BACK: PortId = 0;
pub const AHEAD: PortId = 1;

/// A packet in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parcel {
    pub flow: u8,
    pub seq: u8,
    /// Queue that the packet left.
    pub queue: u8,
}

/// A control frame that names flows or queues by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Frame {
    #[default]
    None,
    Pause(u8),
    Resume(u8),
    /// Pauses exactly the flows or queues of this map.
    Exactly(u8),
}

/// Input to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Arrival of a packet for a port, with the outcome of a random choice if the switch makes one.
    Receive(Parcel, PortId, u8),
    Transmit(PortId),
    /// Arrival of a control frame from the neighbour ahead.
    Hear(Frame),
    Timer,
    /// Passage of a refresh period.
    Period,
}

/// A violated property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A recount disagrees with the state.
    Audit,
    Panic,
    /// Two switches with the same encoding behave differently.
    Encoding,
    /// A packet changed in flight.
    Changed,
    /// A port that may send does not.
    Idle,
    /// A packet left although its flow or its queue was paused.
    Paused,
    /// A packet is not the next in order at its receiver.
    Order,
}

/// State of a switch, with its most requested properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    id: u32,
    /// `[bit]`: ports that may send.
    sendable: u8,
    /// Whether the timer is due.
    pub due: bool,
    /// Whether the switch holds no packet and isolates no flow.
    pub idle: bool,
    wrong: Option<Wrong>,
}

impl Machine {
    pub fn sendable(&self, port: PortId) -> bool {
        self.sendable >> port & 1 == 1
    }
}

/// Result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub machine: Machine,
    pub sent: Option<Parcel>,
    pub dropped: bool,
    /// Control frames sent back.
    pub frames: Row<Frame, 8>,
    pub wrong: Option<Wrong>,
}

/// A short queue, equal to another if its contents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<T, const N: usize> {
    places: [T; N],
    len: u8,
}

impl<T: Copy + Default, const N: usize> Default for Row<T, N> {
    fn default() -> Row<T, N> {
        Row { places: [T::default(); N], len: 0 }
    }
}

impl<T: Copy + Default, const N: usize> Row<T, N> {
    pub fn as_slice(&self) -> &[T] {
        &self.places[..self.len as usize]
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.places[..self.len as usize]
    }

    pub fn push(&mut self, value: T) {
        self.places[self.len as usize] = value;
        self.len += 1;
    }

    pub fn insert(&mut self, at: usize, value: T) {
        self.push(value);
        self.as_mut_slice()[at..].rotate_right(1);
    }

    pub fn pop(&mut self) -> T {
        let first = self.places[0];
        self.places.copy_within(1.., 0);
        self.places[N - 1] = T::default();
        self.len -= 1;
        first
    }
}

impl<T: Copy + Default + Hash, const N: usize> Hash for Row<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

/// A fast hash of small numbers.
#[derive(Clone, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_ne_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n as u64);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = mix64(self.0 ^ n);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map with this hash.
pub type Quick<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A hasher that stores the encoding of a state unchanged.
#[derive(Default)]
struct Encoding(Vec<u8>);

impl Hasher for Encoding {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the encoding itself is compared")
    }
}

/// Switches, each with its clock.
type Examples<P> = Vec<(Switch<P>, Instant)>;

const SHARDS: usize = 64;

/// All states seen of switches with policy `P`.
pub struct Machines<P: Policy> {
    plan: Plan,
    /// `[k]`: random streams whose first choice is the k-th queue.
    draws: Vec<Stream>,
    /// Up to two switches for each state.
    states: RwLock<Vec<Examples<P>>>,
    by_encoding: Mutex<HashMap<Vec<u8>, Machine>>,
    outcomes: [RwLock<Quick<(u32, Input), Outcome>>; SHARDS],
    /// Messages of recounts and panics.
    pub complaints: Mutex<Vec<String>>,
}

impl<const W: usize, P: Policy<Queues = PausableQueues<W>> + Canonical> Machines<P> {
    pub fn new(plan: Plan) -> Machines<P> {
        let first = |k: u32| move |draws: &Stream| range32(draws.clone().next_u32(), plan.draws as u32) == k;
        let draws = |k| (0..).map(|seed| Stream::new(seed, 0, 0)).find(first(k)).expect("some seed");
        Machines {
            plan,
            draws: (0..plan.draws as u32).map(draws).collect(),
            states: RwLock::default(),
            by_encoding: Mutex::default(),
            outcomes: std::array::from_fn(|_| RwLock::default()),
            complaints: Mutex::default(),
        }
    }

    /// Creates a switch in its initial state.
    pub fn start(&self, params: &P::Params) -> Machine {
        let mut switch = Switch::new(&self.plan.shape(), params);
        switch.redraw(self.draws[0].clone());
        self.number(switch, Instant::ZERO + PERIOD)
    }

    /// Number of distinct states of a switch, and of distinct inputs to them.
    pub fn counts(&self) -> (usize, usize) {
        let outcomes = self.outcomes.iter().map(|shard| shard.read().expect("no panics").len());
        (self.states.read().expect("no panics").len(), outcomes.sum())
    }

    /// Result of `input` in the state of `machine`.
    pub fn step(&self, machine: Machine, input: Input) -> Outcome {
        let key = (machine.id, input);
        let shard = &self.outcomes[machine.id as usize % SHARDS];
        if let Some(outcome) = shard.read().expect("no panics").get(&key) {
            return *outcome;
        }
        let switches = self.states.read().expect("no panics")[machine.id as usize].clone();
        let mut outcomes = switches.into_iter().map(|(switch, now)| self.try_run(machine, switch, now, input));
        let mut outcome = outcomes.next().expect("the state has a switch");
        if outcomes.any(|other| other != outcome) {
            outcome.wrong = Some(Wrong::Encoding);
        }
        shard.write().expect("no panics").insert(key, outcome);
        outcome
    }

    fn try_run(&self, machine: Machine, mut switch: Switch<P>, mut now: Instant, input: Input) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| self.run(&mut switch, &mut now, input))) {
            Ok((sent, dropped, frames, wrong)) => {
                let machine = self.number(switch, now);
                Outcome { machine, sent, dropped, frames, wrong: wrong.or(machine.wrong) }
            }
            Err(_) => {
                Outcome { machine, sent: None, dropped: false, frames: Row::default(), wrong: Some(Wrong::Panic) }
            }
        }
    }

    fn number(&self, switch: Switch<P>, now: Instant) -> Machine {
        let mut encoding = Encoding::default();
        switch.canonical(now, &mut encoding);
        let mut by_encoding = self.by_encoding.lock().expect("no panics");
        if let Some(machine) = by_encoding.get(&encoding.0) {
            let switches = &mut self.states.write().expect("no panics")[machine.id as usize];
            if switches.len() == 1 {
                switches.push((switch, now));
            }
            return *machine;
        }
        let wrong = switch.audit().err().map(|complaint| {
            self.complaints.lock().expect("no panics").push(complaint);
            Wrong::Audit
        });
        let mut states = self.states.write().expect("no panics");
        let machine = Machine {
            id: states.len() as u32,
            sendable: (0..self.plan.ports()).map(|port| (switch.sendable(port) as u8) << port).sum(),
            due: switch.next_timer() <= now,
            idle: switch.buffered() == 0 && switch.isolated_flows() == 0,
            wrong,
        };
        states.push(vec![(switch, now)]);
        by_encoding.insert(encoding.0, machine);
        machine
    }

    fn run(
        &self,
        switch: &mut Switch<P>,
        now: &mut Instant,
        input: Input,
    ) -> (Option<Parcel>, bool, Row<Frame, 8>, Option<Wrong>) {
        let (mut sent, mut dropped, mut frames, mut wrong) = (None, false, Row::default(), None);
        match input {
            Input::Receive(parcel, egress, draw) => {
                switch.redraw(self.draws[draw as usize].clone());
                dropped = switch.receive(*now, &self.plan.packet(parcel).into(), BACK, egress).dropped.is_some();
                switch.redraw(self.draws[0].clone());
            }
            Input::Transmit(port) => match switch.transmit(*now, port) {
                None => wrong = Some(Wrong::Idle),
                Some(out) => {
                    let queue = out.queue.map_or(u8::MAX, |q| q as u8);
                    let parcel = Parcel { flow: out.packet.flow as u8, seq: out.packet.seq as u8, queue };
                    wrong = (out.packet.packet != self.plan.packet(parcel)).then_some(Wrong::Changed);
                    sent = Some(parcel);
                }
            },
            Input::Hear(frame) => switch.control(*now, AHEAD, self.control(frame)),
            Input::Timer => switch.timer(*now, &mut Vec::new()),
            Input::Period => *now += PERIOD,
        }
        while switch.sendable(BACK) {
            let frame = switch.transmit(*now, BACK).and_then(|sent| sent.packet.control());
            frames.push(frame.map_or(Frame::None, Machines::<P>::frame));
        }
        (sent, dropped, frames, wrong)
    }

    fn control(&self, frame: Frame) -> ControlFrame {
        let name = |flow: u8| FlowName { flow: flow as u32, slot: flow as u32, class: 0 };
        match (frame, self.plan.by_flow) {
            (Frame::Pause(flow), true) => ControlFrame::PauseFlow(name(flow)),
            (Frame::Resume(flow), true) => ControlFrame::ResumeFlow(name(flow)),
            (Frame::Pause(q), false) => ControlFrame::Pause(q as u16),
            (Frame::Resume(q), false) => ControlFrame::Resume(q as u16),
            (Frame::Exactly(map), _) => ControlFrame::Bitmap(QueueMap::new([map as u64, 0])),
            (Frame::None, _) => unreachable!("no switch sends this frame"),
        }
    }

    fn frame(frame: ControlFrame) -> Frame {
        match frame {
            ControlFrame::PauseFlow(name) => Frame::Pause(name.flow as u8),
            ControlFrame::ResumeFlow(name) => Frame::Resume(name.flow as u8),
            ControlFrame::Pause(q) => Frame::Pause(q as u8),
            ControlFrame::Resume(q) => Frame::Resume(q as u8),
            ControlFrame::Bitmap(map) => Frame::Exactly(map.words()[0] as u8),
            ControlFrame::PfcPause(_)
            | ControlFrame::PfcResume(_)
            | ControlFrame::Credit(_)
            | ControlFrame::CreditSent(_) => Frame::None,
        }
    }
}
