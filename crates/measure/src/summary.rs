//! The summary of a run, as one page of JSON.

use crate::ending;
use crate::outcome::Outcome;
use crate::phases;
use crate::slowdowns::{Arrived, Bin, Counted, nearest_rank, ranked};
use backwater_counters::Credits;
use backwater_counters::meters::DelayHistogram;
use backwater_counters::stats::PauseStats;
use backwater_dataplane::Recirculated;
use backwater_paged::Paged;
use backwater_scenario::Scenario;
use backwater_scenario::model::{Transport, Workload};
use backwater_traffic::load::{Load, realised};
use backwater_traffic::{Traffic, counted_window};
use backwater_types::{DropReason, Instant};
use serde_json::{Value, json};

/// Index of the histogram bin that contains a percentile of `all` values.
fn ranked_bin(mut counts: impl Iterator<Item = u64>, all: u64, percent: u64) -> Option<usize> {
    let rank = nearest_rank(all, percent);
    let mut below = 0;
    counts.position(|n| {
        below += n;
        below > rank
    })
}

/// Counts the egress ports that are part of a cyclic buffer dependency, by routes and backpressure; 0 if no deadlock is
/// possible.
fn deadlock(scenario: &Scenario) -> Value {
    let components = backwater_deadlock::components(scenario);
    json!({ "ports": components.iter().sum::<usize>(), "components": components.len() })
}

/// Computes the summary of a run.
pub fn summary(outcome: &Outcome) -> Value {
    let Counted { bins, all, .. } = outcome.counted();
    let mut slowdown: Vec<Value> = bins.iter().map(|bin| bin_json(outcome, bin, false)).collect();
    slowdown.extend(all.iter().map(|bin| bin_json(outcome, bin, true)));
    let finished = bins.iter().map(|bin| bin.flows).sum::<u64>();
    let unfinished = bins.iter().map(|bin| bin.unfinished).sum::<u64>();
    json!({
        "complete": ending::complete(outcome, unfinished),
        "ending": ending::ending(outcome, unfinished),
        "deadlock": deadlock(&outcome.scenario),
        "flows": {
            "total": outcome.received.len(),
            "counted": finished + unfinished,
            "finished": finished,
            "unfinished": unfinished,
            "retransmitted_packets": outcome.retransmitted.iter().map(u64::from).sum::<u64>(),
        },
        "load": load(outcome),
        "core_utilisation": core_utilisation(outcome),
        "slowdown": slowdown,
        "buffer": buffer(outcome),
        "active_flows": active_flows(outcome),
        "pause": pause(outcome),
        "collisions": {
            "assignments": outcome.ports.iter().map(|p| p.assigned.assignments).sum::<u64>(),
            "collisions": outcome.ports.iter().map(|p| p.assigned.collisions).sum::<u64>(),
        },
        "valleys": outcome.valleys.map(|packets| json!({ "packets": packets })),
        "drops": drops(outcome),
        "loss": loss(outcome),
        "timeouts": timeouts(outcome),
        "credits": credits(outcome),
        "recirculated": recirculated(outcome),
        "collectives": collectives(outcome),
        "jobs": phases::summary(outcome),
        "iterations": phases::iterations_of_jobs(outcome),
        "waits": phases::waits(outcome),
        "queueing_delay": queueing_delay(outcome),
        "scheduled_delay": scheduled_delay(outcome),
        "throughput": throughput(outcome),
        "packet_hops": outcome.packet_hops,
        "sim_time_ps": outcome.ended.0,
    })
}

