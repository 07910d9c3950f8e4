//! A scenario file as the runs it describes: scales, variants and sweeps multiplied out.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value as Json;

use crate::compute::{self, Computations, Work};
use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::expect::names::{self, Names};
use crate::expect::words;
use crate::model::Scenario;
use crate::resolve::resolve;
use crate::schema::{PLAN_KEYS, SCALES};
use crate::sizes::read_text;
use crate::suggest::hint;
use crate::{chips, merge, named, presets, published, schema, seeds, structure, topology, validate};

/// Everything a scenario file asks for; `R` is what a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan<R = Scenario> {
    /// Name of the scenario; the file's name if it has none.
    pub name: String,
    /// One sentence on what it shows.
    pub description: String,
    /// The runs, in the order of variants, then of the sweep's keys.
    pub runs: Vec<PlannedRun<R>>,
    /// The `[figure]` table as written, or null.
    pub figure: Json,
    /// The `[[expect]]` tables as written.
    pub expect: Vec<Json>,
    /// The scale whose overrides are in; empty if none are.
    pub scale: String,
    /// The `[seeds]` table, or null.
    pub seeds: Json,
    /// The `[without]` table, as far as it names variants that there are.
    pub without: Json,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedRun<R = Scenario> {
    /// Unique in the plan, also where case does not count, and fit to be a directory's name.
    pub label: String,
    /// Where the run stands in the plan: "variant" (the scheme if there are no variants) and the value of each swept key.
    pub params: BTreeMap<String, Json>,
    /// What to run.
    pub scenario: R,
}

/// More runs than this are a slip in a sweep.
const RUNS_MAX: usize = 10_000;
/// Hosts and switches of all runs together: each run's network is made to check it, some hundred thousand of these in a second.
const NODES_MAX: usize = 1_000_000;

/// Files that extend one another.
const CHAIN_MAX: usize = 32;

/// Reads a scenario file of networks to simulate, as [`load_any`].
///
/// # Errors
/// Likewise, and if it is one of computations.
pub fn load(path: &Path, sets: &[String], scale: Option<&str>) -> Result<Plan, Error> {
    Ok(load_any(path, sets, scale, &Computations::default())?.of_networks())
}

/// Reads a scenario file: of networks to simulate, or of these computations.
///
/// `sets` are `KEY=VALUE` with a dotted key, laid over everything; `scale` is one of the file's scales, or `None` for "quick"
/// if the file has it.
///
/// # Errors
/// If anything is wrong with the file, with a file it names, with `sets` or with `scale`.
pub fn load_any(
    path: &Path,
    sets: &[String],
    scale: Option<&str>,
    computations: &Computations,
) -> Result<Plan<Work>, Error> {
    let name = path.display().to_string();
    let text = read_text(path, &name)?;
    let dir = path.parent().unwrap_or(Path::new(""));
    let document = Node::from_toml(&text, &name, dir)?;
    let mut chain = vec![identity(path)];
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    plan(extend(document, dir, &mut chain)?, dir, stem, sets, scale, computations)
}

/// Reads a scenario from text, as [`load_any_str`].
///
/// # Errors
/// Likewise, and if it is one of computations.
pub fn load_str(text: &str, dir: &Path, name: &str, sets: &[String], scale: Option<&str>) -> Result<Plan, Error> {
    Ok(load_any_str(text, dir, name, sets, scale, &Computations::default())?.of_networks())
}

/// Reads a scenario from text. `dir` is what file names in it are relative to; `name` is what messages call it.
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
    let document = Node::from_toml(text, name, dir)?;
    let document = extend(document, dir, &mut Vec::new())?;
    plan(document, dir, None, sets, scale, computations)
}

