//! The job that a connection matrix of htsim describes.
//!
//! Each host is a rank. Flow `i` is a send at its source and a receive at its destination, with tag `i`. Flows start at
//! their times, whatever else the host does.
//!
//! A trigger is hit where a flow ends: at its source when everything is acknowledged, or at its destination when
//! everything has arrived. Source: `trigger.cpp` of csg-htsim.
//!
//! | trigger | what it starts |
//! |---|---|
//! | oneshot | all its flows at the first hit; later hits do nothing |
//! | multishot | one flow at each hit, in the order of the file; hits after the last do nothing |
//! | barrier | all its flows at hit `count`; more hits end htsim, so there must be as many as flows that hit it |
//!
//! In htsim a trigger takes no time, wherever the hosts are. Here a rank knows only what happens at its host. If one host
//! sees all hits of a trigger and sends all flows that it starts, the trigger takes no time here either. Otherwise each
//! host that sees a hit sends a message to each host that has a flow to start. `signal` is the size of that message.
//! Without `signal`, such a trigger is refused.
//!
//! Only a run shows the order in which a oneshot or multishot trigger is hit. Each hit becomes a message, and the host of
//! the flows receives these messages from any source, one after another. The n-th message that it receives is the n-th
//! hit. A message from a host to itself takes no time, unless you set `local`.

use crate::htsim::matrix::{Begin, Flow, Kind, Matrix};
use crate::job::{Job, JobBuilder, When};
use crate::op::{ANY, Op, Work};
use crate::refused::Refused;
use crate::starts::{self, Starts};
use backwater_types::Duration;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Stream of sends and receives.
const MESSAGES: u8 = 1;
/// Stream of operations that take no time and stand for several others.
const JOINS: u8 = 3;
/// Most messages that carry hits.
pub const SIGNALS_MAX: u64 = 1 << 22;

const _: () = assert!(starts::STREAM == 2, "streams differ");

/// A flow's end that hits a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hit {
    flow: usize,
    /// The rank that sees it.
    rank: u32,
}

/// A trigger with its flows.
struct Wired {
    id: u32,
    kind: Kind,
    line: u64,
    hits: Vec<Hit>,
    /// Flows that it starts, in the order of the file.
    targets: Vec<usize>,
}

/// What one rank does for one trigger.
#[derive(Default)]
struct Hub {
    /// Flows whose ends here hit it.
    hits: Vec<Hit>,
    /// Flows that it starts here, each with its place among all that it starts.
    targets: Vec<(usize, usize)>,
    /// Ranks that are told of hits here.
    to: Vec<u32>,
    /// Sources of messages that tell of hits elsewhere.
    from: Vec<u32>,
}

impl Matrix {
    /// Makes the job of the matrix. `file` is the name of the file in messages. A trigger whose flows end and start at
    /// several hosts sends messages of `signal` bytes between them.
    ///
    /// # Errors
    /// Names the line of a failure, of a flow that would never start, or of one that another host would have to start and
    /// `signal` is `None`.
    ///
    /// # Panics
    /// If a flow names a trigger or a host that the matrix does not have: one that was read has all.
    pub fn job(&self, file: &str, signal: Option<u64>) -> Result<Job, Refused> {
        if let Some(failure) = self.failures.first() {
            let problem =
                "a failure: it names a link of htsim's network: expected none; a link of yours fails in [[fault]]";
            return Err(Refused::line(file, failure.line, problem));
        }
        let wired = self.wire();
        self.start_all(&wired).map_err(|(line, problem)| Refused::line(file, line, problem))?;
        let hubs = self.hubs(&wired, signal).map_err(|(line, problem)| Refused::line(file, line, problem))?;
        Ok(self.build(&wired, &hubs, signal.unwrap_or(1)))
    }

    /// Finds the flows of each trigger.
    fn wire(&self) -> Vec<Wired> {
        let wired = self.triggers.iter().map(|trigger| {
            let (id, kind, line) = (trigger.id, trigger.kind, trigger.line);
            Wired { id, kind, line, hits: Vec::new(), targets: Vec::new() }
        });
        let mut wired: Vec<Wired> = wired.collect();
        let by_id: HashMap<u32, usize> = wired.iter().enumerate().map(|(place, trigger)| (trigger.id, place)).collect();
        for (number, flow) in self.flows.iter().enumerate() {
            if let Begin::Trigger(id) = flow.begin {
                wired[by_id[&id]].targets.push(number);
            }
            for (id, rank) in flow.hits() {
                wired[by_id[&id]].hits.push(Hit { flow: number, rank });
            }
        }
        wired
    }

