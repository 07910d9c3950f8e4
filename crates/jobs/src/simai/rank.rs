//! What one rank does.
//!
//! * **Forward**: the rows of a microbatch in turn. A row computes, and then communicates; the next row waits for both.
//! * **Backward**: the rows in reverse. A row computes the gradients of input and weights, and communicates that of the
//!   input; the next row waits for it. Communication of the gradient of weights goes on beside; the same row waits for it
//!   before its forward pass of the next iteration.
//! * **Again**: before a row's backward pass, the rows from its checkpoint on run forward again, with their communication.
//!
//! [`Loop`] says where policies differ. What a pass communicated is in place after the update time of its row. The
//! nanosecond that ASTRA-sim takes from one state to the next is left out.

use super::plan::{Phases, Plan, Row};
use super::policy::Loop;
use super::schedule::{Turn, turns};
use super::text::{Layer, Pass};
use crate::collective::{Algorithm, Collective, Kind};
use crate::job::JobBuilder;
use crate::op::Op;
use crate::refused::Refused;
use backwater_types::Duration;
use std::collections::HashMap;

/// Stream of operations that take no time: what waits for a collective does not wait for a computation.
const JOINING: u8 = 2;
/// First of the streams of updates, which do not wait for one another.
const UPDATING: u8 = 3;
/// Number of these. A row has the next one.
const UPDATES: usize = 60;

/// Passes, by their places in [`Layer::passes`].
const FORWARD: usize = 0;
const INPUT: usize = 1;
const WEIGHTS: usize = 2;
/// A forward pass that runs again.
const AGAIN: usize = 3;

