//! Size of a run, estimated before anything is built: flows, and the memory of its tables.

use backwater_dataplane::shape::cells_ahead;
use backwater_types::{Bytes, Duration};

use super::switch::Part;
use super::{Doc, Net};
use crate::error::Error;
use crate::machine;
use crate::model::{BufferSize, LoadBalancing, Sizes, Window, Workload};
use crate::sizes;

/// Most flows: times of every flow are kept, and flows are numbered in 32 bits.
const FLOWS_MAX: f64 = 1e9;
/// Most flows a second: a run can be stopped between windows of up to 10 us, and two million flows are drawn in a
/// second of real time.
const ARRIVALS_MAX: f64 = 2e11;

/// Bytes of a cell with a packet and its enqueue time, without metadata.
const CELL: u64 = 72;
/// Most bytes of a buffer that packets ever write to: large buffers are rarely full.
const FULL: u64 = 3_000_000;
/// Bytes of a flow that has finished.
const FLOW: f64 = 20.0;
/// Bytes of a flow that has not finished: sender, receiver, timers.
const LIVE: f64 = 200.0;
const HOST: u64 = 20_000;
const SWITCH: u64 = 1 << 16;
const QUEUE: u64 = 128;
const ROUTE: u64 = 8;
const FLOWLETS: u64 = 1 << 20;
const SAMPLE: f64 = 32.0;
const LINK_SAMPLE: f64 = 40.0;
const PAIR: u64 = 20;

/// Refuses more flows than can be numbered, flows that come faster than they can be drawn, and tables that do not fit
/// into the machine's memory.
pub(super) fn check(doc: &Doc, net: &Net, parts: &[Part]) -> Result<(), Error> {
    let flows = check_flows(doc, net)?;
    let shares = [memory_of_switches(net, parts), memory_of_network(doc, net), memory_of_samples(doc, net), flows];
    let within = |most: Option<u64>, of: fn(&Share) -> f64| {
        let total: f64 = shares.iter().flatten().map(of).sum();
        let Some(most) = most.filter(|most| total > *most as f64) else { return Ok(()) };
        let largest = shares.iter().flatten().max_by(|a, b| of(a).total_cmp(&of(b))).expect("something takes it");
        let [total, own, most] = [total, of(largest), most as f64].map(shown);
        let problem = format!("the run takes {total} of memory, {own} of it for {}", largest.what);
        Err(doc.wrong(&largest.key, format!("{problem}: expected at most {most}, which this process can have")))
    };
    within(machine::memory(), |share| share.used)?;
    within(machine::address_space(), |share| share.bytes)
}

/// A part of the memory that a run takes, and the key to reduce it.
struct Share {
    key: String,
    what: String,
    bytes: f64,
    /// Entries that the run ever writes to.
    used: f64,
}

impl Share {
    fn of(key: impl Into<String>, what: String, bytes: f64) -> Share {
        Share { key: key.into(), what, bytes, used: bytes }
    }
}

fn shown(bytes: f64) -> String {
    let (scale, unit) = if bytes >= 1e9 { (1e9, "GB") } else { (1e6, "MB") };
    format!("{:.2} {unit}", bytes / scale)
}

/// Flows of all workloads; flows offered beyond the hosts' capacity wait.
fn check_flows(doc: &Doc, net: &Net) -> Result<Vec<Share>, Error> {
    let (run, seconds) = (&doc.scenario.run, doc.scenario.run.duration.as_secs_f64());
    let hosts: f64 = net.graph.links[..net.graph.hosts].iter().map(|link| link.rate.0 as f64).sum();
    let core: f64 = net.graph.core_links.iter().map(|link| net.graph.links[*link].rate.0 as f64).sum();
    let mut shares = Vec::new();
    for (i, workload) in doc.scenario.workload.iter().enumerate() {
        let (field, count, bytes) = match workload {
            Workload::Background { load, sizes, .. } => {
                let mean = mean(sizes);
                ("load", load * hosts.max(core) * seconds / 8.0 / mean, mean)
            }
            Workload::Incast { degree, aggregate, sizes, period, load, .. } => {
                let mean = sizes.as_ref().map_or(aggregate.unwrap_or_default().0 as f64 / f64::from(*degree), mean);
                match (period, load) {
                    (Some(period), _) => {
                        ("period", f64::from(*degree) * (seconds / period.as_secs_f64()).max(1.0), mean)
                    }
                    (None, load) => ("load", load.unwrap_or(1.0) * core * seconds / 8.0 / mean, mean),
                }
            }
            Workload::LongLived { .. }
            | Workload::FlowList { .. }
            | Workload::Collective { .. }
            | Workload::Job { .. } => continue,
        };
        let key = format!("workload.{i}.{field}");
        // One burst may be large, if the next is far enough off.
        let often = matches!(workload, Workload::Background { .. }) || count > 4.0 * degree(workload);
        doc.need(!often || count / seconds <= ARRIVALS_MAX, &key, || {
            format!("starts {:.2e} flows a second: expected at most {ARRIVALS_MAX:e}", count / seconds)
        })?;
        let count = run.flows.map_or(count, |flows| count.min(flows.into()));
        doc.need(count <= FLOWS_MAX, &key, || {
            let most = doc.scenario.run.duration.0 as f64 * FLOWS_MAX / count;
            format!(
                "starts {count:.2e} flows in the run: expected at most {FLOWS_MAX:e}, as in {}",
                Duration(most as u64)
            )
        })?;
        let waiting = (1.0 - hosts * seconds / 8.0 / (count * bytes)).max(0.0);
        shares.push(Share::of(key, format!("{count:.2e} flows"), count * (FLOW + waiting * LIVE)));
    }
    Ok(shares)
}

