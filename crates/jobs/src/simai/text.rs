//! A text workload lists the layers of a model: how long each computes, and what its rank communicates then.
//!
//! Source: `Workload.cc` of SimAI (aliyun/SimAI cef83f9) and of ASTRA-sim 1.0, and the files of AICB.
//!
//! ```text
//! line 1:  POLICY [KEY: NUMBER]...
//! line 2:  number of rows
//! a row:   name dep fwd_ns fwd_type fwd_bytes ig_ns ig_type ig_bytes wg_ns wg_type wg_bytes update_ns [POLICY]
//! ```
//!
//! `fwd` is the forward pass, `ig` the gradient of the input and `wg` that of the weights. A type is `NONE`, `ALLREDUCE`,
//! `ALLGATHER`, `REDUCESCATTER`, `ALLTOALL` or `BROADCAST`, perhaps with `_EP` or `_DP_EP`, which name the group.
//! The policy says what is run, and among which ranks. The table of policies is below.
//!
//! | in a file | here |
//! |---|---|
//! | `pp_comm` with or without a colon | read |
//! | `model_parallel_NPU_group: 0`, or no such key | all ranks of a stage, as in SimAI |
//! | `ep`, `pp`, `vpp`, `ga` and `model_parallel_NPU_group` under a policy that does not read them | refused, except 1 |
//! | `vpp`, which SimAI reads and does not use | read, and changes nothing: `model.virtual_stages` sets the interleaving |
//! | `checkpoints: k a b ...`, rows whose input is kept | read as in ASTRA-sim. SimAI reads `a` k times |
//! | `checkpoint_initiates: k x y ...`, rows before whose backward pass the rows from the checkpoint on are run again | the same. SimAI takes them for checkpoints, and runs nothing again |
//! | a row to run again from that is not in the file, or beyond the next such row, where ASTRA-sim loses its place | refused |
//! | `DLRM_LAST_BOTTOM_LAYER: n`, or n alone as in ASTRA-sim 1.0 | read |
//! | `ALLREDUCEALLTOALL`, which SimAI reads as `ALLREDUCE` | refused |
//! | a type that SimAI does not know, which it takes for `NONE` | refused, except `BROADCAST` |
//! | a communication that the policy never runs, such as forward under `DATA` | refused |
//! | what a policy leaves out: forward under `MICRO`, backward under `DISTRIBUTED_INFERENCE` | checked, and not run |
//! | `dep` | has to be -1, as SimAI's other values have no meaning |
//! | the 13th word of a row under `HYBRID_CUSTOMIZED` | the policy of the row |
//! | another number of rows than line 2 says | refused |

use super::groups::Group;
use super::policy::{Direction, Loop, OF_ROWS, POLICIES, Policy};
use crate::collective::Kind;
use crate::op::{BYTES_MAX, TIME_MAX};
use crate::refused::Refused;
use crate::text::{digits, quoted};
use backwater_types::Duration;
use std::iter::Peekable;
use std::str::SplitWhitespace;

/// A workload as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Policy of line 1.
    pub policy: Policy,
    /// Tensor parallelism: `model_parallel_NPU_group`; `None` if the file does not say, or says 0.
    pub tensor: Option<u32>,
    /// Expert parallelism: `ep`.
    pub expert: u32,
    /// Stages of the pipeline: `pp`.
    pub stages: u32,
    /// Microbatches of an iteration: `ga`.
    pub microbatches: u32,
    /// Number of ranks: `all_gpus`; `None` if the file does not say.
    pub ranks: Option<u32>,
    /// Bytes that stages of the pipeline pass on: `pp_comm`.
    pub stage_bytes: u64,
    /// Last row of the bottom part under `HYBRID_DLRM`, from 0: `DLRM_LAST_BOTTOM_LAYER`.
    pub last_bottom: Option<usize>,
    /// Rows.
    pub layers: Vec<Layer>,
}

/// A row of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Line, from 1.
    pub line: u64,
    /// Its name.
    pub name: String,
    /// Forward pass, gradient of the input, and gradient of the weights.
    pub passes: [Pass; 3],
    /// Time after the communication of a pass until its result is in place.
    pub update: Duration,
    /// The row from which on rows run forward again before this row runs backward.
    pub again_from: Option<usize>,
}