impl Plan<Work> {
    /// The same, where nothing can be computed.
    fn of_networks(self) -> Plan {
        let network = |run: PlannedRun<Work>| match run.scenario {
            Work::Simulation(scenario) => PlannedRun { label: run.label, params: run.params, scenario: *scenario },
            Work::Computation(_) => unreachable!("no computation is known, so none was accepted"),
        };
        let Plan { name, description, runs, figure, expect, scale, seeds, without } = self;
        Plan { name, description, runs: runs.into_iter().map(network).collect(), figure, expect, scale, seeds, without }
    }
}

/// What tells a file from another, so that a circle of `extends` is seen.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// Lays a document over the one it extends, and that over the next.
fn extend(mut document: Node, dir: &Path, chain: &mut Vec<PathBuf>) -> Result<Node, Error> {
    let Value::Table(table) = &mut document.value else { unreachable!("a document is a table") };
    check_plan_keys(table)?;
    flatten_overrides(table);
    let Some(extends) = table.remove("extends") else { return Ok(document) };
    let path = dir.join(extends.text().expect("checked to be text"));
    let name = path.display().to_string();
    if chain.len() >= CHAIN_MAX {
        let problem = format!("one file extends another {CHAIN_MAX} times: expected no more");
        return Err(extends.error("extends", problem));
    }
    if chain.contains(&identity(&path)) {
        return Err(extends.error("extends", "goes round in a circle: expected a file that does not extend this one"));
    }
    let text = read_text(&path, &name)
        .map_err(|error| if error.place == name { extends.error("extends", error.problem) } else { error })?;
    chain.push(identity(&path));
    let dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut base = extend(Node::from_toml(&text, &name, &dir)?, &dir, chain)?;
    let Value::Table(below) = &mut base.value else { unreachable!("a document is a table") };
    merge::merge(below, document.clone().into_table());
    Ok(Node { value: base.value, place: document.place })
}

/// A dotted key and its value.
type Override = (String, Node);

/// A variant, or the one nameless run of a file without variants.
struct Variant {
    name: Option<String>,
    overrides: Vec<Override>,
}

impl Variant {
    fn chooses_scheme(&self) -> bool {
        self.overrides.iter().any(|(key, _)| key == "scheme")
    }
}

/// A swept key and its values.
struct Axis {
    key: String,
    values: Vec<Node>,
}

/// What `--set` asks for.
#[derive(Default)]
struct Sets {
    /// Laid over every run.
    overrides: Vec<Override>,
    /// Lists that replace or add axes of the sweep.
    axes: Vec<Override>,
    /// What changes in `[seeds]`.
    seeds: Vec<Override>,
    /// Variants to keep.
    variant: Option<Node>,
}

impl Sets {
    /// Whether they choose other flows or fewer variants than the file has.
    fn choose(&self) -> bool {
        let chooses = |first: &str| ["scheme", "workload", "topology"].contains(&first) || !named::is_key(first);
        let other = |(key, _): &Override| chooses(&merge::path(key)[0]);
        self.variant.is_some() || self.overrides.iter().chain(&self.axes).any(other)
    }
}

