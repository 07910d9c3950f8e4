//! The flows of a run, in order of arrival.
//!
//! Traffic is one network-wide process: flow k's gap, source, destination and size are functions of (seed, k), so every scheme
//! sees the same traffic, and every partition walks the same sequence and keeps what is its own. Nothing is stored: the report
//! walks it once more.

pub mod draws;
pub mod load;

use crate::compat::hpcc;
use crate::workload::load::{capacity, event_bytes, flow_rate};
use backwater_scenario::flow_list::{self, Row};
use backwater_scenario::model::{
    Arrivals, BACKGROUND_PORT, INCAST_PORT, LoadOf, Paths, Scenario, SizeTable, Sizes, Workload,
};
use backwater_scenario::sizes;
use backwater_scenario::topology::Graph;
use backwater_types::{Duration, Instant, hash};
use std::collections::HashMap;

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its number, in order of arrival.
    pub id: u32,
    /// Arrival.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; `u64::MAX`: endless.
    pub size: u64,
    /// Number among the flows to the same destination.
    pub receiver_slot: u32,
    /// Destination port, in files and hashes of other simulators.
    pub port: u16,
    /// Workload it belongs to.
    pub class: u8,
}

/// Size of an endless flow.
pub const ENDLESS: u64 = u64::MAX;

impl Flow {
    /// Packets of `payload` bytes it takes, and the payload of the last.
    pub fn packets(&self, payload: u64) -> (u32, u64) {
        if self.size == ENDLESS {
            return (u32::MAX, payload);
        }
        let packets = self.size.div_ceil(payload);
        (packets as u32, self.size - (packets - 1) * payload)
    }
}

/// All flows of a scenario, in order of arrival; ties go to the earlier workload.
#[derive(Clone, Debug)]
pub struct Traffic {
    sources: Vec<Source>,
    heads: Vec<Option<Arrival>>,
    next_id: u32,
    /// `[host]`: flows to it so far.
    to: Vec<u32>,
    until: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    src: u16,
    dst: u16,
    size: u64,
    port: u16,
}

#[derive(Clone, Debug)]
enum Source {
    Background(Background),
    Incast(Incast),
    Listed(std::vec::IntoIter<Arrival>),
}

impl Traffic {
    /// The flows of `scenario`, which is valid, on its graph.
    pub fn new(scenario: &Scenario, graph: &Graph) -> Traffic {
        let until = Instant::ZERO + scenario.run.duration;
        let sources: Vec<Source> = scenario
            .workload
            .iter()
            .enumerate()
            .map(|(i, w)| Source::new(scenario, w, graph, hash::stream(scenario.seed, 0x7472_6166, i as u64), until))
            .collect();
        let mut traffic = Traffic { heads: Vec::new(), sources, next_id: 0, to: vec![0; graph.hosts], until };
        traffic.heads = traffic.sources.iter_mut().map(Source::next).collect();
        traffic
    }

    /// Arrival of the next flow; [`Instant::NEVER`] when there is none.
    pub fn next_at(&self) -> Instant {
        let first = self.heads.iter().flatten().map(|a| a.at).min();
        first.filter(|at| *at < self.until).unwrap_or(Instant::NEVER)
    }

    /// The next flow, if it arrives before `end`.
    #[inline]
    pub fn next_before(&mut self, end: Instant) -> Option<Flow> {
        let mut first = None::<(Instant, usize)>;
        for (class, head) in self.heads.iter().enumerate() {
            if let Some(head) = head
                && first.is_none_or(|(at, _)| head.at < at)
            {
                first = Some((head.at, class));
            }
        }
        let (at, class) = first.filter(|(at, _)| *at < end && *at < self.until)?;
        let arrival = self.heads[class].take()?;
        self.heads[class] = self.sources[class].next();
        let slot = &mut self.to[arrival.dst as usize];
        let receiver_slot = *slot;
        *slot += 1;
        let id = self.next_id;
        self.next_id += 1;
        let Arrival { src, dst, size, port, .. } = arrival;
        Some(Flow { id, at, src, dst, size, receiver_slot, port, class: class as u8 })
    }
}