fn degree(workload: &Workload) -> f64 {
    match workload {
        Workload::Incast { degree, .. } => f64::from(*degree),
        _ => 1.0,
    }
}

/// Returns the mean size, bytes.
fn mean(of: &Sizes) -> f64 {
    match of {
        Sizes::Fixed(bytes) | Sizes::Exponential(bytes) => bytes.0 as f64,
        Sizes::Uniform([least, most]) => (least.0 as f64 + most.0 as f64) / 2.0,
        Sizes::Points(table) => table.drawn_moments()[0],
        Sizes::Table(name) => sizes::table(name).expect("it was looked up").drawn_moments()[0],
        Sizes::File(_) => unreachable!("its points were read"),
    }
    .max(1.0)
}

/// Memory of packets, queues and records of flows.
fn memory_of_switches(net: &Net, parts: &[Part]) -> Vec<Share> {
    let mut shares = Vec::new();
    let ahead = cells_ahead((net.graph.nodes.len() - net.graph.hosts) as u64);
    let mut ports = vec![0u64; net.graph.nodes.len()];
    for link in &net.graph.links {
        ports[link.a] += 1;
        ports[link.b] += 1;
    }
    for part in parts {
        let switch = part.switch;
        let here = part.here.iter().filter(|here| **here).count() as u64;
        let ports: u64 = part.here.iter().zip(&ports).filter(|(here, _)| **here).map(|(_, ports)| ports).sum();
        let smallest = part.doc.scenario.host.smallest_packet().0;
        let private = switch.mmu.queue.iter().filter_map(|queue| queue.private).chain([switch.mmu.private]).max();
        let private =
            private.unwrap_or_default().0.saturating_mul(ports.div_ceil(here.max(1)) * u64::from(switch.queues));
        let cells = match switch.buffer {
            BufferSize::Shared(Bytes(bytes)) => (bytes.saturating_add(private) / smallest + 1).min(ahead),
            BufferSize::Infinite => 4096,
        };
        let queues = ports * u64::from(switch.queues);
        let flowlets = if matches!(switch.load_balancing, LoadBalancing::Flowlet(_)) { here * FLOWLETS } else { 0 };
        let of = |field: &str, what: String, bytes: u64| Share::of(format!("{}.{field}", part.key), what, bytes as f64);
        let cell = CELL + part.doc.scenario.host.carried().0;
        let packets = of("buffer", format!("the packets of {here} switches"), here * cells * cell);
        shares.push(Share { used: packets.bytes.min((here * FULL) as f64), ..packets });
        shares.push(of("queues", format!("the queues of {ports} ports"), queues * QUEUE + here * SWITCH));
        shares.extend(switch.backpressure.table().zip(switch.pausing().state).map(|(table, state)| {
            let bytes = queues.saturating_mul(state.per_queue).saturating_add(ports.saturating_mul(state.per_port));
            of(&format!("{table}.{}", state.key), state.what.into(), bytes)
        }));
        shares.push(of("load_balancing", "tables of flowlets".into(), flowlets));
    }
    shares
}

/// Memory of hosts and routes.
fn memory_of_network(doc: &Doc, net: &Net) -> Vec<Share> {
    let hosts = net.graph.hosts as u64;
    let pairs = if doc.scenario.host.window == Some(Window::PairBdp) { hosts * hosts * PAIR } else { 0 };
    let of = |key: &str, what: String, bytes: u64| Share::of(key, what, bytes as f64);
    vec![
        of("topology", format!("{hosts} hosts and {} routes", net.routes()), hosts * HOST + net.routes() * ROUTE),
        of("host.window", format!("windows of {hosts} hosts by pairs"), pairs),
    ]
}

fn memory_of_samples(doc: &Doc, net: &Net) -> Vec<Share> {
    let (measure, run) = (&doc.scenario.measure, &doc.scenario.run);
    let times = |period: Duration| if period.0 == 0 { 0.0 } else { run.duration.0 as f64 / period.0 as f64 };
    let samples = times(measure.sample);
    let name = |node: usize| net.graph.nodes[node].name.as_str();
    let ports = match measure.queues.is_empty() {
        true => 0,
        false => {
            let sampled = |link: &&crate::topology::Link| {
                measure.samples(name(link.a), name(link.b)) || measure.samples(name(link.b), name(link.a))
            };
            net.graph.links.iter().filter(sampled).count()
        }
    };
    let queues = if measure.data_queues { ports * usize::from(doc.scenario.switch.data_queues()) } else { 0 };
    let switches = net.graph.nodes.len() - net.graph.hosts;
    let rows = samples * (switches * (1 + usize::from(measure.pools)) + ports + queues) as f64;
    let links = times(measure.links) * (2 * net.graph.links.len()) as f64;
    vec![
        Share::of("measure.sample", format!("{rows:.2e} samples"), rows * SAMPLE),
        Share::of("measure.links", format!("{links:.2e} samples of links"), links * LINK_SAMPLE),
    ]
}