fn plan(
    document: Node,
    dir: &Path,
    stem: Option<&str>,
    sets: &[String],
    scale: Option<&str>,
    computations: &Computations,
) -> Result<Plan<Work>, Error> {
    let place = document.place.clone();
    let mut base = document.into_table();
    let sets = parse_sets(sets)?;
    let swept = swept_keys(&base, &sets.axes);
    let scale = apply_scale(&mut base, &place, scale)?;
    for (key, node) in sets.seeds.clone() {
        merge::assign(&mut base, &key, node)?;
    }
    check_plan_keys(&base)?;

    sweep_also(&mut base, &sets.axes)?;
    let mut variants = variants(base.get("variant"))?;
    if let Some(figure) = base.get("figure").and_then(Node::table) {
        let called = called(&base);
        let names: Vec<&str> = variants.iter().filter_map(|variant| variant.name.as_deref().or(called)).collect();
        published::check(figure, &names, base.get("sweep").and_then(Node::table), &place)?;
    }
    let shown = Shown::of(&base, &variants);
    if let Some(wanted) = &sets.variant {
        pick(&mut variants, wanted)?;
    }
    if let Some((key, scheme)) = sets.overrides.iter().find(|(key, _)| key == "scheme")
        && variants.iter().any(Variant::chooses_scheme)
    {
        let problem = "the variants choose the scheme; expected variant=NAME to run one of them";
        return Err(scheme.error(key.as_str(), problem));
    }
    let mut axes = axes(&base, &sets.overrides)?;
    let seeds = base.get("seeds").map_or(Json::Null, Node::to_json);
    if let Some(seeds) = base.get("seeds") {
        let values = seeds::of(seeds, base.get("seed"), base.get("sweep"))?;
        base.insert("seed".into(), values[0].clone());
        if values.len() > 1 && !sets.overrides.iter().any(|(key, _)| key == "seed") {
            axes.push(Axis { key: "seed".into(), values });
        }
    }
    base.retain(|key, _| !PLAN_KEYS.contains(&key.as_str()));

    let product = axes.iter().fold(variants.len(), |product, axis| product.saturating_mul(axis.values.len()));
    if product > RUNS_MAX {
        return Err(Error::at(
            place.to_string(),
            format!("the sweep makes {product} runs: expected at most {RUNS_MAX}"),
        ));
    }
    // Names that a run directory has for its own files.
    let mut labels = BTreeSet::from(
        ["claims.json", "figures", "manifest.json", "report.html", "summary.parquet", "timing.json"].map(String::from),
    );
    let (mut runs, mut nodes) = (Vec::with_capacity(product), 0);
    for variant in &variants {
        let mut at = vec![0; axes.len()];
        loop {
            let point: Vec<(&str, &Node)> =
                axes.iter().zip(&at).map(|(axis, &i)| (axis.key.as_str(), &axis.values[i])).collect();
            let planned =
                run(&base, &place, variant, &point, &sets.overrides, dir, computations, product > 1, &mut labels)?;
            nodes += planned.scenario.network().map_or(1, |s| topology::expand(&s.topology).nodes.len());
            if nodes > NODES_MAX {
                let problem = format!(
                    "the first {} of {product} runs have {nodes} hosts and switches: expected at most {NODES_MAX} in all",
                    runs.len() + 1
                );
                return Err(Error::at(place.to_string(), problem));
            }
            runs.push(planned);
            if !advance(&mut at, &axes) {
                break;
            }
        }
    }
    let results = runs.iter().flat_map(|run| computations.results(&run.scenario)).collect();
    shown.check(&swept, &results, &place, (!sets.choose()).then_some(&runs))?;
    let first = &runs[0].scenario;
    let name = [first.text("name"), stem.unwrap_or(""), first.called()].into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or_default().to_string();
    let description = first.text("description").to_string();
    let without = shown.lacking();
    let (figure, expect) = shown.into_json();
    Ok(Plan { name, description, runs, figure, expect, scale, seeds, without })
}

/// What is done with the results: the figure and the expectations, and what there is for them to name.
struct Shown {
    figure: Option<Node>,
    expect: Option<Node>,
    without: Option<Node>,
    sweep: Option<Table>,
    seeds: bool,
    variants: Vec<String>,
}

impl Shown {
    fn of(base: &Table, variants: &[Variant]) -> Shown {
        let (figure, called) = (base.get("figure").cloned(), called(base));
        let missing = match figure.as_ref().and_then(|figure| figure.get("missing")).map(|node| &node.value) {
            Some(Value::Array(names)) => names.as_slice(),
            _ => &[],
        };
        // Without a name a run is called by its scheme, which may be swept.
        let swept = base.get("sweep").and_then(|sweep| sweep.get("scheme")).map(|node| &node.value);
        let schemes = if let Some(Value::Array(schemes)) = swept { schemes.as_slice() } else { &[] };
        let own = variants.iter().filter_map(|variant| variant.name.as_deref().or(called));
        let all = own.chain(missing.iter().chain(schemes).filter_map(Node::text)).map(String::from).collect();
        let sweep = base.get("sweep").and_then(Node::table).cloned();
        let seeds = base.contains_key("seeds") || sweep.as_ref().is_some_and(|sweep| sweep.contains_key("seed"));
        let [expect, without] = ["expect", "without"].map(|key| base.get(key).cloned());
        Shown { figure, expect, without, sweep, seeds, variants: all }
    }

