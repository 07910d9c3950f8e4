//! TCP against closed forms. The channel shares no code with the simulator: one FIFO with or without a rate, a delay
//! each way, and rules for lost and marked segments and lost acknowledgements.
//!
//! After every step the sender recounts its state. The test compares it with a second account, kept from the segments
//! and acknowledgements on the channel.

use backwater_transport::{
    AckPolicy, Congestion, Marks, Recovery, TcpAck, TcpParams, TcpReceiver, TcpSender, TimeoutReason as Why,
};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000_000;
/// Propagation delay one way; the round trip over an idle channel without a rate is twice this.
const DELAY: u64 = 50_000_000;
const RTT: u64 = 2 * DELAY;

fn params() -> TcpParams {
    TcpParams {
        marks: Marks::None,
        g: 1.0 / 16.0,
        alpha: 1.0,
        initial_window: 10,
        max_window: u32::MAX,
        min_window: 2,
        dup_acks: 3,
        rto_min: Duration(5 * MS),
        rto_max: Duration(64_000 * MS),
        idle_restart: true,
        idle_raises: false,
        ..TcpParams::default()
    }
}

const EACH: AckPolicy = AckPolicy { every: 1, exact_marks: false };

/// A segment or an acknowledgement before it is sent, for rules that delay, mark or lose it.
#[derive(Clone, Copy, Debug)]
struct Event {
    seq: u32,
    /// Whether it was sent before.
    again: bool,
    /// Number of segments, or of acknowledgements, sent before it.
    number: u64,
    /// Segments that wait for the link, this one included.
    queue: u64,
}

type Decide = Box<dyn FnMut(Event) -> bool>;

fn never() -> Decide {
    Box::new(|_| false)
}

enum What {
    Data { seq: u32, marked: bool },
    Served,
    Ack(TcpAck),
    AckDelay,
}

/// Bugs of a sender that the checks below have to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// Retransmits a segment that was acknowledged.
    ResendsAcknowledged,
    /// Sends one segment more than the window allows.
    IgnoresWindow,
    /// Ends with segments left.
    FinishesEarly,
    /// Leaves a segment out.
    SkipsASegment,
}

/// Flows over one channel.
struct World {
    bug: Bug,
    params: TcpParams,
    policy: AckPolicy,
    ack_delay: u64,
    /// Transmission time of a segment.
    service: u64,
    free_at: u64,
    queue: u64,
    lose: Decide,
    lose_ack: Decide,
    /// Rule of marking, by the queue behind a segment that starts its transmission.
    mark: Decide,
    /// Extra delay of each segment and acknowledgement.
    jitter: Box<dyn FnMut() -> u64>,
    now: u64,
    events: BTreeMap<(u64, u64), (usize, What)>,
    order: u64,
    flows: Vec<Flow>,
}

struct Flow {
    sender: TcpSender,
    receiver: TcpReceiver,
    /// Segments that acknowledgements have covered so far.
    acked: u32,
    selected: BTreeSet<u32>,
    /// First segment never sent.
    next: u32,
    /// Segments that have arrived, the time of each one's first arrival, and their number.
    came: Vec<Option<u64>>,
    arrived: u32,
    sent: Vec<(u64, u32)>,
    acks: u64,
    timeouts: Vec<(u64, Why)>,
    /// Segments below this may have been sent beyond the window; one per window is allowed.
    beyond: u32,
    /// Windows before and after acknowledgements that left a smaller one.
    cuts: Vec<(f64, f64)>,
    ended: Option<u64>,
}

impl Flow {
    fn came(&self, seq: u32) -> u64 {
        self.came[seq as usize].expect("it has arrived")
    }
}

impl World {
    fn new(params: TcpParams, total: u32) -> World {
        World::with(params, total, false, Congestion::new(&params, Instant(0)))
    }

    fn with(params: TcpParams, total: u32, handshake: bool, congestion: Congestion) -> World {
        let mut world = World {
            bug: Bug::None,
            params,
            policy: EACH,
            ack_delay: MS,
            service: 0,
            free_at: 0,
            queue: 0,
            lose: never(),
            lose_ack: never(),
            mark: never(),
            jitter: Box::new(|| 0),
            now: 0,
            events: BTreeMap::new(),
            order: 0,
            flows: Vec::new(),
        };
        world.add(total, handshake, congestion);
        world
    }

    fn add(&mut self, total: u32, handshake: bool, congestion: Congestion) {
        self.flows.push(Flow {
            sender: TcpSender::new(total, handshake, congestion, Instant(self.now)),
            receiver: TcpReceiver::default(),
            acked: 0,
            selected: BTreeSet::new(),
            next: 0,
            came: Vec::new(),
            arrived: 0,
            sent: Vec::new(),
            acks: 0,
            timeouts: Vec::new(),
            beyond: 0,
            cuts: Vec::new(),
            ended: None,
        });
    }

    fn at(&mut self, at: u64, flow: usize, what: What) {
        self.order += 1;
        self.events.insert((at, self.order), (flow, what));
    }

    /// Runs until all flows have ended, or until `until`, and returns whether they have ended.
    fn run_until(&mut self, until: u64) -> bool {
        (0..self.flows.len()).for_each(|flow| self.pump(flow));
        loop {
            if self.flows.iter().all(|flow| flow.ended.is_some()) {
                return true;
            }
            let event = self.events.first_key_value().map(|(key, _)| *key);
            let due = |(i, flow): (usize, &Flow)| Some((flow.sender.deadline(&self.params)?.0, i));
            let timer = self.flows.iter().enumerate().filter_map(due).min();
            let timer = timer.filter(|(due, _)| event.is_none_or(|(at, _)| *due < at));
            let now = timer.map(|(due, _)| due).or(event.map(|(at, _)| at)).expect("something is under way");
            if now > until {
                self.now = until;
                return false;
            }
            assert!(now >= self.now, "time goes on");
            self.now = now;
            match (timer, event) {
                (Some((_, flow)), _) => self.time_out(flow),
                (None, Some(key)) => {
                    let (flow, what) = self.events.remove(&key).expect("just seen");
                    self.handle(flow, what);
                }
                (None, None) => unreachable!(),
            }
        }
    }

