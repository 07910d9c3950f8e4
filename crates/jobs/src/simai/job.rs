//! The job of a model: every rank with its computations, collectives and messages between stages.
//!
//! The rows of a file are those of one rank of a stage. AICB lists the rows of all microbatches, each of which begins with
//! `embedding_layer`; rows before the first belong to the iteration. A file that has no such division is one microbatch.
//!
//! * **Forward**: the rows of a microbatch in turn. A row computes, and then communicates; the next row waits for both.
//! * **Backward**: the rows in reverse. A row computes the gradients of input and weights, and communicates that of the
//!   input; the next row waits for it. Communication of the gradient of weights goes on beside; the same row waits for it
//!   before its forward pass of the next iteration.
//! * **Stages** pass on `pp_comm` bytes forward and backward ([`schedule`](super::schedule)). SimAI has a formula instead.
//! * **Iteration**: rows before the first microbatch run forward at its start, and backward at its end.

use super::groups::Division;
use super::schedule::{Turn, turns};
use super::text::{Group, Layer, Model, Pass};
use crate::collective::{Algorithm, Collective, Kind};
use crate::job::{Job, JobBuilder};
use crate::op::Op;
use crate::refused::Refused;
use backwater_types::Duration;
use std::collections::HashMap;
use std::ops::Range;

/// What the file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, if the file does not say it.
    pub ranks: Option<u32>,
    /// Iterations.
    pub iterations: u32,
    /// Parts of the model at each stage, of an interleaved pipeline.
    pub parts: u32,
    /// Divides sizes and times, for a smaller run with the same proportions.
    pub shrink: u32,
    /// Algorithm of all-reduces.
    pub all_reduce: Algorithm,
    /// Channels of collectives.
    pub channels: u16,
}

impl Default for Options {
    fn default() -> Options {
        Options { ranks: None, iterations: 1, parts: 1, shrink: 1, all_reduce: Algorithm::Ring, channels: 1 }
    }
}

/// Most operations of a job: about two gigabytes.
const OPERATIONS_MAX: u64 = 50_000_000;
/// First row of a microbatch.
const FIRST: &str = "embedding_layer";

/// Makes the job of a model. `file` is its name in messages.
///
/// # Errors
/// If the ranks cannot be divided as the file says, or the job is too large.
pub fn job(model: &Model, options: Options, file: &str) -> Result<Job, Refused> {
    let refuse = |problem: String| Refused::at(file, problem);
    let Some(ranks) = model.ranks.or(options.ranks) else {
        return Err(refuse("does not say all_gpus: expected the number of ranks".into()));
    };
    if let (Some(said), Some(given)) = (model.ranks, options.ranks)
        && said != given
    {
        return Err(refuse(format!("says all_gpus: {said}, and {given} ranks were asked for: expected the same")));
    }
    let division = Division::new(ranks, model.tensor, model.expert, model.stages).map_err(refuse)?;
    let batches = Batches::of(model);
    let microbatches = batches.microbatches.len() as u32;
    if options.parts > 1 && !microbatches.is_multiple_of(model.stages) {
        let problem = format!(
            "{microbatches} microbatches, and {} stages that are interleaved: expected a multiple",
            model.stages
        );
        return Err(refuse(problem));
    }
    let operations = operations(model, &division, options);
    if operations > OPERATIONS_MAX {
        let problem = format!(
            "about {operations} operations of {ranks} ranks: expected at most {OPERATIONS_MAX}, with fewer iterations or ranks"
        );
        return Err(refuse(problem));
    }
    let mut builder = JobBuilder::default();
    let phases = Phases::new(&mut builder, options.iterations, microbatches);
    for rank in 0..ranks {
        let (tail, tags) = (None, Tags::new(model, &division, options));
        let mut writer =
            Writer { builder: &mut builder, model, division, options, rank, tail, tags, gradients: HashMap::new() };
        for iteration in 0..options.iterations {
            writer.iteration(&batches, &phases, iteration)?;
        }
        builder.end_rank().map_err(|problem| Refused::at(file, problem))?;
    }
    builder.finish().map_err(|problem| Refused::at(file, problem))
}

