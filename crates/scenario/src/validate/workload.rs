//! Sources of flows.

use std::collections::{BTreeMap, HashMap};

use backwater_jobs::collective::algorithms;
use backwater_types::Duration;

use super::switch::PRIORITIES;
use super::topology::{RATE_MAX, RATE_MIN};
use super::{Doc, Net};
use crate::error::Error;
use crate::flow_list::{self, Row};
use crate::host_list::HostList;
use crate::job;
use crate::job::generated::{self, algorithm_of};
use crate::model::{
    Arrivals, COLLECTIVE_FLOWS_MAX, CollectiveAlgorithm, Hosts, JobOverheads, JobPlacement, ListedFlow, LoadOf,
    Pattern, Sizes, Switch, Transport, Workload,
};
use crate::sizes;

/// Files of workloads, by the number of the workload.
#[derive(Default)]
pub(crate) struct Lists {
    /// Names of lists of flows in messages.
    pub(crate) flows: BTreeMap<usize, String>,
    /// Lists of hosts that were read from files.
    pub(crate) hosts: BTreeMap<usize, HostList>,
}

/// Most workloads: they are numbered in 8 bits in every flow.
const WORKLOADS_MAX: usize = 250;
/// Most ranks of a host.
const JOB_RANKS_MAX: u32 = 1 << 20;
/// Most queue pairs of a pair of hosts: they differ in 14 bits of a port.
const QUEUE_PAIRS_MAX: u16 = 1024;
/// Longest time that a message costs a host.
const JOB_TIME_MAX: Duration = Duration::from_us(1_000_000);
/// Most flows of one incast event, or of one long-lived workload.
const FLOWS_MAX: u32 = 1_000_000;

pub(super) fn check(doc: &Doc, net: &Net, lists: &Lists) -> Result<(), Error> {
    let workloads = &doc.scenario.workload;
    doc.need(!workloads.is_empty(), "workload", || "no [[workload]]: expected at least one source of flows".into())?;
    doc.need(workloads.len() <= WORKLOADS_MAX, "workload", || format!("expected at most {WORKLOADS_MAX} workloads"))?;
    let mut classes = HashMap::new();
    for (i, workload) in workloads.iter().enumerate() {
        let one = One { doc, net, key: format!("workload.{i}"), listed: lists.hosts.get(&i) };
        let class = workload.class();
        let legible = (1..=64).contains(&class.chars().count()) && !class.chars().any(char::is_control);
        one.need(legible, "class", || "expected a name of 1 to 64 characters".into())?;
        let other = classes.insert(class, i);
        one.need(other.is_none(), "class", || {
            format!(
                "workload.{} has this class: expected another, so that tables can tell them apart",
                other.unwrap_or(0)
            )
        })?;
        let problem = one.against_priority(workload.priority());
        problem.map_or(Ok(()), |problem| Err(one.wrong("priority", problem)))?;
        match workload {
            Workload::Background { .. } => one.background(workload)?,
            Workload::Incast { .. } => one.incast(workload)?,
            Workload::LongLived { .. } => one.long_lived(workload)?,
            Workload::FlowList { rows, flows, .. } => one.flow_list(rows, flows, &lists.flows[&i])?,
            Workload::Collective { .. } => one.collective(workload)?,
            Workload::Job { .. } => one.job(workload)?,
        }
    }
    Ok(())
}

/// Checks one `[[workload]]`.
struct One<'a> {
    doc: &'a Doc<'a>,
    net: &'a Net,
    key: String,
    /// Hosts of its ranks, if a file lists them.
    listed: Option<&'a HostList>,
}