    /// Runs to the end, and returns the time of the last acknowledgement.
    fn run(&mut self) -> u64 {
        assert!(self.run_until(1_000_000 * MS), "all flows end");
        self.flows.iter().filter_map(|flow| flow.ended).max().expect("there are flows")
    }

    fn handle(&mut self, flow: usize, what: What) {
        match what {
            What::Served => self.queue -= 1,
            What::Data { seq, marked } => {
                let f = &mut self.flows[flow];
                f.came.resize(f.came.len().max(seq as usize + 1), None);
                f.arrived += f.came[seq as usize].is_none() as u32;
                f.came[seq as usize].get_or_insert(self.now);
                let waited = f.receiver.is_waiting();
                let last = seq + 1 == f.sender.total;
                let answers = f.receiver.on_data(self.policy, seq, last, marked);
                let whole = f.arrived == f.sender.total;
                assert_eq!(f.receiver.is_done(), whole, "the receiver knows when it has everything");
                let starts = f.receiver.is_waiting() && !(waited && answers.iter().all(Option::is_none));
                for answer in answers.into_iter().flatten() {
                    self.answer(flow, answer, Some(seq));
                }
                if starts {
                    self.at(self.now + self.ack_delay, flow, What::AckDelay);
                }
            }
            What::AckDelay => {
                let f = &mut self.flows[flow];
                if f.receiver.is_waiting() {
                    let answer = f.receiver.acknowledge();
                    self.answer(flow, answer, None);
                }
            }
            What::Ack(ack) => self.acknowledge(flow, ack),
        }
    }

    /// Delivers an acknowledgement; `came` is the segment that it answers.
    fn answer(&mut self, flow: usize, ack: TcpAck, came: Option<u32>) {
        let f = &mut self.flows[flow];
        // The acknowledgement is true: all segments before `next` arrived, `next` is missing, and the whole block
        // arrived.
        let arrived = |seq: u32| f.came.get(seq as usize).is_some_and(Option::is_some);
        assert!((0..ack.next).rev().take(20).all(arrived) && (!arrived(ack.next) || came == Some(ack.next)), "{ack:?}");
        assert!((ack.block.0..ack.block.1).all(arrived), "{ack:?}");
        let event = Event { seq: ack.next, again: false, number: f.acks, queue: 0 };
        f.acks += 1;
        if !(self.lose_ack)(event) {
            let at = self.now + DELAY + (self.jitter)();
            self.at(at, flow, What::Ack(ack));
        }
    }

    fn acknowledge(&mut self, flow: usize, ack: TcpAck) {
        let f = &mut self.flows[flow];
        if f.ended.is_some() {
            return;
        }
        let window = f.sender.congestion.window;
        f.sender.on_ack(&self.params, Instant(self.now), ack);
        f.acked = f.acked.max(ack.next);
        f.selected.extend(ack.block.0..ack.block.1);
        while f.selected.first().is_some_and(|seq| *seq < f.acked) {
            f.selected.pop_first();
        }
        let after = f.sender.congestion.window;
        if after < window {
            f.cuts.push((window, after));
        }
        assert!(after >= 1.0, "a window below one segment: {after}");
        self.check(flow);
        let f = &mut self.flows[flow];
        if f.sender.is_done() || (self.bug == Bug::FinishesEarly && f.sender.acked + 50 >= f.sender.total) {
            assert_eq!(f.arrived, f.sender.total, "done, and everything has arrived");
            f.ended = Some(self.now);
            return;
        }
        self.pump(flow);
    }

    fn time_out(&mut self, flow: usize) {
        let f = &mut self.flows[flow];
        let reason = f.sender.on_timeout(Instant(self.now));
        f.timeouts.push((self.now, reason));
        self.check(flow);
        self.pump(flow);
    }

    /// Checks the sender's own recount, and the account kept here.
    fn check(&self, flow: usize) {
        let f = &self.flows[flow];
        f.sender.audit().unwrap_or_else(|text| panic!("{text}\n{:?}", f.sender));
        assert_eq!((f.sender.acked, f.sender.next), (f.acked, f.next));
        assert!(f.sender.in_flight() <= f.next - f.acked - f.selected.len() as u32, "{:?}", f.sender);
        if f.next == f.sender.total && f.sender.acked == f.sender.total {
            assert_eq!(f.sender.deadline(&self.params), None, "nothing is out, and nothing is waited for");
        }
    }

    fn pump(&mut self, flow: usize) {
        loop {
            let f = &mut self.flows[flow];
            let (before, window) = (f.sender.in_flight(), f.sender.congestion.window as u32);
            let Some(seq) = bent_send(self.bug, &mut f.sender, &self.params, Instant(self.now)) else { break };
            let again = seq < f.next;
            // No acknowledged segment is retransmitted, and new segments go in order.
            assert!(seq >= f.acked && !f.selected.contains(&seq), "{seq} was acknowledged");
            assert!(again || seq == f.next);
            assert!(seq < f.sender.total && seq - f.acked < self.params.max_window);
            if before >= window {
                assert!(again, "{before} segments in flight, window {window}, and {seq} goes");
                assert!(f.acked >= f.beyond, "more than one at once in a window");
                f.beyond = f.next;
            }
            f.next = f.next.max(seq + 1);
            let event = Event { seq, again, number: f.sent.len() as u64, queue: self.queue + 1 };
            f.sent.push((self.now, seq));
            self.check(flow);
            self.transmit(flow, event);
        }
    }

    fn transmit(&mut self, flow: usize, event: Event) {
        if (self.lose)(event) {
            return;
        }
        let mut served = self.now;
        if self.service > 0 {
            served = self.free_at.max(self.now) + self.service;
            self.free_at = served;
            self.queue += 1;
            self.at(served, flow, What::Served);
        }
        let marked = (self.mark)(event);
        let at = served + DELAY + (self.jitter)();
        self.at(at, flow, What::Data { seq: event.seq, marked });
    }

    fn with_bug(mut self, bug: Bug) -> World {
        self.bug = bug;
        self
    }