/// Estimates the operations of all ranks. A collective of n ranks has at most 4 (n - 1) in each channel.
fn operations(model: &Model, division: &Division, options: Options) -> u64 {
    let members = |group: Group| match group {
        Group::Tensor => division.tensor,
        Group::Data => division.data,
        Group::Expert => division.expert,
        Group::DataOfExperts => division.data / division.expert,
    };
    let of = |pass: &Pass| {
        let communication = pass.communication.map_or(0, |(_, group, _)| 4 * u64::from(members(group) - 1));
        2 + communication * u64::from(options.channels)
    };
    let each: u64 = model.layers.iter().flat_map(|layer| &layer.passes).map(of).sum();
    each.saturating_mul(u64::from(division.ranks())).saturating_mul(options.iterations.into())
}

/// Rows of the iteration, and of each microbatch.
struct Batches {
    iteration: Range<usize>,
    microbatches: Vec<Range<usize>>,
}

impl Batches {
    fn of(model: &Model) -> Batches {
        let rows = model.layers.len();
        let mut firsts: Vec<usize> = (0..rows).filter(|row| model.layers[*row].name == FIRST).collect();
        if firsts.len() != model.microbatches as usize {
            firsts = vec![0];
        }
        let ends = firsts[1..].iter().copied().chain([rows]);
        let microbatches = firsts.iter().copied().zip(ends).map(|(first, end)| first..end).collect();
        Batches { iteration: 0..firsts[0], microbatches }
    }
}

/// Numbers of the phases: of an iteration its start, its end, and forward and backward of each microbatch.
struct Phases {
    first: u32,
    microbatches: u32,
}

impl Phases {
    fn new(builder: &mut JobBuilder, iterations: u32, microbatches: u32) -> Phases {
        let mut first = None;
        for iteration in 0..iterations {
            let mut add = |name: String| builder.phase(name, iteration);
            first = first.or(Some(add("start".into())));
            if iteration > 0 {
                add("start".into());
            }
            for microbatch in 0..microbatches {
                add(format!("forward {}", microbatch + 1));
                add(format!("backward {}", microbatch + 1));
            }
            add("gradients".into());
        }
        Phases { first: first.unwrap_or(0), microbatches }
    }

    fn start(&self, iteration: u32) -> u32 {
        self.first + iteration * (2 * self.microbatches + 2)
    }

    fn of(&self, iteration: u32, turn: Turn) -> u32 {
        self.start(iteration) + 1 + 2 * turn.microbatch + u32::from(turn.backward)
    }

    fn gradients(&self, iteration: u32) -> u32 {
        self.start(iteration) + 1 + 2 * self.microbatches
    }
}

/// Tags of collectives and of messages between stages, the same at every rank.
struct Tags {
    /// Tags of one collective.
    each: u64,
    rows: u64,
    /// Tags of one iteration.
    iteration: u64,
}

impl Tags {
    fn new(model: &Model, division: &Division, options: Options) -> Tags {
        let members = division.tensor.max(division.data);
        let each = u64::from(options.channels) * 2 * (2 * u64::from(members) + 2);
        let (rows, between) = (model.layers.len() as u64, 2 * u64::from(options.parts) * model.layers.len() as u64);
        Tags { each, rows, iteration: 3 * rows * each + between }
    }

    /// First tag of the collective of a pass of a row.
    fn of_row(&self, iteration: u32, row: usize, pass: usize) -> Option<u32> {
        let tag = u64::from(iteration) * self.iteration + (row as u64 * 3 + pass as u64) * self.each;
        u32::try_from(tag + self.each).ok().map(|_| tag as u32)
    }

