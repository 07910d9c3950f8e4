//! The groups of ranks come from a file beside a trace (`model.groups`), or from the trace itself.
//!
//! A file is JSON, `{"1": [0, 2, 4]}`. In a trace, a metadata node named `process_group:init` has the groups of PyTorch:
//! a list of `{"pg_name": "1", "ranks": [0, 2, 4]}`. An empty list of ranks stands for all ranks, as PyTorch writes it.

use super::node::Node;
use crate::job::RANKS_MAX;
use crate::refused::Refused;
use crate::text::quoted;
use serde_json::Value;
use std::collections::BTreeMap;

/// Names of groups that a message shows.
const NAMES: usize = 8;

/// Groups by name. One without ranks has all, and so has a group that is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups(BTreeMap<String, Vec<u32>>);

impl From<BTreeMap<String, Vec<u32>>> for Groups {
    fn from(groups: BTreeMap<String, Vec<u32>>) -> Groups {
        Groups(groups)
    }
}

impl Groups {
    /// Reads a file of groups. `file` is its name in messages.
    ///
    /// # Errors
    /// If it is not JSON of this form.
    pub fn read(text: &str, file: &str) -> Result<Groups, Refused> {
        let refuse = |problem: String| Refused::at(file, problem);
        let json: Value = serde_json::from_str(text).map_err(|error| refuse(format!("is not JSON: {error}")))?;
        let expected = "expected an object of lists of ranks, such as {\"1\": [0, 2, 4]}";
        let Value::Object(all) = json else { return Err(refuse(expected.into())) };
        let mut groups = Groups::default();
        for (name, ranks) in all {
            let ranks = ranks_of(&ranks).ok_or_else(|| refuse(format!("group {}: {expected}", quoted(&name))))?;
            groups.0.insert(name, ranks);
        }
        Ok(groups)
    }

    /// Adds the groups that a metadata node has, if it has any. What it cannot read is left out: then nodes that name such
    /// a group are refused.
    pub(super) fn add(&mut self, node: &Node) {
        if !node.name.contains("process_group:init") {
            return;
        }
        let Ok(mut json) = serde_json::from_str::<Value>(&node.inputs) else { return };
        // The list may stand in a text within a list.
        while let Value::Array(list) = &json
            && let [Value::String(text)] = list.as_slice()
        {
            let Ok(inner) = serde_json::from_str(text) else { return };
            json = inner;
        }
        for group in json.as_array().into_iter().flatten() {
            let name = match &group["pg_name"] {
                Value::String(name) => name.clone(),
                Value::Number(name) => name.to_string(),
                _ => continue,
            };
            if let Some(ranks) = ranks_of(&group["ranks"]) {
                self.0.entry(name).or_insert(ranks);
            }
        }
    }

    /// Returns the ranks of a group of `ranks` ranks, and its number among the groups. `None` if there is no such group.
    pub(super) fn of(&self, name: &str, ranks: u32) -> Option<(Vec<u32>, usize)> {
        match self.0.get(name) {
            Some(members) => {
                let members = if members.is_empty() { (0..ranks).collect() } else { members.clone() };
                Some((members, 1 + self.0.keys().position(|other| other == name)?))
            }
            None if name.is_empty() || self.0.is_empty() || name == "0" => Some(((0..ranks).collect(), 0)),
            None => None,
        }
    }

    /// Number of ranks of a group of `ranks` ranks; all, if there is no such group.
    pub(super) fn size(&self, name: &str, ranks: u32) -> u64 {
        self.0.get(name).filter(|members| !members.is_empty()).map_or(ranks.into(), |members| members.len() as u64)
    }

    /// Names of the groups, of many the first.
    pub(super) fn names(&self) -> String {
        let mut names: Vec<String> = self.0.keys().take(NAMES).map(quoted).collect();
        if self.0.len() > NAMES {
            names.push("...".into());
        }
        names.join(", ")
    }
}

/// Ranks in a list, each once.
fn ranks_of(list: &Value) -> Option<Vec<u32>> {
    let rank = |value: &Value| value.as_u64().filter(|rank| *rank < u64::from(RANKS_MAX)).map(|rank| rank as u32);
    let ranks: Vec<u32> = list.as_array()?.iter().map(rank).collect::<Option<_>>()?;
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == ranks.len()).then_some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_from_a_file_or_from_the_trace() {
        let mut groups = Groups::read("{\"1\": [0, 2, 4], \"b\": [1]}", "g.json").expect("valid");
        assert_eq!(groups.of("1", 8), Some((vec![0, 2, 4], 1)));
        assert_eq!((groups.of("", 3), groups.of("9", 3)), (Some((vec![0, 1, 2], 0)), None));
        let inputs = "[\"[{\\\"pg_name\\\": \\\"7\\\", \\\"ranks\\\": [3, 5]}, {\\\"pg_name\\\": \\\"8\\\", \\\"ranks\\\": []}]\"]";
        groups.add(&Node { name: "## process_group:init ##".into(), inputs: inputs.into(), ..Node::default() });
        assert_eq!(groups.of("7", 8), Some((vec![3, 5], 2)));
        assert_eq!((groups.of("8", 8), groups.size("8", 8)), (Some(((0..8).collect(), 3)), 8));
        for (text, said) in [
            ("[", "g: is not JSON: EOF while parsing a list at line 1 column 1"),
            ("[1]", "g: expected an object of lists of ranks, such as {\"1\": [0, 2, 4]}"),
        ] {
            assert_eq!(Groups::read(text, "g").expect_err(text).to_string(), said);
        }
        assert!(
            Groups::read("{\"1\": [0, 0]}", "g")
                .expect_err("twice")
                .to_string()
                .starts_with("g: group \"1\": expected")
        );
    }
}