    fn only(&self) -> &Flow {
        &self.flows[0]
    }

    /// Counts the segments sent in each of the first rounds of a flow over a channel without a rate.
    fn rounds(&self) -> Vec<u32> {
        let mut rounds = Vec::new();
        for (at, _) in &self.only().sent {
            let round = (at / RTT) as usize;
            rounds.resize(rounds.len().max(round + 1), 0);
            rounds[round] += 1;
        }
        rounds
    }
}

/// Sends as [`TcpSender::send`] does, with a bug.
fn bent_send(bug: Bug, sender: &mut TcpSender, params: &TcpParams, now: Instant) -> Option<u32> {
    match bug {
        Bug::ResendsAcknowledged if sender.acked == 50 => Some(49),
        Bug::IgnoresWindow if sender.acked >= 50 => {
            let window = std::mem::replace(&mut sender.congestion.window, f64::from(u32::MAX));
            let sent = sender.send(params, now);
            sender.congestion.window = window;
            sent
        }
        Bug::SkipsASegment if sender.next == 50 => {
            sender.send(params, now);
            sender.send(params, now)
        }
        _ => sender.send(params, now),
    }
}

#[test]
fn an_endless_flow_that_opens_its_connection_stays_endless() {
    let sender = TcpSender::new(u32::MAX, true, Congestion::new(&params(), Instant(0)), Instant(0));
    assert!(sender.total == u32::MAX && !sender.is_done());
}

#[test]
fn planted_bugs_are_caught() {
    let run = |bug| {
        std::panic::catch_unwind(|| {
            let params = params();
            World::with(params, 200, false, open(&params, 10.0)).with_bug(bug).run()
        })
    };
    assert!(run(Bug::None).is_ok());
    for bug in [Bug::ResendsAcknowledged, Bug::IgnoresWindow, Bug::FinishesEarly, Bug::SkipsASegment] {
        assert!(run(bug).is_err(), "{bug:?}");
    }
}

/// Makes a connection with this window, in congestion avoidance.
fn open(params: &TcpParams, window: f64) -> Congestion {
    Congestion { window, threshold: window, ..Congestion::new(params, Instant(0)) }
}

// --- windows -----------------------------------------------------------------------------------------------------------------

#[test]
fn slow_start_doubles_the_window_every_round_trip() {
    for (initial, every) in [(1, 1), (2, 1), (10, 1), (20, 1), (2, 2), (16, 4)] {
        let params = TcpParams { initial_window: initial, ..params() };
        let mut world = World::new(params, initial * 63);
        world.policy.every = every;
        let end = world.run();
        assert_eq!(world.rounds(), (0..6).map(|round| initial << round).collect::<Vec<_>>(), "every {every}");
        assert_eq!((end, world.only().sender.retransmitted), (6 * RTT, 0));
    }
}

#[test]
fn slow_start_ends_at_the_threshold_and_at_the_largest_window() {
    let params = TcpParams { max_window: 125, initial_window: 20, ..params() };
    let mut world = World::new(params, 1000);
    world.run();
    assert_eq!(world.rounds()[..6], [20, 40, 80, 125, 125, 125]);
    let congestion = Congestion { threshold: 33.0, ..Congestion::new(&params, Instant(0)) };
    let mut world = World::with(params, 1000, false, congestion);
    world.run();
    assert_eq!(world.rounds()[..4], [20, 33, 34, 35], "one segment a round trip from there on");
}

/// Each of `W` acknowledgements adds `1 / W`.
#[test]
fn congestion_avoidance_adds_one_segment_a_round_trip() {
    for every in [1, 2] {
        let params = params();
        let mut world = World::with(params, 30_000, false, open(&params, 50.0));
        world.policy.every = every;
        world.run();
        let rounds = world.rounds();
        for round in [20, 100, 200] {
            let off = rounds[round] as f64 - 50.0 - round as f64;
            assert!(off.abs() <= 2.0 + 0.01 * round as f64, "round {round}: {} segments", rounds[round]);
        }
    }
}

/// A flow that has nothing left to send does not grow its window.
#[test]
fn a_window_that_holds_nothing_back_does_not_grow() {
    let params = params();
    let mut world = World::with(params, 30, false, open(&params, 50.0));
    world.run();
    assert_eq!(world.only().sender.congestion.window, 50.0);
    let mut world = World::with(TcpParams { max_window: 50, ..params }, 500, false, open(&params, 50.0));
    world.run();
    assert_eq!(world.only().sender.congestion.window, 50.0);
}

// --- recovery ----------------------------------------------------------------------------------------------------------------

/// Rule that loses the first transmission of these segments.
fn lose_once(lost: impl Fn(u32) -> bool + 'static) -> Decide {
    Box::new(move |event| !event.again && lost(event.seq))
}

#[test]
fn one_loss_costs_one_round_trip_and_half_the_window() {
    for window in [8.0, 40.0, 41.0] {
        let params = params();
        let mut world = World::with(params, 2000, false, open(&params, window));
        world.lose = lose_once(|seq| seq == 100);
        world.run();
        let flow = world.only();
        assert_eq!((flow.sender.retransmitted, flow.timeouts.len(), flow.cuts.len()), (1, 0, 1));
        let sent: Vec<u64> = flow.sent.iter().filter(|(_, seq)| *seq == 100).map(|(at, _)| *at).collect();
        assert_eq!(sent[1] - sent[0], RTT, "as soon as three above it are acknowledged");
        assert_eq!(flow.came[100], Some(sent[0] + RTT + DELAY));
        let rounds = world.rounds();
        let at = (sent[0] / RTT) as usize;
        let half = rounds[at] as f64 / 2.0;
        // One segment of the round was lost; in the round after next the window is full again.
        assert!((rounds[at + 2] as f64 - half).abs() <= 1.5, "{:?}", &rounds[at - 1..at + 4]);
    }
}