impl Iterator for Traffic {
    type Item = Flow;
    fn next(&mut self) -> Option<Flow> {
        self.next_before(Instant::NEVER)
    }
}

impl Source {
    fn new(scenario: &Scenario, workload: &Workload, graph: &Graph, stream: u64, until: Instant) -> Source {
        match workload {
            Workload::Background { sizes, arrivals, from, to, start, .. } => {
                let (from, to) = (Hosts::named(graph, from), Hosts::named(graph, to));
                let sizes = Sampler::new(sizes);
                let rate = flow_rate(scenario, workload, graph, &from, &to, &sizes);
                let gaps = Gaps::new(*arrivals, rate);
                Source::Background(Background { stream, k: 0, at: start.0 as f64, from, to, sizes, gaps })
            }
            Workload::Incast { degree, aggregate, sizes, period, load, start, from, to, .. } => {
                let sizes = sizes.as_ref().map(Sampler::new);
                let period = period.map_or_else(
                    || event_bytes(workload) * 8e12 / (load.unwrap_or(1.0) * capacity(graph, LoadOf::Core, &[], &[])),
                    |p| p.0 as f64,
                );
                Source::Incast(Incast {
                    stream,
                    event: 0,
                    sent: 0,
                    degree: *degree,
                    aggregate: aggregate.map_or(0, |bytes| bytes.0),
                    sizes,
                    start: start.map_or(period, |s| s.0 as f64),
                    period,
                    from: Hosts::named(graph, from),
                    to: Hosts::named(graph, to),
                    until,
                })
            }
            Workload::LongLived { count, from, to, size, start, stagger, .. } => {
                let to = Hosts::named(graph, to).list;
                let from = match from.is_empty() {
                    true => (0..graph.hosts as u16).filter(|h| !to.contains(h)).collect(),
                    false => Hosts::named(graph, from).list,
                };
                let flow = |i: usize| Arrival {
                    at: Instant(start.0 + stagger.0 * i as u64),
                    src: from[i % from.len()],
                    dst: to[i % to.len()],
                    size: size.map_or(ENDLESS, |s| s.0),
                    port: BACKGROUND_PORT,
                };
                Source::Listed((0..*count as usize).map(flow).collect::<Vec<_>>().into_iter())
            }
            Workload::FlowList { rows, flows, .. } => {
                let hosts = numbers(graph);
                let flow = |row: Row| Arrival {
                    at: Instant(row.start.0),
                    src: hosts[row.src],
                    dst: hosts[row.dst],
                    size: row.bytes.0,
                    port: row.port,
                };
                let listed = flows.iter().map(|listed| flow(Row::of(0, listed)));
                let mut flows: Vec<Arrival> = match rows.is_empty() {
                    true => listed.collect(),
                    false => {
                        let rows =
                            flow_list::parse(rows, "").expect("scenario checked: lists of flows are well-formed");
                        rows.into_iter().map(flow).collect()
                    }
                };
                flows.sort_by_key(|f| f.at);
                Source::Listed(flows.into_iter())
            }
        }
    }

    fn next(&mut self) -> Option<Arrival> {
        match self {
            Source::Background(b) => Some(b.next()),
            Source::Incast(i) => i.next(),
            Source::Listed(flows) => flows.next(),
        }
    }
}

/// The number of each host, by name; a valid scenario names no other.
fn numbers(graph: &Graph) -> HashMap<&str, u16> {
    graph.nodes[..graph.hosts].iter().map(|host| host.name.as_str()).zip(0..).collect()
}

/// A set of hosts to draw from.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) list: Vec<u16>,
    /// `[host]`: its place in `list`, or `u32::MAX`.
    place: Vec<u32>,
}

