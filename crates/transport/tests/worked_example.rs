//! The control that is the worked example of CONTRIBUTING.md.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[path = "../../../docs/example/aimd.rs"]
mod aimd;

use aimd::{Aimd, AimdParams};
use backwater_transport::{Ack, ClosedForm, Control, Site};
use backwater_types::{BitsPerSec, Duration, Instant, Ranges};

fn params() -> AimdParams {
    let site = Site { line_rate: 1e11, window: 100_000, payload: 1000, ..Site::default() };
    Aimd::at(&AimdParams { increase: BitsPerSec(10_000_000_000), ..AimdParams::default() }, site)
}

fn ack(seq: u32, next: u32, marked: bool) -> Ack {
    Ack { now: Instant(0), key: 1, seq, next, whole: next, marked, rtt: None, extension: () }
}

#[test]
fn a_flow_starts_at_line_rate() {
    let (params, flow) = (params(), Aimd::new(&params()));
    assert_eq!((flow.window(&params), flow.gap(&params, 1048)), (100_000, Duration::ZERO));
    let endless = AimdParams { site: Site { window: u64::MAX, ..params.site }, ..params };
    assert_eq!(flow.window(&endless), u64::MAX, "no window stays none");
}

#[test]
fn the_first_mark_of_a_round_trip_halves_the_rate_and_the_others_do_nothing() {
    let (params, mut flow) = (params(), Aimd::new(&params()));
    assert!(!flow.on_ack(&params, ack(1, 100, false)), "it is at line rate");
    assert!(flow.on_ack(&params, ack(2, 101, true)));
    assert!(!flow.on_ack(&params, ack(3, 102, true)));
    assert_eq!(flow.window(&params), 50_000);
    assert_eq!(flow.gap(&params, 1000), Duration::from_ns(160), "1000 B at 50 Gb/s");
    assert!(flow.on_ack(&params, ack(101, 150, true)), "the next round trip begins with a mark");
    assert!(!flow.on_ack(&params, ack(102, 151, true)));
    assert_eq!(flow.window(&params), 25_000);
}

#[test]
fn a_round_trip_without_a_mark_adds_to_the_rate() {
    let (params, mut flow) = (params(), Aimd::new(&params()));
    assert!(flow.on_ack(&params, ack(1, 100, true)));
    assert!(!flow.on_ack(&params, ack(101, 150, false)), "the round trip that ends had a mark");
    assert!(!flow.on_ack(&params, ack(102, 151, false)), "the next has not ended");
    assert!(flow.on_ack(&params, ack(151, 200, false)));
    assert_eq!(flow.window(&params), 60_000);
    for seq in 1..10 {
        flow.on_ack(&params, ack(151 + 50 * seq, 200 + 50 * seq, false));
    }
    assert_eq!(flow.window(&params), 100_000, "never above the line");
}

#[test]
fn marks_lower_the_rate_to_its_least() {
    let (params, mut flow) = (params(), Aimd::new(&params()));
    for round in 1..40 {
        flow.on_ack(&params, ack(10 * round, 10 * round + 9, true));
    }
    assert_eq!(flow.gap(&params, 1000), Duration::from_us(80), "1000 B at 100 Mb/s");
    assert_eq!(Aimd::min_rate(&params), Some(BitsPerSec(100_000_000)));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    assert!(AimdParams::default().check().is_ok());
    assert!(AimdParams { cut: 1.0, ..AimdParams::default() }.check().is_err());
    assert!(AimdParams { increase: BitsPerSec(0), ..AimdParams::default() }.check().is_err());
}
