//! Ranks of jobs in their phases, and iterations of jobs.

use crate::columns::table;
use crate::outcome::Outcome;
use backwater_jobs::machine::WaitingReceive;
use backwater_jobs::{ANY, Placed, Span};
use backwater_scenario::job;
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::expand;
use backwater_traffic::Progress;
use backwater_types::Instant;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most iterations in a summary. The table has all.
const ITERATIONS_MAX: usize = 1000;
/// Most receives that wait in a summary.
const WAITING_MAX: usize = 20;

/// A rank in a phase of an iteration.
pub(crate) struct PhaseRow {
    class: u16,
    iteration: u32,
    phase: u16,
    rank: u32,
    host: u16,
    span: Span,
}

table! {
    /// Ranks of jobs in their phases.
    Phases("phases", row: PhaseRow, _cx: ()) {
        class: cat, "", "workload" => row.class;
        iteration: u32, "", "iteration of the job, from 0" => row.iteration;
        phase: cat, "", "phase of the iteration, such as a step of a collective; the job's class if it has no phases" => row.phase;
        rank: u32, "", "rank" => row.rank;
        host: cat, "", "its host" => row.host;
        begin_ps: u64, "ps", "when its first operation of the phase was ready" => row.span.begin.0;
        end_ps: u64, "ps", "when its last operation of the phase ended; none if one has not" => row.span.end.0;
        compute_ps: u64, "ps", "of this, time in which it computed; the rest is exposed communication" => row.span.compute.0;
        sent_bytes: u64, "B", "payload that it sent" => row.span.sent;
    }
}

fn is_job(workload: &Workload) -> bool {
    workload.is_closed_loop()
}

/// Whether a run has jobs.
pub fn has_jobs(outcome: &Outcome) -> bool {
    outcome.scenario.workload.iter().any(is_job)
}

/// The jobs of a run: number of the workload, its ranks on hosts, and what they have done.
fn jobs(outcome: &Outcome) -> impl Iterator<Item = (usize, Arc<Placed>, &Progress)> {
    let workloads = outcome.scenario.workload.iter().enumerate().filter(|(_, workload)| is_job(workload));
    workloads.map(|(class, workload)| {
        let placed = job::placed(&outcome.scenario, workload, &outcome.graph);
        (class, placed.expect("scenario checked: the job fits"), &outcome.progress[class])
    })
}

/// Name of a phase of a workload.
fn name<'a>(outcome: &'a Outcome, class: usize, placed: &'a Placed, phase: u32) -> &'a str {
    match placed.job().phases[phase as usize].name.as_str() {
        "" => outcome.class(class),
        name => name,
    }
}