/// What a layer computes and communicates in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Time that it computes.
    pub compute: Duration,
    /// What it communicates then: the kind, the group and the bytes.
    pub communication: Option<(Kind, Group, u64)>,
}

const KEYS: [&str; 10] = [
    "model_parallel_NPU_group",
    "ep",
    "pp",
    "vpp",
    "ga",
    "all_gpus",
    "checkpoints",
    "checkpoint_initiates",
    "pp_comm",
    "DLRM_LAST_BOTTOM_LAYER",
];
/// Keys that only policies with groups read.
const OF_GROUPS: [&str; 5] = ["model_parallel_NPU_group", "ep", "pp", "vpp", "ga"];
const TYPES: [(&str, Kind); 5] = [
    ("ALLREDUCE", Kind::AllReduce),
    ("ALLGATHER", Kind::AllGather),
    ("REDUCESCATTER", Kind::ReduceScatter),
    ("ALLTOALL", Kind::AllToAll),
    ("BROADCAST", Kind::Broadcast),
];
/// Words of a row, without its policy.
const WORDS: usize = 12;
/// Most rows.
const ROWS_MAX: u64 = 1 << 20;

/// Reads a workload. `file` is its name in messages.
///
/// # Errors
/// At the first line that is not valid.
pub fn read(text: &str, file: &str) -> Result<Model, Refused> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let at = |line: u64, problem: String| Refused::line(file, line, problem);
    let Some((first, header)) = lines.next() else {
        return Err(Refused::at(file, "is empty: expected a policy, such as HYBRID_TRANSFORMER_FWD_IN_BCKWD"));
    };
    let (mut model, again) = header_of(header).map_err(|problem| at(first, problem))?;
    let (line, rows) = lines.next().unwrap_or((first + 1, ""));
    let rows: u64 = digits(rows.trim())
        .filter(|rows| (1..=ROWS_MAX).contains(rows))
        .ok_or_else(|| at(line, format!("{}: expected the number of rows, 1 to {ROWS_MAX}", quoted(rows.trim()))))?;
    let mut last = line;
    for (line, row) in lines {
        last = line;
        if model.layers.len() as u64 == rows {
            return Err(at(line, format!("{}: expected the end after {rows} rows", quoted(row.trim()))));
        }
        let layer = layer_of(row, line, model.policy, model.layers.len()).map_err(|problem| at(line, problem))?;
        model.layers.push(layer);
    }
    if (model.layers.len() as u64) < rows {
        return Err(at(last + 1, format!("the file ends after {} rows: expected {rows}", model.layers.len())));
    }
    again.mark(&mut model.layers).map_err(|problem| at(first, problem))?;
    if let Some(bottom) = model.last_bottom
        && bottom >= model.layers.len()
    {
        return Err(at(first, format!("DLRM_LAST_BOTTOM_LAYER {bottom}: expected 0 to {}", model.layers.len() - 1)));
    }
    Ok(model)
}

/// Rows that run forward again: rows whose input is kept, and rows before whose backward pass that happens.
#[derive(Default)]
struct Again {
    /// In rising order, as the next.
    checkpoints: Vec<usize>,
    initiates: Vec<usize>,
}

impl Again {
    /// Notes at each row what runs again before its backward pass.
    fn mark(self, layers: &mut [Layer]) -> Result<(), String> {
        for (key, rows) in [("checkpoints", &self.checkpoints), ("checkpoint_initiates", &self.initiates)] {
            if let Some(row) = rows.last().filter(|row| **row >= layers.len()) {
                return Err(format!("{key}: there is no row {row}: expected 0 to {}", layers.len() - 1));
            }
        }
        // Running again ends at the first such row, so none may lie between a checkpoint and its row.
        let mut before = 0;
        for row in self.initiates {
            let up_to = self.checkpoints.partition_point(|checkpoint| *checkpoint <= row);
            let last = self.checkpoints[..up_to].last().copied();
            let Some(from) = last.filter(|from| (before..row).contains(from)) else {
                let found = last.map_or("there is none".into(), |last| format!("it is row {last}"));
                let expected = if row == 0 { "another row".into() } else { format!("row {before} to {}", row - 1) };
                return Err(format!("checkpoint_initiates: row {row}: its checkpoint: {found}: expected {expected}"));
            };
            layers[row].again_from = Some(from);
            before = row;
        }
        Ok(())
    }
}