impl One<'_> {
    fn wrong(&self, field: &str, problem: impl Into<String>) -> Error {
        self.doc.wrong(&format!("{}.{field}", self.key), problem)
    }

    fn need(&self, holds: bool, field: &str, problem: impl FnOnce() -> String) -> Result<(), Error> {
        if holds { Ok(()) } else { Err(self.wrong(field, problem())) }
    }

    /// Objection to a priority: it has to be below the number of groups where switches have groups, and below that of
    /// weights where they have weights.
    fn against_priority(&self, priority: u8) -> Option<String> {
        if priority >= PRIORITIES {
            return Some(format!("expected 0 to {}", PRIORITIES - 1));
        }
        let scenario = self.doc.scenario;
        if priority > 0 && scenario.host.transport == Transport::Homa {
            return Some("Homa chooses the priority of each packet; expected 0, or another transport".into());
        }
        let regions = scenario.region.iter().enumerate();
        let regions = regions.map(|(i, region)| (format!("region.{i}.switch"), &region.switch));
        let switches: Vec<(String, &Switch)> =
            [("switch".into(), &scenario.switch)].into_iter().chain(regions).collect();
        switches.into_iter().find_map(|(key, switch)| {
            let (groups, weights) = (switch.priority_groups, &switch.flowsail.weights);
            if groups > 1 && priority >= groups {
                return Some(format!("expected less than {key}.priority_groups = {groups}"));
            }
            let weighed = weights.is_empty() || usize::from(priority) < weights.len();
            let problem =
                || format!("{key}.flowsail.weights has {} entries: expected a priority that has one", weights.len());
            (!weighed).then(problem)
        })
    }

    fn background(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::Background { sizes, arrivals, load, load_of, local_share, from, to, start, .. } = workload else {
            return Ok(());
        };
        self.share("load", *load)?;
        self.sizes(sizes)?;
        if let Arrivals::LogNormal(sigma) = arrivals {
            let within = *sigma > 0.0 && *sigma <= 5.0;
            self.need(within, "arrivals.log-normal", || "expected a sigma above 0 and at most 5".into())?;
        }
        self.starts("start", *start)?;
        let (from, to) = (self.hosts("from", from)?, self.hosts("to", to)?);
        let some_pair = from.iter().any(|src| to.iter().any(|dst| src != dst));
        self.need(some_pair, "to", || "no source has another host to send to: expected two hosts at least".into())?;
        if matches!(load_of, LoadOf::Core | LoadOf::ExactCore) {
            self.core("load_of", "load_of = \"receivers\" or \"senders\"")?;
        }
        if let Some(share) = local_share {
            let exact = *load_of == LoadOf::ExactCore && (0.0..1.0).contains(share);
            self.need(exact, "local_share", || {
                "expected 0 to below 1, with load_of = \"exact-core\", where it replaces the share of traffic across the core".into()
            })?;
        }
        let switch = |host: &usize| self.net.graph.switch_of(*host);
        let crossing = || from.iter().any(|src| to.iter().any(|dst| switch(src) != switch(dst)));
        self.need(*load_of != LoadOf::ExactCore || crossing(), "load_of", || {
            "no pair of hosts in from and to crosses the core; expected \"receivers\" or \"senders\"".into()
        })
    }

    fn incast(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::Incast { degree, aggregate, sizes, period, load, start, from, to, .. } = workload else {
            return Ok(());
        };
        self.need((1..=FLOWS_MAX).contains(degree), "degree", || format!("expected 1 to {FLOWS_MAX}"))?;
        match (aggregate, sizes) {
            (None, None) => return Err(self.wrong("aggregate", "missing, and so is sizes: expected one of the two")),
            (Some(_), Some(_)) => return Err(self.wrong("sizes", "given beside aggregate: expected one of the two")),
            (None, Some(sizes)) => self.sizes(sizes)?,
            (Some(aggregate), None) => {
                let within = (u64::from(*degree)..=sizes::SIZE_MAX as u64).contains(&aggregate.0);
                self.need(within, "aggregate", || {
                    format!("expected at least one byte for each of the {degree} flows, up to 128 GiB")
                })?;
            }
        }
        match (period, load) {
            (None, None) => return Err(self.wrong("period", "missing, and so is load: expected one of the two")),
            (Some(_), Some(_)) => return Err(self.wrong("load", "given beside period: expected one of the two")),
            (Some(period), None) => self.need(period.0 > 0, "period", || "expected more than 0".into())?,
            (None, Some(load)) => {
                self.share("load", *load)?;
                self.core("load", "a period")?;
            }
        }
        if let Some(start) = start {
            self.starts("start", *start)?;
        }
        let (from, to) = (self.hosts("from", from)?, self.hosts("to", to)?);
        let lonely = to.iter().find(|victim| from.iter().all(|src| src == *victim));
        self.need(lonely.is_none(), "to", || {
            let name = &self.net.graph.nodes[*lonely.expect("just seen")].name;
            format!("{name} is the only source and a victim: expected a source other than the victim")
        })
    }

    fn long_lived(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::LongLived { count, from, to, size, start, stagger, rate, .. } = workload else { return Ok(()) };
        self.need((1..=FLOWS_MAX).contains(count), "count", || format!("expected 1 to {FLOWS_MAX}"))?;
        self.need(!to.is_empty(), "to", || "expected at least one host".into())?;
        if let Some(size) = size {
            self.size("size", size.0)?;
        }
        if let Some(rate) = rate {
            let within = (RATE_MIN..=RATE_MAX).contains(rate);
            self.need(within, "rate", || format!("expected {RATE_MIN} to {RATE_MAX}"))?;
            let rings = self.doc.scenario.conventions.hosts == Hosts::Rings;
            self.need(rings, "rate", || "hosts of HPCC's simulator send no datagrams; expected no rate".into())?;
        }
        self.starts("start", *start)?;
        let last = u128::from(start.0) + u128::from(stagger.0) * u128::from(count - 1);
        let end = self.doc.scenario.run.duration;
        self.need(last < u128::from(end.0), "stagger", || {
            format!("the last of {count} flows would start after run.duration = {end}: expected less")
        })?;
        let to = self.hosts("to", to)?;
        if from.is_empty() {
            let rest = (0..self.net.graph.hosts).any(|host| !to.contains(&host));
            return self.need(rest, "to", || {
                "every host is a destination, and from is empty: expected at least one host that can send".into()
            });
        }
        let from = self.hosts("from", from)?;
        let pair = |i: usize| (from[i % from.len()], to[i % to.len()]);
        let selfish = (0..*count as usize).find(|&i| pair(i).0 == pair(i).1);
        self.need(selfish.is_none(), "from", || {
            let i = selfish.expect("just seen");
            let name = &self.net.graph.nodes[pair(i).0].name;
            format!("flow {i} would go from {name} to itself: expected from[i] and to[i] to differ, both taken in turn")
        })
    }

    fn flow_list(&self, text: &str, flows: &[ListedFlow], name: &str) -> Result<(), Error> {
        let in_file = !text.is_empty();
        let rows: Vec<Row> = match in_file {
            true => flow_list::parse(text, name)?,
            false => flows.iter().enumerate().map(|(i, flow)| Row::of(i, flow)).collect(),
        };
        self.need(!in_file || flows.is_empty(), "flows", || "given beside a list: expected one of the two".into())?;
        let empty = "expected at least one flow, in flows or in a file with the header start_ns,src,dst,bytes";
        self.need(!rows.is_empty(), if in_file { "file" } else { "flows" }, || empty.into())?;
        let end = self.doc.scenario.run.duration;
        // `[priority]`: objection to it, for all that a flow may name.
        let against: Vec<Option<String>> = (0..=u8::MAX).map(|priority| self.against_priority(priority)).collect();
        for row in &rows {
            let wrong = |field: &str, value: &str, problem: String| match in_file {
                true => Error::at(format!("{name}:{}", row.line), format!("{field} \"{value}\": {problem}")),
                false => self.wrong(&format!("flows.{}.{field}", row.line), problem),
            };
            let src = self.net.host(row.src).map_err(|problem| wrong("src", row.src, problem))?;
            let dst = self.net.host(row.dst).map_err(|problem| wrong("dst", row.dst, problem))?;
            if src == dst {
                return Err(wrong("dst", row.dst, "the same host as src: expected another".into()));
            }
            if row.bytes.0 == 0 || row.bytes.0 > sizes::SIZE_MAX as u64 {
                return Err(wrong("bytes", &row.bytes.to_string(), "expected 1 B to 128 GiB".into()));
            }
            if let Some(priority) = row.priority
                && let Some(problem) = &against[usize::from(priority)]
            {
                return Err(wrong("priority", &priority.to_string(), problem.clone()));
            }
            if row.start >= end {
                return Err(wrong(
                    "start",
                    &row.start.to_string(),
                    format!("expected a time before run.duration = {end}"),
                ));
            }
        }
        Ok(())
    }

    fn collective(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::Collective { pattern, algorithm, hosts, bytes, iterations, start, compute, .. } = workload else {
            return Ok(());
        };
        let ranks = self.hosts_of_ranks(hosts)?;
        let n = ranks.len() as u64;
        self.need(n >= 2, self.hosts_key(), || "expected at least two hosts".into())?;
        if let Some((first, again)) = repeated(&ranks) {
            let problem = format!("rank {first} is at this host too: expected a host of its own for each rank");
            return Err(self.wrong_host(again, &problem));
        }
        self.algorithm(*pattern, *algorithm)?;
        self.latencies(workload)?;
        self.size("bytes", bytes.0)?;
        let parts = if matches!(pattern, Pattern::Pipeline | Pattern::Barrier) { 1 } else { n };
        self.need(bytes.0 >= parts, "bytes", || format!("expected at least one byte for each of {n} ranks"))?;
        self.pieces(workload, n)?;
        self.iterations(workload, n, *iterations)?;
        self.starts("start", *start)?;
        let end = self.doc.scenario.run.duration;
        self.need(*compute <= end, "compute", || format!("expected at most run.duration = {end}"))?;
        job::check(self.doc.scenario, workload, &self.net.graph)
            .map_err(|problem| self.wrong(self.hosts_key(), problem))
    }

    /// Checks that the algorithm does what the pattern says.
    fn algorithm(&self, pattern: Pattern, named: Option<CollectiveAlgorithm>) -> Result<(), Error> {
        let Some(named) = named else { return Ok(()) };
        let fixed = |does: &str| Err(self.wrong("algorithm", format!("{does}: expected no algorithm")));
        let kind = match pattern {
            Pattern::Pipeline => return fixed("a pipeline has one way to go"),
            Pattern::Ring => return fixed("a ring is an all-reduce by this algorithm"),
            pattern => generated::kind_of(pattern).expect("a pipeline was refused"),
        };
        let known = |one: &CollectiveAlgorithm| algorithms(kind).contains(&algorithm_of(kind, Some(*one)));
        self.need(known(&named), "algorithm", || {
            let words = CollectiveAlgorithm::ALL.into_iter().filter(known);
            let words: Vec<String> = words.map(|one| serde_json::to_value(one).expect("a word").to_string()).collect();
            format!("expected {}", words.join(", "))
        })
    }

    /// Checks what divides the data of a collective.
    fn pieces(&self, workload: &Workload, n: u64) -> Result<(), Error> {
        let Workload::Collective { bytes, reduce_rate, channels, chunks, slots, queue_pairs, .. } = workload else {
            return Ok(());
        };
        let counts = [("channels", u64::from(*channels), 64), ("chunks", u64::from(*chunks), 4096)];
        for (field, count, most) in counts {
            self.need((1..=most).contains(&count), field, || format!("expected 1 to {most}"))?;
        }
        let runs = u64::from(*channels) * u64::from(*chunks);
        self.need(runs == 1 || runs * n <= bytes.0, "chunks", || {
            format!("expected at least one byte for each part: {n} ranks, {channels} channels and {chunks} chunks")
        })?;
        self.need(slots.is_none_or(|slots| (1..=1 << 20).contains(&slots)), "slots", || {
            "expected 1 to 1048576".into()
        })?;
        self.queue_pairs(*queue_pairs)?;
        let rate = reduce_rate.is_none_or(|rate| (RATE_MIN..=RATE_MAX).contains(&rate));
        self.need(rate, "reduce_rate", || format!("expected {RATE_MIN} to {RATE_MAX}"))
    }

    /// Checks the latencies of a collective.
    fn latencies(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::Collective { pattern, algorithm, launch, launch_once, nccl, .. } = workload else {
            return Ok(());
        };
        for (field, time) in [("launch", launch), ("launch_once", launch_once)] {
            self.need(*time <= JOB_TIME_MAX, field, || format!("expected at most {JOB_TIME_MAX}"))?;
            self.need(nccl.is_none() || *time == Duration::ZERO, field, || "expected none beside nccl".into())?;
        }
        let kind = generated::kind_of(*pattern);
        let once = kind.is_some() || *launch_once == Duration::ZERO;
        self.need(once, "launch_once", || "a pipeline has no first step: expected none".into())?;
        let has =
            |protocol| kind.is_some_and(|kind| generated::nccl_of(algorithm_of(kind, *algorithm), protocol).is_some());
        self.need(nccl.is_none_or(has), "nccl", || {
            "NCCL has latencies of rings and double binary trees: expected one of these algorithms, or launch".into()
        })
    }

    fn queue_pairs(&self, pairs: Option<u16>) -> Result<(), Error> {
        self.need(pairs.is_none_or(|pairs| (1..=QUEUE_PAIRS_MAX).contains(&pairs)), "queue_pairs", || {
            format!("expected 1 to {QUEUE_PAIRS_MAX}")
        })
    }

    /// Checks the number of flows of a collective, before it is made.
    fn iterations(&self, workload: &Workload, n: u64, iterations: u32) -> Result<(), Error> {
        let Workload::Collective { pattern, algorithm, channels, chunks, queue_pairs, .. } = workload else {
            return Ok(());
        };
        let each = u64::from(*channels) * u64::from(*chunks) * u64::from(queue_pairs.unwrap_or(1));
        let rounds = u64::from(n.next_power_of_two().trailing_zeros());
        let flows = each
            * match (pattern, algorithm) {
                (Pattern::Pipeline, _) => n - 1,
                (
                    Pattern::AllReduce,
                    Some(CollectiveAlgorithm::RecursiveDoubling | CollectiveAlgorithm::HalvingDoubling),
                ) => 2 * n * (rounds + 1),
                (Pattern::AllReduce, Some(CollectiveAlgorithm::DoubleBinaryTree)) => 4 * (n - 1),
                (Pattern::Broadcast | Pattern::Reduce, _) => n - 1,
                (Pattern::Barrier, _) => n * rounds,
                (Pattern::Ring | Pattern::AllReduce, _) => 2 * n * (n - 1),
                (Pattern::AllToAll | Pattern::AllGather | Pattern::ReduceScatter, _) => n * (n - 1),
            };
        let most = u64::from(COLLECTIVE_FLOWS_MAX) / flows;
        self.need((1..=most).contains(&u64::from(iterations)), "iterations", || match most {
            0 => {
                format!("one iteration of {n} ranks has {flows} flows: expected at most {COLLECTIVE_FLOWS_MAX}, with fewer ranks")
            }
            _ => format!(
                "expected 1 to {most}: an iteration has {flows} flows, and a collective at most {COLLECTIVE_FLOWS_MAX}"
            ),
        })
    }

    fn job(&self, workload: &Workload) -> Result<(), Error> {
        let Workload::Job {
            hosts,
            placement,
            skip,
            ranks_per_host,
            iterations,
            start,
            control,
            queue_pairs,
            overheads,
            local,
            ..
        } = workload
        else {
            return Ok(());
        };
        let ranks = 1..=JOB_RANKS_MAX;
        self.need(ranks.contains(ranks_per_host), "ranks_per_host", || format!("expected 1 to {JOB_RANKS_MAX}"))?;
        if self.listed.is_some_and(|list| list.by_rank) {
            let alone = |what: &str| format!("expected {what}: each line of hosts_file places one rank");
            self.need(*ranks_per_host == 1, "ranks_per_host", || alone("1"))?;
            self.need(*placement == JobPlacement::Packed, "placement", || alone("packed"))?;
            self.need(*skip == 0, "skip", || alone("0"))?;
        }
        let named = self.hosts_of_ranks(hosts)?;
        if *ranks_per_host != 1
            && let Some((first, again)) = repeated(&named)
        {
            let first = match self.listed {
                Some(list) => format!("line {}", list.entries[first].line),
                None => format!("hosts.{first}"),
            };
            let problem = format!(
                "{first} has this host too: with ranks_per_host = {ranks_per_host} expected each host once, without slots"
            );
            return Err(self.wrong_host(again, &problem));
        }
        self.need((1..=COLLECTIVE_FLOWS_MAX).contains(iterations), "iterations", || {
            format!("expected 1 to {COLLECTIVE_FLOWS_MAX}")
        })?;
        self.queue_pairs(*queue_pairs)?;
        self.size("control", control.0)?;
        self.starts("start", *start)?;
        let JobOverheads { message, message_byte, gap, gap_byte, latency, .. } = overheads;
        let times = [
            ("overheads.message", message),
            ("overheads.message_byte", message_byte),
            ("overheads.gap", gap),
            ("overheads.gap_byte", gap_byte),
            ("overheads.latency", latency),
            ("local.latency", &local.latency),
        ];
        for (field, time) in times {
            self.need(*time <= JOB_TIME_MAX, field, || format!("expected at most {JOB_TIME_MAX}"))?;
        }
        let rate = local.rate.is_none_or(|rate| (RATE_MIN..=RATE_MAX).contains(&rate));
        self.need(rate, "local.rate", || format!("expected {RATE_MIN} to {RATE_MAX}"))?;
        job::check(self.doc.scenario, workload, &self.net.graph)
            .map_err(|problem| self.wrong(self.hosts_key(), problem))
    }

    fn share(&self, field: &str, share: f64) -> Result<(), Error> {
        self.need(share > 0.0 && share <= 1.0, field, || "expected more than 0 and at most 1".into())
    }

    fn starts(&self, field: &str, start: Duration) -> Result<(), Error> {
        let end = self.doc.scenario.run.duration;
        self.need(start < end, field, || format!("expected a time before run.duration = {end}"))
    }

    fn core(&self, field: &str, instead: &str) -> Result<(), Error> {
        self.need(!self.net.graph.core_links.is_empty(), field, || {
            format!(
                "the topology has no links between switches, so a load cannot be a share of its core; expected {instead}"
            )
        })
    }

    fn size(&self, field: &str, bytes: u64) -> Result<(), Error> {
        self.need((1..=sizes::SIZE_MAX as u64).contains(&bytes), field, || "expected 1 B to 128 GiB".into())
    }

    fn sizes(&self, sizes: &Sizes) -> Result<(), Error> {
        sizes::check(sizes).map_err(|(field, problem)| self.wrong(&format!("sizes.{field}"), problem))
    }

    /// Returns the hosts that are named; every host if none is.
    fn hosts(&self, field: &str, names: &[String]) -> Result<Vec<usize>, Error> {
        self.known(names, |i, problem| self.wrong(&format!("{field}.{i}"), problem))
    }

    /// Returns the hosts that ranks take; every host if none is named.
    fn hosts_of_ranks(&self, names: &[String]) -> Result<Vec<usize>, Error> {
        self.known(names, |i, problem| self.wrong_host(i, &problem))
    }

    fn known(&self, names: &[String], wrong: impl Fn(usize, String) -> Error) -> Result<Vec<usize>, Error> {
        if names.is_empty() {
            return Ok((0..self.net.graph.hosts).collect());
        }
        let host = |(i, name): (usize, &String)| self.net.host(name).map_err(|problem| wrong(i, problem));
        names.iter().enumerate().map(host).collect()
    }

    /// Makes an error about entry number `i` of the hosts that ranks take.
    fn wrong_host(&self, i: usize, problem: &str) -> Error {
        self.listed.map_or_else(|| self.wrong(&format!("hosts.{i}"), problem), |list| list.error(i, problem))
    }

    /// Key of the hosts that ranks take.
    fn hosts_key(&self) -> &'static str {
        if self.listed.is_some() { "hosts_file" } else { "hosts" }
    }
}

/// Returns the first entry that repeats one before it: the place of that one, and its own.
fn repeated(hosts: &[usize]) -> Option<(usize, usize)> {
    let mut seen = HashMap::new();
    hosts.iter().enumerate().find_map(|(i, host)| seen.insert(host, i).map(|first| (first, i)))
}
