//! The explored network: its events, and its required properties.
//!
//! ```text
//! sources --> up --link--> down --> receivers
//!         <--frames--  <--frames--
//! ```
//!
//! Packets enter `up` at any moment at which their source is not paused, and leave `down` whenever a receiver takes
//! them. Frames wait on their wire for up to a refresh period. Time advances only in whole refresh periods, so actions
//! may be late by less than one.

use crate::machines::{AHEAD, Frame, Input, Machine, Machines, Outcome, Parcel, Quick, Row, Wrong};
use crate::plan::Plan;
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{Canonical, Policy};
use backwater_types::PortId;
use stateright::{Model, Property};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Periods without a loss after which the state has to be as if no frame had been lost.
const HEALED: u8 = 5;
/// Periods after which a pause that is not repeated lapses (spec F.6).
const LAPSE: u8 = 3;

/// Required properties.
pub const SAFE: &str = "nothing goes wrong";
const ROOM: &str = "packets are dropped only for want of room";
pub const DONE: &str = "all is received and resumed in time";
pub const AGREED: &str = "neighbours agree in time";
/// Reachability of pauses, without which the properties would be empty.
const PAUSED: &str = "something is paused upstream";
const HELD: &str = "a source is held";
const OVER: &str = "everything is done";

/// `[flow]`: period since the flow was paused, 1 for that of the latest frame (for queues: always 1). 0: not paused.
type Holds = [u8; 4];

/// Control frames in flight upstream, each with whether it was sent before the latest period.
type Wire = Row<(Frame, bool), 16>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    up: Machine,
    down: Machine,
    /// `[flow]`: next packet to send, and next to be received.
    next: [u8; 3],
    expected: [u8; 3],
    dropped: u8,
    link: Row<Parcel, 2>,
    to_sources: Wire,
    to_up: Wire,
    /// Latest state sent to the sources, and to the upstream switch (if its answer is certain).
    sources: Holds,
    up_heard: Holds,
    /// Latest state sent by the switches.
    up_said: Holds,
    down_said: Holds,
    losses: u8,
    doubles: u8,
    /// The violation on the way here, if any.
    pub wrong: Option<Wrong>,
}

/// The upstream switch or the downstream one: its timer, or the wire from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet of a flow arrives at the upstream switch, with the outcome of its random choice, if any.
    Emit(u8, u8),
    /// The upstream switch transmits a packet.
    Send,
    /// The downstream switch receives a packet, with the outcome of its random choice.
    Arrive(u8),
    /// A receiver takes a packet.
    Take(PortId),
    /// The first frame on a switch's wire arrives at its neighbour.
    Hear(Side),
    /// The first frame on a switch's wire is lost.
    Lose(Side),
    /// The first frame on a switch's wire is duplicated.
    Double(Side),
    /// A switch's timer runs.
    Timer(Side),
    /// A refresh period passes.
    Period,
}

/// The network, with switches of policy `P`.
pub struct Network<P: Policy> {
    pub plan: Plan,
    pub machines: Machines<P>,
    start: State,
    /// For states in which only time has to pass: periods until all is done, and whether neighbours agree.
    to_go: Mutex<Quick<State, Option<u8>>>,
    agree: Mutex<Quick<State, bool>>,
    pub most_periods: AtomicU32,
}

