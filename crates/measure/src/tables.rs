//! The tables of a run, in columns. Tables of samples are in [`samples`](crate::samples).

use crate::columns::{Column, Peers, TableSchema, table};
use crate::link_samples::LinkSample;
use crate::outcome::{FlowRow, Outcome, PoolRow, PortRow};
use crate::phases::{self, Phases};
use crate::records::events::{Event, What};
use crate::records::rates::Rate;
use crate::records::waits::{Wait, Why};
use crate::samples::Samples;
use crate::slowdowns::Bin;
use backwater_counters::meters::DelayHistogram;
use backwater_traffic::counted_window;
use backwater_types::DropReason;
use serde_json::{Value, json};

/// Lists every table that a run writes, with its columns.
pub fn schema() -> Vec<TableSchema> {
    let run = [
        Flows::SCHEMA,
        Slowdown::SCHEMA,
        Links::SCHEMA,
        Mmus::SCHEMA,
        Ports::SCHEMA,
        Drops::SCHEMA,
        QueueingDelay::SCHEMA,
        ScheduledDelay::SCHEMA,
        Phases::SCHEMA,
    ];
    run.into_iter().chain(Samples::SCHEMA.iter().copied()).collect()
}

/// Names of the tables that a run writes. Only runs with jobs have phases.
pub fn names(outcome: &Outcome) -> Vec<&'static str> {
    let jobs = phases::has_jobs(outcome);
    schema().into_iter().map(|(name, _)| name).filter(|name| jobs || *name != Phases::SCHEMA.0).collect()
}

/// Tables recorded on request.
pub const RECORDED: &[TableSchema] = &[Waits::SCHEMA, Rates::SCHEMA, Events::SCHEMA];

/// Converts [`schema`] and [`RECORDED`] to JSON: `{table: [{name, type, unit, description}]}`.
pub fn schema_json() -> Value {
    let column = |(name, kind, unit, description): &(&str, &str, &str, &str)| json!({ "name": name, "type": kind, "unit": unit, "description": description });
    let tables = schema().into_iter().chain(RECORDED.iter().copied());
    tables.map(|(table, columns)| (table.to_string(), columns.iter().map(column).collect::<Value>())).collect()
}

/// Lists the names of a column's category codes; `None` for a column of numbers.
pub fn categories(outcome: &Outcome, column: &str) -> Option<Vec<String>> {
    match column {
        "class" | "whose" => Some((0..outcome.scenario.workload.len()).map(|c| outcome.class(c).to_string()).collect()),
        "phase" => Some(phases::names(outcome)),
        "src" | "dst" | "host" | "node" | "peer" | "by" | "towards" => {
            Some(outcome.graph.nodes.iter().map(|n| n.name.clone()).collect())
        }
        "reason" => Some(DropReason::ALL.iter().map(|reason| reason.name().to_string()).collect()),
        "why" => Some(Why::ALL.iter().map(|why| why.name().to_string()).collect()),
        "what" => {
            let drops = DropReason::ALL.iter().map(|reason| format!("dropped-{}", reason.name()));
            Some(What::NAMES.iter().map(|name| name.to_string()).chain(drops).collect())
        }
        "layer" => Some((0..=u8::MAX).map(|l| format!("layer{l}")).collect()),
        _ => None,
    }
}

/// Generates the flow table in batches of at most `rows` rows.
pub fn flow_batches(outcome: &Outcome, rows: usize) -> impl Iterator<Item = Vec<Column>> + use<'_> {
    let mut flows = outcome.flows().peekable();
    std::iter::from_fn(move || {
        flows.peek()?;
        Some(Flows::columns(flows.by_ref().take(rows), &()))
    })
}

