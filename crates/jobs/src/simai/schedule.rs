//! The order of microbatches at a stage of the pipeline.
//!
//! Source: Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021,
//! section 2.2. One forward, one backward (1F1B): a stage first does as many forward passes as there are stages behind
//! it, then a forward and a backward pass in turn, and then the backward passes that are left. Interleaved: each stage
//! has several parts of the model, and works on as many microbatches at once as there are stages.

/// A pass of one microbatch through one part of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Whether the pass is backward.
    pub backward: bool,
    /// Microbatch.
    pub microbatch: u32,
    /// Part of the stage's layers.
    pub part: u32,
}

/// Lists the turns of stage `stage` of `stages`, with `microbatches` and `parts` at each stage.
///
/// # Panics
/// If the stages are interleaved and do not divide the microbatches.
pub fn turns(stage: u32, stages: u32, microbatches: u32, parts: u32) -> Vec<Turn> {
    assert!(parts == 1 || microbatches.is_multiple_of(stages), "interleaved stages divide the microbatches");
    let all = microbatches * parts;
    let ahead = match parts {
        1 => stages - stage - 1,
        _ => (stages - stage - 1) * 2 + (parts - 1) * stages,
    };
    let warm = ahead.min(all);
    let turn = |number: u32, backward: bool| {
        let (microbatch, part) = match parts {
            1 => (number, 0),
            _ => (number / (stages * parts) * stages + number % stages, number / stages % parts),
        };
        Turn { backward, microbatch, part: if backward { parts - 1 - part } else { part } }
    };
    let warming = (0..warm).map(|number| turn(number, false));
    let steady = (warm..all).flat_map(|number| [turn(number, false), turn(number - warm, true)]);
    let cooling = (all - warm..all).map(|number| turn(number, true));
    warming.chain(steady).chain(cooling).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn shown(turns: &[Turn]) -> String {
        let one = |turn: &Turn| format!("{}{}", if turn.backward { "B" } else { "F" }, turn.microbatch);
        turns.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_forward_one_backward() {
        assert_eq!(shown(&turns(0, 1, 3, 1)), "F0 B0 F1 B1 F2 B2");
        assert_eq!(shown(&turns(0, 3, 4, 1)), "F0 F1 F2 B0 F3 B1 B2 B3");
        assert_eq!(shown(&turns(2, 3, 4, 1)), "F0 B0 F1 B1 F2 B2 F3 B3");
        assert_eq!(shown(&turns(0, 4, 2, 1)), "F0 F1 B0 B1");
    }

    /// If every turn waits for those that it needs, all stages come to their end: nothing waits in a cycle.
    #[test]
    fn no_schedule_waits_for_itself() {
        for (stages, microbatches, parts) in [(1, 4, 1), (4, 8, 1), (4, 3, 1), (2, 4, 2), (4, 8, 2), (4, 4, 3)] {
            let all: Vec<Vec<Turn>> = (0..stages).map(|stage| turns(stage, stages, microbatches, parts)).collect();
            let (mut next, mut done) = (vec![0; stages as usize], BTreeSet::new());
            loop {
                let before = done.len();
                for stage in 0..stages {
                    while let Some(turn) = all[stage as usize].get(next[stage as usize]) {
                        let Turn { backward, microbatch, part } = *turn;
                        let needed = match (backward, stage, part) {
                            (false, 0, 0) => None,
                            (false, 0, part) => Some((stages - 1, Turn { part: part - 1, ..*turn })),
                            (false, ..) => Some((stage - 1, *turn)),
                            (true, stage, part) if stage + 1 == stages && part + 1 == parts => {
                                Some((stage, Turn { backward: false, microbatch, part }))
                            }
                            (true, stage, part) if stage + 1 == stages => Some((0, Turn { part: part + 1, ..*turn })),
                            (true, ..) => Some((stage + 1, *turn)),
                        };
                        if needed.is_some_and(|needed| !done.contains(&needed)) {
                            break;
                        }
                        assert!(done.insert((stage, *turn)), "each turn once");
                        next[stage as usize] += 1;
                    }
                }
                if done.len() == before {
                    break;
                }
            }
            assert_eq!(done.len() as u32, stages * microbatches * parts * 2, "{stages} {microbatches} {parts}");
        }
    }
}