impl Hosts {
    /// The hosts of these names; all of them if there is no name.
    pub(crate) fn named(graph: &Graph, names: &[String]) -> Hosts {
        let list: Vec<u16> = match names.is_empty() {
            true => (0..graph.hosts as u16).collect(),
            false => {
                let hosts = numbers(graph);
                names.iter().map(|name| hosts[name.as_str()]).collect()
            }
        };
        let mut place = vec![u32::MAX; graph.hosts];
        list.iter().enumerate().for_each(|(i, h)| place[*h as usize] = i as u32);
        Hosts { list, place }
    }

    fn draw(&self, word: u64) -> u16 {
        self.list[hash::range32((word >> 32) as u32, self.list.len() as u32) as usize]
    }

    /// Uniform over the list without `host`.
    fn draw_but(&self, word: u64, host: u16) -> u16 {
        let place = self.place[host as usize];
        if place == u32::MAX {
            return self.draw(word);
        }
        let i = hash::range32((word >> 32) as u32, self.list.len() as u32 - 1);
        self.list[(i + (i >= place) as u32) as usize]
    }
}

#[derive(Clone, Debug)]
struct Background {
    stream: u64,
    k: u64,
    /// Time of the last arrival, picoseconds.
    at: f64,
    from: Hosts,
    to: Hosts,
    sizes: Sampler,
    gaps: Gaps,
}

impl Background {
    fn next(&mut self) -> Arrival {
        let word = |i: u64| hash::draw(self.stream, 4 * self.k + i);
        // A double holds picoseconds exactly up to 2.5 hours.
        self.at += self.gaps.draw(word(0));
        let src = self.from.draw(word(1));
        let arrival = Arrival {
            at: Instant(self.at as u64),
            src,
            dst: self.to.draw_but(word(2), src),
            size: self.sizes.draw(word(3)),
            port: BACKGROUND_PORT,
        };
        self.k += 1;
        arrival
    }
}

/// Gaps between arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    arrivals: Arrivals,
    /// Mean gap, picoseconds.
    mean: f64,
    /// Log-normal: mean of the logarithm.
    mu: f64,
}

impl Gaps {
    /// For `rate` arrivals per second. Log-normal: `mu = ln(mean) - sigma^2 / 2`, so the mean is exact (traffic 1).
    pub fn new(arrivals: Arrivals, rate: f64) -> Gaps {
        let mean = 1e12 / rate;
        let mu = match arrivals {
            Arrivals::Poisson => 0.0,
            Arrivals::LogNormal(sigma) => libm::log(mean) - sigma * sigma / 2.0,
        };
        Gaps { arrivals, mean, mu }
    }

    /// A gap, picoseconds.
    pub fn draw(&self, word: u64) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => self.mean * draws::exponential(word),
            Arrivals::LogNormal(sigma) => libm::exp(self.mu + sigma * draws::normal(word)),
        }
    }
}

#[derive(Clone, Debug)]
struct Incast {
    stream: u64,
    event: u64,
    /// Flows of the current event already given.
    sent: u32,
    degree: u32,
    aggregate: u64,
    /// Sizes of flows, drawn for each, in place of equal parts of `aggregate`.
    sizes: Option<Sampler>,
    start: f64,
    period: f64,
    from: Hosts,
    to: Hosts,
    until: Instant,
}

impl Incast {
    fn next(&mut self) -> Option<Arrival> {
        let at = Instant((self.start + self.period * self.event as f64) as u64);
        if at >= self.until {
            return None;
        }
        let word = |i: u64| hash::draw(self.stream, self.event * (self.degree as u64 + 1) + i);
        let dst = self.to.draw(word(0));
        let src = self.from.draw_but(word(1 + self.sent as u64), dst);
        let (share, rest) = (self.aggregate / self.degree as u64, self.aggregate % self.degree as u64);
        let size = match &self.sizes {
            None => (share + ((self.sent as u64) < rest) as u64).max(1),
            Some(sizes) => {
                let stream = hash::stream(self.stream, 0x7369_7a65, 0);
                sizes.draw(hash::draw(stream, self.event * self.degree as u64 + self.sent as u64))
            }
        };
        self.sent += 1;
        if self.sent == self.degree {
            self.sent = 0;
            self.event += 1;
        }
        Some(Arrival { at, src, dst, size, port: INCAST_PORT })
    }
}