    /// Tag of the message of a turn between stages.
    fn of_turn(&self, iteration: u32, turn: Turn, parts: u32) -> Option<u32> {
        let number =
            (u64::from(turn.microbatch) * u64::from(parts) + u64::from(turn.part)) * 2 + u64::from(turn.backward);
        u32::try_from(u64::from(iteration) * self.iteration + 3 * self.rows * self.each + number).ok()
    }
}

/// Writes the operations of one rank.
struct Writer<'a> {
    builder: &'a mut JobBuilder,
    model: &'a Model,
    division: Division,
    options: Options,
    rank: u32,
    /// The last operation of the rank's program.
    tail: Option<u32>,
    tags: Tags,
    /// `[row]`: operations that end the communication of its gradient of weights.
    gradients: HashMap<usize, Vec<u32>>,
}

impl Writer<'_> {
    fn iteration(&mut self, batches: &Batches, phases: &Phases, iteration: u32) -> Result<(), Refused> {
        for row in batches.iteration.clone() {
            self.forward(row, iteration, phases.start(iteration))?;
        }
        let (stage, stages) = (self.division.stage(self.rank), self.division.stages);
        let parts = self.options.parts;
        for turn in turns(stage, stages, batches.microbatches.len() as u32, parts) {
            let phase = phases.of(iteration, turn);
            let rows = part(&batches.microbatches[turn.microbatch as usize], turn.part, parts);
            self.receive(turn, iteration, phase)?;
            match turn.backward {
                false => rows.into_iter().try_for_each(|row| self.forward(row, iteration, phase))?,
                true => rows.into_iter().rev().try_for_each(|row| self.backward(row, iteration, phase))?,
            }
            self.send(turn, iteration, phase)?;
        }
        for row in batches.iteration.clone().rev() {
            self.backward(row, iteration, phases.gradients(iteration))?;
        }
        Ok(())
    }

    fn forward(&mut self, row: usize, iteration: u32, phase: u32) -> Result<(), Refused> {
        let waits = self.gradients.remove(&row).unwrap_or_default();
        let Layer { passes: [forward, ..], .. } = self.model.layers[row];
        self.compute(forward.compute, &waits, phase);
        let ends = self.communicate(forward, (iteration, row, 0), phase)?;
        self.join(&ends, phase);
        Ok(())
    }

    fn backward(&mut self, row: usize, iteration: u32, phase: u32) -> Result<(), Refused> {
        let Layer { passes: [_, input, weights], update, .. } = self.model.layers[row];
        self.compute(input.compute, &[], phase);
        let ends = self.communicate(input, (iteration, row, 1), phase)?;
        self.join(&ends, phase);
        self.compute(weights.compute, &[], phase);
        let ends = self.communicate(weights, (iteration, row, 2), phase)?;
        if !ends.is_empty() {
            // Weights are updated when their gradient has come; the next forward pass waits for that.
            let update = Duration(update.0 / u64::from(self.options.shrink));
            let updated = self.builder.op_after(Op::calc(update).of(phase), &ends);
            self.gradients.insert(row, vec![updated]);
        }
        Ok(())
    }

    /// Computes after all before, and after `waits`.
    fn compute(&mut self, time: Duration, waits: &[u32], phase: u32) {
        let time = Duration(time.0 / u64::from(self.options.shrink));
        let causes: Vec<u32> = self.tail.into_iter().chain(waits.iter().copied()).collect();
        self.tail = Some(self.builder.op_after(Op::calc(time).of(phase), &causes));
    }

    /// Waits for operations that end a collective.
    fn join(&mut self, ends: &[u32], phase: u32) {
        if !ends.is_empty() {
            self.tail = Some(self.builder.op_after(Op::calc(Duration::ZERO).on(JOINING).of(phase), ends));
        }
    }

    /// Starts a collective after all before. Returns the operations that end it.
    fn communicate(
        &mut self,
        pass: Pass,
        (iteration, row, number): (u32, usize, usize),
        phase: u32,
    ) -> Result<Vec<u32>, Refused> {
        let Some((kind, group, bytes)) = pass.communication else { return Ok(Vec::new()) };
        let (members, me) = self.division.members(self.rank, group);
        if members.len() == 1 {
            return Ok(Vec::new());
        }
        let tag = self.tags.of_row(iteration, row, number).ok_or_else(too_long)?;
        let algorithm = match kind {
            Kind::AllReduce => self.options.all_reduce,
            Kind::Broadcast => Algorithm::Binomial,
            Kind::AllToAll => Algorithm::Direct,
            _ => Algorithm::Ring,
        };
        let bytes = (bytes / u64::from(self.options.shrink)).max(1);
        let collective =
            Collective { channels: self.options.channels, ..Collective::new(kind, algorithm, &members, bytes) };
        Ok(collective.add(self.builder, me, self.tail.as_slice(), tag, &mut |_, _| phase))
    }

    /// Receives what a turn needs of the stage before it.
    fn receive(&mut self, turn: Turn, iteration: u32, phase: u32) -> Result<(), Refused> {
        let Some((stage, from)) = self.before(turn) else { return Ok(()) };
        let tag = self.tags.of_turn(iteration, from, self.options.parts).ok_or_else(too_long)?;
        let rank = self.division.at_stage(self.rank, stage);
        let received = self.builder.op(Op::recv(rank, tag).of(phase));
        let causes: Vec<u32> = self.tail.into_iter().chain([received]).collect();
        self.join(&causes, phase);
        Ok(())
    }

    /// Sends what the stage after a turn needs. The next turn does not wait for it.
    fn send(&mut self, turn: Turn, iteration: u32, phase: u32) -> Result<(), Refused> {
        let Some(stage) = self.after(turn) else { return Ok(()) };
        let tag = self.tags.of_turn(iteration, turn, self.options.parts).ok_or_else(too_long)?;
        let bytes = (self.model.stage_bytes / u64::from(self.options.shrink)).max(1);
        let rank = self.division.at_stage(self.rank, stage);
        self.builder.op_after(Op::send(rank, bytes, tag).on(1).of(phase), self.tail.as_slice());
        Ok(())
    }

    /// Stage that a turn gets its input from, and the turn there; `None` for the first turn of a microbatch, and where
    /// forward turns to backward.
    fn before(&self, turn: Turn) -> Option<(u32, Turn)> {
        let (stage, last, parts) = (self.division.stage(self.rank), self.division.stages - 1, self.options.parts);
        let with = |part: u32| Turn { part, ..turn };
        if last == 0 {
            return None;
        }
        match turn.backward {
            false if stage > 0 => Some((stage - 1, turn)),
            false if turn.part > 0 => Some((last, with(turn.part - 1))),
            true if stage < last => Some((stage + 1, turn)),
            true if turn.part + 1 < parts => Some((0, with(turn.part + 1))),
            _ => None,
        }
    }

    /// Stage that gets the output of a turn.
    fn after(&self, turn: Turn) -> Option<u32> {
        let (stage, last, parts) = (self.division.stage(self.rank), self.division.stages - 1, self.options.parts);
        if last == 0 {
            return None;
        }
        match turn.backward {
            false if stage < last => Some(stage + 1),
            false if turn.part + 1 < parts => Some(0),
            true if stage > 0 => Some(stage - 1),
            true if turn.part > 0 => Some(last),
            _ => None,
        }
    }
}

/// Stream of operations that take no time: what waits for a collective does not wait for a computation.
const JOINING: u8 = 2;

/// Rows of a part of a microbatch.
fn part(rows: &Range<usize>, part: u32, parts: u32) -> Vec<usize> {
    let at = |part: u32| rows.start + rows.len() * part as usize / parts as usize;
    (at(part)..at(part + 1)).collect()
}

fn too_long() -> Refused {
    Refused::at("the workload", "has more messages than tags can tell apart: expected fewer iterations")
}
