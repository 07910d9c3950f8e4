//! The speeds of an earlier build, committed beside this file, and the machine that they are of.
//!
//! Speeds of two machines cannot be compared, and a ratio of them says nothing about a build.

use serde_json::{Value, json};
use std::fs;

const KEPT: &str = include_str!("baseline.json");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/bench/baseline.json");

/// Speeds of an earlier build, and the machine that they are of.
pub(crate) struct Baseline {
    machine: Value,
    rows: Vec<Value>,
}

impl Baseline {
    /// Returns the baseline as this build was compiled with it.
    pub(crate) fn kept() -> Baseline {
        Baseline::parse(KEPT)
    }

    fn parse(text: &str) -> Baseline {
        let mut kept: Value = serde_json::from_str(text).expect("baseline.json is JSON");
        let rows = kept["rows"].as_array().cloned().unwrap_or_default();
        Baseline { machine: kept["machine"].take(), rows }
    }

    /// Whether the baseline is of the machine on which this program runs.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.machine == machine()
    }

    /// Names the machine of the baseline.
    pub(crate) fn machine(&self) -> String {
        let of = |key: &str| self.machine[key].as_str().unwrap_or("unknown");
        format!("{}, model {}, {} cores", of("processor"), of("model"), self.machine["cores"])
    }

    /// Returns the speed of a row over that of the baseline. `None` if the baseline is of another machine, or lacks the
    /// row.
    pub(crate) fn ratio(&self, row: &Value) -> Option<f64> {
        let before = self.rows.iter().find(|before| is_same(before, row)).filter(|_| self.is_of_this_machine())?;
        Some(row["packet_hops_per_s"].as_f64()? / before["packet_hops_per_s"].as_f64()?)
    }

    /// Puts the speeds of `rows` into the file of the baseline. A baseline of another machine makes way.
    pub(crate) fn keep(rows: &[Value]) -> std::io::Result<()> {
        // Another call may have written the file since this build.
        let Baseline { machine: of, rows: mut all } = Baseline::parse(&fs::read_to_string(PATH)?);
        let here = machine();
        if of != here {
            all.clear();
        }
        for row in rows {
            all.retain(|before| !is_same(before, row));
            let told = ["scenario", "scheme", "threads", "packet_hops_per_s"];
            all.push(told.iter().map(|key| (key.to_string(), row[*key].clone())).collect());
        }
        let text = serde_json::to_string_pretty(&json!({"machine": here, "rows": all}))? + "\n";
        fs::write(PATH, text)
    }
}

fn is_same(a: &Value, b: &Value) -> bool {
    ["scenario", "scheme", "threads"].iter().all(|key| a[*key] == b[*key])
}

/// Describes this machine: processor, its model and clock, cores, and a hash of the number that its system gave it.
///
/// Virtual machines of one image have the same number, and their processors often have a name without a model.
pub(crate) fn machine() -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let told = |key: &str| {
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let model = ["cpu family", "model", "stepping", "bogomips"].map(|key| told(key).unwrap_or("?")).join("/");
    let id = read("/etc/machine-id");
    json!({
        "processor": told("model name").unwrap_or(std::env::consts::ARCH),
        "model": model,
        "cores": std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        "id": &blake3::hash(id.trim().as_bytes()).to_hex()[..16],
    })
}