    /// Checks the names; those of classes and keys only where `runs` are all that the file has.
    fn check(
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
        names::check_without(self.without.as_ref(), "without", &names)?;
        names::check_expectations(self.expect.as_ref(), &names)?;
        names::check_panels(self.figure.as_ref(), &names)
    }

    /// What stands in `[without]` of variants that there are; a file may have others than the one that it extends.
    fn lacking(&self) -> Json {
        let table = self.without.as_ref().and_then(Node::table);
        let known = |name: &str| self.variants.iter().any(|variant| variant == name);
        let pairs =
            table.into_iter().flatten().map(|(credited, lacking)| (credited, lacking.text().unwrap_or_default()));
        pairs
            .filter(|(credited, lacking)| known(credited) && known(lacking))
            .map(|(a, b)| (a.clone(), Json::from(b)))
            .collect()
    }

    fn into_json(self) -> (Json, Vec<Json>) {
        let expect = match self.expect.map(|node| node.to_json()) {
            Some(Json::Array(list)) => list,
            _ => Vec::new(),
        };
        (self.figure.map_or(Json::Null, |node| node.to_json()), expect)
    }
}

/// What runs without a variant are called: by their scheme, or by what they compute.
fn called(base: &Table) -> Option<&str> {
    let kind = base.get(compute::KEY).and_then(|compute| compute.get("kind"));
    base.get("scheme").or(kind).and_then(Node::text)
}

/// Whether a run has a number, or a quantity, at a dotted key.
fn has_number(work: &Work, path: &str) -> bool {
    let document = Node::from_json(&serde_json::to_value(work).expect("a run is plain data"));
    let (node, found) = document.find(path.split('.'));
    found && words::number_of(node).is_some()
}

/// The next point of the product, the last axis fastest.
fn advance(at: &mut [usize], axes: &[Axis]) -> bool {
    for (i, axis) in at.iter_mut().zip(axes).rev() {
        *i += 1;
        if *i < axis.values.len() {
            return true;
        }
        *i = 0;
    }
    false
}

/// One run: the base, a variant, a point of the sweep and `--set`, in this order, over the preset and the profile.
#[allow(clippy::too_many_arguments)]
fn run(
    base: &Table,
    place: &Place,
    variant: &Variant,
    point: &[(&str, &Node)],
    sets: &[Override],
    dir: &Path,
    computations: &Computations,
    several: bool,
    labels: &mut BTreeSet<String>,
) -> Result<PlannedRun<Work>, Error> {
    let mut table = base.clone();
    let point_overrides = point.iter().map(|(key, node)| (*key, *node));
    let overrides = variant.overrides.iter().map(|(key, node)| (key.as_str(), node));
    for (key, node) in overrides.chain(point_overrides).chain(sets.iter().map(|(key, node)| (key.as_str(), node))) {
        refuse_plan_key(key, node)?;
        merge::assign(&mut table, key, node.clone())?;
    }
    let mut label = variant.name.clone();
    let computed = table.contains_key(compute::KEY);
    if computed {
        label = label.or(called(&table).map(String::from));
    }
    let scheme = table.get("scheme").filter(|_| !computed).and_then(Node::text).map(String::from);
    if let Some(scheme) = &scheme {
        validate::check_scheme(scheme).map_err(|problem| table["scheme"].error("scheme", problem))?;
        let mut merged = presets::preset(scheme).expect("just checked").clone();
        let profile = table.get("compat").and_then(Node::text).and_then(|name| presets::profile(name, scheme));
        if let Some(profile) = profile {
            merge::merge(&mut merged, profile);
        }
        lay_chip(merged.entry("switch".into()), table.get("switch"), "switch")?;
        merge::merge(&mut merged, table);
        table = merged;
        lay_regions(&mut table, scheme)?;
        if !point.iter().any(|(key, _)| *key == "scheme") {
            label.get_or_insert(scheme.clone());
        }
    }
    let label = unique(label, point, labels);
    let document = Node { value: Value::Table(table), place: place.clone() };
    let resolved = match computed {
        true => computations.resolve(document, dir).map(Work::Computation),
        false => resolve(document, dir).map(|scenario| Work::Simulation(Box::new(scenario))),
    };
    let scenario = resolved.map_err(|mut error| {
        error.run = several.then(|| label.clone());
        error
    })?;
    let mut params: BTreeMap<String, Json> =
        point.iter().map(|(key, node)| (key.to_string(), node.to_json())).collect();
    params.insert("variant".into(), variant.name.as_deref().unwrap_or(scenario.called()).into());
    Ok(PlannedRun { label, params, scenario })
}

