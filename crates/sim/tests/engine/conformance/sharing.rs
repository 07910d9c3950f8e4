//! Two endless flows into one port get half each, or one of them goes first if their transport says so.

use crate::common::run;
use crate::conformance::registry::{NOTHING, Subject, each, schemes, transports};
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, Backpressure, Scheduler};
use backwater_transport::Site;

/// Returns the largest allowed distance of a flow from half of the total, over two milliseconds.
///
/// With queues per flow, deficit round robin owes a flow at most a quantum while both have packets, and a pause ends
/// soon after a queue empties. These are a few packets of 24,000. As pauses need not alternate evenly, one in a hundred
/// is allowed.
///
/// In one FIFO, arrivals and end-to-end control decide the shares. Senders that react at different times are never
/// equal, but none may starve: each gets at least two thirds of a half. The same holds where a control aims below the
/// port's rate, as the scheduler then has nothing to decide.
fn tolerance(scenario: &Scenario) -> f64 {
    match scenario.switch.assignment {
        _ if scenario.host.share() < 1.0 => 1.0 / 3.0,
        Assignment::PerFlow | Assignment::Dynamic | Assignment::Flowsail => 0.01,
        Assignment::Single
        | Assignment::Stochastic
        | Assignment::Class
        | Assignment::Priority
        | Assignment::HomaDynamic
        | Assignment::Mine(_) => 1.0 / 3.0,
    }
}

/// Returns the least share of the port's rate that both flows must get together, with headers. Pausing at a fraction of
/// a bandwidth-delay product may idle the port at times, but no more than that.
///
/// A control with a recovery longer than the run stays at the rate of its cuts. Two flows that start at line rate fill
/// the port after one cut by half. If both were cut twice, they fill half of it.
fn least_used(scenario: &Scenario) -> f64 {
    let site = Site { line_rate: 100e9, payload: scenario.host.payload.0, ..Site::default() };
    if scenario.host.recovery(site) > scenario.run.duration { 0.5 } else { 0.75 }
}

/// The port is crowded for four milliseconds, five hundred round trips for the rates to converge; the second half
/// counts.
#[test]
fn two_long_flows_share_a_port() {
    // A transport without rate control needs a switch that pauses it.
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
            // One flow got ahead, has fewer bytes left and goes first; the other gets the rest of the port.
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
