//! Grammar of `[[expect]]` and `[figure]`, as JSON schema.

use serde_json::{Map, Value as Json, json};

use super::words;

/// Numeric columns of the table of egress ports, which is in `measure/tables.rs` of the simulator; a test compares
/// both.
const PORTS: &[&str] = &[
    "port",
    "rate_bps",
    "data_packets",
    "data_bytes",
    "ack_packets",
    "control_frames",
    "dropped_packets",
    "utilisation",
    "pfc_paused_ps",
    "pfc_pauses",
    "bfc_paused_queue_ps",
    "bfc_pauses",
    "bfc_resumes",
    "bfc_bitmaps",
    "flow_pauses",
    "flow_resumes",
    "assignments",
    "collisions",
];
/// Numeric columns of the table of memory management units.
const MMUS: &[&str] =
    &["ports", "capacity_bytes", "peak_bytes", "dropped_full", "dropped_threshold", "marked_queue", "marked_pool"];
const PAUSES: &[&str] = &["held", "incast", "other", "orphans", "all"];

/// Selectors of all kinds of measurement.
const SELECTORS: &[&str] = &["class", "sizes", "timed_out", "node", "peer", "mmu", "port", "after"];
/// Keys of every measurement: its run, another point of the sweep, and the reduction of several points to one number.
const ANYWHERE: &[&str] = &["variant", "at", "spread"];
/// Arithmetic on a list of values.
pub(super) const ARITHMETIC: &[&str] = &["product", "quotient", "sum", "difference"];

