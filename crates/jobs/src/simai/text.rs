//! Reads text workloads.
//!
//! Source: `Workload.cc` of SimAI (aliyun/SimAI cef83f9) and the files of AICB.
//!
//! ```text
//! line 1:  POLICY [KEY: NUMBER]...
//! line 2:  number of rows
//! a row:   name dep fwd_ns fwd_type fwd_bytes ig_ns ig_type ig_bytes wg_ns wg_type wg_bytes update_ns
//! ```
//!
//! `fwd` is the forward pass, `ig` the gradient of the input and `wg` that of the weights. A type is `NONE`, `ALLREDUCE`,
//! `ALLGATHER`, `REDUCESCATTER`, `ALLTOALL` or `BROADCAST`, perhaps with `_EP` or `_DP_EP`, which name the group.
//!
//! | in a file | here |
//! |---|---|
//! | `pp_comm` with or without a colon | read |
//! | `checkpoints: k a b`, of which SimAI reads `a` k times | refused unless k is 0: the recomputation is not modelled |
//! | `vpp`, which SimAI reads and does not use | read; the interleaving is an option of the reader |
//! | `ALLREDUCEALLTOALL`, which SimAI reads as `ALLREDUCE` | refused |
//! | a type that SimAI does not know, which it takes for `NONE` | refused, except `BROADCAST` |
//! | `dep` | has to be -1, as SimAI's other values have no meaning |
//! | rows of a customised policy, with a word more | refused |
//! | another number of rows than line 2 says | refused |

use crate::collective::Kind;
use crate::op::{BYTES_MAX, TIME_MAX};
use crate::refused::Refused;
use crate::text::{digits, quoted};
use backwater_types::Duration;

/// A workload as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Policy of line 1.
    pub policy: String,
    /// Tensor parallelism: `model_parallel_NPU_group`.
    pub tensor: u32,
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
    /// Time to update the weights.
    pub update: Duration,
}

/// What a layer computes and communicates in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Time that it computes.
    pub compute: Duration,
    /// What it communicates then: the kind, the group and the bytes.
    pub communication: Option<(Kind, Group, u64)>,
}

/// Group that a communication is within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Of tensor parallelism.
    Tensor,
    /// Of data parallelism.
    Data,
    /// Of expert parallelism.
    Expert,
    /// Of data parallelism of the experts.
    DataOfExperts,
}

const POLICIES: [&str; 13] = [
    "MICRO",
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_DLRM",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "TRANSFORMER",
    "TRANSFORMERFWD",
    "DLRM",
    "DLRM_ENHANCED",
    "DISTRIBUTED_INFERENCE",
];
const KEYS: [&str; 9] =
    ["model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "checkpoints", "checkpoint_initiates", "pp_comm"];
const TYPES: [(&str, Kind); 5] = [
    ("ALLREDUCE", Kind::AllReduce),
    ("ALLGATHER", Kind::AllGather),
    ("REDUCESCATTER", Kind::ReduceScatter),
    ("ALLTOALL", Kind::AllToAll),
    ("BROADCAST", Kind::Broadcast),
];
/// Words of a row.
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
    let Some((line, header)) = lines.next() else {
        return Err(Refused::at(file, "is empty: expected a policy, such as HYBRID_TRANSFORMER_FWD_IN_BCKWD"));
    };
    let mut model = header_of(header).map_err(|problem| at(line, problem))?;
    let (line, rows) = lines.next().unwrap_or((line + 1, ""));
    let rows: u64 = digits(rows.trim())
        .filter(|rows| (1..=ROWS_MAX).contains(rows))
        .ok_or_else(|| at(line, format!("{}: expected the number of rows, 1 to {ROWS_MAX}", quoted(rows.trim()))))?;
    let mut last = line;
    for (line, row) in lines {
        last = line;
        if model.layers.len() as u64 == rows {
            return Err(at(line, format!("{}: expected the end after {rows} rows", quoted(row.trim()))));
        }
        model.layers.push(layer_of(row, line).map_err(|problem| at(line, problem))?);
    }
    if (model.layers.len() as u64) < rows {
        return Err(at(last + 1, format!("the file ends after {} rows: expected {rows}", model.layers.len())));
    }
    Ok(model)
}

