//! The rows of a file are those of one rank of a stage. AICB lists the rows of all microbatches, each of which begins with
//! `embedding_layer`; rows before the first belong to the iteration. A file that has no such division is one microbatch.
//!
//! If a file describes a whole model, `model.stages` divides it among the stages of a pipeline, and `model.virtual_stages`
//! each stage into parts. Each part has rows that follow one another, and the numbers of rows differ by at most one. All
//! microbatches run the same rows. Gradients of weights are communicated after the last microbatch.

use super::groups::{Division, Group};
use super::policy::Loop;
use super::schedule::Turn;
use super::text::{Model, Pass};
use crate::collective::Algorithm;
use crate::job::JobBuilder;
use crate::text::quoted;
use std::fmt::Display;
use std::ops::Range;

/// What the file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, if the file does not say it.
    pub ranks: Option<u32>,
    /// Ranks of the first dimension of ASTRA-sim's network: those of an inner group, if the file does not say it.
    pub first_dimension: Option<u32>,
    /// Stages that the rows are divided among; `None` if they are those of one stage.
    pub stages: Option<u32>,
    /// Microbatches that run all rows; by default those of the file if the rows are divided, and otherwise one.
    pub microbatches: Option<u32>,
    /// Bytes that stages pass on, if the file does not say it.
    pub stage_bytes: Option<u64>,
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
        Options {
            ranks: None,
            first_dimension: None,
            stages: None,
            microbatches: None,
            stage_bytes: None,
            iterations: 1,
            parts: 1,
            shrink: 1,
            all_reduce: Algorithm::Ring,
            channels: 1,
        }
    }
}

/// Most microbatches of an iteration.
pub const MICROBATCHES_MAX: u32 = 1 << 16;
/// First row of a microbatch.
const FIRST: &str = "embedding_layer";

/// What all ranks follow.
pub(super) struct Plan<'a> {
    pub(super) model: &'a Model,
    pub(super) division: Division,
    pub(super) options: Options,
    /// Bytes that stages pass on.
    pub(super) stage_bytes: u64,
    /// Rows before the first microbatch.
    pub(super) start: Range<usize>,
    pub(super) microbatches: Vec<Microbatch>,
    /// Whether the rows are divided among stages.
    divided: bool,
    tags: Tags,
}

/// Rows of a microbatch.
pub(super) struct Microbatch {
    rows: Range<usize>,
    /// How many rows ran before it in an iteration, less the first of its own.
    offset: usize,
    /// Whether its gradients of weights are communicated: no later microbatch has the same rows.
    pub(super) is_last: bool,
}

/// A problem, perhaps with its line.
pub(super) type AtLine = (Option<u64>, String);