/// A kind of measurement: its name, its keys, its selectors.
type Leaf = (&'static str, fn() -> Json, &'static [&'static str]);

/// Every kind of measurement.
pub(super) const LEAVES: &[Leaf] = &[
    ("slowdown", statistic, &["class", "sizes"]),
    ("wait", statistic, &["class", "sizes"]),
    ("fct", statistic, &["class", "sizes"]),
    ("fct_ack", statistic, &["class", "sizes", "timed_out"]),
    ("with_timeout", || one_of(&["share"]), &["class", "sizes"]),
    ("injected_within", || of("Duration"), &["class"]),
    ("ports", || one_of(PORTS), &["node", "peer"]),
    ("mmus", || one_of(MMUS), &["node", "mmu"]),
    ("pauses", || one_of(PAUSES), &["node", "peer"]),
    ("queue", || of("SampleStatistic"), &["node", "peer", "after"]),
    ("data_queue", || of("SampleStatistic"), &["node", "peer", "after"]),
    ("pool", || of("SampleStatistic"), &["node", "mmu", "after"]),
    ("active_flows", || of("FlowsStatistic"), &["node", "port"]),
    ("active_flows_distance", text, &["node", "port"]),
    ("sharing", || of("SharingStatistic"), &["node", "peer"]),
    ("summary", || of("SummaryPath"), &["class"]),
    ("scenario", text, &["class"]),
    (RESULT, text, &[]),
];
/// Measurements of a computation: its results, and values of its scenario.
pub(super) const RESULT: &str = "result";

/// A kind of expectation: its name, its required keys, its optional keys.
type Kind = (&'static str, &'static [&'static str], &'static [&'static str]);

const KINDS: &[Kind] = &[
    ("ratio", &["numerator", "denominator"], &["low", "high"]),
    ("between", &["value"], &["low", "high"]),
    ("runs", &["value"], &["low", "high", "at_least", "at_most"]),
    ("approx", &["value", "expected", "tolerance"], &[]),
    ("equals", &["value", "expected"], &[]),
    ("ordering", &["value", "chains"], &["slack", "high"]),
    ("up-to", &["numerator", "denominator", "times"], &[]),
    ("knee", &["value", "along"], &["threshold", "factor", "relative_to", "expected", "low", "high", "order"]),
    ("fact", &[], &[]),
    ("refers", &["to"], &[]),
    ("not-run", &["reason"], &[]),
];

/// Name of the definition of an expectation's or a panel's measurement.
pub(crate) const VALUE: &str = "Expected";

/// Name of the definition of a number, or of a text with a unit.
const SWEPT: &str = "SweptNumber";

/// Makes the definitions that [`expectations`] and [`figure`] refer to.
pub(crate) fn definitions() -> Map<String, Json> {
    let mut all = Map::from_iter([(VALUE.to_string(), value())]);
    for (name, description) in words::FORMS {
        let kinds = if *name == SWEPT { json!(["number", "string"]) } else { json!("string") };
        all.insert(name.to_string(), json!({ "type": kinds, "description": description }));
    }
    all
}

/// Makes the schema of `expect`, for a file with these scales.
pub(crate) fn expectations(scales: &[&str]) -> Json {
    let kinds: Vec<Json> = KINDS.iter().map(|kind| expectation(kind, scales)).collect();
    json!({ "type": "array", "description": "What the results should show.", "items": { "oneOf": kinds } })
}

/// Makes the schema of `figure`.
pub(crate) fn figure() -> Json {
    let marks = json!({ "type": "object", "description": "Names of places on the swept axis, and where they are." });
    json!({
        "type": "object",
        "description": "How to draw the figure, and what came out.",
        "properties": {
            "paper": text(),
            "number": text(),
            "title": text(),
            "missing": texts(),
            "panels": { "type": "array", "items": {
                "type": "object",
                "properties": { "label": text(), "value": of(VALUE), "marks": marks },
                "required": ["label", "value"],
                "additionalProperties": false,
            } },
            "published": { "type": "array", "items": published() },
            "finding": text(),
        },
        "additionalProperties": false,
    })
}

fn published() -> Json {
    json!({
        "type": "object",
        "description": "A value that was published, or several along the swept key, drawn beside ours.",
        "properties": {
            "panel": { "type": "string", "description": "Label of the panel." },
            "variant": { "type": "string", "description": "Name of the variant it belongs to." },
            "at": { "description": "Value of the swept key, where something is swept; a list of values for a list of those." },
            "where": { "type": "object", "description": "Values of other swept keys." },
            "value": { "description": "What was published: a number, or a list of numbers." },
        },
        "required": ["panel", "variant", "value"],
        "additionalProperties": false,
    })
}

/// Makes the schema of `without`.
pub(crate) fn without() -> Json {
    json!({
        "type": "object",
        "description": "Variants that are credited for what they have, and the variant that lacks it: a claim that holds with those too is vacuous.",
        "additionalProperties": text(),
    })
}

/// Makes the schema of `configured`.
pub(crate) fn configured() -> Json {
    json!({
        "type": "object",
        "description": "Variants with the parameters that a paper's text gives, and the variant with those of its authors' public configuration: each claim is judged for both.",
        "additionalProperties": text(),
    })
}

/// Makes the schema of `components`.
pub(crate) fn components() -> Json {
    json!({
        "type": "object",
        "description": "Variants that are credited for several mechanisms: each mechanism by its name, and the variant that lacks it alone.",
        "additionalProperties": { "type": "object", "additionalProperties": text() },
    })
}

fn expectation((kind, required, optional): &Kind, scales: &[&str]) -> Json {
    // A file without scales has one scale without a name.
    let scales: Vec<Json> = scales.iter().chain(&[""]).map(|scale| json!({ "const": scale })).collect();
    let each = LEAVES.iter().map(|(leaf, takes, _)| (leaf.to_string(), list(takes())));
    let each = each.chain(SELECTORS.iter().chain(&["variant"]).map(|name| (name.to_string(), list(selector(name)))));
    let mut properties = json!({
        "kind": { "const": kind },
        "claim": text(),
        "metric": text(),
        "says": text(),
        "scales": { "type": "array", "items": { "oneOf": scales } },
        "where": { "type": "object" },
        "over": { "type": "array", "items": text() },
        "each": { "type": "object", "properties": Map::from_iter(each), "additionalProperties": false },
        "variant": text(),
        "band": one_of(&["ours"]),
        "without": without(),
        "fact": { "type": "string", "description": "Why no run could contradict it: it restates the set-up." },
        "transient": { "type": "string", "description": "Why its measurements need not have settled: it is about a beginning, an event or a set time." },
        "amended": { "type": "array", "items": text(), "minItems": 1, "description": "What was changed after a result was seen, and why." },
        "note": text(),
    });
    for key in required.iter().chain(*optional) {
        // Along a sweep a knee is at one of its values, which may have a unit.
        let placed = *kind == "knee" && ["expected", "low", "high", "relative_to"].contains(key);
        properties[*key] = match *key {
            "value" | "numerator" | "denominator" => of(VALUE),
            "chains" => list(texts()),
            "order" => texts(),
            "along" | "reason" | "to" => text(),
            _ if placed => of(SWEPT),
            _ => json!({ "type": "number" }),
        };
    }
    let all: Vec<&str> = ["claim", "kind"].iter().chain(*required).copied().collect();
    json!({ "type": "object", "properties": properties, "required": all, "additionalProperties": false })
}

/// Makes the schema of a number, a measurement, or arithmetic. The last form is a measurement that an expectation's
/// `each` completes.
fn value() -> Json {
    let table = |properties: Map<String, Json>, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let selectors =
        |names: &'static [&'static str]| names.iter().chain(ANYWHERE).map(|name| (name.to_string(), selector(name)));
    let leaf = |(name, takes, names): &Leaf| {
        table(std::iter::once((name.to_string(), takes())).chain(selectors(names)).collect(), &[name])
    };
    let arithmetic = |name: &&str| {
        let values = json!({ "type": "array", "items": of(VALUE), "minItems": 1, "maxItems": 1000 });
        table(Map::from_iter([(name.to_string(), values)]), &[name])
    };
    let mut forms = vec![json!({ "type": "number" })];
    forms.extend(LEAVES.iter().map(leaf));
    forms.extend(ARITHMETIC.iter().map(arithmetic));
    forms.push(table(selectors(SELECTORS).collect(), &[]));
    json!({
        "description":
            "a number, or a table: one kind of measurement and its selectors, or arithmetic on a list of values",
        "oneOf": forms,
    })
}

fn selector(name: &str) -> Json {
    match name {
        "sizes" => of("SizeRange"),
        "after" => of("Duration"),
        "timed_out" => json!({ "type": "boolean" }),
        "mmu" | "port" => json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
        "at" => json!({ "type": "object" }),
        "spread" => of("Spread"),
        _ => text(),
    }
}

fn statistic() -> Json {
    of("Statistic")
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn texts() -> Json {
    list(text())
}

fn list(items: Json) -> Json {
    json!({ "type": "array", "items": items })
}

fn of(definition: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn one_of(words: &[&str]) -> Json {
    json!({ "oneOf": words.iter().map(|word| json!({ "const": word })).collect::<Vec<_>>() })
}