#[test]
fn many_losses_in_one_window_are_repaired_by_acknowledgements_alone() {
    type Pattern = (&'static str, fn(u32) -> bool);
    let patterns: [Pattern; 5] = [
        ("every other one", |seq| (200..264).contains(&seq) && seq % 2 == 0),
        ("three of four", |seq| (200..264).contains(&seq) && seq % 4 != 3),
        ("all but the last three", |seq| (200..261).contains(&seq)),
        ("the first ten", |seq| (200..210).contains(&seq)),
        ("one of three, over two windows", |seq| (200..330).contains(&seq) && seq % 3 == 0),
    ];
    for (name, lost) in patterns {
        let params = TcpParams { max_window: 64, ..params() };
        let mut world = World::with(params, 2000, false, open(&params, 64.0));
        world.lose = lose_once(lost);
        world.run();
        let flow = world.only();
        let count = (0..2000).filter(|seq| lost(*seq)).count() as u32;
        assert_eq!((flow.sender.retransmitted, flow.timeouts.len()), (count, 0), "{name}: each once, and no timeout");
        assert_eq!(flow.sent.len() as u32, 2000 + count, "{name}");
    }
}

/// RFC 6582 and 6675: a window has one cut for all its losses; losses of segments sent since belong to the next window.
#[test]
fn losses_cut_once_a_window() {
    let params = params();
    for (more, cuts) in [(0, 1), (1, 2), (5, 2)] {
        let mut world = World::with(params, 3000, false, open(&params, 64.0));
        // Loses most of a window, so that its repair takes several round trips, and then the first new segments sent
        // during the repair.
        let (mut left, mut repairing) = (more, false);
        world.lose = Box::new(move |event| {
            repairing |= event.again;
            let after = repairing && !event.again && left > 0;
            left -= after as u32;
            after || (!event.again && (640..680).contains(&event.seq))
        });
        world.run();
        let flow = world.only();
        assert_eq!((flow.cuts.len(), flow.timeouts.len()), (cuts, 0), "{more} more");
        assert_eq!(flow.sender.retransmitted, 40 + more);
    }
}

#[test]
fn a_lost_tail_costs_one_timeout() {
    for (lost, reason) in [(1, Why::Silent), (3, Why::Silent), (10, Why::Silent)] {
        let params = TcpParams { max_window: 10, ..params() };
        let mut world = World::with(params, 100, false, open(&params, 10.0));
        world.lose = lose_once(move |seq| seq >= 100 - lost);
        let end = world.run();
        let flow = world.only();
        let last_progress = flow.came(99 - lost) + DELAY;
        assert_eq!(flow.timeouts, [(last_progress + 5 * MS, reason)], "{lost} lost");
        assert_eq!(flow.sender.retransmitted, lost);
        // Slow start from one segment: 1, 2, 4, ...
        let rounds = 32 - lost.leading_zeros() as u64;
        assert_eq!(end, last_progress + 5 * MS + rounds * RTT, "{lost} lost");
        assert_eq!(flow.sender.congestion.threshold, 5.0);
    }
    // Two segments behind the lost one are too few for three duplicate acknowledgements.
    for behind in [1, 2] {
        let params = TcpParams { max_window: 10, ..params() };
        let mut world = World::with(params, 100, false, open(&params, 10.0));
        world.lose = lose_once(move |seq| seq == 99 - behind);
        world.run();
        let flow = world.only();
        assert_eq!((flow.timeouts.len(), flow.timeouts[0].1), (1, Why::Tail), "{behind} behind it");
        assert_eq!(flow.sender.retransmitted, 1, "what was acknowledged selectively does not go again");
    }
}

#[test]
fn a_lost_retransmission_costs_a_timeout() {
    let params = params();
    let mut world = World::with(params, 200, false, open(&params, 20.0));
    let mut left = 2;
    world.lose = Box::new(move |event| {
        let lost = event.seq == 50 && left > 0;
        left -= lost as u32;
        lost
    });
    world.run();
    let flow = world.only();
    assert_eq!(flow.timeouts.iter().map(|(_, reason)| *reason).collect::<Vec<_>>(), [Why::Retransmission]);
    assert_eq!(flow.sender.timeouts, 1);
}

/// Expects the reason `Held` for a timeout while lost segments wait for retransmission, and `Retransmission` for one
/// after the first was retransmitted.
#[test]
fn what_the_window_held_is_told_apart() {
    let params = params();
    let mut sender = TcpSender::new(20, false, open(&params, 8.0), Instant(0));
    while sender.send(&params, Instant(0)).is_some() {}
    for seq in 5..8 {
        sender.on_ack(&params, Instant(RTT), TcpAck { next: 0, block: (5, seq + 1), marked: false });
    }
    // Five segments are lost, and none was retransmitted within the window of four yet.
    assert_eq!(sender.in_flight(), 0);
    assert_eq!(sender.on_timeout(Instant(6 * MS)), Why::Held);
    assert_eq!(sender.send(&params, Instant(6 * MS)), Some(0));
    assert_eq!(sender.send(&params, Instant(6 * MS)), None);
    assert_eq!(sender.on_timeout(Instant(16 * MS)), Why::Retransmission);
    sender.audit().expect("sound");
}

#[test]
fn the_timeout_doubles_up_to_its_limit_and_an_acknowledgement_resets_it() {
    let params = TcpParams { rto_max: Duration(35 * MS), ..params() };
    let mut world = World::with(params, 100, false, open(&params, 10.0));
    // The channel loses segment 50 six times, and then segment 60 three times.
    let (mut dead, mut more) = (6, 3);
    world.lose = Box::new(move |event| {
        if event.seq == 50 && dead > 0 {
            dead -= 1;
            return true;
        }
        if event.seq == 60 && dead == 0 && more > 0 {
            more -= 1;
            return true;
        }
        dead > 0 && event.seq > 50
    });
    world.run();
    let at: Vec<u64> = world.only().timeouts.iter().map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = at.windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect();
    assert_eq!(gaps[..5], [10, 20, 35, 35, 35], "after the first, 5 ms");
    let reasons: Vec<Why> = world.only().timeouts.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(
        reasons[..6],
        [
            Why::Silent,
            Why::Retransmission,
            Why::Retransmission,
            Why::Retransmission,
            Why::Retransmission,
            Why::Retransmission
        ]
    );
    let started = world.only().came(49) + DELAY;
    assert_eq!(at[0] - started, 5 * MS);
    assert_eq!(gaps[5..], [5, 10, 20], "progress has reset it, before 60 is lost three times");
}

/// The limit holds however often the timeout doubles.
#[test]
fn the_limit_of_the_timeout_holds_for_ever() {
    for rto in [1 << 32, 1 << 33, 3 << 33, 5 * MS, 1 << 40] {
        let params = TcpParams { rto_min: Duration(rto), ..params() };
        let mut sender = TcpSender::new(1, false, Congestion::new(&params, Instant(0)), Instant(0));
        sender.send(&params, Instant(0));
        let mut now = 0;
        for doubled in 0..40u32 {
            let due = sender.deadline(&params).expect("one is out").0;
            let expected = (rto as u128 * (1u128 << doubled)).min(params.rto_max.0 as u128);
            assert_eq!((due - now) as u128, expected, "{rto} ps, doubled {doubled} times");
            now = due;
            sender.on_timeout(Instant(now));
            assert_eq!(sender.send(&params, Instant(now)), Some(0));
        }
    }
}

/// Karn: only segments sent once are timed, so every sample is the round trip of the channel.
#[test]
fn no_round_trip_is_measured_of_what_went_again() {
    let measured = |lose: Decide| {
        let params = params();
        let mut world = World::with(params, 500, false, open(&params, 20.0));
        world.lose = lose;
        world.run();
        let flow = world.only();
        (flow.sender.congestion.rtt.expect("some were measured"), flow.sender.retransmitted)
    };
    let (clean, _) = measured(never());
    assert_eq!(clean.0, Duration(RTT));
    let (fast, again) = measured(lose_once(|seq| seq % 37 == 5));
    assert!(again > 10);
    assert_eq!(fast.0, Duration(RTT));
    let (slow, again) = measured(lose_once(|seq| (100..140).contains(&seq) || seq == 499));
    assert!(again > 20);
    assert_eq!(slow.0, Duration(RTT));
}

/// RFC 6298 with samples that change: the first sets `srtt = R, rttvar = R / 2`; the timeout follows `srtt + 4 rttvar`.
#[test]
fn the_timeout_follows_the_round_trip() {
    let params = TcpParams { rto_min: Duration(1), ..params() };
    let mut congestion = Congestion::new(&params, Instant(0));
    assert_eq!(congestion.rto(&params), Duration(1));
    let (mut smoothed, mut variation) = (None, 0.0);
    for sample in [100.0, 100.0, 150.0, 90.0, 4000.0, 100.0, 100.0] {
        let mut sender = TcpSender::new(1, false, congestion, Instant(0));
        sender.send(&params, Instant(0));
        sender.on_ack(&params, Instant(sample as u64 * 1000), TcpAck { next: 1, block: (0, 0), marked: false });
        congestion = sender.congestion;
        match smoothed {
            None => (smoothed, variation) = (Some(sample), sample / 2.0),
            Some(s) => {
                variation = 0.75 * variation + 0.25 * f64::abs(s - sample);
                smoothed = Some(0.875 * s + 0.125 * sample);
            }
        }
        let expected = (smoothed.unwrap() + 4.0 * variation) * 1000.0;
        assert!((congestion.rto(&params).0 as f64 - expected).abs() < 50.0, "{expected}: {congestion:?}");
    }
}

#[test]
fn a_lost_opening_costs_a_timeout_of_its_own_kind() {
    let params = params();
    for (times, waits) in [(0, 0), (1, 5), (3, 5 + 10 + 20)] {
        let mut world = World::with(params, 10, true, Congestion::new(&params, Instant(0)));
        let mut left = times;
        world.lose = Box::new(move |event| {
            let lost = event.seq == 0 && left > 0;
            left -= lost as u32;
            lost
        });
        let end = world.run();
        let reasons: Vec<Why> = world.only().timeouts.iter().map(|(_, reason)| *reason).collect();
        assert_eq!(reasons, vec![Why::Handshake; times as usize]);
        assert_eq!(world.rounds().first(), Some(&1), "it goes alone");
        if times == 0 {
            assert_eq!(end, 2 * RTT, "one round trip to open, one for ten segments");
        } else {
            // Slow start from one segment: 1, 2, 4, 3.
            assert_eq!(end, waits * MS + RTT + 4 * RTT, "{times} lost");
        }
    }
    // The answer to the opening is lost. The other end is open and answers again.
    let mut world = World::with(params, 10, true, Congestion::new(&params, Instant(0)));
    world.lose_ack = Box::new(|event| event.number == 0);
    world.run();
    assert_eq!(world.only().timeouts, [(5 * MS, Why::Handshake)]);
}

#[test]
fn a_connection_that_rested_begins_anew() {
    let params = params();
    let used = Congestion { window: 77.0, threshold: 50.0, ..Congestion::new(&params, Instant(1000)) };
    assert_eq!(used.resumed(&params, Instant(1000 + 5 * MS)).window, 77.0);
    let rested = used.resumed(&params, Instant(1001 + 5 * MS));
    assert_eq!((rested.window, rested.threshold), (10.0, 50.0));
    let small = Congestion { window: 3.0, ..used }.resumed(&params, Instant(9000 * MS));
    assert_eq!(small.window, 3.0, "a rest makes no window larger");
    let raised = TcpParams { idle_raises: true, ..params };
    let small = Congestion { window: 3.0, ..used };
    assert_eq!(small.resumed(&raised, Instant(9000 * MS)).window, 10.0, "but in ns-2 it does");
    assert_eq!(small.resumed(&raised, Instant(1000 + 5 * MS)).window, 3.0);
    // With an srtt of 80 us and a variation of 10 us, ns-2 takes an idle time above 120 us for long, whatever the
    // minimum timeout.
    let (srtt, variation) = (80_000_000, 10_000_000);
    let measured = Congestion { rtt: Some((Duration(srtt), Duration(variation))), ..used };
    let long = srtt + 4 * variation;
    assert_eq!(measured.resumed(&raised, Instant(1000 + long)).window, 77.0);
    assert_eq!(measured.resumed(&raised, Instant(1001 + long)).window, 10.0);
    assert_eq!(measured.resumed(&params, Instant(1001 + long)).window, 77.0, "RFC 5681 compares with the timeout");
    assert_eq!(measured.rto(&raised), Duration(5 * MS), "which is as long as ever");
    let never = TcpParams { idle_restart: false, ..params };
    assert_eq!(used.resumed(&never, Instant(9000 * MS)).window, 77.0);
}

// --- receiver ----------------------------------------------------------------------------------------------------------------

/// Source of random numbers.
struct Dice(Stream);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(Stream::new(seed, 0x7463_7074, 0))
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.0.next_u32() as u64 * n) >> 32
    }

    /// Draws true with this probability.
    fn chance(&mut self, p: f64) -> bool {
        (self.0.next_u32() as f64) < p * 4_294_967_296.0
    }
}

