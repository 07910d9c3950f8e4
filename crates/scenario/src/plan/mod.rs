//! Plans: a scenario file as the runs it describes, with its scale, variants and sweep multiplied out.
//!
//! ```text
//! sources   reads the keys of the file, of the files that it extends, and of `--set`
//! claims    reads a file together with the claims beside it
//! scale     lays the overrides of one scale over these keys
//! axes      lists variants and points of the sweep; each pair of them is a run
//! layers    completes the document of a run by its preset, profile and chip
//! labels    names each run
//! shown     checks the names in figure and expectations against the runs
//! ```

mod axes;
mod claims;
mod labels;
mod layers;
mod scale;
mod shown;
mod sources;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use crate::compute::{self, Computations, Work};
use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::model::Scenario;
use crate::resolve::resolve;
use crate::schema::PLAN_KEYS;
use crate::{merge, topology};
use axes::{Axis, Point, Variant};
use labels::Labels;
use shown::Shown;
use sources::{Override, Sets, Source};

/// The runs that a scenario file asks for, and how their results are shown and judged. `R` is the type of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan<R = Scenario> {
    /// Name of the scenario; the file's name if it has none.
    pub name: String,
    /// One sentence on what the scenario shows.
    pub description: String,
    /// The runs, in the order of variants, then of the sweep's keys.
    pub runs: Vec<PlannedRun<R>>,
    /// The `[figure]` table as written, or null.
    pub figure: Json,
    /// The `[[expect]]` tables as written.
    pub expect: Vec<Json>,
    /// Name of the scale that was applied; empty if none was.
    pub scale: String,
    /// The `[seeds]` table, or null.
    pub seeds: Json,
    /// The `[without]` table, without entries that name variants of other files.
    pub without: Json,
    /// The `[configured]` table, likewise.
    pub configured: Json,
    /// The `[components]` table, likewise.
    pub components: Json,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedRun<R = Scenario> {
    /// Name of the run and of its directory: unique in the plan, also where case does not count.
    pub label: String,
    /// Place of the run in the plan: "variant" (the scheme if there are no variants) and the value of each swept key.
    pub params: BTreeMap<String, Json>,
    /// The network to simulate, or the computation.
    pub scenario: R,
}

/// Most runs of a plan: more are a slip in a sweep.
const RUNS_MAX: usize = 10_000;
/// Most hosts and switches of all runs together: each run's network is expanded to check it, about 100,000 nodes a
/// second.
const NODES_MAX: usize = 1_000_000;

/// Reads a scenario file of networks to simulate, as [`load_any`].
///
/// # Errors
/// As [`load_any`], and if the file is one of computations.
pub fn load(path: &Path, sets: &[String], scale: Option<&str>) -> Result<Plan, Error> {
    Ok(load_any(path, sets, scale, &Computations::default())?.of_networks())
}

/// Reads a scenario file: of networks to simulate, or of these computations.
///
/// `sets` are `KEY=VALUE` with a dotted key, laid over everything; `scale` is one of the file's scales, or `None` for
/// "quick" if the file has it.
///
/// # Errors
/// If anything is wrong with the file, with a file it names, with `sets` or with `scale`.
pub fn load_any(
    path: &Path,
    sets: &[String],
    scale: Option<&str>,
    computations: &Computations,
) -> Result<Plan<Work>, Error> {
    plan(Source::file(path)?, sets, scale, computations)
}

/// Reads a scenario from text, as [`load_any_str`].
///
/// # Errors
/// As [`load_any_str`], and if the text is one of computations.
pub fn load_str(text: &str, dir: &Path, name: &str, sets: &[String], scale: Option<&str>) -> Result<Plan, Error> {
    Ok(load_any_str(text, dir, name, sets, scale, &Computations::default())?.of_networks())
}

/// Reads a scenario from text. `dir` is the directory that file names in it are relative to; `name` is its name in
/// messages.
///
/// # Errors
/// As [`load_any`].
pub fn load_any_str(
    text: &str,
    dir: &Path,
    name: &str,
    sets: &[String],
    scale: Option<&str>,
    computations: &Computations,
) -> Result<Plan<Work>, Error> {
    plan(Source::text(text, dir, name)?, sets, scale, computations)
}

impl Plan<Work> {
    /// Converts a plan that was read without computations.
    fn of_networks(self) -> Plan {
        let network = |run: PlannedRun<Work>| match run.scenario {
            Work::Simulation(scenario) => PlannedRun { label: run.label, params: run.params, scenario: *scenario },
            Work::Computation(_) => unreachable!("no computation is known, so none was accepted"),
        };
        let Plan { name, description, runs, figure, expect, scale, seeds, without, configured, components } = self;
        Plan {
            name,
            description,
            runs: runs.into_iter().map(network).collect(),
            figure,
            expect,
            scale,
            seeds,
            without,
            configured,
            components,
        }
    }
}

fn plan(
    source: Source,
    sets: &[String],
    scale: Option<&str>,
    computations: &Computations,
) -> Result<Plan<Work>, Error> {
    let Source { keys, place, dir, stem } = source;
    let sets = Sets::parse(sets)?;
    let swept = axes::swept_keys(&keys, &sets.axes);
    let (keys, scale) = scale::at_scale(keys, &place, scale)?;
    let keys = with_sets(keys, &sets)?;
    let Parts { base, variants, axes, seeds, shown } = Parts::of(keys, &sets, &place)?;
    let count = count(&variants, &axes, &place)?;
    let shared = Shared { base, place: &place, sets: &sets.overrides, dir: &dir, computations, count };
    let runs = shared.runs(&variants, &axes)?;

    let results = runs.iter().flat_map(|run| computations.results(&run.scenario)).collect();
    shown.check(&swept, &results, &place, (!sets.change_flows()).then_some(&runs))?;
    let first = &runs[0].scenario;
    let name = [first.text("name"), stem.as_deref().unwrap_or(""), first.called()];
    let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_string();
    let description = first.text("description").to_string();
    let (without, configured, components) = (shown.without(), shown.configured(), shown.components());
    let (figure, expect) = shown.into_json();
    Ok(Plan { name, description, runs, figure, expect, scale, seeds, without, configured, components })
}