/// Draws flow sizes.
#[derive(Clone, Debug)]
pub enum Sampler {
    /// Always this many bytes.
    Fixed(u64),
    /// Exponential with this mean, rounded up to whole bytes.
    Exponential(f64),
    /// Every whole number of bytes from the first to the second alike.
    Uniform(u64, u64),
    /// By a table.
    Table(TableSampler),
}

/// Inverts a cumulative distribution; a guide table makes the search short.
#[derive(Clone, Debug)]
pub struct TableSampler {
    table: SizeTable,
    /// `[u / GUIDE]`: the first point whose probability reaches the cell.
    guide: Vec<u16>,
    /// Mean of the sizes drawn, bytes.
    mean: f64,
    /// Their standard deviation over their mean.
    variation: f64,
}

const GUIDE: usize = 4096;

impl Sampler {
    /// For sizes of a valid scenario.
    pub fn new(sizes: &Sizes) -> Sampler {
        match sizes {
            Sizes::Fixed(bytes) => Sampler::Fixed(bytes.0),
            Sizes::Exponential(mean) => Sampler::Exponential(mean.0 as f64),
            Sizes::Uniform([least, most]) => Sampler::Uniform(least.0, most.0),
            Sizes::Points(table) => Sampler::Table(TableSampler::new(table.clone())),
            Sizes::Table(name) => {
                Sampler::Table(TableSampler::new(sizes::table(name).expect("scenario checked: table exists").clone()))
            }
            Sizes::File(_) => unreachable!("the reader turns files into points"),
        }
    }

    /// Mean of the sizes drawn, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sampler::Fixed(bytes) => *bytes as f64,
            Sampler::Exponential(mean) => *mean,
            Sampler::Uniform(least, most) => (*least as f64 + *most as f64) / 2.0,
            Sampler::Table(table) => table.mean,
        }
    }

    /// Mean of the table, bytes; of sizes without one that of the sizes drawn.
    pub fn table_mean(&self) -> f64 {
        match self {
            Sampler::Table(table) => table.table.mean(),
            _ => self.mean(),
        }
    }

    /// Standard deviation of the sizes drawn, over their mean.
    pub fn variation(&self) -> f64 {
        match self {
            Sampler::Fixed(_) => 0.0,
            Sampler::Exponential(_) => 1.0,
            Sampler::Uniform(least, most) => (most - least) as f64 / 12f64.sqrt() / self.mean(),
            Sampler::Table(table) => table.variation,
        }
    }

    /// A size that none of `n` exceeds, bytes; of an exponential one in all but one case in `e^8`.
    pub fn largest(&self, n: f64) -> f64 {
        match self {
            Sampler::Fixed(bytes) => *bytes as f64,
            Sampler::Exponential(mean) => mean * (8.0 + libm::log(n.max(1.0))),
            Sampler::Uniform(_, most) => *most as f64,
            Sampler::Table(table) => {
                let (size, _) = *table.table.points.last().expect("a table has points");
                table.table.drawn(size) as f64
            }
        }
    }

    /// A size, bytes; at least 1.
    pub fn draw(&self, word: u64) -> u64 {
        match self {
            Sampler::Fixed(bytes) => *bytes,
            Sampler::Exponential(mean) => (mean * draws::exponential(word) + 0.5).max(1.0) as u64,
            // Lemire 2016, in 64 bits: sizes are alike to one part in 2^27.
            Sampler::Uniform(least, most) => least + ((word as u128 * (most - least + 1) as u128) >> 64) as u64,
            Sampler::Table(table) => table.draw(word),
        }
    }
}

