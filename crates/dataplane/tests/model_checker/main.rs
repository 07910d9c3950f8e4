//! Exhaustive exploration of FlowSail's and BFC's state machines, as shipped: two switches in line, two flows, a
//! control frame lost and one duplicated, in every order of these events. `make test-long` also has three flows and two
//! receivers, loses two frames, delays frames, and leaves a buffer of two packets.
//!
//! In every state packets arrive in order, no packet leaves against a pause that has arrived, and the switches agree
//! with a recount and stay within their buffers. From every state, once no more frames are lost, a fair schedule ends
//! within five refresh periods with all packets received, all flows resumed and all records gone. If the receivers stop
//! instead, all pauses that a switch wants are in force from the fifth period on.
//!
//! Not explored: weights, sketches, priorities, short fingerprints, sampling, failing links, and frames that overtake
//! others, because links keep order. (A copy of an old PAUSE that arrived after the first of BFC's three all-clears
//! would hold a queue for ever, if the other two were lost; FlowSail's pauses lapse.)

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod broken;
mod machines;
mod network;
mod plan;

use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{
    Bfc, BfcParams, Canonical, Composed, DataPlane, Dynamic, FlowSail, FlowSailParams, Hold, Policy, Readings,
    ReleaseFrom, Residue, Switch,
};
use backwater_types::{Bytes, Duration};
use broken::{LosesMarks, NeverRepeats};
use machines::{AHEAD, BACK, Parcel, Wrong};
use network::{AGREED, DONE, Network, SAFE};
use plan::{PERIOD, Plan};
use stateright::{Checker, HasDiscoveries, Model};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Two flows of two packets each to one receiver.
const PAIR: Plan = Plan {
    packets: &[2, 2],
    receivers: &[1, 1],
    queues: 2,
    link: 1,
    losses: 1,
    doubles: 1,
    draws: 1,
    buffer: 8,
    slow_frames: false,
    by_flow: true,
    drains: false,
    all_tracked: true,
};

/// Like [`PAIR`], with one flow long enough to have packets in front of its order mark and behind it.
const UNEVEN: Plan = Plan { packets: &[3, 1], ..PAIR };

/// Like [`PAIR`], for BFC, which pauses queues.
const BY_QUEUE: Plan = Plan { by_flow: false, ..PAIR };

/// The same with two control frames lost.
const fn twice_lost(plan: Plan) -> Plan {
    Plan { losses: 2, ..plan }
}

/// Parameters with thresholds of one or two packets.
fn flowsail() -> FlowSailParams {
    FlowSailParams {
        ql: 0.5,
        qh: 1.5,
        refresh: PERIOD,
        // No bucket of the table can be full, as the encoding requires.
        table_entries: 16,
        ..FlowSailParams::default()
    }
}

/// Parameters under which every packet behind another is flagged.
fn sharp() -> FlowSailParams {
    FlowSailParams { ql: 0.25, qh: 0.5, ..flowsail() }
}

fn bfc() -> BfcParams {
    BfcParams { table_entries_per_queue: 8, refresh: PERIOD, count_last: true, ..BfcParams::default() }
}

/// BFC's parameters, for its assignment and its backpressure.
fn twice(params: &BfcParams) -> (BfcParams, BfcParams) {
    (params.clone(), params.clone())
}

/// The letter of the paper's section IV: an isolation queue waits for all of its flows, and a flow is released once it
/// is idle.
fn by_the_letter() -> FlowSailParams {
    FlowSailParams { hold: Hold::Any, release_from: ReleaseFrom::Touch, ..sharp() }
}

/// Parameters under which packets of a paused flow depart from its normal queue.
fn draining() -> FlowSailParams {
    FlowSailParams { residue: Residue::Drain, ..sharp() }
}

type BfcSwitch = Composed<Dynamic<1>, Bfc>;

/// The results on flows below require flows that do not share entries of BFC's table.
#[test]
fn flows_have_entries_of_their_own() {
    let plan = Plan { packets: &[1, 1, 1], receivers: &[1, 1, 1], ..BY_QUEUE };
    let mut switch = Switch::<BfcSwitch>::new(&plan.shape(), &twice(&bfc()));
    for flow in 0..3 {
        let packet = plan.packet(Parcel { flow, seq: 0, queue: flow });
        switch.receive(backwater_types::Instant::ZERO, &packet.into(), BACK, AHEAD);
    }
    assert_eq!(switch.active_flows(AHEAD), Some(3));
}