/// Generates a whole table, any but `flows`; `None` if there is no such table.
pub fn table(outcome: &Outcome, name: &str) -> Option<Vec<Column>> {
    let peers = Peers::new(&outcome.graph);
    if let Some(columns) = outcome.samples.columns(name, &peers) {
        return Some(columns);
    }
    let bins_of_delay = |delays: &DelayHistogram| delays.bins().collect::<Vec<_>>();
    Some(match name {
        "slowdown" => Slowdown::columns(outcome.counted().bins.iter().copied(), &()),
        "links" => Links::columns(&outcome.links, &peers),
        "mmus" => Mmus::columns(&outcome.pools, &()),
        "ports" => {
            let (warm, until) = counted_window(&outcome.scenario);
            Ports::columns(&outcome.ports, &until.since(warm).as_secs_f64())
        }
        "drops" => Drops::columns(drops(outcome), &()),
        "queueing_delay" => {
            let rows =
                outcome.delays.iter().flat_map(|(layer, d)| bins_of_delay(d).into_iter().map(|bin| (*layer, bin)));
            QueueingDelay::columns(rows, &())
        }
        "scheduled_delay" => {
            let all = outcome.scheduled_delays.iter();
            let rows = all.flat_map(|(layers, d)| bins_of_delay(d).into_iter().map(|bin| (*layers, bin)));
            ScheduledDelay::columns(rows, &())
        }
        "phases" => Phases::columns(phases::rows(outcome), &()),
        "waits" => Waits::columns(&outcome.recorded.waits, &peers),
        "rates" => Rates::columns(&outcome.recorded.rates, &()),
        "events" => Events::columns(&outcome.recorded.events, &peers),
        _ => return None,
    })
}

table! {
    /// Flows and their completion times.
    Flows("flows", row: FlowRow, _cx: ()) {
        flow: u32, "", "number: those of collectives first, then in order of arrival" => row.flow.id;
        class: cat, "", "workload the flow belongs to" => row.flow.class as u16;
        src: cat, "", "source host" => row.flow.src;
        dst: cat, "", "destination host" => row.flow.dst;
        port: u16, "", "destination port: 100 background, 200 incast, 300 collective, or as a flow list says" => row.flow.port;
        size_bytes: u64, "B", "payload; none for an endless flow" => row.flow.size;
        arrival_ps: u64, "ps", "arrival at the source; none if a collective did not come to it" => row.flow.at.0;
        finish_rx_ps: u64, "ps", "last byte at the receiver; none if it never came" => row.received.0;
        finish_tx_ps: u64, "ps", "last acknowledgement at the sender; none if it never came" => row.acknowledged.0;
        ideal_ps: u64, "ps", "completion time on an idle network" => row.ideal;
        slowdown: f64, "", "completion time over ideal; none if unfinished" => row.slowdown;
        retransmitted_packets: u32, "packets", "packets sent again" => row.retransmitted;
        timeouts: u16, "", "timeouts of TCP, once it has finished" => row.timeouts;
        counted: u8, "", "1 if it did not arrive before the counted window and has an end" => row.counted as u8;
    }
}

table! {
    /// Slowdown by workload and size bin.
    Slowdown("slowdown", bin: Bin, _cx: ()) {
        class: cat, "", "workload" => bin.class as u16;
        size_low_bytes: u64, "B", "sizes above this" => bin.low;
        size_high_bytes: u64, "B", "sizes up to this; none: no upper end" => bin.high;
        flows: u64, "", "counted flows that finished" => bin.flows;
        unfinished: u64, "", "counted flows that did not" => bin.unfinished;
        mean: f64, "", "mean slowdown" => bin.mean;
        p50: f64, "", "median slowdown" => bin.percentiles[0];
        p95: f64, "", "95th percentile" => bin.percentiles[1];
        p99: f64, "", "99th percentile" => bin.percentiles[2];
    }
}

table! {
    /// Links over time.
    Links("links", sample: LinkSample, peers: Peers) {
        time_ps: u64, "ps", "end of the period" => sample.at.0;
        node: cat, "", "node that sends" => sample.node as u16;
        peer: cat, "", "node at the other end, which holds it back" => peers.of(sample.node, sample.port);
        sent_bytes: u64, "B", "bytes that left within the period" => sample.sent;
        queued_bytes: u64, "B", "data that waits at the port at its end; with flows, not here, at a host" => sample.queued;
        paused_ps: u64, "ps", "time held within the period, summed over what is held: port, queues or flows" => sample.paused;
    }
}