/// Compares with a set: in any order of arrival, each acknowledgement names the first gap and the whole run of its
/// segment.
#[test]
fn blocks_merge_in_any_order_of_arrival() {
    for seed in 0..3000 {
        let mut dice = Dice::new(seed);
        let total = 1 + dice.below(40) as u32;
        let mut order: Vec<u32> = (0..total).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, dice.below(i as u64 + 1) as usize);
        }
        // Some segments arrive twice, the second time anywhere after the first.
        for _ in 0..dice.below(20) {
            let copy = order[dice.below(order.len() as u64) as usize];
            let first = order.iter().position(|seq| *seq == copy).expect("it is there");
            let at = first + 1 + dice.below((order.len() - first) as u64) as usize;
            order.insert(at, copy);
        }
        let (mut receiver, mut have) = (TcpReceiver::default(), BTreeSet::new());
        for seq in order {
            if receiver.is_done() {
                break;
            }
            have.insert(seq);
            let marked = dice.chance(0.3);
            let answers = receiver.on_data(EACH, seq, seq + 1 == total, marked);
            let answer = answers[1].expect("each is answered");
            assert_eq!(answers[0], None, "nothing waits");
            let next = (0..).find(|seq| !have.contains(seq)).expect("below the total and one more");
            assert_eq!((answer.next, answer.marked), (next, marked), "seed {seed}");
            if seq < next {
                assert_eq!(answer.block, (0, 0));
            } else {
                let from = (0..=seq).rev().take_while(|seq| have.contains(seq)).last().expect("itself");
                let to = (seq..).find(|seq| !have.contains(seq)).expect("an end");
                assert_eq!(answer.block, (from, to), "seed {seed}");
            }
            assert_eq!(receiver.is_done(), have.len() as u32 == total);
        }
        assert_eq!(receiver.next, total);
    }
}