impl TableSampler {
    fn new(table: SizeTable) -> TableSampler {
        let mut guide = Vec::with_capacity(GUIDE);
        let mut point = 0;
        for cell in 0..GUIDE {
            while table.points[point].1 < cell as f64 / GUIDE as f64 {
                point += 1;
            }
            guide.push(point as u16);
        }
        let [mean, squares] = table.drawn_moments();
        let variation = (squares - mean * mean).max(0.0).sqrt() / mean;
        TableSampler { table, guide, mean, variation }
    }

    fn draw(&self, word: u64) -> u64 {
        let (u, points) = (draws::uniform(word), &self.table.points);
        let mut i = self.guide[(word >> 52) as usize] as usize;
        while points[i].1 < u {
            i += 1;
        }
        let (size, p) = points[i];
        let value = match i.checked_sub(1).map(|before| points[before]) {
            Some((low, q)) if self.table.linear && p > q => low + (size - low) * (u - q) / (p - q),
            _ => size,
        };
        self.table.drawn(value)
    }
}

/// The hash by which switches know flow number `id`.
#[inline]
pub fn flow_key(seed: u64, id: u32) -> u32 {
    (hash::draw(seed ^ 0x6b65_7973, id as u64) >> 32) as u32
}

/// The keys of flows in order of arrival: all of them, or those of one source. A key is a hash of the flow's number, or, where
/// paths are chosen as in the HPCC simulator, its ports.
#[derive(Clone, Debug)]
pub struct FlowKeys {
    seed: u64,
    /// Flows so far between two hosts, which number source ports.
    opened: Option<HashMap<(u16, u16), u16>>,
}

impl FlowKeys {
    /// Before the first flow.
    pub fn new(scenario: &Scenario) -> FlowKeys {
        let by_ports = scenario.conventions.paths == Paths::HpccSim;
        FlowKeys { seed: scenario.seed, opened: by_ports.then(HashMap::new) }
    }

    /// The key of an ACK to a packet with this key.
    #[inline(always)]
    pub fn answer(&self, key: u32) -> u32 {
        match self.opened {
            Some(_) => key.rotate_left(16),
            None => hash::salted(key, 0x9e37_79b9_7f4a_7c15),
        }
    }

    /// The key of the next flow.
    pub fn next(&mut self, flow: &Flow) -> u32 {
        let Some(opened) = &mut self.opened else { return flow_key(self.seed, flow.id) };
        let opened = opened.entry((flow.src, flow.dst)).or_insert(0);
        let source_port = hpcc::network::FIRST_SOURCE_PORT.wrapping_add(*opened);
        *opened = opened.wrapping_add(1);
        hpcc::network::ports(source_port, flow.port)
    }
}