table! {
    /// Shared buffer pools.
    Mmus("mmus", row: PoolRow, _cx: ()) {
        node: cat, "", "switch" => row.node as u16;
        mmu: u16, "", "memory management unit" => row.mmu;
        ports: u16, "", "its ports" => row.ports;
        capacity_bytes: u64, "B", "size of its shared pool; none: infinite" => row.capacity;
        peak_bytes: u64, "B", "most that was held in it" => row.peak;
        dropped_full: u64, "packets", "dropped because the pool was full" => row.counts.dropped_full;
        dropped_threshold: u64, "packets", "dropped because the queue was at its dynamic threshold" => row.counts.dropped_threshold;
        marked_queue: u64, "packets", "marked by the rule of the queue or port" => row.counts.marked_queue;
        marked_pool: u64, "packets", "marked by the rule of the pool alone" => row.counts.marked_pool;
    }
}

table! {
    /// Counters of ports; the context is the length of the counted window in seconds.
    Ports("ports", row: PortRow, seconds: f64) {
        node: cat, "", "node" => row.node as u16;
        port: u16, "", "egress port" => row.port;
        peer: cat, "", "node at the other end" => row.peer as u16;
        rate_bps: u64, "bit/s", "link rate" => row.rate.0;
        data_packets: u64, "packets", "data packets sent" => row.total.sent.data().packets;
        data_bytes: u64, "B", "their bytes on the wire" => row.total.sent.data().bytes;
        ack_packets: u64, "packets", "ACKs and NACKs sent, and credits and requests for them" => row.total.sent.acks().packets;
        control_frames: u64, "frames", "pause and resume frames sent" => row.total.sent.control().packets;
        dropped_packets: u64, "packets", "for this port and dropped by its node of its own accord, ACKs among them" => row.total.dropped;
        utilisation: f64, "", "share of the counted window in use" => row.window_bytes as f64 * 8.0 / seconds / row.rate.0 as f64;
        pfc_paused_ps: u64, "ps", "time held by PFC" => row.total.held.pfc_paused;
        pfc_pauses: u64, "", "PFC pauses that took effect here" => row.total.held.pfc_pauses;
        bfc_paused_queue_ps: u64, "ps", "time held by BFC, summed over queues" => row.total.held.bfc_paused;
        bfc_pauses: u64, "frames", "PAUSE frames received" => row.total.held.bfc_pauses;
        bfc_resumes: u64, "frames", "RESUME frames received" => row.total.held.bfc_resumes;
        bfc_bitmaps: u64, "frames", "BITMAP frames received" => row.total.held.bfc_bitmaps;
        flow_pauses: u64, "frames", "PAUSE frames for single flows received, repetitions among them" => row.total.held.flow_pauses;
        flow_resumes: u64, "frames", "RESUME frames for single flows received" => row.total.held.flow_resumes;
        assignments: u64, "", "flows that became active here" => row.assigned.assignments;
        collisions: u64, "", "of those, into a queue that was not empty" => row.assigned.collisions;
    }
}

/// Node, reason, packets, bytes and data packets dropped.
type DropRow = (usize, usize, u64, u64, u64);

fn drops(outcome: &Outcome) -> impl Iterator<Item = DropRow> {
    outcome.drops.iter().enumerate().flat_map(|(node, drops)| {
        let some = (0..DropReason::COUNT).filter(|r| drops.packets[*r] > 0);
        some.map(move |r| (node, r, drops.packets[r], drops.bytes[r], drops.data[r]))
    })
}

table! {
    /// Dropped packets, by node and reason.
    Drops("drops", row: DropRow, _cx: ()) {
        node: cat, "", "node" => row.0 as u16;
        reason: cat, "", "buffer, headroom, link-loss, link-down, no-route, paused, nic, not-ect or credit" => row.1 as u16;
        packets: u64, "packets", "packets lost" => row.2;
        bytes: u64, "B", "their bytes on the wire" => row.3;
        data_packets: u64, "packets", "of these, data; the others are ACKs, NACKs and credits" => row.4;
    }
}

/// Lower end, upper end and count of a histogram bin.
type DelayBin = (u64, u64, u64);

