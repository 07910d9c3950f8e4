//! Two endless flows into one port: each gets half, or one of them goes first, as their transport states.

use crate::common::run;
use crate::conformance::registry::{NOTHING, Subject, each, schemes, transports};
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, Backpressure, Scheduler};
use backwater_transport::Site;

/// How far from half of what both get a flow may be, over two milliseconds.
///
/// Where flows have queues of their own, deficit round robin owes a flow a quantum at most while both hold data, and a pause
/// ends before a queue has long been empty: a few packets of 24,000, but in turns that need not be even: one in a hundred. In
/// one FIFO the shares are what arrivals and end-to-end control make them. Senders that hear of one queue at different times,
/// and cut and grow their rates in turn, are never equal, but nobody starves: two thirds of a half at least. So it is where a
/// control aims for less than the port has: the scheduler has nothing to decide.
fn tolerance(scenario: &Scenario) -> f64 {
    match scenario.switch.assignment {
        _ if scenario.host.share() < 1.0 => 1.0 / 3.0,
        Assignment::PerFlow | Assignment::Dynamic | Assignment::Flowsail => 0.01,
        Assignment::Single
        | Assignment::Stochastic
        | Assignment::Class
        | Assignment::Priority
        | Assignment::HomaDynamic => 1.0 / 3.0,
    }
}

/// Of the port's rate that both get together, headers among it. What is paused at a share of a bandwidth-delay product runs dry at
/// times, but no more than that. A control that states a recovery longer than the run is where its cuts have put it: two flows
/// that start at the rate of the port fill it when both are cut by half, and half of it if that was not enough and they were again.
fn least_used(scenario: &Scenario) -> f64 {
    let site = Site { line_rate: 100e9, payload: scenario.host.payload.0, ..Site::default() };
    if scenario.host.recovery(site) > scenario.run.duration { 0.5 } else { 0.75 }
}

/// The port is crowded for four milliseconds, five hundred round trips for two rates to meet in; the second half counts.
#[test]
fn two_long_flows_share_a_port() {
    // A transport that has no control of its own needs a switch that stops it.
    let stops = |subject: &Subject| subject.scenario(NOTHING).switch.backpressure != Backpressure::None;
    each(schemes().into_iter().chain(transports().into_iter().filter(stops)).collect(), |subject| {
        let scenario = subject.scenario(
            "[topology]\nkind = \"single-switch\"\nhosts = 3\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [run]\nduration = \"4 ms\"\nwarmup = \"2 ms\"\ndrain = 1.0\n\
             [[workload]]\nkind = \"long-lived\"\nclass = \"one\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host2\"]\n\
             [[workload]]\nkind = \"long-lived\"\nclass = \"two\"\ncount = 1\nfrom = [\"host1\"]\nto = [\"host2\"]\n",
        );
        let goodput = run(&scenario).goodput;
        let full = scenario.host.full_packet().0 as f64 / scenario.host.payload.0 as f64;
        let port = 100e9 / 8.0 * 2e-3;
        let [one, two] = [0, 1].map(|class| goodput[class] as f64 * full / port);
        let switch = &scenario.switch;
        let ranks = switch.assignment == Assignment::Priority || switch.scheduler == Scheduler::Srf;
        if ranks && !scenario.host.shares() {
            // One of them got ahead, has less left since, and goes first: the other has what that leaves of the port.
            println!("{}: {one:.3} and {two:.3} of the port", subject.name);
            assert!(one.max(two) >= 3.0 * one.min(two), "{}: {one:.3} and {two:.3} of the port", subject.name);
            return assert!(one + two >= 0.95, "{}: {one:.3} and {two:.3} of the port", subject.name);
        }
        let unfair = (one - two).abs() / (one + two);
        println!("{}: {one:.3} and {two:.3} of the port, {unfair:.4} from half", subject.name);
        assert!(unfair <= tolerance(&scenario), "{}: {one:.3} and {two:.3} of the port", subject.name);
        assert!(one + two >= least_used(&scenario), "{}: {one:.3} and {two:.3} of the port", subject.name);
    });
}