#[test]
fn every_nth_segment_in_order_is_acknowledged_and_the_last() {
    for every in 1..=5 {
        let mut receiver = TcpReceiver::default();
        let policy = AckPolicy { every, exact_marks: false };
        let mut acks = Vec::new();
        for seq in 0..23 {
            acks.extend(receiver.on_data(policy, seq, seq == 22, seq == 7).into_iter().flatten());
        }
        let mut expected: Vec<u32> = (1..=23).filter(|next| next % every == 0).collect();
        if 23 % every != 0 {
            expected.push(23);
        }
        assert_eq!(acks.iter().map(|ack| ack.next).collect::<Vec<_>>(), expected);
        // The mark is on the acknowledgement that covers its segment.
        let marked: Vec<u32> = acks.iter().filter(|ack| ack.marked).map(|ack| ack.next).collect();
        assert_eq!(marked, [8u32.div_ceil(every) * every], "every {every}");
        assert!(!receiver.is_waiting());
    }
}

/// RFC 8257, section 3.2: each change of the marks acknowledges waiting segments at once. The segments of an
/// acknowledgement are then all marked or all unmarked, and the sender can count both exactly.
#[test]
fn marks_are_told_exactly_whatever_the_delay_of_acknowledgements() {
    for seed in 0..2000 {
        let mut dice = Dice::new(seed);
        let policy = AckPolicy { every: 1 + dice.below(5) as u32, exact_marks: true };
        let (mut receiver, mut marks, mut told) = (TcpReceiver::default(), Vec::new(), Vec::new());
        let mut state = false;
        for seq in 0..100 {
            state ^= dice.chance(0.25);
            marks.push(state);
            let mut answers: Vec<TcpAck> =
                receiver.on_data(policy, seq, seq == 99, state).into_iter().flatten().collect();
            if receiver.is_waiting() && dice.chance(0.1) {
                answers.push(receiver.acknowledge());
            }
            for answer in answers {
                let from = told.len();
                told.resize(answer.next as usize, answer.marked);
                assert!(answer.next as usize - from <= policy.every as usize);
            }
        }
        assert_eq!(marks, told, "seed {seed}");
    }
}

#[test]
fn out_of_order_everything_is_acknowledged_at_once() {
    let mut receiver = TcpReceiver::default();
    let policy = AckPolicy { every: 10, exact_marks: false };
    assert_eq!(receiver.on_data(policy, 0, false, true), [None, None]);
    // The delayed acknowledgement goes first, with its mark.
    let [before, now] = receiver.on_data(policy, 2, false, false);
    assert_eq!(before, Some(TcpAck { next: 1, block: (0, 0), marked: true }));
    assert_eq!(now, Some(TcpAck { next: 1, block: (2, 3), marked: false }));
    // A duplicate, the missing segment, and then a segment in order.
    assert_eq!(receiver.on_data(policy, 0, false, false)[1].map(|ack| ack.next), Some(1));
    assert_eq!(receiver.on_data(policy, 1, false, false)[1].map(|ack| ack.next), Some(3));
    assert_eq!(receiver.on_data(policy, 3, false, false), [None, None]);
}

// --- both --------------------------------------------------------------------------------------------------------------------