/// Lays those `--set` arguments over the keys that change seeds and sweep.
fn with_sets(mut keys: Table, sets: &Sets) -> Result<Table, Error> {
    for (key, node) in &sets.seeds {
        merge::assign(&mut keys, key, node.clone())?;
    }
    sources::check_plan_keys(&keys)?;
    axes::sweep_also(keys, &sets.axes)
}

/// Keys of a scenario file, by what they describe.
struct Parts {
    /// Keys of a run.
    base: Table,
    variants: Vec<Variant>,
    axes: Vec<Axis>,
    /// The `[seeds]` table, or null.
    seeds: Json,
    shown: Shown,
}

impl Parts {
    fn of(keys: Table, sets: &Sets, place: &Place) -> Result<Parts, Error> {
        let variants = Variant::all(&keys)?;
        let shown = Shown::of(&keys, &variants, place)?;
        let variants = axes::picked(variants, sets)?;
        let mut axes = Axis::all(&keys, &sets.overrides)?;
        let seeds = keys.get("seeds").map_or(Json::Null, Node::to_json);
        let seeded = Axis::of_seeds(&keys, &sets.overrides)?;
        let mut base: Table = keys.into_iter().filter(|(key, _)| !PLAN_KEYS.contains(&key.as_str())).collect();
        if let Some((first, axis)) = seeded {
            base.insert("seed".into(), first);
            axes.extend(axis);
        }
        Ok(Parts { base, variants, axes, seeds, shown })
    }
}

/// Counts the runs.
///
/// # Errors
/// If there are too many.
fn count(variants: &[Variant], axes: &[Axis], place: &Place) -> Result<usize, Error> {
    let count = axes.iter().fold(variants.len(), |count, axis| count.saturating_mul(axis.values.len()));
    if count > RUNS_MAX {
        let problem = format!("the sweep makes {count} runs: expected at most {RUNS_MAX}");
        return Err(Error::at(place.to_string(), problem));
    }
    Ok(count)
}

/// Inputs that all runs of a plan share.
struct Shared<'a> {
    /// Keys of the file that are those of a run.
    base: Table,
    /// Place of the file.
    place: &'a Place,
    /// `--set` arguments.
    sets: &'a [Override],
    /// Directory that file names on the command line are relative to.
    dir: &'a Path,
    computations: &'a Computations,
    /// Number of runs; if there are several, an error names its run.
    count: usize,
}

impl Shared<'_> {
    /// Resolves all runs, those of a variant together.
    fn runs(&self, variants: &[Variant], axes: &[Axis]) -> Result<Vec<PlannedRun<Work>>, Error> {
        let count = self.count;
        let (mut runs, mut nodes, mut labels) = (Vec::with_capacity(count), 0, Labels::new());
        for (variant, point) in
            variants.iter().flat_map(|variant| axes::points(axes).map(move |point| (variant, point)))
        {
            let run = self.run(variant, &point, &mut labels)?;
            nodes += run.scenario.network().map_or(1, |network| topology::expand(&network.topology).nodes.len());
            if nodes > NODES_MAX {
                let problem = format!(
                    "the first {} of {count} runs have {nodes} hosts and switches: expected at most {NODES_MAX} in all",
                    runs.len() + 1
                );
                return Err(Error::at(self.place.to_string(), problem));
            }
            runs.push(run);
        }
        Ok(runs)
    }

    /// Resolves one run.
    fn run(&self, variant: &Variant, point: &Point<'_>, labels: &mut Labels) -> Result<PlannedRun<Work>, Error> {
        let overrides = layers::pairs(&variant.overrides).chain(point.iter().copied()).chain(layers::pairs(self.sets));
        let mut keys = layers::overridden(self.base.clone(), overrides)?;
        let computed = keys.contains_key(compute::KEY);
        let name = variant.name.clone();
        let label = if computed {
            labels.unique(name.or(labels::default_name(&keys).map(String::from)), point)
        } else if let Some(scheme) = keys.get("scheme").and_then(Node::text).map(String::from) {
            keys = layers::over_preset(keys, &scheme)?;
            let swept = point.iter().any(|(key, _)| *key == "scheme");
            labels.unique(name.or((!swept).then_some(scheme)), point)
        } else {
            labels.unique(name, point)
        };
        let document = Node { value: Value::Table(keys), place: self.place.clone() };
        let resolved = match computed {
            true => self.computations.resolve(document, self.dir).map(Work::Computation),
            false => resolve(document, self.dir).map(|scenario| Work::Simulation(Box::new(scenario))),
        };
        let scenario = resolved.map_err(|error| Error { run: (self.count > 1).then(|| label.clone()), ..error })?;
        let mut params: BTreeMap<String, Json> =
            point.iter().map(|(key, node)| (key.to_string(), node.to_json())).collect();
        params.insert("variant".into(), variant.name.as_deref().unwrap_or(scenario.called()).into());
        Ok(PlannedRun { label, params, scenario })
    }
}