impl<'a> Plan<'a> {
    /// Divides ranks and rows.
    ///
    /// # Errors
    /// If they cannot be divided as the file and the options say.
    pub(super) fn new(model: &'a Model, options: Options) -> Result<Plan<'a>, AtLine> {
        let refuse = |problem: String| (None, problem);
        let division = division(model, options).map_err(refuse)?;
        let said = Some(model.stage_bytes).filter(|bytes| *bytes > 0);
        let stage_bytes = agreed("pp_comm", said, options.stage_bytes).map_err(refuse)?.unwrap_or(0);
        let rows = model.layers.len();
        let divided = options.stages.is_some();
        let mut firsts: Vec<usize> = (0..rows).filter(|row| model.layers[*row].name == FIRST).collect();
        if firsts.len() != model.microbatches as usize || divided && firsts.len() == 1 {
            firsts = vec![0];
        }
        let ends = firsts[1..].iter().copied().chain([rows]);
        let each: Vec<Range<usize>> = firsts.iter().copied().zip(ends).map(|(first, end)| first..end).collect();
        let times = match (each.len(), options.microbatches) {
            (1, given) => given.unwrap_or(if divided { model.microbatches } else { 1 }),
            (listed, Some(given)) if listed != given as usize => {
                let problem = format!("lists the rows of {listed} microbatches, and {given} were asked for");
                return Err(refuse(format!("{problem}: expected the same")));
            }
            _ => 1,
        };
        if !(1..=MICROBATCHES_MAX).contains(&times) {
            return Err(refuse(format!("{times} microbatches: expected 1 to {MICROBATCHES_MAX}")));
        }
        let microbatches = (0..times)
            .flat_map(|time| {
                let offset = (rows - firsts[0]) * time as usize;
                each.iter().map(move |rows| Microbatch { rows: rows.clone(), offset, is_last: time + 1 == times })
            })
            .collect();
        let tags = Tags::new(rows, times, &division, options, model);
        let start = 0..firsts[0];
        let plan = Plan { model, division, options, stage_bytes, start, microbatches, divided, tags };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), AtLine> {
        let Plan { model, options, .. } = self;
        let (stages, microbatches) = (self.division.stages, self.microbatches.len());
        if options.parts > 1 && !microbatches.is_multiple_of(stages as usize) {
            let problem =
                format!("{microbatches} microbatches, and {stages} stages that are interleaved: expected a multiple");
            return Err((None, problem));
        }
        if microbatches > 1 && matches!(model.policy.runs(), Loop::Micro | Loop::Dlrm { .. }) {
            let problem = format!("{microbatches} microbatches of {}: expected 1", model.policy.name());
            return Err((None, problem));
        }
        let least = self.microbatches.iter().map(|microbatch| microbatch.rows.len()).min().expect("there is one");
        if self.divided && self.pieces() > least as u64 {
            let problem = format!("{least} rows are not divided by {} parts: expected a row each", self.pieces());
            return Err((None, problem));
        }
        // What runs again has to be where its gradients are computed.
        let together = |layers: &Range<usize>, pieces: u64| -> Result<(), AtLine> {
            for row in layers.clone() {
                let layer = &model.layers[row];
                let within = piece(layers, piece_of(layers, row, pieces), pieces);
                if let Some(from) = layer.again_from.filter(|from| !within.contains(from)) {
                    let expected = "expected both in one part of the rows";
                    let problem =
                        format!("{}: runs again from row {from}, in another part: {expected}", quoted(&layer.name));
                    return Err((Some(layer.line), problem));
                }
            }
            Ok(())
        };
        together(&self.start, 1)?;
        let mut last = self.microbatches.iter().filter(|microbatch| microbatch.is_last);
        last.try_for_each(|microbatch| together(&microbatch.rows, self.pieces()))
    }

    /// Number of pieces that the rows of a microbatch have.
    fn pieces(&self) -> u64 {
        u64::from(self.options.parts) * if self.divided { u64::from(self.division.stages) } else { 1 }
    }

    /// Rows of a turn at a stage.
    pub(super) fn rows(&self, turn: Turn, stage: u32) -> Range<usize> {
        let part = u64::from(turn.part);
        let number = if self.divided { part * u64::from(self.division.stages) + u64::from(stage) } else { part };
        piece(&self.microbatches[turn.microbatch as usize].rows, number, self.pieces())
    }

    /// First tag of the collective of a pass of a row, the same at every rank.
    pub(super) fn tag_of_row(&self, iteration: u32, row: Row, pass: usize) -> Option<u32> {
        let Tags { each, passes, iteration: all, .. } = self.tags;
        let place = row.microbatch.map_or(0, |microbatch| self.microbatches[microbatch as usize].offset) + row.number;
        let tag = u64::from(iteration) * all + (place as u64 * passes + pass as u64) * each;
        u32::try_from(tag + each).ok().map(|_| tag as u32)
    }

    /// Tag of the message of a turn between stages.
    pub(super) fn tag_of_turn(&self, iteration: u32, turn: Turn) -> Option<u32> {
        let parts = u64::from(self.options.parts);
        let number = (u64::from(turn.microbatch) * parts + u64::from(turn.part)) * 2 + u64::from(turn.backward);
        let Tags { between, iteration: all, .. } = self.tags;
        u32::try_from(u64::from(iteration) * all + between + number).ok()
    }

    /// Estimates the operations of all ranks. A collective of n ranks has at most 4 (n - 1) in each channel.
    pub(super) fn operations(&self) -> u64 {
        let of = |pass: &Pass| {
            let others = pass.communication.map_or(0, |(_, group, _)| u64::from(self.division.size(group) - 1));
            3 + (4 * others).saturating_mul(self.options.channels.into())
        };
        let forward = |rows: Range<usize>| -> u64 {
            self.model.layers[rows].iter().map(|layer| of(&layer.passes[0])).fold(0, u64::saturating_add)
        };
        let layer = |row: usize| {
            let layer = &self.model.layers[row];
            let again = layer.again_from.map_or(0, |from| forward(from..row));
            layer.passes.iter().map(of).fold(again, u64::saturating_add)
        };
        let rows = |rows: Range<usize>| rows.map(layer).fold(0, u64::saturating_add);
        let microbatches = self.microbatches.iter().map(|microbatch| 6 + rows(microbatch.rows.clone()));
        let each = microbatches.fold(rows(self.start.clone()), u64::saturating_add);
        let holders = if self.divided { self.division.of_stage() } else { self.division.ranks() };
        each.saturating_mul(holders.into()).saturating_mul(self.options.iterations.into())
    }
}

/// Piece `number` of `pieces` of rows that follow one another.
fn piece(rows: &Range<usize>, number: u64, pieces: u64) -> Range<usize> {
    let at = |number: u64| rows.start + (rows.len() as u64 * number / pieces) as usize;
    at(number)..at(number + 1)
}

/// Number of the piece that a row is in.
fn piece_of(rows: &Range<usize>, row: usize, pieces: u64) -> u64 {
    ((row - rows.start + 1) as u64 * pieces - 1) / rows.len() as u64
}

/// A row where it runs.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) number: usize,
    /// `None` before the first.
    pub(super) microbatch: Option<u32>,
}

