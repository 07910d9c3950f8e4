//! The tables of a run, in columns, a batch of rows at a time.

use crate::measure::outcome::Outcome;
use crate::measure::summary::bins;
use crate::net::pause_census::Pauses;
use crate::record::events::{Event, What};
use crate::record::waits::{Wait, Why};
use backwater_types::DropReason;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A column: its name and its values.
pub type Column = (&'static str, Values);

/// Values of a column. `u64::MAX` and `NaN` stand for none; categories are codes into [`categories`], `u16::MAX` for
/// none.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Values {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Values {
    /// Type name and little-endian bytes.
    pub fn to_bytes(&self) -> (&'static str, Vec<u8>) {
        match self {
            Values::U8(v) => ("u8", v.clone()),
            Values::U16(v) => ("u16", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::U32(v) => ("u32", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::U64(v) => ("u64", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::F64(v) => ("f64", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        }
    }
}

/// `(table, [(column, type, unit, description)])`; type `cat` is a name, written as a 16-bit code.
type Schema = &'static [(&'static str, &'static [(&'static str, &'static str, &'static str, &'static str)])];

/// Every table that a run writes, and its columns.
pub const SCHEMA: Schema = &[
    (
        "flows",
        &[
            ("flow", "u32", "", "number: those of collectives first, then in order of arrival"),
            ("class", "cat", "", "workload the flow belongs to"),
            ("src", "cat", "", "source host"),
            ("dst", "cat", "", "destination host"),
            ("port", "u16", "", "destination port: 100 background, 200 incast, 300 collective, or as a flow list says"),
            ("size_bytes", "u64", "B", "payload; none for an endless flow"),
            ("arrival_ps", "u64", "ps", "arrival at the source; none if a collective did not come to it"),
            ("finish_rx_ps", "u64", "ps", "last byte at the receiver; none if it never came"),
            ("finish_tx_ps", "u64", "ps", "last acknowledgement at the sender; none if it never came"),
            ("ideal_ps", "u64", "ps", "completion time on an idle network"),
            ("slowdown", "f64", "", "completion time over ideal; none if unfinished"),
            ("retransmitted_packets", "u32", "packets", "packets sent again"),
            ("timeouts", "u16", "", "timeouts of TCP, once it has finished"),
            ("counted", "u8", "", "1 if it did not arrive before the counted window and has an end"),
        ],
    ),
    (
        "slowdown",
        &[
            ("class", "cat", "", "workload"),
            ("size_low_bytes", "u64", "B", "sizes above this"),
            ("size_high_bytes", "u64", "B", "sizes up to this; none: no upper end"),
            ("flows", "u64", "", "counted flows that finished"),
            ("unfinished", "u64", "", "counted flows that did not"),
            ("mean", "f64", "", "mean slowdown"),
            ("p50", "f64", "", "median slowdown"),
            ("p95", "f64", "", "95th percentile"),
            ("p99", "f64", "", "99th percentile"),
        ],
    ),
    (
        "buffers",
        &[
            ("time_ps", "u64", "ps", "time of the sample"),
            ("node", "cat", "", "switch"),
            ("buffered_bytes", "u64", "B", "data held by the switch"),
            ("isolated", "u32", "flows", "flows kept apart because a neighbour paused them (FlowSail)"),
        ],
    ),
    (
        "queues",
        &[
            ("time_ps", "u64", "ps", "time of the sample"),
            ("node", "cat", "", "switch"),
            ("peer", "cat", "", "node that the egress port leads to"),
            ("queued_bytes", "u64", "B", "data that waits at the port"),
        ],
    ),
    (
        "links",
        &[
            ("time_ps", "u64", "ps", "end of the period"),
            ("node", "cat", "", "node that sends"),
            ("peer", "cat", "", "node at the other end, which holds it back"),
            ("sent_bytes", "u64", "B", "bytes that left within the period"),
            ("queued_bytes", "u64", "B", "data that waits at the port at its end; with flows, not here, at a host"),
            ("paused_ps", "u64", "ps", "time held within the period, summed over what is held: port, queues or flows"),
        ],
    ),
    (
        "data_queues",
        &[
            ("time_ps", "u64", "ps", "time of the sample"),
            ("node", "cat", "", "switch"),
            ("peer", "cat", "", "node that the egress port leads to"),
            ("queue", "u16", "", "data queue of the port, one that has held something by then"),
            ("queued_bytes", "u64", "B", "data that waits in it"),
        ],
    ),
    (
        "pools",
        &[
            ("time_ps", "u64", "ps", "time of the sample"),
            ("node", "cat", "", "switch"),
            ("mmu", "u16", "", "memory management unit"),
            ("used_bytes", "u64", "B", "data held in its shared pool"),
        ],
    ),
    (
        "mmus",
        &[
            ("node", "cat", "", "switch"),
            ("mmu", "u16", "", "memory management unit"),
            ("ports", "u16", "", "its ports"),
            ("capacity_bytes", "u64", "B", "size of its shared pool; none: infinite"),
            ("peak_bytes", "u64", "B", "most that was held in it"),
            ("dropped_full", "u64", "packets", "dropped because the pool was full"),
            ("dropped_threshold", "u64", "packets", "dropped because the queue was at its dynamic threshold"),
            ("marked_queue", "u64", "packets", "marked by the rule of the queue or port"),
            ("marked_pool", "u64", "packets", "marked by the rule of the pool alone"),
        ],
    ),
    (
        "active_flows",
        &[
            ("node", "cat", "", "switch"),
            ("port", "u16", "", "egress port"),
            ("flows", "u32", "", "flows with data in the port"),
            ("samples", "u64", "", "samples that saw so many"),
        ],
    ),
    (
        "pauses",
        &[
            ("node", "cat", "", "switch that pauses"),
            ("port", "u16", "", "its port to the neighbour it pauses"),
            ("peer", "cat", "", "that neighbour"),
            ("samples", "u64", "", "samples taken"),
            (
                "held",
                "u64",
                "",
                "pauses in force, of queues or, where frames name flows, of flows; summed over samples",
            ),
            ("incast", "u64", "", "of those, for a flow with more to send to a host that incast is bound for"),
            ("other", "u64", "", "else for a flow with more to send"),
            ("orphans", "u64", "", "for flows that have nothing left to send"),
            ("all", "u64", "", "samples with every queue of the neighbour paused"),
        ],
    ),
    (
        "sharing",
        &[
            ("node", "cat", "", "switch"),
            ("port", "u16", "", "egress port"),
            ("peer", "cat", "", "node at the other end"),
            (
                "percent",
                "u16",
                "%",
                "share of the flows with data in the port that are in a queue with others, rounded down",
            ),
            ("samples", "u64", "", "samples that saw such a share; those that saw no flow are in none"),
        ],
    ),
    (
        "ports",
        &[
            ("node", "cat", "", "node"),
            ("port", "u16", "", "egress port"),
            ("peer", "cat", "", "node at the other end"),
            ("rate_bps", "u64", "bit/s", "link rate"),
            ("data_packets", "u64", "packets", "data packets sent"),
            ("data_bytes", "u64", "B", "their bytes on the wire"),
            ("ack_packets", "u64", "packets", "ACKs and NACKs sent, and credits and requests for them"),
            ("control_frames", "u64", "frames", "pause and resume frames sent"),
            (
                "dropped_packets",
                "u64",
                "packets",
                "for this port and dropped by its node of its own accord, ACKs among them",
            ),
            ("utilisation", "f64", "", "share of the counted window in use"),
            ("pfc_paused_ps", "u64", "ps", "time held by PFC"),
            ("pfc_pauses", "u64", "", "PFC pauses that took effect here"),
            ("bfc_paused_queue_ps", "u64", "ps", "time held by BFC, summed over queues"),
            ("bfc_pauses", "u64", "frames", "PAUSE frames received"),
            ("bfc_resumes", "u64", "frames", "RESUME frames received"),
            ("bfc_bitmaps", "u64", "frames", "BITMAP frames received"),
            ("flow_pauses", "u64", "frames", "PAUSE frames for single flows received, repetitions among them"),
            ("flow_resumes", "u64", "frames", "RESUME frames for single flows received"),
            ("assignments", "u64", "", "flows that became active here"),
            ("collisions", "u64", "", "of those, into a queue that was not empty"),
        ],
    ),
    (
        "drops",
        &[
            ("node", "cat", "", "node"),
            ("reason", "cat", "", "buffer, headroom, link-loss, link-down, no-route, paused, nic, not-ect or credit"),
            ("packets", "u64", "packets", "packets lost"),
            ("bytes", "u64", "B", "their bytes on the wire"),
            ("data_packets", "u64", "packets", "of these, data; the others are ACKs, NACKs and credits"),
        ],
    ),
    (
        "queueing_delay",
        &[
            ("layer", "cat", "", "layer of the switch: links to the nearest host"),
            ("delay_low_ns", "u64", "ns", "time in an egress queue, from this"),
            ("delay_high_ns", "u64", "ns", "to below this"),
            ("packets", "u64", "packets", "data packets"),
        ],
    ),
    (
        "scheduled_delay",
        &[
            ("layer", "cat", "", "layer of the switch"),
            ("towards", "u16", "", "layer of the node at the other end of the port; 0 of a host"),
            ("delay_low_ns", "u64", "ns", "time in an egress queue, from this"),
            ("delay_high_ns", "u64", "ns", "to below this"),
            ("packets", "u64", "packets", "scheduled packets of Homa"),
        ],
    ),
];

/// What is recorded where it is asked for.
pub const RECORDED: Schema = &[
    (
        "waits",
        &[
            ("flow", "u32", "", "number"),
            ("hop", "u8", "", "links before it: 0 at the source"),
            ("node", "cat", "", "where its completing packet was"),
            ("peer", "cat", "", "node that the egress port leads to; at the receiver the switch it came from"),
            ("queue", "u16", "", "data queue; 0 where there is one"),
            (
                "why",
                "cat",
                "",
                "own-packets, queue, other-queues, other-flows, acks-and-frames, paused, transport, recovery, idle, \
                 transmission, propagation or host-delay: docs/explain.md",
            ),
            ("whose", "cat", "", "workload of the packets that went meanwhile, or of the flow it was paused for"),
            ("sake", "u64", "", "flow whose packet raised the pause; none if not paused or not known"),
            ("by", "cat", "", "node that paused it"),
            ("towards", "cat", "", "node that the packet was bound for there that raised the pause"),
            ("span_ps", "u64", "ps", "how long; of a flow all sum to finish_rx_ps - arrival_ps"),
        ],
    ),
    (
        "rates",
        &[
            ("flow", "u32", "", "number"),
            ("time_ps", "u64", "ps", "end of the interval, which begins at a multiple of its length"),
            ("span_ps", "u64", "ps", "its length, the same for all of a flow: docs/explain.md"),
            (
                "received_bytes",
                "u64",
                "B",
                "payload that reached the receiver in it, also what it had already; intervals without any are left out",
            ),
        ],
    ),
    (
        "events",
        &[
            ("time_ps", "u64", "ps", "when"),
            ("node", "cat", "", "where"),
            ("port", "u64", "", "at which port; none of a drop on arrival"),
            ("peer", "cat", "", "node that the port leads to"),
            ("queue", "u64", "", "queue that is paused or was left; none if a flow, or all of the port, is meant"),
            ("flow", "u64", "", "flow that is paused, or of the packet"),
            (
                "what",
                "cat",
                "",
                "pause-sent, resume-sent, paused, resumed, marked, link-down, link-up, or dropped- and the reason",
            ),
        ],
    ),
];

/// [`SCHEMA`] and [`RECORDED`] as JSON: `{table: [{name, type, unit, description}]}`.
pub fn schema_json() -> Value {
    let column = |(name, kind, unit, description): &(&str, &str, &str, &str)| json!({ "name": name, "type": kind, "unit": unit, "description": description });
    let tables = SCHEMA.iter().chain(RECORDED);
    tables.map(|(table, columns)| (table.to_string(), columns.iter().map(column).collect::<Value>())).collect()
}

/// The names that the codes of a column stand for; `None` for a column of numbers.
pub fn categories(outcome: &Outcome, column: &str) -> Option<Vec<String>> {
    match column {
        "class" | "whose" => Some((0..outcome.scenario.workload.len()).map(|c| outcome.class(c).to_string()).collect()),
        "src" | "dst" | "node" | "peer" | "by" | "towards" => {
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

/// Batches of at most `rows` rows of the flow table.
pub fn flow_batches(outcome: &Outcome, rows: usize) -> impl Iterator<Item = Vec<Column>> + use<'_> {
    let mut flows = outcome.flows().peekable();
    std::iter::from_fn(move || {
        flows.peek()?;
        Some(flow_columns(flows.by_ref().take(rows)))
    })
}

/// Columns of these rows of the flow table.
pub fn flow_columns(flows: impl Iterator<Item = crate::measure::outcome::FlowRow>) -> Vec<Column> {
    let (mut flow, mut class, mut src, mut dst) = (vec![], vec![], vec![], vec![]);
    let (mut port, mut size, mut arrival, mut rx, mut tx) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut ideal, mut slowdown, mut counted) = (vec![], vec![], vec![]);
    let (mut again, mut timeouts) = (vec![], vec![]);
    for row in flows {
        flow.push(row.flow.id);
        class.push(row.flow.class as u16);
        src.push(row.flow.src);
        dst.push(row.flow.dst);
        port.push(row.flow.port);
        size.push(row.flow.size);
        arrival.push(row.flow.at.0);
        rx.push(row.received.0);
        tx.push(row.acknowledged.0);
        ideal.push(row.ideal);
        slowdown.push(row.slowdown);
        again.push(row.retransmitted);
        timeouts.push(row.timeouts);
        counted.push(row.counted as u8);
    }
    vec![
        ("flow", Values::U32(flow)),
        ("class", Values::U16(class)),
        ("src", Values::U16(src)),
        ("dst", Values::U16(dst)),
        ("port", Values::U16(port)),
        ("size_bytes", Values::U64(size)),
        ("arrival_ps", Values::U64(arrival)),
        ("finish_rx_ps", Values::U64(rx)),
        ("finish_tx_ps", Values::U64(tx)),
        ("ideal_ps", Values::U64(ideal)),
        ("slowdown", Values::F64(slowdown)),
        ("retransmitted_packets", Values::U32(again)),
        ("timeouts", Values::U16(timeouts)),
        ("counted", Values::U8(counted)),
    ]
}

/// Any table but `flows`, whole; `None` if there is no such table.
pub fn table(outcome: &Outcome, name: &str) -> Option<Vec<Column>> {
    match name {
        "slowdown" => Some(slowdown(outcome)),
        "buffers" => Some(buffers(outcome)),
        "queues" => Some(queues(outcome)),
        "links" => Some(links(outcome)),
        "data_queues" => Some(data_queues(outcome)),
        "pools" => Some(pools(outcome)),
        "mmus" => Some(mmus(outcome)),
        "active_flows" => Some(active_flows(outcome)),
        "pauses" => Some(pauses(outcome)),
        "sharing" => Some(sharing(outcome)),
        "ports" => Some(ports(outcome)),
        "drops" => Some(drops(outcome)),
        "queueing_delay" => Some(queueing_delay(outcome)),
        "scheduled_delay" => Some(scheduled_delay(outcome)),
        "waits" => Some(waits(outcome)),
        "rates" => Some(rates(outcome)),
        "events" => Some(events(outcome)),
        _ => None,
    }
}

fn waits(outcome: &Outcome) -> Vec<Column> {
    let (waits, peers) = (&outcome.recorded.waits, peers(outcome));
    let node = |node: Option<u32>| node.map_or(u16::MAX, |node| node as u16);
    let nodes = |of: &dyn Fn(&Wait) -> Option<u32>| Values::U16(waits.iter().map(|wait| node(of(wait))).collect());
    vec![
        ("flow", Values::U32(waits.iter().map(|wait| wait.flow).collect())),
        ("hop", Values::U8(waits.iter().map(|wait| wait.hop).collect())),
        ("node", nodes(&|wait| Some(wait.node))),
        ("peer", nodes(&|wait| peers.get(&(wait.node, wait.port)).copied())),
        ("queue", Values::U16(waits.iter().map(|wait| wait.queue).collect())),
        ("why", Values::U16(waits.iter().map(|wait| wait.why as u16).collect())),
        ("whose", Values::U16(waits.iter().map(|wait| wait.whose.map_or(u16::MAX, u16::from)).collect())),
        ("sake", Values::U64(waits.iter().map(|wait| wait.sake.map_or(u64::MAX, u64::from)).collect())),
        ("by", nodes(&|wait| wait.by)),
        ("towards", nodes(&|wait| wait.towards)),
        ("span_ps", Values::U64(waits.iter().map(|wait| wait.span.0).collect())),
    ]
}

fn rates(outcome: &Outcome) -> Vec<Column> {
    let rates = &outcome.recorded.rates;
    vec![
        ("flow", Values::U32(rates.iter().map(|rate| rate.flow).collect())),
        ("time_ps", Values::U64(rates.iter().map(|rate| rate.end.0).collect())),
        ("span_ps", Values::U64(rates.iter().map(|rate| rate.span.0).collect())),
        ("received_bytes", Values::U64(rates.iter().map(|rate| rate.bytes).collect())),
    ]
}

fn events(outcome: &Outcome) -> Vec<Column> {
    let (events, peers) = (&outcome.recorded.events, peers(outcome));
    let peer = |event: &Event| event.port.and_then(|port| peers.get(&(event.node, port)).copied());
    let u64s = |of: &dyn Fn(&Event) -> Option<u64>| {
        Values::U64(events.iter().map(|event| of(event).unwrap_or(u64::MAX)).collect())
    };
    vec![
        ("time_ps", u64s(&|event| Some(event.at.0))),
        ("node", Values::U16(events.iter().map(|event| event.node as u16).collect())),
        ("port", u64s(&|event| event.port.map(u64::from))),
        ("peer", Values::U16(events.iter().map(|event| peer(event).map_or(u16::MAX, |node| node as u16)).collect())),
        ("queue", u64s(&|event| event.queue.map(u64::from))),
        ("flow", u64s(&|event| event.flow.map(u64::from))),
        ("what", Values::U16(events.iter().map(|event| event.what.code()).collect())),
    ]
}

fn slowdown(outcome: &Outcome) -> Vec<Column> {
    let bins = bins(outcome);
    let u64s = |f: &dyn Fn(&crate::measure::summary::Bin) -> u64| Values::U64(bins.iter().map(f).collect());
    let f64s = |f: &dyn Fn(&crate::measure::summary::Bin) -> f64| Values::F64(bins.iter().map(f).collect());
    vec![
        ("class", Values::U16(bins.iter().map(|b| b.class as u16).collect())),
        ("size_low_bytes", u64s(&|b| b.low)),
        ("size_high_bytes", u64s(&|b| b.high)),
        ("flows", u64s(&|b| b.slowdowns.len() as u64)),
        ("unfinished", u64s(&|b| b.unfinished)),
        ("mean", f64s(&|b| b.mean)),
        ("p50", f64s(&|b| b.percentile(50))),
        ("p95", f64s(&|b| b.percentile(95))),
        ("p99", f64s(&|b| b.percentile(99))),
    ]
}

fn buffers(outcome: &Outcome) -> Vec<Column> {
    let samples = &outcome.buffers;
    vec![
        ("time_ps", Values::U64(samples.iter().map(|sample| sample.at.0).collect())),
        ("node", Values::U16(samples.iter().map(|sample| sample.node as u16).collect())),
        ("buffered_bytes", Values::U64(samples.iter().map(|sample| sample.bytes).collect())),
        ("isolated", Values::U32(samples.iter().map(|sample| sample.isolated).collect())),
    ]
}

fn queues(outcome: &Outcome) -> Vec<Column> {
    let samples = &outcome.queues;
    let peers = peers(outcome);
    vec![
        ("time_ps", Values::U64(samples.iter().map(|(at, ..)| at.0).collect())),
        ("node", Values::U16(samples.iter().map(|(_, node, ..)| *node as u16).collect())),
        ("peer", Values::U16(samples.iter().map(|(_, node, port, _)| peers[&(*node, *port)] as u16).collect())),
        ("queued_bytes", Values::U64(samples.iter().map(|(.., bytes)| *bytes).collect())),
    ]
}

fn links(outcome: &Outcome) -> Vec<Column> {
    let samples = &outcome.links;
    let peers = peers(outcome);
    vec![
        ("time_ps", Values::U64(samples.iter().map(|sample| sample.at.0).collect())),
        ("node", Values::U16(samples.iter().map(|sample| sample.node as u16).collect())),
        ("peer", Values::U16(samples.iter().map(|sample| peers[&(sample.node, sample.port)] as u16).collect())),
        ("sent_bytes", Values::U64(samples.iter().map(|sample| sample.sent).collect())),
        ("queued_bytes", Values::U64(samples.iter().map(|sample| sample.queued).collect())),
        ("paused_ps", Values::U64(samples.iter().map(|sample| sample.paused).collect())),
    ]
}

fn data_queues(outcome: &Outcome) -> Vec<Column> {
    let samples = &outcome.data_queues;
    let peers = peers(outcome);
    vec![
        ("time_ps", Values::U64(samples.iter().map(|(at, ..)| at.0).collect())),
        ("node", Values::U16(samples.iter().map(|(_, node, ..)| *node as u16).collect())),
        ("peer", Values::U16(samples.iter().map(|(_, node, port, ..)| peers[&(*node, *port)] as u16).collect())),
        ("queue", Values::U16(samples.iter().map(|(.., queue, _)| *queue).collect())),
        ("queued_bytes", Values::U64(samples.iter().map(|(.., bytes)| *bytes).collect())),
    ]
}

fn pools(outcome: &Outcome) -> Vec<Column> {
    let samples = &outcome.pool_samples;
    vec![
        ("time_ps", Values::U64(samples.iter().map(|(at, ..)| at.0).collect())),
        ("node", Values::U16(samples.iter().map(|(_, node, ..)| *node as u16).collect())),
        ("mmu", Values::U16(samples.iter().map(|(_, _, mmu, _)| *mmu).collect())),
        ("used_bytes", Values::U64(samples.iter().map(|(.., bytes)| *bytes).collect())),
    ]
}

fn mmus(outcome: &Outcome) -> Vec<Column> {
    let rows = &outcome.pools;
    let u64s = |f: &dyn Fn(&crate::measure::outcome::PoolRow) -> u64| Values::U64(rows.iter().map(f).collect());
    vec![
        ("node", Values::U16(rows.iter().map(|row| row.node as u16).collect())),
        ("mmu", Values::U16(rows.iter().map(|row| row.mmu).collect())),
        ("ports", Values::U16(rows.iter().map(|row| row.ports).collect())),
        ("capacity_bytes", u64s(&|row| row.capacity)),
        ("peak_bytes", u64s(&|row| row.peak)),
        ("dropped_full", u64s(&|row| row.counts.dropped_full)),
        ("dropped_threshold", u64s(&|row| row.counts.dropped_threshold)),
        ("marked_queue", u64s(&|row| row.counts.marked_queue)),
        ("marked_pool", u64s(&|row| row.counts.marked_pool)),
    ]
}

fn active_flows(outcome: &Outcome) -> Vec<Column> {
    let rows = || {
        outcome.active.iter().flat_map(|(node, port, counts)| {
            let seen = counts.iter().enumerate().filter(|(_, n)| **n > 0);
            seen.map(|(flows, n)| (*node, *port, flows, *n))
        })
    };
    vec![
        ("node", Values::U16(rows().map(|r| r.0 as u16).collect())),
        ("port", Values::U16(rows().map(|r| r.1).collect())),
        ("flows", Values::U32(rows().map(|r| r.2 as u32).collect())),
        ("samples", Values::U64(rows().map(|r| r.3).collect())),
    ]
}

fn pauses(outcome: &Outcome) -> Vec<Column> {
    let rows = &outcome.pauses;
    let peers = peers(outcome);
    let u64s = |f: &dyn Fn(&Pauses) -> u64| Values::U64(rows.iter().map(|(.., pauses)| f(pauses)).collect());
    vec![
        ("node", Values::U16(rows.iter().map(|(node, ..)| *node as u16).collect())),
        ("port", Values::U16(rows.iter().map(|(_, port, _)| *port).collect())),
        ("peer", Values::U16(rows.iter().map(|(node, port, _)| peers[&(*node, *port)] as u16).collect())),
        ("samples", u64s(&|pauses| pauses.samples)),
        ("held", u64s(&|pauses| pauses.held)),
        ("incast", u64s(&|pauses| pauses.incast)),
        ("other", u64s(&|pauses| pauses.other)),
        ("orphans", u64s(&|pauses| pauses.orphans)),
        ("all", u64s(&|pauses| pauses.all)),
    ]
}

fn sharing(outcome: &Outcome) -> Vec<Column> {
    let peers = peers(outcome);
    let rows = || {
        outcome.sharing.iter().flat_map(|(node, port, bins)| {
            let seen = bins.iter().zip(0u16..).filter(|(n, _)| **n > 0);
            seen.map(|(n, percent)| (*node, *port, percent, *n))
        })
    };
    vec![
        ("node", Values::U16(rows().map(|row| row.0 as u16).collect())),
        ("port", Values::U16(rows().map(|row| row.1).collect())),
        ("peer", Values::U16(rows().map(|(node, port, ..)| peers[&(node, port)] as u16).collect())),
        ("percent", Values::U16(rows().map(|row| row.2).collect())),
        ("samples", Values::U64(rows().map(|row| row.3).collect())),
    ]
}

/// The node that each port leads to.
fn peers(outcome: &Outcome) -> HashMap<(u32, u16), u32> {
    outcome.ports.iter().map(|p| ((p.node, p.port), p.peer)).collect()
}

fn ports(outcome: &Outcome) -> Vec<Column> {
    let ports = &outcome.ports;
    let u64s = |f: &dyn Fn(&crate::measure::outcome::PortRow) -> u64| Values::U64(ports.iter().map(f).collect());
    let (warm, until) = crate::workload::counted_window(&outcome.scenario);
    let seconds = until.since(warm).as_secs_f64();
    vec![
        ("node", Values::U16(ports.iter().map(|p| p.node as u16).collect())),
        ("port", Values::U16(ports.iter().map(|p| p.port).collect())),
        ("peer", Values::U16(ports.iter().map(|p| p.peer as u16).collect())),
        ("rate_bps", u64s(&|p| p.rate.0)),
        ("data_packets", u64s(&|p| p.total.sent.data().packets)),
        ("data_bytes", u64s(&|p| p.total.sent.data().bytes)),
        ("ack_packets", u64s(&|p| p.total.sent.acks().packets)),
        ("control_frames", u64s(&|p| p.total.sent.control().packets)),
        ("dropped_packets", u64s(&|p| p.total.dropped)),
        (
            "utilisation",
            Values::F64(ports.iter().map(|p| p.window_bytes as f64 * 8.0 / seconds / p.rate.0 as f64).collect()),
        ),
        ("pfc_paused_ps", u64s(&|p| p.total.held.pfc_paused)),
        ("pfc_pauses", u64s(&|p| p.total.held.pfc_pauses)),
        ("bfc_paused_queue_ps", u64s(&|p| p.total.held.bfc_paused)),
        ("bfc_pauses", u64s(&|p| p.total.held.bfc_pauses)),
        ("bfc_resumes", u64s(&|p| p.total.held.bfc_resumes)),
        ("bfc_bitmaps", u64s(&|p| p.total.held.bfc_bitmaps)),
        ("flow_pauses", u64s(&|p| p.total.held.flow_pauses)),
        ("flow_resumes", u64s(&|p| p.total.held.flow_resumes)),
        ("assignments", u64s(&|p| p.assigned.assignments)),
        ("collisions", u64s(&|p| p.assigned.collisions)),
    ]
}

fn drops(outcome: &Outcome) -> Vec<Column> {
    let rows = || {
        outcome.drops.iter().enumerate().flat_map(|(node, drops)| {
            let some = (0..DropReason::COUNT).filter(|r| drops.packets[*r] > 0);
            some.map(move |r| (node, r, drops.packets[r], drops.bytes[r], drops.data[r]))
        })
    };
    vec![
        ("node", Values::U16(rows().map(|r| r.0 as u16).collect())),
        ("reason", Values::U16(rows().map(|r| r.1 as u16).collect())),
        ("packets", Values::U64(rows().map(|r| r.2).collect())),
        ("bytes", Values::U64(rows().map(|r| r.3).collect())),
        ("data_packets", Values::U64(rows().map(|r| r.4).collect())),
    ]
}

fn queueing_delay(outcome: &Outcome) -> Vec<Column> {
    let rows = || outcome.delays.iter().flat_map(|(layer, delays)| delays.bins().map(move |bin| (*layer, bin)));
    vec![
        ("layer", Values::U16(rows().map(|(layer, _)| layer as u16).collect())),
        ("delay_low_ns", Values::U64(rows().map(|(_, (low, ..))| low).collect())),
        ("delay_high_ns", Values::U64(rows().map(|(_, (_, high, _))| high).collect())),
        ("packets", Values::U64(rows().map(|(.., (.., n))| n).collect())),
    ]
}

fn scheduled_delay(outcome: &Outcome) -> Vec<Column> {
    let all = &outcome.scheduled_delays;
    let rows = || all.iter().flat_map(|(layers, delays)| delays.bins().map(move |bin| (*layers, bin)));
    vec![
        ("layer", Values::U16(rows().map(|((layer, _), _)| layer.into()).collect())),
        ("towards", Values::U16(rows().map(|((_, towards), _)| towards.into()).collect())),
        ("delay_low_ns", Values::U64(rows().map(|(_, (low, ..))| low).collect())),
        ("delay_high_ns", Values::U64(rows().map(|(_, (_, high, _))| high).collect())),
        ("packets", Values::U64(rows().map(|(.., (.., n))| n).collect())),
    ]
}