/// Lays the keys of a chip over the switch of the scheme, before the scenario's own keys come on top.
fn lay_chip(below: Entry<String, Node>, own: Option<&Node>, key: &str) -> Result<(), Error> {
    let below = below.or_insert_with(|| Node { value: Value::Table(Table::new()), place: Place::Json });
    let named = own.and_then(|own| own.get("chip")).or(below.get("chip")).cloned();
    let chip = chip_of(named.as_ref(), key)?;
    if let Value::Table(below) = &mut below.value {
        merge::merge(below, chip);
    }
    Ok(())
}

/// The keys that a chip sets; none without a chip.
fn chip_of(named: Option<&Node>, key: &str) -> Result<Table, Error> {
    let Some((node, name)) = named.and_then(|node| Some((node, node.text()?))) else { return Ok(Table::new()) };
    chips::chip(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = chips::chips().iter().map(|chip| chip.name).collect();
        let hint = hint(name, names.iter().copied());
        node.error(format!("{key}.chip"), format!("unknown chip; {hint}expected one of {}", names.join(", ")))
    })
}

/// Lays the switch of each region over that of its scheme; where this is the scenario's, over the scenario's own switch.
fn lay_regions(table: &mut Table, scheme: &str) -> Result<(), Error> {
    let switch = table.get("switch").and_then(Node::table).cloned().unwrap_or_default();
    let profile = table.get("compat").and_then(Node::text).map(String::from);
    let Some(Value::Array(regions)) = table.get_mut("region").map(|node| &mut node.value) else { return Ok(()) };
    for (i, region) in regions.iter_mut().enumerate() {
        let place = region.place.clone();
        let Value::Table(region) = &mut region.value else { continue };
        let scheme_of = Node { value: Value::Text(scheme.into()), place: place.clone() };
        let scheme_of = region.entry("scheme".into()).or_insert(scheme_of).clone();
        let Some(name) = scheme_of.text() else { continue };
        let mut below = if name == scheme {
            switch.clone()
        } else {
            let key = format!("region.{i}.scheme");
            validate::check_scheme(name).map_err(|problem| scheme_of.error(key, problem))?;
            let mut keys = presets::preset(name).expect("just checked").clone();
            if let Some(profile) = profile.as_deref().and_then(|profile| presets::profile(profile, name)) {
                merge::merge(&mut keys, profile);
            }
            keys.remove("switch").map(Node::into_table).unwrap_or_default()
        };
        let own = match region.get("switch") {
            None => Table::new(),
            Some(node) => match node.table() {
                Some(own) => own.clone(),
                None => continue,
            },
        };
        let chip = chip_of(own.get("chip").or(below.get("chip")), &format!("region.{i}.switch"))?;
        merge::merge(&mut below, chip);
        merge::merge(&mut below, own);
        let place = region.get("switch").map_or(place, |node| node.place.clone());
        region.insert("switch".into(), Node { value: Value::Table(below), place });
    }
    Ok(())
}