    /// Checks that each flow starts, whatever the order of hits: which flows start does not depend on it.
    fn start_all(&self, wired: &[Wired]) -> Result<(), (u64, String)> {
        for trigger in wired {
            if let Kind::Barrier { count } = trigger.kind
                && !(trigger.hits.is_empty() && trigger.targets.is_empty())
                && count as usize != trigger.hits.len()
            {
                return Err((
                    trigger.line,
                    format!("count {count}: expected {}, as often as it is hit", trigger.hits.len()),
                ));
            }
        }
        let by_id: HashMap<u32, usize> = wired.iter().enumerate().map(|(place, trigger)| (trigger.id, place)).collect();
        let mut started: Vec<bool> = self.flows.iter().map(|flow| matches!(flow.begin, Begin::At(_))).collect();
        let mut ended: Vec<usize> = (0..self.flows.len()).filter(|flow| started[*flow]).collect();
        let mut hits = vec![0; wired.len()];
        while let Some(flow) = ended.pop() {
            for (id, _) in self.flows[flow].hits() {
                let place = by_id[&id];
                hits[place] += 1;
                let starts = wired[place].started_by(hits[place]);
                starts.iter().for_each(|flow| started[*flow] = true);
                ended.extend(starts);
            }
        }
        let Some(first) = started.iter().position(|started| !started) else { return Ok(()) };
        // The flow waits for one that does not start, or for a hit that there is not.
        let mut path = vec![first];
        // `[flow]`: its place in the path.
        let mut places = vec![None; self.flows.len()];
        loop {
            let flow = path[path.len() - 1];
            let Begin::Trigger(id) = self.flows[flow].begin else { unreachable!("it would have started") };
            let trigger = &wired[by_id[&id]];
            let line = self.flows[flow].line;
            let Some(next) = trigger.hits.iter().map(|hit| hit.flow).find(|flow| !started[*flow]) else {
                return Err((line, trigger.too_few(flow)));
            };
            places[flow] = Some(path.len() - 1);
            if let Some(place) = places[next] {
                let mut lines: Vec<String> =
                    path[place..].iter().map(|flow| self.flows[*flow].line.to_string()).collect();
                lines.truncate(8);
                if path.len() - place > 8 {
                    lines.push("...".into());
                }
                let line = self.flows[next].line;
                return Err((line, format!("flows start one another in a cycle: lines {}", lines.join(", "))));
            }
            path.push(next);
        }
    }

    /// Finds what each rank does for each trigger. Keys are rank and place of the trigger.
    fn hubs(&self, wired: &[Wired], signal: Option<u64>) -> Result<BTreeMap<(u32, usize), Hub>, (u64, String)> {
        let mut hubs: BTreeMap<(u32, usize), Hub> = BTreeMap::new();
        let mut signals = 0;
        for (place, trigger) in wired.iter().enumerate().filter(|(_, trigger)| !trigger.targets.is_empty()) {
            for (nth, flow) in trigger.targets.iter().enumerate() {
                hubs.entry((self.flows[*flow].src, place)).or_default().targets.push((*flow, nth));
            }
            for hit in &trigger.hits {
                hubs.entry((hit.rank, place)).or_default().hits.push(*hit);
            }
            let to: BTreeSet<u32> = trigger.targets.iter().map(|flow| self.flows[*flow].src).collect();
            let from: BTreeSet<u32> = trigger.hits.iter().map(|hit| hit.rank).collect();
            if signal.is_none()
                && let Some(flow) =
                    trigger.targets.iter().find(|flow| from.iter().any(|rank| *rank != self.flows[**flow].src))
            {
                let Flow { line, src, .. } = self.flows[*flow];
                let other = from.iter().find(|rank| **rank != src).expect("it was found");
                let expected = "expected both at one host, or a size for messages between them";
                return Err((
                    line,
                    format!("host {src} starts what trigger {} is hit for at host {other}: {expected}", trigger.id),
                ));
            }
            let hits = if trigger.counts() { trigger.hits.len() } else { from.len() };
            signals += (hits * to.len()) as u64;
            if signals > SIGNALS_MAX {
                let problem =
                    format!("triggers up to this one need {signals} messages: expected at most {SIGNALS_MAX}");
                return Err((trigger.line, problem));
            }
            for rank in from {
                let hub = hubs.get_mut(&(rank, place)).expect("it has hits");
                hub.to = to.iter().copied().filter(|to| trigger.counts() || *to != rank).collect();
                for to in hub.to.clone() {
                    let hub = hubs.get_mut(&(to, place)).expect("it has targets");
                    match trigger.counts() {
                        true => hub.from.resize(trigger.hits.len(), ANY),
                        false => hub.from.push(rank),
                    }
                }
            }
        }
        Ok(hubs)
    }