/// Words of a header.
type Words<'a> = Peekable<SplitWhitespace<'a>>;

fn header_of(line: &str) -> Result<(Model, Again), String> {
    let mut words = line.split_whitespace().peekable();
    let name = words.next().unwrap_or_default();
    let Some((_, policy)) = POLICIES.into_iter().find(|(known, _)| *known == name) else {
        let names = POLICIES.map(|(name, _)| name).join(", ");
        return Err(format!("{}: expected one of the policies {names}", quoted(name)));
    };
    let mut model = Model {
        policy,
        tensor: None,
        expert: 1,
        stages: 1,
        microbatches: 1,
        ranks: None,
        stage_bytes: 0,
        last_bottom: None,
        layers: Vec::new(),
    };
    let is_dlrm = matches!(policy.runs(), Loop::Dlrm { .. });
    if is_dlrm && let Some(bottom) = words.peek().and_then(digits::<u32>) {
        (model.last_bottom, _) = (Some(bottom as usize), words.next());
    }
    let mut again = Again::default();
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let key = word.trim_end_matches(':');
        let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
            return Err(format!("{}: expected one of the keys {}", quoted(word), KEYS.join(", ")));
        };
        if given.contains(&key) || key == "DLRM_LAST_BOTTOM_LAYER" && model.last_bottom.is_some() {
            return Err(format!("{key}: expected each key once"));
        }
        given.push(key);
        let ranks = u64::from(crate::job::RANKS_MAX);
        if OF_GROUPS.contains(&key) && !policy.has_groups() {
            let expected = format!("expected 1: {name} does not read it");
            let value = words.next().unwrap_or_default();
            if digits::<u64>(value) != Some(1) {
                return Err(format!("{key} {}: {expected}", quoted(value)));
            }
            continue;
        }
        match key {
            "model_parallel_NPU_group" => {
                let tensor = number(&mut words, key, 0, ranks)? as u32;
                model.tensor = Some(tensor).filter(|tensor| *tensor > 0);
            }
            "ep" => model.expert = number(&mut words, key, 1, ranks)? as u32,
            "pp" => model.stages = number(&mut words, key, 1, ranks)? as u32,
            "ga" => model.microbatches = number(&mut words, key, 1, 1 << 16)? as u32,
            "all_gpus" => model.ranks = Some(number(&mut words, key, 1, ranks)? as u32),
            "pp_comm" => model.stage_bytes = number(&mut words, key, 0, BYTES_MAX)?,
            "vpp" => _ = number(&mut words, key, 1, 1 << 16)?,
            "checkpoints" => again.checkpoints = rows_of(&mut words, key, policy)?,
            "checkpoint_initiates" => again.initiates = rows_of(&mut words, key, policy)?,
            _ if !is_dlrm => return Err(format!("{key}: expected it only under HYBRID_DLRM and HYBRID_DLRM_ENHANCED")),
            _ => model.last_bottom = Some(number(&mut words, key, 0, ROWS_MAX)? as usize),
        }
    }
    if is_dlrm && model.last_bottom.is_none() {
        return Err(format!("{name}: expected DLRM_LAST_BOTTOM_LAYER: and the row at which forward waits"));
    }
    Ok((model, again))
}

fn number(words: &mut Words, key: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = words.next().unwrap_or_default();
    let number = digits::<u64>(value).filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{key} {}: expected {least} to {most}", quoted(value)))
}

/// Reads a number of rows and the rows.
fn rows_of(words: &mut Words, key: &str, policy: Policy) -> Result<Vec<usize>, String> {
    let count = number(words, key, 0, ROWS_MAX)?;
    if count > 0 && policy != Policy::TransformerForwardInBackward {
        return Err(format!("{key} {count}: expected 0: only HYBRID_TRANSFORMER_FWD_IN_BCKWD runs rows again"));
    }
    let mut rows = Vec::new();
    for _ in 0..count {
        rows.push(number(words, key, 0, ROWS_MAX)? as usize);
    }
    rows.sort_unstable();
    if let Some([row, _]) = rows.array_windows().find(|[row, next]| row == next) {
        return Err(format!("{key}: row {row}: expected each row once"));
    }
    Ok(rows)
}