/// Expects every flow to end under loss of segments and acknowledgements, reordering, marks and delayed
/// acknowledgements. Both accounts must agree after every step.
#[test]
fn everything_arrives_under_random_loss() {
    let (mut again, mut timeouts, mut reasons) = (0, 0, BTreeSet::new());
    for seed in 0..10_000 {
        let mut dice = Dice::new(seed);
        let marks = [Marks::None, Marks::Dctcp, Marks::EcnStar][dice.below(3) as usize];
        let initial_window = 1 + dice.below(20) as u32;
        let params = TcpParams {
            marks,
            initial_window,
            max_window: if dice.chance(0.5) { initial_window + dice.below(30) as u32 } else { u32::MAX },
            min_window: 1 + dice.below(3) as u32,
            dup_acks: 1 + dice.below(4) as u32,
            rto_min: Duration(MS),
            recovery: if dice.chance(0.3) { Recovery::Sack1 } else { Recovery::Rfc6675 },
            ..params()
        };
        let total = 1 + dice.below(150) as u32;
        let handshake = dice.chance(0.3);
        let mut world = World::with(params, total, handshake, Congestion::new(&params, Instant(0)));
        world.policy = AckPolicy { every: 1 + dice.below(4) as u32, exact_marks: marks == Marks::Dctcp };
        world.ack_delay = MS / 4;
        world.service = [0, 1_000_000, 10_000_000][dice.below(3) as usize];
        let rate = |dice: &mut Dice| [0.0, 0.003, 0.03, 0.2, 0.4][dice.below(5) as usize];
        let (loss, ack_loss, mark) = (rate(&mut dice), rate(&mut dice), rate(&mut dice));
        let mut draws = Dice::new(seed ^ 1 << 40);
        world.lose = Box::new(move |_| draws.chance(loss));
        let mut draws = Dice::new(seed ^ 1 << 41);
        world.lose_ack = Box::new(move |_| draws.chance(ack_loss));
        let mut draws = Dice::new(seed ^ 1 << 42);
        world.mark = Box::new(move |_| draws.chance(mark));
        if dice.chance(0.3) {
            let mut draws = Dice::new(seed ^ 1 << 43);
            world.jitter = Box::new(move || draws.below(DELAY));
        }
        world.run();
        let flow = world.only();
        again += flow.sender.retransmitted as u64;
        timeouts += flow.timeouts.len();
        reasons.extend(flow.timeouts.iter().map(|(_, reason)| *reason));
        assert_eq!(flow.sent.len() as u32, flow.sender.total + flow.sender.retransmitted, "seed {seed}");
        assert_eq!(flow.sender.timeouts as usize, flow.timeouts.len());
    }
    println!("{again} segments sent again, {timeouts} timeouts for {reasons:?}");
    for reason in [Why::Silent, Why::Tail, Why::Retransmission, Why::Handshake] {
        assert!(reasons.contains(&reason), "{reason:?}");
    }
}

/// Expects no timeout and no retransmission on a channel without loss, for all parameters.
#[test]
fn without_loss_nothing_goes_twice() {
    for seed in 0..500 {
        let mut dice = Dice::new(seed);
        let initial_window = 1 + dice.below(20) as u32;
        let params = TcpParams { initial_window, max_window: initial_window + dice.below(50) as u32, ..params() };
        let total = 1 + dice.below(2000) as u32;
        let mut world = World::with(params, total, dice.chance(0.3), Congestion::new(&params, Instant(0)));
        world.policy.every = 1 + dice.below(4) as u32;
        world.service = [0, 1_000_000][dice.below(2) as usize];
        world.run();
        assert_eq!((world.only().sender.retransmitted, world.only().timeouts.len()), (0, 0), "seed {seed}");
    }
}

// --- marks -------------------------------------------------------------------------------------------------------------------

#[test]
fn ecn_star_halves_once_a_window_and_not_below_the_least() {
    let params = TcpParams { marks: Marks::EcnStar, ..params() };
    // Ten of the window sent in the third round are marked.
    let mut world = World::with(params, 2000, false, open(&params, 64.0));
    world.mark = Box::new(|event| (140..150).contains(&event.seq));
    world.run();
    let flow = world.only();
    assert_eq!((flow.cuts.len(), flow.sender.retransmitted), (1, 0));
    let before = (140 / 64) as usize;
    let rounds = world.rounds();
    assert!((rounds[before + 1] as i64 - 33).abs() <= 1, "{:?}", &rounds[..8]);
    assert_eq!(flow.cuts[0].1, flow.cuts[0].0 / 2.0);
    // Everything is marked: one cut each round down to the least.
    for least in [1, 2, 5] {
        let params = TcpParams { min_window: least, ..params };
        let mut world = World::with(params, 600, false, open(&params, 64.0));
        world.mark = Box::new(|_| true);
        world.run();
        let rounds = world.rounds();
        assert_eq!(world.only().sender.congestion.window, least as f64, "{rounds:?}");
        assert_eq!(*rounds.iter().rev().nth(1).expect("rounds"), least);
    }
}

/// A cut makes no window larger, not even one below the minimum.
#[test]
fn a_mark_never_enlarges_a_window() {
    let params = TcpParams { marks: Marks::EcnStar, min_window: 4, initial_window: 2, ..params() };
    let mut sender = TcpSender::new(100, false, Congestion::new(&params, Instant(0)), Instant(0));
    while sender.send(&params, Instant(0)).is_some() {}
    sender.on_ack(&params, Instant(RTT), TcpAck { next: 1, block: (0, 0), marked: true });
    assert_eq!(sender.congestion.window, 2.0);
}

#[test]
fn a_loss_and_marks_of_one_window_cut_it_once() {
    let params = TcpParams { marks: Marks::EcnStar, ..params() };
    let mut world = World::with(params, 2000, false, open(&params, 64.0));
    world.lose = lose_once(|seq| seq == 130);
    world.mark = Box::new(|event| (140..190).contains(&event.seq) && !event.again);
    world.run();
    assert_eq!(world.only().cuts.len(), 1);
}