/// Numbers of the phases: of an iteration its start, its end, and forward and backward of each microbatch.
pub(super) struct Phases {
    first: u32,
    microbatches: u32,
}

impl Phases {
    pub(super) fn new(builder: &mut JobBuilder, iterations: u32, microbatches: u32) -> Phases {
        let mut first = None;
        for iteration in 0..iterations {
            let mut add = |name: String| builder.phase(name, iteration);
            let start = add("start".into());
            first = first.or(Some(start));
            for microbatch in 0..microbatches {
                add(format!("forward {}", microbatch + 1));
                add(format!("backward {}", microbatch + 1));
            }
            add("gradients".into());
        }
        Phases { first: first.unwrap_or(0), microbatches }
    }

    pub(super) fn start(&self, iteration: u32) -> u32 {
        self.first + iteration * (2 * self.microbatches + 2)
    }

    pub(super) fn of(&self, iteration: u32, turn: Turn) -> u32 {
        self.start(iteration) + 1 + 2 * turn.microbatch + u32::from(turn.backward)
    }

    pub(super) fn gradients(&self, iteration: u32) -> u32 {
        self.start(iteration) + 1 + 2 * self.microbatches
    }
}

/// How tags are divided.
#[derive(Clone, Copy)]
struct Tags {
    /// Tags of one collective.
    each: u64,
    /// Passes of a row that communicate.
    passes: u64,
    /// First tag of the messages between stages.
    between: u64,
    /// Tags of one iteration.
    iteration: u64,
}

impl Tags {
    fn new(rows: usize, times: u32, division: &Division, options: Options, model: &Model) -> Tags {
        let members = [Group::Inner, Group::Outer, Group::All].map(|group| division.size(group));
        let members = match model.policy.has_groups() {
            true => members[0].max(members[1]),
            false => members[2],
        };
        let each = u64::from(options.channels) * 2 * (2 * u64::from(members) + 2);
        let rows = rows as u64 * u64::from(times);
        // A job that would have more is refused for its operations.
        let again = model.layers.iter().any(|layer| layer.again_from.is_some());
        let passes = if again { 4 } else { 3 };
        let between = (passes * rows).saturating_mul(each);
        let turns = (2 * rows).saturating_mul(options.parts.into());
        Tags { each, passes, between, iteration: between.saturating_add(turns) }
    }
}

/// Divides the ranks.
fn division(model: &Model, options: Options) -> Result<Division, String> {
    let ranks = agreed("all_gpus", model.ranks, options.ranks)?;
    let ranks = ranks.ok_or("does not say all_gpus: expected the number of ranks")?;
    let stages = agreed("pp", Some(model.stages).filter(|stages| *stages > 1), options.stages)?.unwrap_or(1);
    if stages > 1 && matches!(model.policy.runs(), Loop::Micro | Loop::Dlrm { .. }) {
        return Err(format!("{stages} stages: expected 1: rows of {} wait for each other", model.policy.name()));
    }
    let inner = agreed("model_parallel_NPU_group", model.tensor, options.first_dimension)?;
    let passes = model.layers.iter().flat_map(|layer| &layer.passes);
    let mut groups = passes.filter_map(|pass| pass.communication).map(|(_, group, _)| group);
    let inner = match inner {
        Some(inner) => inner,
        None if model.policy.has_groups() => (ranks / stages).max(1),
        None if groups.all(|group| group == Group::All) => 1,
        None => {
            return Err(format!(
                "{} has the groups of ASTRA-sim's network: expected the ranks of its first dimension",
                model.policy.name()
            ));
        }
    };
    Division::new(ranks, inner, model.expert, stages)
}

/// Returns what the file says, or else what the caller does.
fn agreed<T: PartialEq + Display>(key: &str, said: Option<T>, given: Option<T>) -> Result<Option<T>, String> {
    match (said, given) {
        (Some(said), Some(given)) if said != given => {
            Err(format!("says {key}: {said}, and {given} was asked for: expected the same"))
        }
        (said, given) => Ok(said.or(given)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_one_another_and_differ_by_a_row() {
        for (rows, pieces) in [(3..10, 3), (0..4, 4), (5..6, 1), (2..8, 5), (0..2, 7)] {
            let all: Vec<_> = (0..pieces).map(|number| piece(&rows, number, pieces)).collect();
            assert_eq!(all.iter().cloned().flatten().collect::<Vec<_>>(), rows.clone().collect::<Vec<_>>());
            let lengths = || all.iter().map(|piece| piece.len());
            assert!(lengths().max() <= lengths().min().map(|least| least + 1));
            for row in rows.clone() {
                assert!(all[piece_of(&rows, row, pieces) as usize].contains(&row));
            }
        }
    }
}