/// Explores all states and requires every property in each.
fn explore<P>(name: &str, plan: Plan, params: &P::Params)
where
    P: Policy<Queues = PausableQueues<1>> + Canonical + Send + Sync + 'static,
{
    let start = Instant::now();
    let network = Network::<P>::new(plan, params);
    let checker = network.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let (states, steps, depth) = (checker.unique_state_count(), checker.state_count(), checker.max_depth());
    let network = checker.model();
    let (of_switch, runs) = network.machines.counts();
    let periods = network.most_periods.load(Ordering::Relaxed);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {states} states, {steps} steps, {depth} deep, done after {periods} periods at most; \
         a switch: {of_switch} states, {runs} steps; {seconds:.1} s"
    );
    if let Some(complaint) = network.machines.complaints.lock().expect("no panics").first() {
        println!("{name}: {complaint}");
    }
    checker.assert_properties();
}

/// Returns the first violation of `property` that the checker finds.
fn find<P>(plan: Plan, params: &P::Params, property: &'static str) -> Option<Wrong>
where
    P: Policy<Queues = PausableQueues<1>> + Canonical + Send + Sync + 'static,
{
    let network = Network::<P>::new(plan, params);
    let stop = HasDiscoveries::AnyOf([property].into());
    let checker = network.checker().threads(2).finish_when(stop).spawn_bfs().join();
    let path = checker.discovery(property).unwrap_or_else(|| panic!("no violation found: {property}"));
    let states = checker.unique_state_count();
    println!("violated: {property}, after {states} states, by {:?}", path.clone().into_actions());
    path.last_state().wrong
}

// Several tests, which run side by side.

#[test]
fn flowsail_states() {
    explore::<FlowSail<1>>("new packets after old ones", UNEVEN, &sharp());
    let lossless = Plan { losses: 0, doubles: 0, ..PAIR };
    explore::<FlowSail<1>>("paused again", Plan { packets: &[3, 2], ..lossless }, &sharp());
}

#[test]
fn flowsail_states_with_little_room() {
    let one_record = FlowSailParams { table_entries: 1, ..sharp() };
    let untracked = Plan { packets: &[4, 1], doubles: 0, all_tracked: false, ..PAIR };
    explore::<FlowSail<1>>("room for one record", untracked, &one_record);
}

#[test]
fn flowsail_states_by_the_letter() {
    explore::<FlowSail<1>>("by the letter", Plan { doubles: 0, ..UNEVEN }, &by_the_letter());
}

#[test]
fn flowsail_states_draining() {
    explore::<FlowSail<1>>("draining", Plan { drains: true, doubles: 0, ..UNEVEN }, &draining());
}

#[test]
fn bfc_states() {
    explore::<BfcSwitch>("a queue each", BY_QUEUE, &twice(&bfc()));
    let one = twice(&BfcParams { table_entries_per_queue: 1, ..bfc() });
    explore::<BfcSwitch>("one entry", BY_QUEUE, &one);
}

/// Parameters under which any packet behind another counts, except for a flow's last.
fn without_last_packets() -> (BfcParams, BfcParams) {
    twice(&BfcParams { fixed_threshold: Some(Bytes(512)), count_last: false, ..bfc() })
}

#[test]
#[ignore = "a quarter of a minute"]
fn bfc_states_without_last_packets() {
    // A flow with a queue to itself needs three packets for one that counts.
    let five = Plan { packets: &[3, 2], doubles: 0, ..BY_QUEUE };
    explore::<BfcSwitch>("a queue each", five, &without_last_packets());
}

#[test]
#[ignore = "six minutes"]
fn more_flowsail_states() {
    const TWICE: Plan = twice_lost(PAIR);
    let uneven = twice_lost(UNEVEN);
    explore::<FlowSail<1>>("new packets after old ones", uneven, &sharp());
    explore::<FlowSail<1>>("two normal queues", Plan { queues: 3, ..TWICE }, &flowsail());
    explore::<FlowSail<1>>("two receivers", Plan { receivers: &[1, 2], ..uneven }, &sharp());
    explore::<FlowSail<1>>("uneven, by the letter", uneven, &by_the_letter());
    explore::<FlowSail<1>>("uneven, draining", Plan { drains: true, ..uneven }, &draining());
    let again = Plan { packets: &[3, 2], losses: 0, doubles: 0, ..PAIR };
    explore::<FlowSail<1>>("by the letter, paused again", again, &by_the_letter());
    explore::<FlowSail<1>>("draining, paused again", Plan { drains: true, ..again }, &draining());
    explore::<FlowSail<1>>("five packets", Plan { packets: &[3, 2], ..TWICE }, &flowsail());
    let three = Plan { packets: &[2, 1, 1], receivers: &[1, 1, 1], queues: 3, draws: 2, ..TWICE };
    explore::<FlowSail<1>>("three flows", three, &sharp());
    let patient = FlowSailParams { ql: 1.0, qh: 2.0, ..flowsail() };
    explore::<FlowSail<1>>("six packets", Plan { packets: &[3, 3], losses: 0, doubles: 0, ..PAIR }, &patient);
    explore::<FlowSail<1>>("paused again", Plan { packets: &[3, 2], doubles: 0, ..PAIR }, &sharp());
    explore::<FlowSail<1>>("slow frames", Plan { slow_frames: true, doubles: 0, ..PAIR }, &flowsail());
    explore::<FlowSail<1>>("little buffer", Plan { buffer: 2, ..UNEVEN }, &sharp());
    explore::<FlowSail<1>>("by the letter", TWICE, &by_the_letter());
    explore::<FlowSail<1>>("by the letter, two normal queues", Plan { queues: 3, ..TWICE }, &by_the_letter());
}

#[test]
#[ignore = "four minutes"]
fn more_bfc_states() {
    const TWICE: Plan = twice_lost(BY_QUEUE);
    let sharp = twice(&BfcParams { fixed_threshold: Some(Bytes(512)), ..bfc() });
    explore::<BfcSwitch>("a queue each", TWICE, &twice(&bfc()));
    explore::<BfcSwitch>("two receivers, with one frame twice", Plan { receivers: &[1, 2], ..BY_QUEUE }, &sharp);
    let one = twice(&BfcParams { table_entries_per_queue: 1, ..bfc() });
    explore::<BfcSwitch>("one entry", TWICE, &one);
    let two = Plan { packets: &[3, 2], doubles: 0, receivers: &[1, 2], ..BY_QUEUE };
    explore::<BfcSwitch>("two receivers", two, &without_last_packets());
    explore::<BfcSwitch>("five packets", Plan { packets: &[3, 2], ..TWICE }, &twice(&bfc()));
    let three = Plan { packets: &[2, 1, 1], receivers: &[1, 1, 1], draws: 2, ..TWICE };
    explore::<BfcSwitch>("three flows, two queues", three, &twice(&bfc()));
    explore::<BfcSwitch>("slow frames", Plan { slow_frames: true, ..TWICE }, &twice(&bfc()));
    explore::<BfcSwitch>("little buffer", Plan { buffer: 2, ..BY_QUEUE }, &sharp);
    let (five, params) = (Plan { packets: &[3, 2], ..TWICE }, without_last_packets());
    explore::<BfcSwitch>("a queue each, last packets not counted", five, &params);
    let slow = Plan { slow_frames: true, losses: 1, doubles: 0, ..five };
    explore::<BfcSwitch>("slow frames, last packets not counted", slow, &params);
    let little = Plan { buffer: 2, losses: 1, ..five };
    explore::<BfcSwitch>("little buffer, last packets not counted", little, &params);
}

#[test]
fn planted_bugs_are_found() {
    assert_eq!(find::<LosesMarks>(UNEVEN, &sharp(), SAFE), Some(Wrong::Order));
    let no_repeats = FlowSailParams { refresh: Duration::ZERO, ..flowsail() };
    find::<FlowSail<1>>(PAIR, &no_repeats, DONE);
    find::<FlowSail<1>>(PAIR, &no_repeats, AGREED);
    find::<Composed<Dynamic<1>, NeverRepeats>>(BY_QUEUE, &twice(&bfc()), DONE);
    find::<Composed<Dynamic<1>, NeverRepeats>>(BY_QUEUE, &twice(&bfc()), AGREED);
}
