//! Labels: the name of each run, which is also that of its directory.

use std::collections::BTreeSet;

use crate::document::{Node, Table};
use crate::plan::axes::Point;
use crate::{compute, merge};

/// Names in a plan's directory that are not those of runs.
const RESERVED: [&str; 6] =
    ["claims.json", "figures", "manifest.json", "report.html", "summary.parquet", "timing.json"];

/// Longest label before a number is added to make it unique, in characters.
const LENGTH_MAX: usize = 100;

/// Labels given out so far, in lower case.
pub(super) struct Labels(BTreeSet<String>);

impl Labels {
    pub(super) fn new() -> Labels {
        Labels(RESERVED.map(String::from).into())
    }

    /// Makes the label of a run, such as `BFC-128.load=0.5`: the variant, or else the scheme that is swept, then the
    /// last part of each swept key, or all of it where last parts are the same.
    pub(super) fn unique(&mut self, name: Option<String>, point: &Point<'_>) -> String {
        let last = |key: &str| merge::path(key).pop().unwrap_or_default();
        let mut parts: Vec<String> = name.into_iter().collect();
        let named = !parts.is_empty();
        for (key, node) in point {
            let value = node.text().map_or_else(|| node.show(), String::from);
            let alone = point.iter().filter(|(other, _)| last(other) == last(key)).count() == 1;
            match *key {
                "scheme" if named => parts.push(value),
                "scheme" => parts.insert(0, value),
                _ if alone => parts.push(format!("{}={value}", last(key))),
                _ => parts.push(format!("{key}={value}")),
            }
        }
        let fit = |c: char| if c.is_ascii_alphanumeric() || "-_+=.".contains(c) { c } else { '-' };
        // "HPCC (no PFC)" is HPCC-noPFC.
        let joined = parts.join(".").replace([' ', ')'], "");
        let joined: String = joined.chars().map(fit).take(LENGTH_MAX).collect();
        let stem = joined.trim_matches(|c| c == '.' || c == '-').to_string();
        let stem = if stem.is_empty() { "run".into() } else { stem };
        let mut label = stem.clone();
        for n in 2.. {
            if self.0.insert(label.to_lowercase()) {
                break;
            }
            label = format!("{stem}-{n}");
        }
        label
    }
}

/// Name of a run without a variant: its scheme, or the kind of computation.
pub(super) fn default_name(keys: &Table) -> Option<&str> {
    let kind = keys.get(compute::KEY).and_then(|compute| compute.get("kind"));
    keys.get("scheme").or(kind).and_then(Node::text)
}