impl<const W: usize, P> Network<P>
where
    P: Policy<Queues = PausableQueues<W>> + Canonical,
{
    pub fn new(plan: Plan, params: &P::Params) -> Network<P> {
        let machines = Machines::<P>::new(plan);
        let switch = machines.start(params);
        let start = State {
            up: switch,
            down: switch,
            next: [0; 3],
            expected: [0; 3],
            dropped: 0,
            link: Row::default(),
            to_sources: Row::default(),
            to_up: Row::default(),
            sources: [0; 4],
            up_heard: [0; 4],
            up_said: [0; 4],
            down_said: [0; 4],
            losses: plan.losses,
            doubles: plan.doubles,
            wrong: None,
        };
        let (to_go, agree) = (Mutex::default(), Mutex::default());
        Network { plan, machines, start, to_go, agree, most_periods: AtomicU32::new(0) }
    }

    fn is_enabled(&self, s: &State, step: Step) -> bool {
        let wire = |side| s.wire(side).as_slice();
        match step {
            Step::Emit(flow, _) => {
                s.next[flow as usize] < self.plan.packets[flow as usize] && s.sources[flow as usize] == 0
            }
            Step::Send => s.link.as_slice().len() < self.plan.link as usize && s.up.sendable(AHEAD),
            Step::Arrive(_) => !s.link.as_slice().is_empty(),
            Step::Take(port) => s.down.sendable(port),
            Step::Hear(side) => !wire(side).is_empty(),
            Step::Lose(side) => s.losses > 0 && !wire(side).is_empty(),
            Step::Double(side) => s.doubles > 0 && !wire(side).is_empty(),
            Step::Timer(side) => s.switch(side).due,
            Step::Period => {
                let late = |side| wire(side).first().is_some_and(|(_, old)| *old || !self.plan.slow_frames);
                ![Side::Up, Side::Down].into_iter().any(|side| s.switch(side).due || late(side))
            }
        }
    }

    fn take(&self, s: &mut State, step: Step) {
        match step {
            Step::Emit(flow, draw) => {
                let seq = s.next[flow as usize];
                s.next[flow as usize] += 1;
                let parcel = Parcel { flow, seq, queue: flow };
                s.dropped += self.give(s, Side::Up, Input::Receive(parcel, AHEAD, draw)).dropped as u8;
            }
            Step::Send => {
                let sent = self.give(s, Side::Up, Input::Transmit(AHEAD)).sent;
                let Some(parcel) = sent else { return };
                let unit = if self.plan.by_flow { parcel.flow } else { parcel.queue };
                let drains = self.plan.drains && parcel.queue > 0;
                if s.up_heard[unit as usize] > 0 && !drains {
                    s.wrong = Some(Wrong::Paused);
                }
                s.link.push(parcel);
            }
            Step::Arrive(draw) => {
                let parcel = s.link.pop();
                let receiver = self.plan.receivers[parcel.flow as usize];
                s.dropped += self.give(s, Side::Down, Input::Receive(parcel, receiver, draw)).dropped as u8;
            }
            Step::Take(port) => {
                let sent = self.give(s, Side::Down, Input::Transmit(port)).sent;
                let Some(Parcel { flow, seq, .. }) = sent else { return };
                let expected = &mut s.expected[flow as usize];
                let fits = seq == *expected || seq > *expected && s.dropped > 0;
                *expected = seq + 1;
                if !fits || self.plan.receivers[flow as usize] != port {
                    s.wrong = Some(Wrong::Order);
                }
            }
            Step::Hear(Side::Up) => {
                let (frame, _) = s.to_sources.pop();
                obey(frame, &mut s.sources);
            }
            Step::Hear(Side::Down) => {
                let (frame, _) = s.to_up.pop();
                self.give(s, Side::Up, Input::Hear(frame));
                if self.plan.all_tracked {
                    obey(frame, &mut s.up_heard);
                }
            }
            Step::Lose(side) => {
                s.wire_mut(side).pop();
                s.losses -= 1;
            }
            Step::Double(side) => {
                let wire = s.wire_mut(side);
                wire.insert(1, wire.as_slice()[0]);
                s.doubles -= 1;
            }
            Step::Timer(side) => {
                self.give(s, side, Input::Timer);
                if side == Side::Up {
                    lapse(&mut s.up_heard);
                }
            }
            Step::Period => {
                for side in [Side::Up, Side::Down] {
                    self.give(s, side, Input::Period);
                    s.wire_mut(side).as_mut_slice().iter_mut().for_each(|(_, old)| *old = true);
                }
                if self.plan.by_flow {
                    let held = s.sources.iter_mut().chain(&mut s.up_heard).filter(|period| **period > 0);
                    held.for_each(|period| *period = (*period + 1).min(LAPSE + 2));
                    lapse(&mut s.sources);
                }
            }
        }
    }

    /// Runs an input on a switch and puts its control frames onto its wire.
    fn give(&self, s: &mut State, side: Side, input: Input) -> Outcome {
        let switch = if side == Side::Up { &mut s.up } else { &mut s.down };
        let outcome = self.machines.step(*switch, input);
        *switch = outcome.machine;
        s.wrong = s.wrong.or(outcome.wrong);
        let said = if side == Side::Up { &mut s.up_said } else { &mut s.down_said };
        outcome.frames.as_slice().iter().for_each(|frame| obey(*frame, said));
        let wire = s.wire_mut(side);
        outcome.frames.as_slice().iter().for_each(|frame| wire.push((*frame, false)));
        outcome
    }

    /// Runs all events of a period, in turns. `stalled`: receivers take nothing.
    fn settle(&self, s: &mut State, stalled: bool) {
        while s.wrong.is_none() {
            let mut idle = true;
            let mut turn = |step| {
                if self.is_enabled(s, step) {
                    self.take(s, step);
                    idle = false;
                }
            };
            (0..self.plan.flows() as u8).for_each(|flow| turn(Step::Emit(flow, 0)));
            turn(Step::Send);
            turn(Step::Arrive(0));
            if !stalled {
                (AHEAD..self.plan.ports()).for_each(|port| turn(Step::Take(port)));
            }
            for side in [Side::Down, Side::Up] {
                turn(Step::Hear(side));
                turn(Step::Timer(side));
            }
            if idle {
                return;
            }
        }
    }

    /// Whether all packets have arrived, nothing is paused, and no flow has a record.
    fn is_done(&self, s: &State) -> bool {
        let all = |counts: &[u8; 3]| counts[..self.plan.flows()] == *self.plan.packets;
        let resumed = [&s.sources, &s.up_heard, &s.up_said, &s.down_said].iter().all(|holds| **holds == [0; 4]);
        let empty = s.up.idle && s.down.idle && s.link.as_slice().is_empty();
        all(&s.next) && (s.dropped > 0 || all(&s.expected)) && resumed && empty
    }

    /// Periods until everything is done if no more frames are lost.
    fn periods_to_go(&self, s: &State) -> Option<u8> {
        let mut s = State { losses: 0, doubles: 0, ..*s };
        let mut seen = Vec::new();
        let mut periods = None;
        for _ in 0..=HEALED {
            self.settle(&mut s, false);
            if s.wrong.is_some() || self.is_done(&s) {
                periods = s.wrong.is_none().then_some(0);
                break;
            }
            if let Some(known) = self.to_go.lock().expect("no panics").get(&s) {
                periods = *known;
                break;
            }
            seen.push(s);
            self.take(&mut s, Step::Period);
        }
        for state in seen.into_iter().rev() {
            periods = periods.map(|periods| periods + 1);
            self.to_go.lock().expect("no panics").insert(state, periods);
        }
        self.most_periods.fetch_max(periods.unwrap_or(u8::MAX) as u32, Ordering::Relaxed);
        periods.filter(|periods| *periods <= HEALED)
    }

    /// Whether pauses that a switch wants are in force from the fifth period without a loss on, while receivers take
    /// nothing.
    fn neighbours_agree(&self, s: &State) -> bool {
        let mut s = State { losses: 0, doubles: 0, ..*s };
        self.settle(&mut s, true);
        if let Some(known) = self.agree.lock().expect("no panics").get(&s) {
            return *known;
        }
        let settled = s;
        let mut agree = true;
        for period in 1..=HEALED + LAPSE + 2 {
            self.take(&mut s, Step::Period);
            self.settle(&mut s, true);
            let same = |said: &Holds, heard: &Holds| said.map(|period| period > 0) == heard.map(|period| period > 0);
            let now = same(&s.up_said, &s.sources) && (!self.plan.all_tracked || same(&s.down_said, &s.up_heard));
            agree &= s.wrong.is_none() && (period < HEALED || now);
        }
        self.agree.lock().expect("no panics").insert(settled, agree);
        agree
    }
}