fn layer_of(row: &str, line: u64, policy: Policy, number: usize) -> Result<Layer, String> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let customized = policy == Policy::HybridCustomized;
    let expected = WORDS + usize::from(customized);
    if words.len() != expected {
        return Err(format!("a row of {} words: expected {expected}", words.len()));
    }
    let policy = match customized {
        false => policy,
        true => OF_ROWS.into_iter().find(|policy| policy.name() == words[WORDS]).ok_or_else(|| {
            format!("{}: expected one of {}", quoted(words[WORDS]), OF_ROWS.map(Policy::name).join(", "))
        })?,
    };
    if words[1] != "-1" {
        return Err(format!("dependency {}: expected -1", quoted(words[1])));
    }
    let time = |word: &str| {
        let most = TIME_MAX.0 / 1000;
        let ns = digits::<u64>(word).filter(|ns| *ns <= most);
        ns.map(Duration::from_ns).ok_or_else(|| format!("{}: expected nanoseconds, 0 to {most}", quoted(word)))
    };
    let pass = |first: usize, direction: Direction| {
        let [compute, word, bytes] = [words[first], words[first + 1], words[first + 2]];
        let size = digits::<u64>(bytes).filter(|bytes| *bytes <= BYTES_MAX);
        let size = size.ok_or_else(|| format!("{}: expected bytes, 0 to {BYTES_MAX}", quoted(bytes)))?;
        let compute = time(compute)?;
        let communication = match type_of(word, policy)? {
            Some((kind, suffix)) if size > 0 && policy.has(direction) => {
                let group = suffix.or_else(|| policy.group(direction, number, kind));
                let group = group.ok_or_else(|| {
                    format!("{} of {size} bytes: expected NONE, as {} does not run it", quoted(word), policy.name())
                })?;
                Some((kind, group, size))
            }
            // Micro benchmarks have these columns filled, and inference those of the backward pass.
            _ => None,
        };
        Ok::<_, String>(Pass { compute, communication })
    };
    Ok(Layer {
        line,
        name: words[0].into(),
        passes: [pass(2, Direction::Forward)?, pass(5, Direction::Input)?, pass(8, Direction::Weights)?],
        update: time(words[11])?,
        again_from: None,
    })
}