    fn build(&self, wired: &[Wired], hubs: &BTreeMap<(u32, usize), Hub>, signal: u64) -> Job {
        let mut of_rank = vec![Vec::new(); self.hosts as usize];
        for (number, flow) in self.flows.iter().enumerate() {
            of_rank[flow.src as usize].push(number);
            of_rank[flow.dst as usize].push(number);
        }
        let mut builder = JobBuilder::of_trace();
        // `[flow]`: its send while its source is built, its receive while its destination is.
        let mut ops = vec![0; self.flows.len()];
        for (rank, flows) in (0..self.hosts).zip(&of_rank) {
            let begin = |flow: &usize| match self.flows[*flow] {
                Flow { src, begin: Begin::At(start), .. } if src == rank => Some(start),
                _ => None,
            };
            let starts = Starts::add(&mut builder, flows.iter().filter_map(begin));
            for number in flows {
                let flow = &self.flows[*number];
                let tag = *number as u32;
                ops[*number] = builder.op(match flow.dst == rank {
                    true => Op::recv(flow.src, tag).on(MESSAGES),
                    false => {
                        let acknowledged = flow.send_done.is_some();
                        Op { acknowledged, ..Op::send(flow.dst, flow.bytes, tag).on(MESSAGES) }
                    }
                });
                if let Some(start) = begin(number) {
                    starts.delay(&mut builder, ops[*number], start);
                }
            }
            for ((_, place), hub) in hubs.range((rank, 0)..(rank + 1, 0)) {
                let tag = u32::try_from(self.flows.len() + place).expect("fewer flows and triggers than tags");
                hub.build(&mut builder, &wired[*place], rank, &ops, tag, signal);
            }
            builder.end_rank().expect("every flow starts, so none waits for itself");
        }
        builder.finish().expect("each message has a send and a receive")
    }
}

impl Flow {
    /// Triggers that it hits, each with the rank that sees it.
    fn hits(&self) -> impl Iterator<Item = (u32, u32)> {
        [(self.send_done, self.src), (self.recv_done, self.dst)].into_iter().filter_map(|(id, rank)| Some((id?, rank)))
    }
}

impl Wired {
    /// Whether the order of hits says what is started.
    fn counts(&self) -> bool {
        self.hits.len() > 1 && !matches!(self.kind, Kind::Barrier { .. })
    }

    /// Flows that hit number `hit`, from 1, starts.
    fn started_by(&self, hit: usize) -> &[usize] {
        match self.kind {
            Kind::Oneshot if hit == 1 => &self.targets,
            Kind::Multishot if hit <= self.targets.len() => &self.targets[hit - 1..hit],
            Kind::Barrier { count } if hit == count as usize => &self.targets,
            _ => &[],
        }
    }

    /// Says why a flow does not start although everything that hits the trigger does.
    fn too_few(&self, flow: usize) -> String {
        let (id, hits) = (self.id, self.hits.len());
        match self.targets.iter().position(|target| *target == flow) {
            Some(nth) if hits > 0 => {
                let expected = format!("expected {}, as it starts one flow each time", nth + 1);
                format!("trigger {id} is hit {hits} times before it would start this flow: {expected}")
            }
            _ => format!("trigger {id} starts this flow: expected a flow that hits it"),
        }
    }
}

impl Hub {
    /// Adds what the current rank does for a trigger. `ops` are the operations of its flows.
    fn build(&self, builder: &mut JobBuilder, trigger: &Wired, rank: u32, ops: &[u32], tag: u32, signal: u64) {
        let hits: Vec<u32> = self.hits.iter().map(|hit| ops[hit.flow]).collect();
        let send = |to: u32| {
            let bytes = if to == rank { 1 } else { signal };
            Op::new(Work::Send { to, bytes, tag }).on(MESSAGES)
        };
        let receives: Vec<u32> = self.from.iter().map(|from| builder.op(Op::recv(*from, tag).on(MESSAGES))).collect();
        if trigger.counts() {
            for hit in &hits {
                self.to.iter().for_each(|to| _ = builder.op_after(send(*to), &[*hit]));
            }
            for (flow, nth) in &self.targets {
                let nth = if trigger.kind == Kind::Multishot { *nth } else { 0 };
                builder.after(receives[nth], ops[*flow], When::Ended);
            }
            return;
        }
        if !self.to.is_empty() {
            let told = join(builder, &hits);
            self.to.iter().for_each(|to| _ = builder.op_after(send(*to), &[told]));
        }
        if !self.targets.is_empty() {
            let all = join(builder, &[hits, receives].concat());
            self.targets.iter().for_each(|(flow, _)| builder.after(all, ops[*flow], When::Ended));
        }
    }
}