table! {
    /// Queueing delay at egress, by tier of the switch.
    QueueingDelay("queueing_delay", row: (u8, DelayBin), _cx: ()) {
        layer: cat, "", "layer of the switch: links to the nearest host" => row.0.into();
        delay_low_ns: u64, "ns", "time in an egress queue, from this" => row.1.0;
        delay_high_ns: u64, "ns", "to below this" => row.1.1;
        packets: u64, "packets", "data packets" => row.1.2;
    }
}

table! {
    /// Queueing delay of Homa's scheduled packets at egress, by tiers of the switch and the peer.
    ScheduledDelay("scheduled_delay", row: ((u8, u8), DelayBin), _cx: ()) {
        layer: cat, "", "layer of the switch" => row.0.0.into();
        towards: u16, "", "layer of the node at the other end of the port; 0 of a host" => row.0.1.into();
        delay_low_ns: u64, "ns", "time in an egress queue, from this" => row.1.0;
        delay_high_ns: u64, "ns", "to below this" => row.1.1;
        packets: u64, "packets", "scheduled packets of Homa" => row.1.2;
    }
}

/// Converts a node to its category code, `u16::MAX` for none.
fn code(node: Option<u32>) -> u16 {
    node.map_or(u16::MAX, |node| node as u16)
}

/// Converts a number to its column value, `u64::MAX` for none.
fn number(value: Option<impl Into<u64>>) -> u64 {
    value.map_or(u64::MAX, Into::into)
}

table! {
    /// Delay breakdown of flows: parts of their completion times, by place and cause.
    Waits("waits", wait: Wait, peers: Peers) {
        flow: u32, "", "number" => wait.flow;
        hop: u8, "", "links before it: 0 at the source" => wait.hop;
        node: cat, "", "where its completing packet was" => wait.node as u16;
        peer: cat, "", "node that the egress port leads to; at the receiver the switch it came from" => peers.get(wait.node, wait.port).unwrap_or(u16::MAX);
        queue: u16, "", "data queue; 0 where there is one" => wait.queue;
        why: cat, "", "own-packets, queue, other-queues, other-flows, acks-and-frames, paused, transport, recovery, idle, transmission, propagation or host-delay: docs/explain.md" => wait.why as u16;
        whose: cat, "", "workload of the packets that went meanwhile, or of the flow it was paused for" => wait.whose.map_or(u16::MAX, u16::from);
        sake: u64, "", "flow whose packet raised the pause; none if not paused or not known" => number(wait.sake);
        by: cat, "", "node that paused it" => code(wait.by);
        towards: cat, "", "node that the packet was bound for there that raised the pause" => code(wait.towards);
        span_ps: u64, "ps", "how long; of a flow all sum to finish_rx_ps - arrival_ps" => wait.span.0;
    }
}

table! {
    /// Rates of flows at their receivers.
    Rates("rates", rate: Rate, _cx: ()) {
        flow: u32, "", "number" => rate.flow;
        time_ps: u64, "ps", "end of the interval, which begins at a multiple of its length" => rate.end.0;
        span_ps: u64, "ps", "its length, the same for all of a flow: docs/explain.md" => rate.span.0;
        received_bytes: u64, "B", "payload that reached the receiver in it, also what it had already; intervals without any are left out" => rate.bytes;
    }
}

table! {
    /// Recorded events.
    Events("events", event: Event, peers: Peers) {
        time_ps: u64, "ps", "when" => event.at.0;
        node: cat, "", "where" => event.node as u16;
        port: u64, "", "at which port; none of a drop on arrival" => number(event.port);
        peer: cat, "", "node that the port leads to" => event.port.and_then(|port| peers.get(event.node, port)).unwrap_or(u16::MAX);
        queue: u64, "", "queue that is paused or was left; none if a flow, or all of the port, is meant" => number(event.queue);
        flow: u64, "", "flow that is paused, or of the packet" => number(event.flow);
        what: cat, "", "pause-sent, resume-sent, paused, resumed, marked, link-down, link-up, or dropped- and the reason" => event.what.code();
    }
}
