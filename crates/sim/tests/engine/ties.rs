//! Events at one instant run in an order drawn anew for each instant, so ties favour no node. Losses of synchronised
//! senders at a full buffer spread within chance.

use crate::common::{logged, scenario};
use backwater_types::Instant;

const SENDERS: u64 = 8;
const PACKETS: u64 = 2000;

/// Returns the admitted packets of each sender. Eight senders start together at the rate of the link they share, over
/// links of equal length. In each packet time, eight packets arrive at one instant and one leaves. No sender hears of a
/// loss before it has sent everything: 200 us of propagation against 168 us of sending.
fn admitted(seed: u64) -> Vec<u64> {
    let flow = |i: u64| format!("{{ start = \"0 s\", src = \"host{i}\", dst = \"host8\", bytes = \"{PACKETS} KB\" }}");
    let flows: Vec<String> = (0..SENDERS).map(flow).collect();
    let text = format!(
        "scheme = \"fifo\"\nseed = {seed}\n[topology]\nkind = \"single-switch\"\nhosts = 9\nrate = \"100 Gbps\"\ndelay = \"200 us\"\n\
         [switch]\nbuffer = \"10480 B\"\n[host]\nrto = \"50 ms\"\n[run]\nduration = \"380 us\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
         [measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\nflows = [{}]\n",
        flows.join(", ")
    );
    let (outcome, log) = logged(&scenario(&text));
    assert!(outcome.ended >= Instant(380_000_000));
    (0..SENDERS as usize)
        .map(|host| log.enqueued.iter().filter(|e| e.2 == flow_of(&log, host)).count() as u64)
        .collect()
}

/// Returns the flow of a host. Flows that start together are numbered in the order of the list.
fn flow_of(log: &crate::common::log::Log, host: usize) -> u32 {
    log.host_sent.iter().find(|h| h.1 == host).map(|h| h.2).expect("every sender sends")
}

/// Returns chi-square over the senders, with 7 degrees of freedom; 24.3 is exceeded once in a thousand.
fn chi_square(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|n| (*n as f64 - mean).powi(2) / mean).sum()
}

#[test]
fn losses_of_synchronised_senders_spread_within_chance() {
    let mut sum = 0.0;
    let mut totals = vec![0; SENDERS as usize];
    for seed in 1..=10 {
        let counts = admitted(seed);
        assert!(counts.iter().sum::<u64>() >= PACKETS - 20, "one in eight gets in: {counts:?}");
        let chi2 = chi_square(&counts);
        println!("seed {seed}: {counts:?}, chi-square {chi2:.1} at 7 degrees of freedom");
        sum += chi2;
        totals.iter_mut().zip(&counts).for_each(|(total, n)| *total += n);
    }
    // With 70 degrees of freedom, all but two in a thousand lie between 39.0 and 112.3. Too even would be as wrong as
    // too uneven.
    println!("all seeds: {totals:?}, sum of chi-squares {sum:.1} at 70 degrees of freedom");
    assert!((39.0..112.3).contains(&sum), "{sum:.1}");
    assert!(chi_square(&totals) < 24.3, "no sender is favoured over all seeds: {totals:?}");
}