impl State {
    fn switch(&self, side: Side) -> &Machine {
        if side == Side::Up { &self.up } else { &self.down }
    }

    fn wire(&self, side: Side) -> &Wire {
        if side == Side::Up { &self.to_sources } else { &self.to_up }
    }

    fn wire_mut(&mut self, side: Side) -> &mut Wire {
        if side == Side::Up { &mut self.to_sources } else { &mut self.to_up }
    }
}

fn obey(frame: Frame, holds: &mut Holds) {
    match frame {
        Frame::Pause(unit) => holds[unit as usize] = 1,
        Frame::Resume(unit) => holds[unit as usize] = 0,
        Frame::Exactly(map) => *holds = std::array::from_fn(|unit| map >> unit & 1),
        Frame::None => {}
    }
}

fn lapse(holds: &mut Holds) {
    holds.iter_mut().filter(|period| **period > LAPSE + 1).for_each(|period| *period = 0);
}

impl<const W: usize, P> Model for Network<P>
where
    P: Policy<Queues = PausableQueues<W>> + Canonical + 'static,
{
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.start]
    }

    fn actions(&self, s: &State, steps: &mut Vec<Step>) {
        if s.wrong.is_some() {
            return;
        }
        for draw in 0..self.plan.draws {
            steps.extend((0..self.plan.flows() as u8).map(|flow| Step::Emit(flow, draw)));
            steps.push(Step::Arrive(draw));
        }
        steps.push(Step::Send);
        steps.extend((AHEAD..self.plan.ports()).map(Step::Take));
        for step in [Step::Hear, Step::Lose, Step::Double, Step::Timer] {
            steps.extend([Side::Up, Side::Down].map(step));
        }
        steps.push(Step::Period);
        steps.retain(|step| self.is_enabled(s, *step));
    }

    fn next_state(&self, s: &State, step: Step) -> Option<State> {
        let mut s = *s;
        self.take(&mut s, step);
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Network<P>>> {
        vec![
            Property::always(SAFE, |_, s: &State| s.wrong.is_none()),
            Property::always(ROOM, |model: &Network<P>, s: &State| {
                s.dropped == 0 || model.plan.packets.iter().sum::<u8>() > model.plan.buffer
            }),
            Property::always(DONE, |model: &Network<P>, s: &State| model.periods_to_go(s).is_some()),
            Property::always(AGREED, |model: &Network<P>, s: &State| model.neighbours_agree(s)),
            Property::sometimes(PAUSED, |model: &Network<P>, s: &State| {
                held(&s.up_heard) > 0 || !model.plan.all_tracked
            }),
            Property::sometimes(HELD, |_, s: &State| held(&s.sources) > 0),
            Property::sometimes(OVER, |model: &Network<P>, s: &State| model.is_done(s)),
        ]
    }
}

/// Number of paused flows or queues.
fn held(holds: &Holds) -> usize {
    holds.iter().filter(|period| **period > 0).count()
}
