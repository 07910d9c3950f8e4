//! Figures and expectations of a plan, which are not part of a run: the names in them are checked against the runs.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::compute::Work;
use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::expect::names::{self, Names};
use crate::expect::words;
use crate::model::Scenario;
use crate::plan::PlannedRun;
use crate::plan::axes::Variant;
use crate::plan::labels::default_name;
use crate::{published, topology};

/// The `[figure]`, `[[expect]]`, `[without]`, `[configured]` and `[components]` tables, and the names that they may use.
pub(super) struct Shown {
    figure: Option<Node>,
    expect: Option<Node>,
    without: Option<Node>,
    configured: Option<Node>,
    components: Option<Node>,
    /// Axes of the sweep.
    sweep: Option<Table>,
    /// Whether runs differ in their seed.
    seeds: bool,
    /// Names of the variants, and of the schemes that are swept in their place.
    variants: Vec<String>,
}

impl Shown {
    /// Takes the tables from a file's keys, and checks the published points of the figure.
    pub(super) fn of(keys: &Table, variants: &[Variant], place: &Place) -> Result<Shown, Error> {
        let [figure, expect, without, configured, components] =
            ["figure", "expect", "without", "configured", "components"].map(|key| keys.get(key).cloned());
        let sweep = keys.get("sweep").and_then(Node::table);
        let default = default_name(keys);
        let own: Vec<&str> = variants.iter().filter_map(|variant| variant.name.as_deref().or(default)).collect();
        if let Some(figure) = figure.as_ref().and_then(Node::table) {
            published::check(figure, &own, sweep, place)?;
        }
        let missing = list(figure.as_ref().and_then(|figure| figure.get("missing")));
        // Without a name a run is called by its scheme, which may be swept.
        let schemes = list(sweep.and_then(|sweep| sweep.get("scheme")));
        let variants = own.into_iter().chain(missing.iter().chain(schemes).filter_map(Node::text));
        let variants = variants.map(String::from).collect();
        let seeds = keys.contains_key("seeds") || sweep.is_some_and(|sweep| sweep.contains_key("seed"));
        Ok(Shown { sweep: sweep.cloned(), seeds, variants, figure, expect, without, configured, components })
    }

    /// Checks the names that the tables use. Those of classes, nodes and keys are checked only where `runs` are all
    /// that the file has.
    pub(super) fn check(
        &self,
        swept: &BTreeSet<Vec<String>>,
        results: &BTreeSet<String>,
        place: &Place,
        runs: Option<&Vec<PlannedRun<Work>>>,
    ) -> Result<(), Error> {
        let variants: Vec<&str> = self.variants.iter().map(String::as_str).collect();
        let networks = || runs.into_iter().flatten().filter_map(|run| run.scenario.network());
        let class = |network: &Scenario| network.workload.iter().map(|w| w.class().to_string()).collect::<Vec<_>>();
        let classes = runs.map(|_| networks().flat_map(class).collect());
        let is_number = |path: &str| runs.into_iter().flatten().any(|run| has_number(&run.scenario, path));
        let has_node = |network: &Scenario, name: &str| {
            topology::expand(&network.topology).nodes.iter().any(|node| words::is_like(name, &node.name))
        };
        let is_node = |name: &str| networks().any(|network| has_node(network, name));
        let names = Names {
            is_node: runs.is_some().then_some(&is_node),
            variants: &variants,
            classes: classes.as_ref(),
            is_number: runs.is_some().then_some(&is_number),
            results,
            swept,
            seeds: self.seeds,
            sweep: self.sweep.as_ref(),
            place,
        };
        names::check_instead(self.without.as_ref(), "without", &names)?;
        names::check_instead(self.configured.as_ref(), "configured", &names)?;
        names::check_components(self.components.as_ref(), &names)?;
        names::check_expectations(self.expect.as_ref(), &names)?;
        names::check_panels(self.figure.as_ref(), &names)
    }

    /// Returns the entries of `[without]` that name variants of this plan; a file that extends another may lack some of
    /// its variants.
    pub(super) fn without(&self) -> Json {
        self.instead(self.without.as_ref())
    }

    /// Returns those of `[configured]`.
    pub(super) fn configured(&self) -> Json {
        self.instead(self.configured.as_ref())
    }

    /// Returns those of `[components]`.
    pub(super) fn components(&self) -> Json {
        let of = |parts: &Node| texts(Some(parts)).filter(|(_, other)| self.has(other)).collect::<Json>();
        let table = self.components.as_ref().and_then(Node::table).into_iter().flatten();
        table
            .filter(|(credited, _)| self.has(credited))
            .map(|(credited, parts)| (credited.clone(), of(parts)))
            .collect()
    }

    fn instead(&self, table: Option<&Node>) -> Json {
        texts(table).filter(|(named, other)| self.has(named) && self.has(other)).collect()
    }

    fn has(&self, variant: &str) -> bool {
        self.variants.iter().any(|name| name == variant)
    }

    /// Returns `[figure]`, or null, and the `[[expect]]` tables, as written.
    pub(super) fn into_json(self) -> (Json, Vec<Json>) {
        let expect = match self.expect.map(|node| node.to_json()) {
            Some(Json::Array(list)) => list,
            _ => Vec::new(),
        };
        (self.figure.map_or(Json::Null, |node| node.to_json()), expect)
    }
}

/// Entries of a table of texts; none if `node` is no table.
fn texts(node: Option<&Node>) -> impl Iterator<Item = (String, &str)> {
    let table = node.and_then(Node::table).into_iter().flatten();
    table.map(|(key, value)| (key.clone(), value.text().unwrap_or_default()))
}

/// Entries of a list; none if `node` is not one.
fn list(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

/// Whether a run has a number, or a quantity, at a dotted key.
fn has_number(work: &Work, path: &str) -> bool {
    let document = Node::from_json(&serde_json::to_value(work).expect("a run is plain data"));
    let (node, found) = document.find(path.split('.'));
    found && words::number_of(node).is_some()
}