/// Names of all phases, in the order of their codes in the table.
pub(crate) fn names(outcome: &Outcome) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (class, placed, _) in jobs(outcome) {
        names.extend((0..placed.job().phases.len() as u32).map(|phase| name(outcome, class, &placed, phase).into()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn iteration(placed: &Placed, each: u32, span: &Span) -> u32 {
    span.repetition * each + placed.job().phases[span.phase as usize].iteration
}

/// Rows of the table, by workload, repetition, phase and rank.
pub(crate) fn rows(outcome: &Outcome) -> Vec<PhaseRow> {
    let names = names(outcome);
    let mut rows = Vec::new();
    for (class, placed, progress) in jobs(outcome) {
        let each = placed.job().iterations();
        let code = |phase| names.binary_search_by(|other| other.as_str().cmp(name(outcome, class, &placed, phase)));
        let codes: Vec<u16> =
            (0..placed.job().phases.len() as u32).map(|phase| code(phase).unwrap_or(0) as u16).collect();
        rows.extend(progress.spans.iter().map(|span| PhaseRow {
            class: class as u16,
            iteration: iteration(&placed, each, span),
            phase: codes[span.phase as usize],
            rank: span.rank,
            host: placed.host(span.rank),
            span: *span,
        }));
    }
    rows
}

/// Iteration of a job over all its ranks.
struct Iteration {
    begin: Instant,
    end: Instant,
    /// `[rank]`: first begin, last end, computed picoseconds.
    ranks: BTreeMap<u32, (Instant, Instant, u64)>,
}

/// Iterations of a job, from spans of its ranks.
struct Iterations {
    placed: Arc<Placed>,
    /// Ranks with operations.
    busy: usize,
    all: BTreeMap<u32, Iteration>,
}

impl Iterations {
    fn new(placed: Arc<Placed>) -> Iterations {
        let job = placed.job();
        let busy = (0..job.ranks()).filter(|rank| job.len(*rank) > 0).count();
        Iterations { placed, busy, all: BTreeMap::new() }
    }

    fn add(&mut self, spans: &[Span]) {
        let each = self.placed.job().iterations();
        for span in spans {
            let new = || Iteration { begin: Instant::NEVER, end: Instant::ZERO, ranks: BTreeMap::new() };
            let one = self.all.entry(iteration(&self.placed, each, span)).or_insert_with(new);
            (one.begin, one.end) = (one.begin.min(span.begin), one.end.max(span.end));
            let rank = one.ranks.entry(span.rank).or_insert((span.begin, span.end, 0));
            *rank = (rank.0.min(span.begin), rank.1.max(span.end), rank.2 + span.compute.0);
        }
    }

    /// Takes the iterations that ended at every rank.
    fn take_ended(&mut self) -> Vec<(u32, Iteration)> {
        let busy = self.busy;
        self.all.extract_if(.., |_, one| one.end != Instant::NEVER && one.ranks.len() == busy).collect()
    }
}

/// Iterations of jobs while a run goes on.
pub struct Early {
    /// `[workload]`: class and iterations; `None` if it is no job.
    jobs: Vec<Option<(String, Iterations)>>,
}

impl Early {
    /// Makes one for a run of a valid scenario.
    pub fn new(scenario: &Scenario) -> Early {
        let graph = expand(&scenario.topology);
        let of = |workload: &Workload| {
            let placed = job::placed(scenario, workload, &graph).expect("scenario checked: the job fits");
            (workload.class().to_string(), Iterations::new(placed))
        };
        Early { jobs: scenario.workload.iter().map(|workload| is_job(workload).then(|| of(workload))).collect() }
    }

    /// Adds spans, `[workload]`, and returns the iterations that have ended at every rank with them: rows as in the
    /// summary.
    pub fn add(&mut self, spans: &[Vec<Span>]) -> Vec<Value> {
        let mut rows = Vec::new();
        for (job, spans) in self.jobs.iter_mut().zip(spans) {
            if let Some((class, iterations)) = job {
                iterations.add(spans);
                rows.extend(iterations.take_ended().iter().map(|(number, one)| row(class, *number, one)));
            }
        }
        rows
    }
}

/// Summary of each job; null without jobs.
pub(crate) fn summary(outcome: &Outcome) -> Option<Vec<Value>> {
    let of_job = |(class, placed, progress): (usize, Arc<Placed>, &Progress)| {
        let (job, ended) = (placed.job(), ended(&placed, progress));
        let times: Vec<u64> = ended.iter().map(|(_, one)| one.end.since(one.begin).0).collect();
        json!({
            "class": outcome.class(class),
            "ranks": job.ranks(),
            "operations": job.operations() * u64::from(placed.placement().repetitions),
            "iterations": u64::from(placed.placement().repetitions) * u64::from(placed.job().iterations()),
            "ended": ended.len(),
            "iteration_ps": times.iter().sum::<u64>().checked_div(times.len() as u64),
            "slowest_ps": times.iter().max(),
            "sent_bytes": progress.spans.iter().map(|span| span.sent).sum::<u64>(),
            "waiting": progress.waiting.len(),
        })
    };
    has_jobs(outcome).then(|| jobs(outcome).map(of_job).collect())
}

/// The first iterations of each job that ended at every rank; null without jobs.
pub(crate) fn iterations_of_jobs(outcome: &Outcome) -> Option<Vec<Value>> {
    let of_job = |(class, placed, progress): (usize, Arc<Placed>, &Progress)| {
        let ended = ended(&placed, progress).into_iter().take(ITERATIONS_MAX);
        ended.map(|(number, one)| row(outcome.class(class), number, &one)).collect::<Vec<_>>()
    };
    has_jobs(outcome).then(|| jobs(outcome).flat_map(of_job).collect())
}

/// Receives that wait at the end, the first of each job; null without any.
pub(crate) fn waits(outcome: &Outcome) -> Option<Vec<Value>> {
    let of_job = |(class, _, progress): (usize, Arc<Placed>, &Progress)| {
        let known = |number: u32| if number == ANY { Value::Null } else { json!(number) };
        let wait = |one: &WaitingReceive| {
            json!({
                "class": outcome.class(class),
                "rank": one.rank,
                "operation": one.op,
                "from": known(one.from),
                "tag": known(one.tag),
            })
        };
        progress.waiting.iter().take(WAITING_MAX).map(wait).collect::<Vec<_>>()
    };
    let all: Vec<Value> = jobs(outcome).flat_map(of_job).collect();
    (!all.is_empty()).then_some(all)
}

/// Iterations that ended at every rank with operations.
fn ended(placed: &Arc<Placed>, progress: &Progress) -> Vec<(u32, Iteration)> {
    let mut iterations = Iterations::new(placed.clone());
    iterations.add(&progress.spans);
    iterations.take_ended()
}

/// An iteration. Compute and exposed time are means over ranks, and sum to the mean time of a rank.
fn row(class: &str, number: u32, one: &Iteration) -> Value {
    let n = one.ranks.len() as u64;
    let compute: u64 = one.ranks.values().map(|(_, _, compute)| compute).sum();
    let time: u64 = one.ranks.values().map(|(begin, end, _)| end.since(*begin).0).sum();
    let slowest = one.ranks.iter().max_by_key(|(rank, (_, end, _))| (*end, std::cmp::Reverse(**rank)));
    json!({
        "class": class,
        "iteration": number,
        "begin_ps": one.begin.0,
        "end_ps": one.end.0,
        "time_ps": one.end.since(one.begin).0,
        "rank_ps": compute / n + (time - compute) / n,
        "compute_ps": compute / n,
        "exposed_ps": (time - compute) / n,
        "slowest_rank": slowest.map(|(rank, _)| rank),
    })
}