/// Kind of a type, and the group that its suffix names.
fn type_of(word: &str, policy: Policy) -> Result<Option<(Kind, Option<Group>)>, String> {
    if word == "NONE" {
        return Ok(None);
    }
    let (name, group) = match (word.strip_suffix("_DP_EP"), word.strip_suffix("_EP")) {
        (Some(name), _) => (name, Some(Group::DataOfExperts)),
        (None, Some(name)) => (name, Some(Group::Expert)),
        (None, None) => (word, None),
    };
    let Some((_, kind)) = TYPES.into_iter().find(|(known, _)| *known == name) else {
        let names = TYPES.map(|(name, _)| name).join(", ");
        return Err(format!("{}: expected NONE, or one of {names}, perhaps with _EP or _DP_EP", quoted(word)));
    };
    if group.is_some() && !policy.has_groups() {
        return Err(format!("{}: expected no suffix: {} has no groups of experts", quoted(word), policy.name()));
    }
    Ok(Some((kind, group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 2 all_gpus: 16 \
                          checkpoints: 0 checkpoint_initiates: 0 pp_comm 65536";

    #[test]
    fn a_header_and_rows_are_read() {
        let text = format!(
            "{HEADER}\n2\nattention  -1 210000 ALLGATHER 8388608 105000 REDUCESCATTER 8388608 105000 NONE 0 100\n\
             moe\t-1\t300000\tALLTOALL_EP\t2097152\t300000\tALLTOALL_EP\t0\t1\tALLREDUCE_DP_EP\t33554432\t100\n"
        );
        let model = read(&text, "m.txt").expect("valid");
        assert_eq!((model.tensor, model.expert, model.stages, model.microbatches), (Some(4), 2, 1, 2));
        assert_eq!((model.ranks, model.stage_bytes, model.layers.len()), (Some(16), 65536, 2));
        let [forward, input, weights] = model.layers[0].passes;
        assert_eq!(forward.compute, Duration::from_ns(210_000));
        assert_eq!(forward.communication, Some((Kind::AllGather, Group::Inner, 8_388_608)));
        assert_eq!(input.communication, Some((Kind::ReduceScatter, Group::Inner, 8_388_608)));
        assert_eq!(weights.communication, None);
        let [forward, input, weights] = model.layers[1].passes;
        assert_eq!(forward.communication, Some((Kind::AllToAll, Group::Expert, 2_097_152)));
        assert_eq!(input.communication, None, "of no bytes");
        assert_eq!(weights.communication, Some((Kind::AllReduce, Group::DataOfExperts, 33_554_432)));
    }

    #[test]
    fn rows_run_again_from_the_checkpoint_below() {
        // The header of ASTRA-sim's Transformer_HybridParallel_Fwd_In_Bckwd.txt.
        let text = |rows: &str| {
            let row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
            format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD {rows}\n21\n{}", row.repeat(21))
        };
        let model = read(&text("checkpoints: 2 2 11 checkpoint_initiates: 2 19 10"), "m").expect("valid");
        let again: Vec<_> =
            (0..).zip(&model.layers).filter_map(|(row, layer)| Some((row, layer.again_from?))).collect();
        assert_eq!(again, [(10, 2), (19, 11)]);
        let cases = [
            ("checkpoints: 1 21", "checkpoints: there is no row 21: expected 0 to 20"),
            ("checkpoints: 2 3 3", "checkpoints: row 3: expected each row once"),
            ("checkpoints: 3 3 4", "checkpoints \"\": expected 0 to 1048576"),
            (
                "checkpoints: 1 7 checkpoint_initiates: 1 5",
                "checkpoint_initiates: row 5: its checkpoint: there is none: expected row 0 to 4",
            ),
            (
                "checkpoints: 1 7 checkpoint_initiates: 1 7",
                "checkpoint_initiates: row 7: its checkpoint: it is row 7: expected row 0 to 6",
            ),
            (
                "checkpoints: 1 2 checkpoint_initiates: 2 5 9",
                "checkpoint_initiates: row 9: its checkpoint: it is row 2: expected row 5 to 8",
            ),
        ];
        for (rows, said) in cases {
            assert_eq!(read(&text(rows), "m").expect_err(rows).to_string(), format!("m:1: {said}"));
        }
    }

    #[test]
    fn each_policy_has_its_groups() {
        let row = |fwd: &str, ig: &str, wg: &str| format!("a -1 1 {fwd} 8 1 {ig} 8 1 {wg} 8 1");
        let all = row("ALLTOALL", "ALLREDUCE", "ALLGATHER");
        let groups = |text: &str| {
            let model = read(text, "m").expect(text);
            let group = |pass: &Pass| pass.communication.map(|(_, group, _)| group);
            model.layers.iter().map(|layer| layer.passes.each_ref().map(group)).collect::<Vec<_>>()
        };
        let (inner, outer, every) = (Some(Group::Inner), Some(Group::Outer), Some(Group::All));
        for (policy, expected) in [
            ("MICRO", [None, None, every]),
            ("DISTRIBUTED_INFERENCE", [every, None, None]),
            ("HYBRID_DATA_MODEL", [inner, inner, outer]),
            ("HYBRID_MODEL_DATA", [outer, outer, inner]),
            ("HYBRID_TRANSFORMER", [inner, inner, outer]),
            ("HYBRID_DLRM 0", [every, every, every]),
            ("HYBRID_DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 0", [every, every, every]),
        ] {
            assert_eq!(groups(&format!("{policy}\n1\n{all}\n")), [expected], "{policy}");
        }
        let rows =
            [("DATA", "NONE", "ALLREDUCE"), ("MODEL", "ALLGATHER", "NONE"), ("HYBRID_MODEL_DATA", "NONE", "NONE")];
        let rows = rows.map(|(policy, forward, weights)| format!("{} {policy}\n", row(forward, "NONE", weights)));
        assert_eq!(
            groups(&format!("HYBRID_CUSTOMIZED\n3\n{}", rows.concat())),
            [[None, None, every], [every, None, None], [None; 3]]
        );
        let refused = |header: &str, row: &str| read(&format!("{header}\n1\n{row}\n"), "m").expect_err(row).to_string();
        let said = |word: &str, policy: &str| {
            format!("m:3: \"{word}\" of 8 bytes: expected NONE, as {policy} does not run it")
        };
        assert_eq!(refused("DATA", &all), said("ALLTOALL", "DATA"));
        assert_eq!(refused("MODEL", &all), said("ALLGATHER", "MODEL"));
        assert_eq!(refused("HYBRID_DLRM 0", &row("ALLREDUCE", "NONE", "NONE")), said("ALLREDUCE", "HYBRID_DLRM"));
        assert_eq!(
            refused("HYBRID_CUSTOMIZED", &format!("{all} MICRO")),
            "m:3: \"MICRO\": expected one of DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA"
        );
        assert_eq!(
            refused("MICRO", &row("NONE", "NONE", "ALLREDUCE_EP")),
            "m:3: \"ALLREDUCE_EP\": expected no suffix: MICRO has no groups of experts"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
        let cases = [
            (String::new(), "m: is empty: expected a policy, such as HYBRID_TRANSFORMER_FWD_IN_BCKWD"),
            ("MICRO\n0\n".into(), "m:2: \"0\": expected the number of rows, 1 to 1048576"),
            (
                format!("MICRO\n1\n{row}\n{row}\n"),
                "m:4: \"a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\": expected the end after 1 rows",
            ),
            (format!("MICRO\n3\n{row}\n{row}\n"), "m:5: the file ends after 2 rows: expected 3"),
            (
                "MICRO tp: 4\n".into(),
                "m:1: \"tp:\": expected one of the keys model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, checkpoint_initiates, pp_comm, DLRM_LAST_BOTTOM_LAYER",
            ),
            ("HYBRID_TRANSFORMER ep: 0\n".into(), "m:1: ep \"0\": expected 1 to 1048576"),
            ("HYBRID_TRANSFORMER ep: 2 ep: 2\n".into(), "m:1: ep: expected each key once"),
            (
                "DATA model_parallel_NPU_group: 4\n".into(),
                "m:1: model_parallel_NPU_group \"4\": expected 1: DATA does not read it",
            ),
            (
                "HYBRID_TRANSFORMER checkpoints: 2 3 4\n".into(),
                "m:1: checkpoints 2: expected 0: only HYBRID_TRANSFORMER_FWD_IN_BCKWD runs rows again",
            ),
            (
                "DATA DLRM_LAST_BOTTOM_LAYER: 4\n".into(),
                "m:1: DLRM_LAST_BOTTOM_LAYER: expected it only under HYBRID_DLRM and HYBRID_DLRM_ENHANCED",
            ),
            (
                "HYBRID_DLRM\n".into(),
                "m:1: HYBRID_DLRM: expected DLRM_LAST_BOTTOM_LAYER: and the row at which forward waits",
            ),
            (format!("HYBRID_DLRM 1\n1\n{row}\n"), "m:1: DLRM_LAST_BOTTOM_LAYER 1: expected 0 to 0"),
            (format!("HYBRID_CUSTOMIZED\n1\n{row}\n"), "m:3: a row of 12 words: expected 13"),
            (format!("MICRO\n1\n{row} DATA\n"), "m:3: a row of 13 words: expected 12"),
            (format!("MICRO\n1\n{}\n", row.replace("-1", "3")), "m:3: dependency \"3\": expected -1"),
            (
                format!("MICRO\n1\n{}\n", row.replacen("NONE", "ALLREDUCEALLTOALL", 1)),
                "m:3: \"ALLREDUCEALLTOALL\": expected NONE, or one of ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST, perhaps with _EP or _DP_EP",
            ),
            (
                format!("MICRO\n1\n{}\n", row.replacen("NONE 0", "NONE 9223372036854775808", 1)),
                "m:3: \"9223372036854775808\": expected bytes, 0 to 137438953472",
            ),
        ];
        for (text, said) in cases {
            assert_eq!(read(&text, "m").expect_err(&text).to_string(), said);
        }
        assert!(
            read("NEW\n", "m")
                .expect_err("a policy")
                .to_string()
                .starts_with("m:1: \"NEW\": expected one of the policies MICRO,")
        );
    }
}