/// When counting starts and arrivals end.
pub fn counted_window(scenario: &Scenario) -> (Instant, Instant) {
    let at = |d: Duration| Instant::ZERO + d;
    (at(scenario.run.warmup()), at(scenario.run.duration))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_scenario::load_str;
    use backwater_scenario::topology::expand;
    use backwater_types::Bytes;
    use std::path::Path;

    /// Eight hosts under FlowSail, incast at 6 % of the core's four links.
    fn incast(keys: &str) -> Scenario {
        let text = format!(
            "scheme = \"flowsail\"\nrun = {{ duration = \"10 s\" }}\n[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 1\n\
             aggs_per_pod = 2\ncores = 2\nhosts_per_tor = 4\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\n\
             host_delay = \"1 us\"\ncore_delay = \"1 us\"\n[[workload]]\nkind = \"incast\"\ndegree = 50\nload = 0.06\n{keys}\n"
        );
        let plan = load_str(&text, Path::new("."), "incast.toml", &[], None).unwrap_or_else(|error| panic!("{error}"));
        plan.runs.into_iter().next().expect("one run").scenario
    }

    fn flows(scenario: &Scenario, n: usize) -> Vec<Flow> {
        Traffic::new(scenario, &expand(&scenario.topology)).take(n).collect()
    }

    const UNIFORM: &str = "sizes = { uniform = [\"50 KB\", \"200 KB\"] }";

    /// The mean of n sizes strays by (200 - 50) / sqrt(12 n) KB: 0.05 KB at 750 000. Chi-squared over 30 bins has mean 29 and
    /// standard deviation 7.6.
    #[test]
    fn incast_sizes_are_uniform_and_drawn_for_each_flow() {
        let flows = flows(&incast(UNIFORM), 750_000);
        let mean = flows.iter().map(|flow| flow.size as f64).sum::<f64>() / flows.len() as f64;
        assert!((mean - 125_000.0).abs() < 250.0, "{mean}");
        let mut bins = [0u32; 30];
        for flow in &flows {
            assert!((50_000..=200_000).contains(&flow.size));
            bins[((flow.size - 50_000) / 5001) as usize] += 1;
        }
        let expected = flows.len() as f64 / 30.0;
        let chi: f64 = bins.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        assert!(chi < 29.0 + 5.0 * 7.6, "{chi} {bins:?}");
        // Within an event and from one to the next, sizes and sources have nothing to do with one another.
        let score = |of: &dyn Fn(usize) -> f64| {
            (0..flows.len() - 50).map(|i| (flows[i].size as f64 - 125_000.0) * of(i)).sum::<f64>() / flows.len() as f64
        };
        // Standard deviation of a size 43.3 KB; correlations stray by 1 / sqrt(n) = 0.12 %.
        for lag in [1, 49, 50] {
            let correlation = score(&|i| flows[i + lag].size as f64 - 125_000.0) / 43_301.0f64.powi(2);
            assert!(correlation.abs() < 0.006, "lag {lag}: {correlation}");
        }
        // Sources are uniform over hosts 0 to 7: standard deviation 2.29.
        let correlation = score(&|i| flows[i].src as f64 - 3.5) / (43_301.0 * 2.29);
        assert!(correlation.abs() < 0.006, "{correlation}");
    }

    #[test]
    fn the_load_sets_the_period_from_the_mean_event() {
        // 50 x 125 KB x 8 / (0.06 x 4 x 100 Gb/s) = 2083.33 us; the first event comes after one period.
        let drawn = flows(&incast(UNIFORM), 150);
        assert_eq!([0, 49, 50, 100].map(|i| drawn[i].at.0 / 1_000), [2_083_333, 2_083_333, 4_166_666, 6_250_000]);
        // Hosts and times are those of equal parts of the same mean.
        let parts = flows(&incast("aggregate = \"6250 KB\""), 150);
        for (drawn, part) in drawn.iter().zip(&parts) {
            assert_eq!((drawn.at, drawn.src, drawn.dst, part.size), (part.at, part.src, part.dst, 125_000));
        }
    }

    #[test]
    fn uniform_sizes_reach_both_ends_and_no_further() {
        let sampler = |least, most| Sampler::new(&Sizes::Uniform([Bytes(least), Bytes(most)]));
        let die = sampler(1, 6);
        let mut seen = [0u32; 8];
        (0..60_000).for_each(|k| seen[die.draw(hash::draw(1, k)) as usize] += 1);
        // 10 000 of each, strays by 91.
        assert!(seen[1..=6].iter().all(|n| n.abs_diff(10_000) < 500) && seen[0] + seen[7] == 0, "{seen:?}");
        assert_eq!((die.draw(0), die.draw(u64::MAX), die.mean()), (1, 6, 3.5));
        assert_eq!((sampler(9, 9).draw(u64::MAX), sampler(9, 9).mean()), (9, 9.0));
        let widest = sampler(1, 1 << 37);
        assert_eq!((widest.draw(0), widest.draw(u64::MAX)), (1, 1 << 37));
    }
}
