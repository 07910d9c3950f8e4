//! The bytes in the rates of explained flows sum to the bytes sent to the receivers.

use crate::conformance::explained::explained;
use crate::conformance::faults::{crowd, lossy};
use crate::conformance::registry::{all, each};
use backwater_types::Instant;
use std::collections::BTreeMap;

/// Expects the sum to be exactly the flow's size, plus at most the bytes of its retransmissions. Intervals are disjoint
/// and in order.
#[test]
fn rates_sum_to_sizes() {
    each(all(), |subject| {
        let links = crowd("").replace("[measure]\n", "[measure]\nlinks = \"3 us\"\n");
        for text in [crowd(""), links, crowd(&lossy(0.02))] {
            let Ok(scenario) = subject.load(&text) else { continue };
            let outcome = explained(&scenario);
            let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
            for rate in &outcome.recorded.rates {
                assert!(rate.bytes > 0 && rate.end.0 % rate.span.0 == 0, "{}: {rate:?}", subject.name);
                *sums.entry(rate.flow).or_default() += rate.bytes;
            }
            for rates in outcome.recorded.rates.windows(2).filter(|pair| pair[0].flow == pair[1].flow) {
                assert!(rates[0].end < rates[1].end && rates[0].span == rates[1].span, "{}: {rates:?}", subject.name);
            }
            for row in outcome.flows().filter(|row| row.received != Instant::NEVER) {
                let (sum, size) = (sums.remove(&row.flow.id).unwrap_or(0), row.flow.size);
                let twice = u64::from(row.retransmitted) * scenario.host.payload.0;
                let name = format!("{}: flow {}: {sum} of {size}", subject.name, row.flow.id);
                assert!((size..=size + twice).contains(&sum), "{name}, {} sent again", row.retransmitted);
            }
            assert!(sums.is_empty(), "{}: of flows that did not finish: {sums:?}", subject.name);
        }
    });
}

/// Expects payload plus headers to equal the bytes of the last links, where no packet was lost.
#[test]
fn rates_are_what_the_last_links_carried() {
    each(all(), |subject| {
        let scenario = subject.scenario(&crowd(""));
        let outcome = explained(&scenario);
        let payload: u64 = outcome.recorded.rates.iter().map(|rate| rate.bytes).sum();
        let last = outcome.ports.iter().filter(|port| (port.peer as usize) < outcome.graph.hosts);
        let [packets, bytes] = last.fold([0, 0], |[packets, bytes], port| {
            let sent = port.total.sent.data();
            [packets + sent.packets, bytes + sent.bytes]
        });
        assert_eq!(payload + packets * scenario.host.headers().0, bytes, "{}", subject.name);
    });
}