/// Rule that marks one of every `n` segments.
#[test]
fn dctcps_estimate_converges_to_the_share_of_marks() {
    for every in [1, 2] {
        for n in [1, 2, 4, 10] {
            let params = TcpParams { marks: Marks::Dctcp, min_window: 20, ..params() };
            let mut world = World::with(params, 40_000, false, open(&params, 20.0));
            world.policy = AckPolicy { every, exact_marks: true };
            world.mark = Box::new(move |event| event.number % n == 0);
            let (mut sum, mut count) = (0.0, 0);
            for round in 0..1500 {
                world.run_until(round * RTT + RTT / 2);
                if round > 200 && world.only().ended.is_none() {
                    sum += world.only().sender.congestion.alpha;
                    count += 1;
                }
            }
            let (mean, share) = (sum / count as f64, 1.0 / n as f64);
            assert!((mean - share).abs() < 0.03 * share + 0.003, "1 of {n}: {mean} in {count} rounds");
        }
    }
    // Without marks, alpha starts at one and decays by 1 - g with the first acknowledgement, with every nineteenth, and
    // with the last. The nineteenth, not the twentieth: an acknowledgement that ends a window is counted before it
    // releases the next segment.
    let params = TcpParams { marks: Marks::Dctcp, max_window: 20, initial_window: 20, ..params() };
    let mut world = World::new(params, 20 * 40);
    world.run();
    let alpha = world.only().sender.congestion.alpha;
    let expected = (15.0f64 / 16.0).powi(1 + (20 * 40 - 1) / 19 + 1);
    assert!((alpha / expected - 1.0).abs() < 1e-9, "{alpha} for {expected}");
}

/// Oscillation of the windows of flows in step over a link that marks above `k` segments: Alizadeh et al., SIGCOMM
/// 2010, section 3.3.
///
/// `W*` is the window at which the queue reaches `k`, and `alpha` solves `alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* +
/// 1)^2`. The amplitude is `D = (W* + 1) alpha / 2`, and the period `D` round trips.
#[test]
fn dctcps_sawtooth_has_the_published_amplitude_and_period() {
    println!(
        "{:>5} {:>5} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "1/g", "flows", "W*", "alpha", "printed", "swing", "printed", "period"
    );
    let shapes = [(1, 50, 20), (1, 100, 40), (2, 100, 40), (2, 200, 60), (4, 200, 60)];
    for ((flows, pipe, k), g) in shapes.into_iter().flat_map(|shape| [(shape, 64), (shape, 16)]) {
        let params = TcpParams { marks: Marks::Dctcp, g: 1.0 / g as f64, ..params() };
        let service = RTT / pipe;
        let star = (pipe + k) as f64 / flows as f64;
        let mut world = World::with(params, u32::MAX / 2, false, open(&params, star * 0.8));
        (1..flows).for_each(|_| world.add(u32::MAX / 2, false, open(&params, star * 0.8)));
        world.flows.iter_mut().for_each(|flow| flow.sender.congestion.alpha = 0.2);
        world.service = service;
        world.mark = Box::new(move |event| event.queue > k);
        let (mut alpha, mut samples, mut queue) = (0.0, 0, (u64::MAX, 0));
        for step in 0..40_000u64 {
            world.run_until(step * RTT / 10);
            if step == 15_000 {
                world.flows[0].cuts.clear();
            }
            if step > 15_000 {
                alpha += world.flows[0].sender.congestion.alpha;
                samples += 1;
                queue = (queue.0.min(world.queue), queue.1.max(world.queue));
            }
        }
        let cuts = &world.flows[0].cuts;
        let (alpha, swing) =
            (alpha / samples as f64, cuts.iter().map(|(from, to)| from - to).sum::<f64>() / cuts.len() as f64);
        let period = 25_000.0 / 10.0 / cuts.len() as f64;
        let printed_alpha = solve(|a| a * a * (1.0 - a / 4.0) - (2.0 * star + 1.0) / (star + 1.0).powi(2));
        let printed = (star + 1.0) * printed_alpha / 2.0;
        println!(
            "{g:>5} {flows:>5} {star:>6} {alpha:>8.3} {printed_alpha:>8.3} {swing:>8.2} {printed:>8.2} {period:>8.2} {queue:?}"
        );
        // Period in round trips that include the mean queue. One more round trip passes with marked acknowledgements,
        // in which no window grows.
        let turns = period * pipe as f64 / (flows as f64 * (star - swing / 2.0));
        assert!((alpha / printed_alpha - 1.0).abs() < 0.10, "alpha {alpha} for {printed_alpha}");
        // The paper takes alpha for constant. With g = 1/16 it has decayed for D round trips by the time of the cut.
        let off = if g == 64 { 0.12 } else { 0.18 };
        assert!((swing / printed - 1.0).abs() < off, "swing {swing} for {printed}");
        assert!((turns - swing - 1.0).abs() < 0.5, "{turns} round trips for a swing of {swing}");
        assert!(
            queue.0 > 0 && queue.1 <= k + flows,
            "the link is never idle, the queue never far above {k}: {queue:?}"
        );
    }
}

/// Finds the zero in (0, 1) of an increasing function.
fn solve(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

// --- throughput --------------------------------------------------------------------------------------------------------------

/// Mathis et al., CCR 1997: a loss every `1 / p` segments gives `sqrt(3 / (2 p))` segments a round trip, and
/// independent losses `1.31 / sqrt(p)` (Ott, Kemperman and Mathis 1996).
#[test]
fn throughput_follows_the_square_root_law() {
    for p in [1e-4, 3e-4, 1e-3] {
        for (name, constant) in [("periodic", 1.5f64.sqrt()), ("random", 1.309)] {
            let law = constant / f64::sqrt(p);
            let segments = (300.0 / p) as u32;
            let params = params();
            let mut world = World::with(params, segments, false, open(&params, law));
            world.lose = match name {
                "periodic" => Box::new(move |event| event.number % (1.0 / p) as u64 == 77),
                _ => {
                    let mut dice = Dice::new((1e6 * p) as u64);
                    Box::new(move |_| dice.chance(p))
                }
            };
            let end = world.run();
            let rate = segments as f64 / (end as f64 / RTT as f64);
            let timeouts = world.only().timeouts.len();
            println!("p = {p}, {name}: {rate:.1} segments a round trip, law {law:.1}, {timeouts} timeouts");
            assert!((rate / law - 1.0).abs() < 0.10, "p = {p}, {name}: {rate} for {law}");
        }
    }
}