/// `BFC-128.load=0.5`: the variant, or else the scheme that is swept, then the last part of each swept key, or all of it where last
/// parts are the same.
fn unique(name: Option<String>, point: &[(&str, &Node)], labels: &mut BTreeSet<String>) -> String {
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
    let joined: String = parts.join(".").replace(' ', "").chars().map(fit).take(100).collect();
    let stem = joined.trim_matches(|c| c == '.' || c == '-').to_string();
    let stem = if stem.is_empty() { "run".into() } else { stem };
    let mut label = stem.clone();
    for n in 2.. {
        if labels.insert(label.to_lowercase()) {
            break;
        }
        label = format!("{stem}-{n}");
    }
    label
}

fn check_plan_keys(table: &Table) -> Result<(), Error> {
    for key in PLAN_KEYS {
        if let Some(node) = table.get(key) {
            structure::check_at(schema::of_runs(), &schema::of_runs()["properties"][key], node, key)?;
        }
    }
    Ok(())
}

/// Makes the keys of sweep, variants and scales dotted, whether they were written bare or in quotes, so that they can be
/// laid over one another.
fn flatten_overrides(table: &mut Table) {
    let flatten = |node: &mut Node| {
        if let Value::Table(table) = &mut node.value {
            *table = merge::flatten(table).into_iter().collect();
        }
    };
    if let Some(sweep) = table.get_mut("sweep") {
        flatten(sweep);
    }
    if let Some(Value::Array(variants)) = table.get_mut("variant").map(|node| &mut node.value) {
        variants.iter_mut().for_each(flatten);
    }
    if let Some(Value::Table(scales)) = table.get_mut("scale").map(|node| &mut node.value) {
        scales.values_mut().for_each(flatten);
    }
}

/// Lays the overrides of a scale over the document, and takes all scales off. Returns the name of the scale.
fn apply_scale(base: &mut Table, place: &Place, asked: Option<&str>) -> Result<String, Error> {
    let scales = base.remove("scale").map(Node::into_table).unwrap_or_default();
    let known = SCALES.iter().copied().filter(|scale| scales.contains_key(*scale)).collect::<Vec<_>>();
    let name = match asked {
        Some(name) if known.contains(&name) => name,
        Some(name) => {
            let allowed = if known.is_empty() {
                "the file has no [scale.*]".into()
            } else {
                format!("expected one of {}", known.join(", "))
            };
            let problem = format!("unknown scale \"{name}\"; {}{allowed}", hint(name, known.iter().copied()));
            let file = match place {
                Place::Line { file, .. } => file.name.clone(),
                other => other.to_string(),
            };
            return Err(Error::at(file, problem));
        }
        None if known.contains(&"quick") => "quick",
        None => return Ok(String::new()),
    };
    for (key, node) in scales[name].table().expect("checked to be a table").clone() {
        let parts = merge::path(&key);
        match (parts[0].as_str(), key.strip_prefix("sweep.")) {
            ("extends" | "scale", _) => {
                let problem = "not part of a scale; expected a key of a run, sweep.KEY or variant.NAME.KEY";
                return Err(node.error(format!("scale.{name}.{key}"), problem));
            }
            (_, Some(axis)) => sweep_over(base, axis, node)?,
            ("variant", _) if parts.len() > 2 => change_variant(base, &parts, &format!("scale.{name}.{key}"), node)?,
            _ => merge::assign(base, &key, node)?,
        }
    }
    Ok(name.into())
}