/// Returns an operation that ends when all of `causes` have.
fn join(builder: &mut JobBuilder, causes: &[u32]) -> u32 {
    match causes {
        [only] => *only,
        causes => builder.op_after(Op::calc(Duration::ZERO).on(JOINS), causes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::htsim::matrix::{Unit, read};

    fn job(lines: &str, signal: Option<u64>) -> Result<Job, String> {
        let matrix = read(&format!("Nodes 8\n{lines}"), "f.cm", Unit::Picoseconds).expect("valid");
        matrix.job("f.cm", signal).map_err(|error| error.to_string())
    }

    /// Operations of a rank, each with what it waits for.
    fn ops(job: &Job, rank: u32) -> Vec<(Work, Vec<u32>)> {
        let mut ops: Vec<_> = (0..job.len(rank)).map(|op| (job.op(rank, op).work, Vec::new())).collect();
        for op in 0..job.len(rank) {
            job.edges(rank, op).for_each(|edge| ops[edge.effect() as usize].1.push(op));
        }
        ops
    }

    fn send(to: u32, bytes: u64, tag: u32) -> Work {
        Work::Send { to, bytes, tag }
    }

    fn recv(from: u32, tag: u32) -> Work {
        Work::Recv { from, tag }
    }

    fn calc(time: u64) -> Work {
        Work::Calc(Duration(time))
    }

    #[test]
    fn a_failure_is_refused() {
        let said =
            job("0->1 start 0 size 10\nfailure switch_type TOR switch_id 0 link_id 1", None).expect_err("a failure");
        let expected =
            "a failure: it names a link of htsim's network: expected none; a link of yours fails in [[fault]]";
        assert_eq!(said, format!("f.cm:3: {expected}"));
    }

    #[test]
    fn flows_start_at_their_times() {
        let job = job("0->1 start 0 size 10\n0->2 start 70 size 20\n1->0 start 30 size 5\n0->1 start 30 size 1", None);
        let job = job.expect("no trigger");
        let expected = [
            (calc(30), vec![]),
            (calc(40), vec![0]),
            (send(1, 10, 0), vec![]),
            (send(2, 20, 1), vec![1]),
            (recv(1, 2), vec![]),
            (send(1, 1, 3), vec![0]),
        ];
        assert_eq!(ops(&job, 0), expected);
        assert_eq!(
            ops(&job, 1),
            [(calc(30), vec![]), (recv(0, 0), vec![]), (send(0, 5, 2), vec![0]), (recv(0, 3), vec![])]
        );
        assert_eq!((job.ranks(), job.len(7)), (8, 0));
    }

    #[test]
    fn triggers_of_one_host_are_exact() {
        let text = "0->1 id 1 start 0 size 10 send_done_trigger 1 recv_done_trigger 2\n0->2 id 2 trigger 1 size 20\n\
                    1->3 id 3 trigger 2 size 30\n1->4 id 4 trigger 2 size 40\ntrigger id 1 oneshot\ntrigger id 2 oneshot";
        let job = job(text, None).expect("each trigger has one host");
        assert_eq!(ops(&job, 0), [(send(1, 10, 0), vec![]), (send(2, 20, 1), vec![0])]);
        assert!(job.op(0, 0).acknowledged && !job.op(0, 1).acknowledged);
        assert_eq!(ops(&job, 1), [(recv(0, 0), vec![]), (send(3, 30, 2), vec![0]), (send(4, 40, 3), vec![0])]);
    }

    #[test]
    fn a_barrier_waits_for_all_and_tells_other_hosts_once() {
        let text = "0->1 id 1 start 0 size 1 send_done_trigger 9\n0->2 id 2 start 0 size 1 send_done_trigger 9\n\
                    3->0 id 3 start 0 size 1 send_done_trigger 9\n0->4 id 4 trigger 9 size 1\n5->6 id 5 trigger 9 size 1\n\
                    trigger id 9 barrier count 3";
        let error = job(text, None).expect_err("three hosts");
        let expected = "expected both at one host, or a size for messages between them";
        assert_eq!(error, format!("f.cm:5: host 0 starts what trigger 9 is hit for at host 3: {expected}"));
        let job = job(text, Some(64)).expect("a signal");
        let expected = [
            (send(1, 1, 0), vec![]),
            (send(2, 1, 1), vec![]),
            (recv(3, 2), vec![]),
            (send(4, 1, 3), vec![7]),
            (recv(3, 5), vec![]),
            (calc(0), vec![0, 1]),
            (send(5, 64, 5), vec![5]),
            (calc(0), vec![0, 1, 4]),
        ];
        assert_eq!(ops(&job, 0), expected);
        assert_eq!(ops(&job, 3), [(send(0, 1, 2), vec![]), (send(0, 64, 5), vec![0]), (send(5, 64, 5), vec![0])]);
        let expected = [(send(6, 1, 4), vec![3]), (recv(0, 5), vec![]), (recv(3, 5), vec![]), (calc(0), vec![1, 2])];
        assert_eq!(ops(&job, 5), expected);
    }

    #[test]
    fn hits_of_a_multishot_start_one_flow_each_in_order() {
        let text = "0->1 id 1 start 0 size 1 send_done_trigger 1\n0->2 id 2 start 0 size 1 send_done_trigger 1\n\
                    0->3 id 3 trigger 1 size 1\n0->4 id 4 trigger 1 size 1\ntrigger id 1 multishot";
        let multishot = job(text, None).expect("one host");
        let expected = [
            (send(1, 1, 0), vec![]),
            (send(2, 1, 1), vec![]),
            (send(3, 1, 2), vec![4]),
            (send(4, 1, 3), vec![5]),
            (recv(ANY, 4), vec![]),
            (recv(ANY, 4), vec![]),
            (send(0, 1, 4), vec![0]),
            (send(0, 1, 4), vec![1]),
        ];
        assert_eq!(ops(&multishot, 0), expected);
        let oneshot = job(&text.replace("multishot", "oneshot"), None).expect("one host");
        assert_eq!((&ops(&oneshot, 0)[2].1, &ops(&oneshot, 0)[3].1), (&vec![4], &vec![4]), "both at the first hit");
    }

    #[test]
    fn flows_that_never_start_are_named() {
        let refusal = |text: &str| job(text, Some(1)).expect_err(text);
        let said = refusal("0->1 id 1 trigger 5 size 1\ntrigger id 5 oneshot");
        assert_eq!(said, "f.cm:2: trigger 5 starts this flow: expected a flow that hits it");
        let text = "0->1 id 1 start 0 size 1 send_done_trigger 5\n0->1 id 2 trigger 5 size 1\n0->1 id 3 trigger 5 size 1\n\
                    trigger id 5 multishot";
        let expected = "expected 2, as it starts one flow each time";
        assert_eq!(
            refusal(text),
            format!("f.cm:4: trigger 5 is hit 1 times before it would start this flow: {expected}")
        );
        let text = "0->1 id 1 trigger 1 size 1 send_done_trigger 2\n0->1 id 2 trigger 2 size 1 send_done_trigger 3\n\
                    0->1 id 3 trigger 3 size 1 send_done_trigger 2\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n\
                    trigger id 3 oneshot\n0->1 start 0 size 1 send_done_trigger 1";
        job(text, None).expect("the third hits a oneshot that is done");
        let said =
            refusal(&text[..text.rfind('\n').expect("lines")].replace("send_done_trigger 3", "send_done_trigger 1"));
        assert_eq!(said, "f.cm:2: flows start one another in a cycle: lines 2, 3");
        let said = refusal("0->1 id 1 start 0 size 1 send_done_trigger 5\ntrigger id 5 barrier count 2");
        assert_eq!(said, "f.cm:3: count 2: expected 1, as often as it is hit");
    }

    #[test]
    fn hits_need_no_more_messages_than_can_be_kept() {
        let mut text = String::from("Nodes 5000\ntrigger id 1 barrier count 2500\n");
        for host in 0..2500 {
            let (src, dst) = (host, host + 2500);
            text += &format!(
                "{src}->{dst} start 0 size 1 send_done_trigger 1\n{dst}->{src} id {} trigger 1 size 1\n",
                host + 1
            );
        }
        let error = read(&text, "f.cm", Unit::Picoseconds).expect("valid").job("f.cm", Some(1)).expect_err("many");
        assert_eq!(
            error.to_string(),
            "f.cm:2: triggers up to this one need 6250000 messages: expected at most 4194304"
        );
    }
}