fn bin_json(outcome: &Outcome, bin: &Bin, all: bool) -> Value {
    let [p50, p95, p99] = bin.percentiles.map(finite);
    let upper = if bin.high == u64::MAX { "inf".into() } else { bin.high.to_string() };
    json!({
        "class": outcome.class(bin.class),
        "bin": if all { "all".into() } else { format!("({},{upper}]", bin.low) },
        "size_low_bytes": bin.low,
        "size_high_bytes": (bin.high != u64::MAX).then_some(bin.high),
        "flows": bin.flows,
        "unfinished": bin.unfinished,
        "mean": finite(bin.mean),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "mean_excess_ns": finite(bin.mean_excess_ns),
        "p99_excess_ns": finite(bin.p99_excess_ns),
    })
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Reports for each workload the requested load, the realised load of the same capacity, and whether they agree within
/// the sampling error.
fn load(outcome: &Outcome) -> Vec<Value> {
    let row = |(i, workload): (usize, &Workload)| {
        let Arrived { flows, bytes } = outcome.counted().arrived[i];
        let offered = bytes as f64 * 8.0 / window_seconds(outcome);
        let load = Load::of(&outcome.scenario, workload, &outcome.graph, flows, bytes);
        // A cancelled run has not received its full load.
        let load = load.filter(|_| outcome.complete);
        json!({
            "class": outcome.class(i),
            "asked": asked(workload),
            "realised": realised(&outcome.scenario, workload, &outcome.graph, offered),
            "sampling_error": load.map(|load| load.sampling_error),
            "as_asked": load.map(|load| load.is_as_asked()),
            "flows": flows,
            "offered_bps": offered,
        })
    };
    outcome.scenario.workload.iter().enumerate().map(row).collect()
}

fn throughput(outcome: &Outcome) -> Vec<Value> {
    let seconds = window_seconds(outcome);
    let row = |i: usize| {
        json!({
            "class": outcome.class(i),
            "goodput_bps": outcome.goodput[i] as f64 * 8.0 / seconds,
            "early_goodput_bps": outcome.early_goodput[i] as f64 * 8.0 / (seconds / 2.0),
        })
    };
    (0..outcome.goodput.len()).map(row).collect()
}

fn asked(workload: &Workload) -> Option<f64> {
    match workload {
        Workload::Background { load, .. } => Some(*load),
        Workload::Incast { load, .. } => *load,
        _ => None,
    }
}

fn window_seconds(outcome: &Outcome) -> f64 {
    let (warm, until) = counted_window(&outcome.scenario);
    until.since(warm).as_secs_f64()
}

/// Mean utilisation of the links between switches, over both directions.
fn core_utilisation(outcome: &Outcome) -> Option<f64> {
    let hosts = outcome.graph.hosts as u32;
    let core = || outcome.ports.iter().filter(|p| p.node >= hosts && p.peer >= hosts);
    let capacity: f64 = core().map(|p| p.rate.0 as f64).sum();
    let bits: f64 = core().map(|p| p.window_bytes as f64 * 8.0).sum();
    (capacity > 0.0).then(|| bits / capacity / window_seconds(outcome))
}

/// Distribution of buffered bytes, pooled over switches and samples.
fn buffer(outcome: &Outcome) -> Value {
    let mut bytes: Vec<u64> = outcome.samples.buffers.0.iter().map(|sample| sample.bytes).collect();
    bytes.sort_unstable();
    let n = bytes.len();
    let at = |percent| ranked(&bytes, percent);
    json!({
        "mean_bytes": finite(bytes.iter().map(|b| *b as f64).sum::<f64>() / n as f64),
        "p50_bytes": at(50),
        "p95_bytes": at(95),
        "p99_bytes": at(99),
        "max_bytes": bytes.last(),
    })
}

/// Distribution of the number of active flows of a port, pooled over ports and samples.
fn active_flows(outcome: &Outcome) -> Option<Value> {
    let longest = outcome.samples.active_flows.ports().map(|(_, _, counts)| counts.len()).max()?;
    let mut pooled = vec![0u64; longest];
    for (_, _, counts) in outcome.samples.active_flows.ports() {
        pooled.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    }
    let all: u64 = pooled.iter().sum();
    let at = |percent| ranked_bin(pooled.iter().copied(), all, percent);
    let queues = outcome.scenario.switch.queues as usize;
    let below: u64 = pooled.iter().take(queues).sum();
    Some(json!({
        "mean": pooled.iter().enumerate().map(|(flows, n)| flows as f64 * *n as f64).sum::<f64>() / all as f64,
        "p50": at(50),
        "p99": at(99),
        "max": longest - 1,
        "share_below_queues": below as f64 / all as f64,
    }))
}

fn pause(outcome: &Outcome) -> Value {
    let sum = |field: fn(&PauseStats) -> u64| outcome.ports.iter().map(|p| field(&p.total.held)).sum::<u64>();
    let paused: f64 = outcome.ports.iter().map(|p| p.window_pfc_paused as f64 * 1e-12).sum();
    json!({
        "pfc_pauses": sum(|s| s.pfc_pauses),
        "pfc_paused_fraction": paused / window_seconds(outcome) / outcome.ports.len() as f64,
        "bfc_pauses": sum(|s| s.bfc_pauses),
        "bfc_resumes": sum(|s| s.bfc_resumes),
        "bfc_bitmaps": sum(|s| s.bfc_bitmaps),
        "flow_pauses": sum(|s| s.flow_pauses),
        "flow_resumes": sum(|s| s.flow_resumes),
    })
}

fn drops(outcome: &Outcome) -> Value {
    let packets = |reason: DropReason| outcome.drops.iter().map(|d| d.packets[reason as usize]).sum::<u64>();
    DropReason::ALL.iter().map(|reason| (reason.name().to_string(), json!(packets(*reason)))).collect()
}

/// Loss of data packets: packets dropped by switches and NICs, over packets that hosts sent plus packets dropped in
/// their NICs. `share_per_port` is loss by the definition of BCC's authors ([`loss_per_port`]).
fn loss(outcome: &Outcome) -> Value {
    let hosts = outcome.graph.hosts;
    let sent: u64 =
        outcome.ports.iter().filter(|p| (p.node as usize) < hosts).map(|p| p.total.sent.data().packets).sum();
    let drops = &outcome.drops;
    // Packets dropped in NICs were not counted as sent.
    let in_nics: u64 = drops[..hosts].iter().map(|d| d.data[DropReason::Nic as usize]).sum();
    let dropped: u64 = drops.iter().map(|d| d.chosen_data()).sum();
    let data = sent + in_nics;
    json!({
        "data_packets": data,
        "dropped": dropped,
        "share": finite(dropped as f64 / data as f64),
        "share_per_port": finite(loss_per_port(outcome)),
    })
}

/// Mean loss rate over all egress ports of switches (BCC-A16). The loss rate of a port is its dropped packets over the
/// packets offered to it, ACKs included; it is 0 for a port without packets. A packet counts at each switch on its
/// path, and all ports have equal weight. Packets still queued at the end of the run do not count as offered.
fn loss_per_port(outcome: &Outcome) -> f64 {
    let hosts = outcome.graph.hosts;
    let shares = outcome.ports.iter().filter(|p| p.node as usize >= hosts).map(|p| {
        let offered = p.total.sent.data().packets + p.total.sent.acks().packets + p.total.dropped;
        p.total.dropped as f64 / offered.max(1) as f64
    });
    let ports = outcome.ports.iter().filter(|p| p.node as usize >= hosts).count();
    shares.sum::<f64>() / ports as f64
}

/// Timeouts of TCP, by reason; null for other transports.
fn timeouts(outcome: &Outcome) -> Option<Value> {
    let [silent, tail, retransmission, held, handshake] = outcome.timeout_reasons;
    let tcp = outcome.scenario.host.transport == Transport::Tcp;
    tcp.then(|| {
        json!({
            "total": outcome.timeout_reasons.iter().sum::<u64>(),
            "flows": outcome.timeouts.iter().filter(|n| *n > 0).count(),
            "silent": silent,
            "tail": tail,
            "retransmission": retransmission,
            "held": held,
            "handshake": handshake,
        })
    })
}

/// Headers that recirculated through switches for bookkeeping; null if none did.
fn recirculated(outcome: &Outcome) -> Option<Value> {
    let Recirculated { headers, waited, longest } = outcome.recirculated;
    (headers > 0).then(|| {
        json!({
            "headers": headers,
            "waited": waited,
            "waited_share": waited as f64 / headers as f64,
            "longest_ns": longest.0 as f64 / 1e3,
        })
    })
}

/// Credits that senders received, credits received with nothing to send, and credits dropped by ports; null for
/// transports without credits.
fn credits(outcome: &Outcome) -> Option<Value> {
    let dropped: u64 = outcome.drops.iter().map(|drops| drops.packets[DropReason::Credit as usize]).sum();
    let Credits { received, wasted } = outcome.credits;
    (outcome.scenario.host.transport == Transport::Expresspass).then(|| {
        json!({
            "received": received,
            "wasted": wasted,
            "waste": finite(wasted as f64 / received as f64),
            "dropped": dropped,
        })
    })
}

/// Flows of each collective, and the time from its start to its last byte; null without collectives.
fn collectives(outcome: &Outcome) -> Option<Vec<Value>> {
    let mut rows = Vec::new();
    let traffic = Traffic::new(&outcome.scenario, &outcome.graph);
    for (class, workload) in outcome.scenario.workload.iter().enumerate() {
        let (Workload::Collective { start, .. } | Workload::Job { start, .. }) = workload else { continue };
        let flows = traffic.closed_loop_flows_of(class);
        let of_job = |times: &Paged<Instant>| {
            times.scan(flows.clone()).fold((0, Instant::ZERO), |(reached, last), at| {
                (reached + usize::from(at != Instant::NEVER), last.max(at))
            })
        };
        let ((started, _), (received, end)) = (of_job(&outcome.started), of_job(&outcome.received));
        let end = Some(end).filter(|end| received > 0 && *end != Instant::NEVER);
        rows.push(json!({
            "class": outcome.class(class),
            "flows": flows.len(),
            "started": started,
            "received": received,
            "completion_ps": end.map(|end| end.since(Instant::ZERO + *start).0),
        }));
    }
    (!rows.is_empty()).then_some(rows)
}

fn queueing_delay(outcome: &Outcome) -> Option<Value> {
    let (_, first) = outcome.delays.first()?;
    let mut all = first.clone();
    outcome.delays[1..].iter().for_each(|(_, delays)| all.merge(delays));
    let packets = packets(&all);
    Some(json!({
        "mean_ns": finite(all.sum as f64 / 1000.0 / packets as f64),
        "p50_ns": delay_at(&all, 50),
        "p99_ns": delay_at(&all, 99),
        "packets": packets,
    }))
}

/// Queueing delay of Homa's scheduled packets, by tier of the switch and tier of the peer; hosts are tier 0.
fn scheduled_delay(outcome: &Outcome) -> Option<Vec<Value>> {
    let row = |((layer, towards), delays): &((u8, u8), DelayHistogram)| {
        json!({
            "hop": format!("{layer}-{towards}"),
            "p50_ns": delay_at(delays, 50),
            "p95_ns": delay_at(delays, 95),
            "p99_ns": delay_at(delays, 99),
            "packets": packets(delays),
        })
    };
    let rows: Vec<Value> = outcome.scheduled_delays.iter().filter(|(_, delays)| packets(delays) > 0).map(row).collect();
    (!rows.is_empty()).then_some(rows)
}

fn packets(delays: &DelayHistogram) -> u64 {
    delays.bins().map(|(_, _, n)| n).sum()
}

/// Percentile of delays, as the middle of its histogram bin, nanoseconds.
fn delay_at(delays: &DelayHistogram, percent: u64) -> Option<f64> {
    let bin = ranked_bin(delays.bins().map(|(_, _, n)| n), packets(delays), percent)?;
    delays.bins().nth(bin).map(|(low, high, _)| (low + high) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 99th percentile is exceeded by one of 100 values, and by one of 101 values. With 10 values it is the
    /// largest.
    #[test]
    fn a_percentile_is_the_smallest_value_that_its_share_does_not_exceed() {
        let upto = |n: u64| (1..=n).collect::<Vec<u64>>();
        for (n, percent, value) in [(100, 99, 99), (101, 99, 100), (10, 99, 10), (200, 95, 190), (2, 50, 1), (1, 50, 1)]
        {
            assert_eq!(ranked(&upto(n), percent), Some(&value), "{percent} of {n}");
            // A histogram with one value in each bin.
            let bin = ranked_bin((0..=n).map(|value| (value > 0) as u64), n, percent as u64);
            assert_eq!(bin, Some(value as usize), "{percent} of {n}");
        }
        assert_eq!(ranked::<u64>(&[], 50), None);
        assert_eq!(ranked_bin([0, 0].into_iter(), 0, 50), None);
    }
}