fn header_of(line: &str) -> Result<Model, String> {
    let mut words = line.split_whitespace().peekable();
    let policy = words.next().unwrap_or_default();
    if !POLICIES.contains(&policy) {
        return Err(format!("{}: expected one of the policies {}", quoted(policy), POLICIES.join(", ")));
    }
    let mut model = Model {
        policy: policy.into(),
        tensor: 1,
        expert: 1,
        stages: 1,
        microbatches: 1,
        ranks: None,
        stage_bytes: 0,
        layers: Vec::new(),
    };
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let key = word.trim_end_matches(':');
        let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
            return Err(format!("{}: expected one of the keys {}", quoted(word), KEYS.join(", ")));
        };
        if given.contains(&key) {
            return Err(format!("{key}: expected each key once"));
        }
        given.push(key);
        let value = words.next().unwrap_or_default();
        let number = |least: u64, most: u64| {
            let number = digits::<u64>(value).filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("{key} {}: expected {least} to {most}", quoted(value)))
        };
        let ranks = u64::from(crate::job::RANKS_MAX);
        match key {
            "model_parallel_NPU_group" => model.tensor = number(1, ranks)? as u32,
            "ep" => model.expert = number(1, ranks)? as u32,
            "pp" => model.stages = number(1, ranks)? as u32,
            "ga" => model.microbatches = number(1, 1 << 16)? as u32,
            "all_gpus" => model.ranks = Some(number(1, ranks)? as u32),
            "pp_comm" => model.stage_bytes = number(0, BYTES_MAX)?,
            "vpp" => _ = number(1, 1 << 16)?,
            _ => {
                let expected = "expected 0: recomputation from checkpoints is not modelled";
                number(0, 0).map_err(|_| format!("{key} {}: {expected}", quoted(value)))?;
            }
        }
    }
    Ok(model)
}

fn layer_of(row: &str, line: u64) -> Result<Layer, String> {
    let words: Vec<&str> = row.split_whitespace().collect();
    if words.len() != WORDS {
        return Err(format!("a row of {} words: expected {WORDS}", words.len()));
    }
    if words[1] != "-1" {
        return Err(format!("dependency {}: expected -1", quoted(words[1])));
    }
    let time = |word: &str| {
        let most = TIME_MAX.0 / 1000;
        let ns = digits::<u64>(word).filter(|ns| *ns <= most);
        ns.map(Duration::from_ns).ok_or_else(|| format!("{}: expected nanoseconds, 0 to {most}", quoted(word)))
    };
    let pass = |first: usize, none: Group| {
        let [compute, kind, bytes] = [words[first], words[first + 1], words[first + 2]];
        let size = digits::<u64>(bytes).filter(|bytes| *bytes <= BYTES_MAX);
        let size = size.ok_or_else(|| format!("{}: expected bytes, 0 to {BYTES_MAX}", quoted(bytes)))?;
        let communication = communication_of(kind, none)?.filter(|_| size > 0).map(|(kind, group)| (kind, group, size));
        Ok::<_, String>(Pass { compute: time(compute)?, communication })
    };
    Ok(Layer {
        line,
        name: words[0].into(),
        passes: [pass(2, Group::Tensor)?, pass(5, Group::Tensor)?, pass(8, Group::Data)?],
        update: time(words[11])?,
    })
}

/// Kind and group of a type; `none` is the group of one without a suffix.
fn communication_of(word: &str, none: Group) -> Result<Option<(Kind, Group)>, String> {
    if word == "NONE" {
        return Ok(None);
    }
    let (name, group) = match (word.strip_suffix("_DP_EP"), word.strip_suffix("_EP")) {
        (Some(name), _) => (name, Group::DataOfExperts),
        (None, Some(name)) => (name, Group::Expert),
        (None, None) => (word, none),
    };
    match TYPES.into_iter().find(|(known, _)| *known == name) {
        Some((_, kind)) => Ok(Some((kind, group))),
        None => {
            let names = TYPES.map(|(name, _)| name).join(", ");
            Err(format!("{}: expected NONE, or one of {names}, perhaps with _EP or _DP_EP", quoted(word)))
        }
    }
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
        assert_eq!((model.tensor, model.expert, model.stages, model.microbatches), (4, 2, 1, 2));
        assert_eq!((model.ranks, model.stage_bytes, model.layers.len()), (Some(16), 65536, 2));
        let [forward, input, weights] = model.layers[0].passes;
        assert_eq!(forward.compute, Duration::from_ns(210_000));
        assert_eq!(forward.communication, Some((Kind::AllGather, Group::Tensor, 8_388_608)));
        assert_eq!(input.communication, Some((Kind::ReduceScatter, Group::Tensor, 8_388_608)));
        assert_eq!(weights.communication, None);
        let [forward, input, weights] = model.layers[1].passes;
        assert_eq!(forward.communication, Some((Kind::AllToAll, Group::Expert, 2_097_152)));
        assert_eq!(input.communication, None, "of no bytes");
        assert_eq!(weights.communication, Some((Kind::AllReduce, Group::DataOfExperts, 33_554_432)));
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
                "m:1: \"tp:\": expected one of the keys model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, checkpoint_initiates, pp_comm",
            ),
            ("MICRO ep: 0\n".into(), "m:1: ep \"0\": expected 1 to 1048576"),
            ("MICRO ep: 2 ep: 2\n".into(), "m:1: ep: expected each key once"),
            (
                "MICRO checkpoints: 2 3 4\n".into(),
                "m:1: checkpoints \"2\": expected 0: recomputation from checkpoints is not modelled",
            ),
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
