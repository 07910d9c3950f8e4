//! Schemes: published combinations of choices for switches and hosts, each a fragment of TOML. Profiles: conventions of
//! another simulator, also as fragments.

use std::path::Path;
use std::sync::OnceLock;

use serde::Serialize;

use crate::document::{Node, Place, Table, Value};
use crate::merge::{merge, path};
use backwater_schemes::registry::{FORMER_NAMES, all_presets};

/// A scheme as `backwater list schemes` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemeInfo {
    /// Name in `scheme = "..."`.
    pub name: &'static str,
    /// Name in prose.
    pub title: String,
    /// Description in one sentence.
    pub summary: String,
    /// Source of its parameters.
    pub source: String,
}

/// Profiles, by their names in `compat = "..."`.
const PROFILES: [(&str, &str); 1] = [("hpcc-sim", include_str!("../profiles/hpcc-sim.toml"))];

/// Returns all schemes, in the order of listing.
pub fn schemes() -> Vec<SchemeInfo> {
    presets().iter().map(|preset| preset.info.clone()).collect()
}

/// Returns the keys that a scheme sets; `None` for an unknown scheme.
pub(crate) fn preset(name: &str) -> Option<&'static Table> {
    presets().iter().find(|preset| preset.info.name == name).map(|preset| &preset.keys)
}

/// Replaces former names of schemes by the present ones, at `scheme` wherever it stands: in variants, regions, scales and
/// sweeps too.
pub(crate) fn rename(table: &mut Table) {
    for (key, node) in table {
        let names_a_scheme = path(key).last().is_some_and(|last| last == "scheme");
        rename_in(node, names_a_scheme);
    }
}

/// Replaces former names in `node`: of its tables, and if it names a scheme or several, its own.
pub(crate) fn rename_in(node: &mut Node, names_a_scheme: bool) {
    match &mut node.value {
        Value::Table(table) => rename(table),
        Value::Array(items) => items.iter_mut().for_each(|item| rename_in(item, names_a_scheme)),
        Value::Text(text) if names_a_scheme => {
            if let Some((_, name)) = FORMER_NAMES.iter().find(|(former, _)| former == text) {
                *text = name.to_string();
            }
        }
        _ => {}
    }
}

/// Names of schemes.
pub(crate) fn names() -> Vec<&'static str> {
    all_presets().map(|(name, _)| name).collect()
}

/// Returns the keys that a profile lays over those of `scheme`, common ones and then the scheme's; `None` for an
/// unknown profile.
pub(crate) fn profile(name: &str, scheme: &str) -> Option<Table> {
    static ALL: OnceLock<Vec<Preset>> = OnceLock::new();
    let all = ALL.get_or_init(|| PROFILES.iter().map(|(name, text)| parse(name, text, "profile")).collect());
    let mut keys = all.iter().find(|profile| profile.info.name == name)?.keys.clone();
    let own = keys.remove("scheme").and_then(|schemes| schemes.table()?.get(scheme).cloned());
    if let Some(own) = own {
        merge(&mut keys, own.into_table());
    }
    Some(keys)
}

struct Preset {
    info: SchemeInfo,
    keys: Table,
}

fn presets() -> &'static [Preset] {
    static ALL: OnceLock<Vec<Preset>> = OnceLock::new();
    ALL.get_or_init(|| all_presets().map(|(name, text)| parse(name, text, "preset")).collect())
}

fn parse(name: &'static str, text: &str, kind: &str) -> Preset {
    let document =
        Node::from_toml(text, name, Path::new("")).unwrap_or_else(|error| panic!("a preset is valid TOML: {error}"));
    let Value::Table(mut keys) = placed(document, name).value else { unreachable!("a document is a table") };
    let about = keys.remove(kind).expect("a fragment opens with what it is");
    let text = |key: &str| about.get(key).and_then(Node::text).expect("it has title, summary and source").to_string();
    let info = SchemeInfo { name, title: text("title"), summary: text("summary"), source: text("source") };
    Preset { info, keys }
}

/// Sets the place of every node to the preset.
fn placed(node: Node, name: &'static str) -> Node {
    let value = match node.value {
        Value::Table(table) => Value::Table(table.into_iter().map(|(key, node)| (key, placed(node, name))).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(|node| placed(node, name)).collect()),
        value => value,
    };
    Node { value, place: Place::Preset(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_says_what_it_is() {
        for scheme in schemes() {
            assert!(!scheme.title.is_empty() && !scheme.summary.is_empty() && !scheme.source.is_empty(), "{scheme:?}");
            assert!(preset(scheme.name).is_some());
        }
    }

    #[test]
    fn a_profile_has_keys_for_all_schemes_and_for_one() {
        let keys = |scheme| profile("hpcc-sim", scheme).expect("shipped");
        let ecn = |keys: &Table| keys["switch"].table().expect("a table").contains_key("ecn");
        assert!(ecn(&keys("dctcp")) && !ecn(&keys("pfc")) && !keys("dctcp").contains_key("scheme"));
        assert!(profile("nonsense", "dctcp").is_none());
    }
}