/// Keys that are swept, be it at another scale.
fn swept_keys(base: &Table, axes: &[Override]) -> BTreeSet<Vec<String>> {
    let sweep = base.get("sweep").and_then(Node::table).into_iter().flat_map(Table::keys);
    let scales = base.get("scale").and_then(Node::table).into_iter().flat_map(Table::values).filter_map(Node::table);
    let scaled = scales.flat_map(Table::keys).filter_map(|key| key.strip_prefix("sweep."));
    let set = axes.iter().map(|(key, _)| key.as_str());
    // Runs that differ in their seed alone are judged together, at any scale.
    sweep.map(String::as_str).chain(scaled).chain(set).chain(["seed"]).map(merge::path).collect()
}

/// Sweeps the file as `--set` asks for, or `--vary`. What the file expects and draws is of its own runs, so where they come to lie
/// along another axis it is left out; and schemes that are swept stand in place of variants that choose one.
fn sweep_also(base: &mut Table, axes: &[Override]) -> Result<(), Error> {
    let own = |base: &Table| base.get("sweep").and_then(Node::table).map_or(0, Table::len);
    for (axis, node) in axes {
        let before = own(base);
        sweep_over(base, axis, node.clone())?;
        if own(base) == before || axis == "seed" {
            continue;
        }
        ["figure", "expect", "without"].iter().for_each(|key| drop(base.remove(*key)));
        if axis == "scheme" && variants(base.get("variant"))?.iter().any(Variant::chooses_scheme) {
            base.remove("variant");
        }
    }
    Ok(())
}

/// Replaces a key of the sweep, under the name that it has there, or adds one.
fn sweep_over(base: &mut Table, axis: &str, node: Node) -> Result<(), Error> {
    let axis = axis.trim_matches('"');
    let full = merge::full_path(base, axis, &node)?;
    let swept = base.get("sweep").and_then(Node::table).into_iter().flatten();
    let same = swept.map(|(key, _)| key).find(|key| merge::full_path(base, key, &node).is_ok_and(|path| path == full));
    let key = same.cloned().unwrap_or(axis.into());
    let place = node.place.clone();
    let sweep = base.entry("sweep".into()).or_insert(Node { value: Value::Table(Table::new()), place });
    if let Value::Table(sweep) = &mut sweep.value {
        sweep.insert(key, node);
    }
    Ok(())
}

/// Sets a key of a variant, from `variant.NAME.KEY`.
fn change_variant(base: &mut Table, parts: &[String], key: &str, node: Node) -> Result<(), Error> {
    let mut names = Vec::new();
    if let Some(Value::Array(variants)) = base.get_mut("variant").map(|node| &mut node.value) {
        for variant in variants {
            let Value::Table(table) = &mut variant.value else { continue };
            match table.get("name").and_then(Node::text) {
                Some(name) if name == parts[1] => {
                    table.insert(parts[2..].join("."), node);
                    return Ok(());
                }
                name => names.extend(name.map(String::from)),
            }
        }
    }
    let hint = hint(&parts[1], names.iter().map(String::as_str));
    let allowed = if names.is_empty() {
        "the file has no [[variant]]".into()
    } else {
        format!("expected one of {}", names.join(", "))
    };
    Err(node.error(key, format!("unknown variant \"{}\"; {hint}{allowed}", parts[1])))
}

fn parse_sets(sets: &[String]) -> Result<Sets, Error> {
    let mut parsed = Sets::default();
    for set in sets {
        let place = Place::Set(set.as_str().into());
        let Some((key, value)) = set.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(Error::at(place.to_string(), "expected KEY=VALUE, such as seed=7 or switch.queues=128"));
        };
        let (key, node) = (key.trim(), Node::from_set(value, place));
        match key.strip_prefix("sweep.") {
            Some(axis) => parsed.axes.push((axis.trim_matches('"').into(), node)),
            None if key == "variant" => parsed.variant = Some(node),
            None if key.starts_with("seeds.") => parsed.seeds.push((key.into(), node)),
            None => parsed.overrides.push((key.into(), node)),
        }
    }
    for (key, node) in &parsed.overrides {
        refuse_plan_key(key, node)?;
    }
    Ok(parsed)
}