/// Writes the operations of one rank.
pub(super) struct Writer<'a> {
    builder: &'a mut JobBuilder,
    plan: &'a Plan<'a>,
    phases: &'a Phases,
    rank: u32,
    iteration: u32,
    /// Phase of what is written.
    phase: u32,
    /// The last operation of the rank's program.
    tail: Option<u32>,
    /// `[row]`: operations after which its gradients of weights are in place.
    gradients: HashMap<usize, Vec<u32>>,
    /// Operations after which the all-to-all of the first row is in place.
    embedding: Vec<u32>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(builder: &'a mut JobBuilder, plan: &'a Plan, phases: &'a Phases, rank: u32) -> Writer<'a> {
        let (gradients, embedding) = (HashMap::new(), Vec::new());
        Writer { builder, plan, phases, rank, iteration: 0, phase: 0, tail: None, gradients, embedding }
    }

    /// Writes an iteration.
    pub(super) fn iteration(&mut self, iteration: u32) -> Result<(), Refused> {
        let (plan, phases) = (self.plan, self.phases);
        self.iteration = iteration;
        self.phase = phases.start(iteration);
        for number in plan.start.clone() {
            self.forward(Row { number, microbatch: None }, FORWARD)?;
        }
        let (stage, stages) = (plan.division.stage(self.rank), plan.division.stages);
        let forward_alone = plan.model.policy.runs() == Loop::Forward;
        let turns = turns(stage, stages, plan.microbatches.len() as u32, plan.options.parts);
        for turn in turns.into_iter().filter(|turn| !(forward_alone && turn.backward)) {
            self.phase = phases.of(iteration, turn);
            let rows = plan.rows(turn, stage).map(|number| Row { number, microbatch: Some(turn.microbatch) });
            self.receive(turn)?;
            match turn.backward {
                false => rows.into_iter().try_for_each(|row| self.forward(row, FORWARD))?,
                true => rows.rev().try_for_each(|row| self.backward(row))?,
            }
            self.send(turn)?;
        }
        self.phase = phases.gradients(iteration);
        if !forward_alone {
            for number in plan.start.clone().rev() {
                self.backward(Row { number, microbatch: None })?;
            }
        }
        Ok(())
    }

    fn layer(&self, row: Row) -> &'a Layer {
        &self.plan.model.layers[row.number]
    }

    fn forward(&mut self, row: Row, number: usize) -> Result<(), Refused> {
        let waits = self.gradients.remove(&row.number).unwrap_or_default();
        let pass = self.layer(row).passes[FORWARD];
        match self.plan.model.policy.runs() {
            Loop::Micro => {
                let ends = self.communicate(row, self.layer(row).passes[WEIGHTS], WEIGHTS)?;
                self.join(&ends);
            }
            Loop::Dlrm { .. } => {
                self.compute(pass.compute, &waits);
                if pass.communication.is_some() {
                    self.embedding = self.communicate(row, pass, number)?;
                } else if self.plan.model.last_bottom == Some(row.number) {
                    self.join_embedding();
                }
            }
            Loop::Data | Loop::Overlapped | Loop::Blocking | Loop::Forward => {
                self.compute(pass.compute, &waits);
                let ends = self.communicate(row, pass, number)?;
                self.join(&ends);
            }
        }
        Ok(())
    }

    fn backward(&mut self, row: Row) -> Result<(), Refused> {
        let layer = self.layer(row);
        for number in layer.again_from.map_or(0..0, |from| from..row.number) {
            self.forward(Row { number, ..row }, AGAIN)?;
        }
        let [_, input, _] = layer.passes;
        let is_first = row.number == 0;
        match self.plan.model.policy.runs() {
            Loop::Data => {
                self.weights(row)?;
                if !is_first {
                    self.compute(input.compute, &[]);
                }
            }
            Loop::Overlapped => {
                self.compute(input.compute, &[]);
                let ends = if is_first { Vec::new() } else { self.communicate(row, input, INPUT)? };
                self.weights(row)?;
                self.join(&ends);
            }
            Loop::Blocking => {
                self.compute(input.compute, &[]);
                let ends = self.communicate(row, input, INPUT)?;
                self.join(&ends);
                self.weights(row)?;
            }
            Loop::Dlrm { enhanced } => {
                self.weights(row)?;
                if is_first {
                    if !enhanced {
                        self.join_embedding();
                    }
                    return Ok(());
                }
                self.compute(input.compute, &[]);
                if self.plan.model.last_bottom.is_some_and(|bottom| row.number == bottom + 1) {
                    let first = Row { number: 0, ..row };
                    self.embedding = self.communicate(first, self.layer(first).passes[INPUT], INPUT)?;
                }
            }
            Loop::Micro | Loop::Forward => {}
        }
        Ok(())
    }

    /// Computes the gradient of the weights. Its communication goes on beside.
    fn weights(&mut self, row: Row) -> Result<(), Refused> {
        let pass = self.layer(row).passes[WEIGHTS];
        self.compute(pass.compute, &[]);
        let is_last = row.microbatch.is_none_or(|microbatch| self.plan.microbatches[microbatch as usize].is_last);
        if is_last {
            let ends = self.communicate(row, pass, WEIGHTS)?;
            if !ends.is_empty() {
                self.gradients.insert(row.number, ends);
            }
        }
        Ok(())
    }

    /// Computes after all before, and after `waits`.
    fn compute(&mut self, time: Duration, waits: &[u32]) {
        let time = self.shrunk(time);
        let causes: Vec<u32> = self.tail.into_iter().chain(waits.iter().copied()).collect();
        self.tail = Some(self.builder.op_after(Op::calc(time).of(self.phase), &causes));
    }

    /// Waits for operations that end a collective.
    fn join(&mut self, ends: &[u32]) {
        if !ends.is_empty() {
            let causes: Vec<u32> = self.tail.into_iter().chain(ends.iter().copied()).collect();
            let op = Op::calc(Duration::ZERO).on(JOINING).of(self.phase);
            self.tail = Some(self.builder.op_after(op, &causes));
        }
    }

    fn join_embedding(&mut self) {
        let ends = std::mem::take(&mut self.embedding);
        self.join(&ends);
    }

    /// Starts a collective after all before. Returns the operations after which its result is in place.
    fn communicate(&mut self, row: Row, pass: Pass, number: usize) -> Result<Vec<u32>, Refused> {
        let Some((kind, group, bytes)) = pass.communication else { return Ok(Vec::new()) };
        let (members, me) = self.plan.division.members(self.rank, group);
        if members.len() == 1 {
            return Ok(Vec::new());
        }
        let tag = self.plan.tag_of_row(self.iteration, row, number).ok_or_else(too_long)?;
        let options = self.plan.options;
        let algorithm = match kind {
            Kind::AllReduce => options.all_reduce,
            Kind::Broadcast => Algorithm::Binomial,
            Kind::AllToAll => Algorithm::Direct,
            _ => Algorithm::Ring,
        };
        let bytes = (bytes / u64::from(options.shrink)).max(1);
        let collective = Collective { channels: options.channels, ..Collective::new(kind, algorithm, &members, bytes) };
        let phase = self.phase;
        let ends = collective.add(self.builder, me, self.tail.as_slice(), tag, &mut |_, _| phase);
        let update = self.shrunk(self.layer(row).update);
        if ends.is_empty() || update == Duration::ZERO {
            return Ok(ends);
        }
        let stream = UPDATING + (row.number % UPDATES) as u8;
        Ok(vec![self.builder.op_after(Op::calc(update).on(stream).of(phase), &ends)])
    }

    fn shrunk(&self, time: Duration) -> Duration {
        Duration(time.0 / u64::from(self.plan.options.shrink))
    }

    /// Receives what a turn needs of the stage before it.
    fn receive(&mut self, turn: Turn) -> Result<(), Refused> {
        let Some((stage, from)) = self.before(turn) else { return Ok(()) };
        let tag = self.plan.tag_of_turn(self.iteration, from).ok_or_else(too_long)?;
        let rank = self.plan.division.at_stage(self.rank, stage);
        let received = self.builder.op(Op::recv(rank, tag).of(self.phase));
        self.join(&[received]);
        Ok(())
    }

    /// Sends what the stage after a turn needs. The next turn does not wait for it.
    fn send(&mut self, turn: Turn) -> Result<(), Refused> {
        let Some(stage) = self.after(turn) else { return Ok(()) };
        let tag = self.plan.tag_of_turn(self.iteration, turn).ok_or_else(too_long)?;
        let bytes = (self.plan.stage_bytes / u64::from(self.plan.options.shrink)).max(1);
        let rank = self.plan.division.at_stage(self.rank, stage);
        self.builder.op_after(Op::send(rank, bytes, tag).on(1).of(self.phase), self.tail.as_slice());
        Ok(())
    }

    /// Stage of this rank, the last stage, and the parts of each.
    fn place(&self) -> (u32, u32, u32) {
        let division = self.plan.division;
        (division.stage(self.rank), division.stages - 1, self.plan.options.parts)
    }

    /// Stage that a turn gets its input from, and the turn there; `None` for the first turn of a microbatch, and where
    /// forward turns to backward.
    fn before(&self, turn: Turn) -> Option<(u32, Turn)> {
        let (stage, last, parts) = self.place();
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
        let (stage, last, parts) = self.place();
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

fn too_long() -> Refused {
    Refused::at("the workload", "has more messages than tags can tell apart: expected fewer iterations")
}