/// Keys that are not part of a run cannot be set run by run.
fn refuse_plan_key(key: &str, node: &Node) -> Result<(), Error> {
    let top = merge::path(key).swap_remove(0);
    let instead = match top.as_str() {
        "scale" => "choose a scale by its name instead",
        "sweep" => "write it in [sweep], or set sweep.KEY=[VALUES]",
        "seeds" => "write it in [seeds], or set seeds.count=N",
        "extends" | "variant" | "without" | "figure" | "expect" => "write it in the file",
        _ => return Ok(()),
    };
    Err(node.error(key, format!("{top} is not a key of a run: {instead}")))
}

fn variants(node: Option<&Node>) -> Result<Vec<Variant>, Error> {
    let Some(Value::Array(items)) = node.map(|node| &node.value) else {
        return Ok(vec![Variant { name: None, overrides: Vec::new() }]);
    };
    if items.is_empty() {
        return Err(node.expect("just seen").error("variant", "expected at least one variant, or no such key"));
    }
    let mut variants: Vec<Variant> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let mut table = item.table().expect("checked to be a table").clone();
        let name = table.remove("name").expect("checked to be there");
        let text = name.text().expect("checked to be text").to_string();
        let key = format!("variant.{i}.name");
        if text.trim().is_empty() || text.chars().count() > 64 || text.chars().any(char::is_control) {
            return Err(name.error(key, "expected a name of 1 to 64 characters"));
        }
        if variants.iter().any(|other| other.name.as_ref() == Some(&text)) {
            return Err(name.error(key, "an earlier variant has this name; expected another"));
        }
        variants.push(Variant { name: Some(text), overrides: merge::flatten(&table) });
    }
    Ok(variants)
}

/// Keeps the variants that `--set variant=` names.
fn pick(variants: &mut Vec<Variant>, wanted: &Node) -> Result<(), Error> {
    let texts: Vec<&str> = match &wanted.value {
        Value::Array(items) => items.iter().filter_map(Node::text).collect(),
        _ => wanted.text().into_iter().collect(),
    };
    let names: Vec<String> = variants.iter().filter_map(|variant| variant.name.clone()).collect();
    let known = || names.iter().map(String::as_str);
    let stranger = texts.iter().find(|text| !names.iter().any(|name| name == **text));
    if texts.is_empty() || stranger.is_some() {
        let hint = stranger.map_or(String::new(), |name| hint(name, known()));
        let allowed = if names.is_empty() {
            "the file has no [[variant]]".into()
        } else {
            format!("expected one of {}", names.join(", "))
        };
        return Err(wanted.error("variant", format!("unknown variant; {hint}{allowed}")));
    }
    variants.retain(|variant| variant.name.as_deref().is_some_and(|name| texts.contains(&name)));
    Ok(())
}

/// The swept keys; one that `--set` fixes is not swept.
fn axes(base: &Table, fixed: &[Override]) -> Result<Vec<Axis>, Error> {
    let Some(table) = base.get("sweep").and_then(Node::table) else { return Ok(Vec::new()) };
    let fixed = fixed.iter().map(|(key, node)| merge::full_path(base, key, node)).collect::<Result<Vec<_>, _>>()?;
    let mut axes = Vec::new();
    for (key, node) in table {
        let shown = format!("sweep.\"{key}\"");
        let Value::Array(values) = &node.value else {
            return Err(node.error(shown, "expected a list of the values that the key takes in turn"));
        };
        if values.is_empty() {
            return Err(node.error(shown, "expected at least one value"));
        }
        refuse_plan_key(key, node)?;
        if !fixed.contains(&merge::full_path(base, key, node)?) {
            axes.push(Axis { key: key.clone(), values: values.clone() });
        }
    }
    Ok(axes)
}
