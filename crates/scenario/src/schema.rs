//! JSON schema of scenario files, generated from the model.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json, json};

use crate::expect::grammar;
use crate::model::Scenario;
use crate::seeds;
use backwater_schemes::mine::{self, Part, Role};

/// Keys of a file that belong to the plan; they are removed before a run is typed.
pub(crate) const PLAN_KEYS: [&str; 11] = [
    "extends",
    "source",
    "sweep",
    "seeds",
    "variant",
    "without",
    "configured",
    "components",
    "scale",
    "figure",
    "expect",
];

/// Keys of a claims file.
pub(crate) const CLAIMS_KEYS: [&str; 5] = ["expect", "figure", "without", "configured", "components"];

/// Keys of its `[figure]`. How a figure is drawn stands in the scenario.
pub(crate) const CLAIMS_FIGURE_KEYS: [&str; 3] = ["finding", "missing", "published"];

/// Key of a file of computations.
pub(crate) const COMPUTE: &str = "compute";

/// Names of scales, smallest first.
pub(crate) const SCALES: [&str; 3] = ["smoke", "quick", "paper"];

/// Definitions whose values are names of parts of schemes.
const PARTS: [&str; 3] = ["Transport", "Assignment", "Backpressure"];

/// Returns the schema of one run with every key that a file may have, for the structure check.
pub(crate) fn of_runs() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Scenario).to_value();
        let properties = schema["properties"].as_object_mut().expect("a struct has properties");
        properties.extend(PLAN_KEYS.iter().map(|key| (key.to_string(), of_plan_key(key))));
        schema["$defs"].as_object_mut().expect("the model has definitions").extend(grammar::definitions());
        PARTS.iter().for_each(|name| one_of(&mut schema["$defs"][name]));
        mine::parts().iter().for_each(|part| add(&mut schema, part));
        schema
    })
}

/// Names of parts are alternatives of which one holds. The derived schema says that one or more do, because a name of
/// the user's own has no schema of its own.
fn one_of(names: &mut Json) {
    let names = names.as_object_mut().expect("a schema is an object");
    let choices = names.remove("anyOf").expect("a name is one of several");
    names.insert("oneOf".into(), choices);
}

/// Adds a part of a scheme of the user's own: its name, and its table `mine.NAME`.
fn add(schema: &mut Json, part: &Part) {
    let (names, at) = match part.role {
        Role::Transport => ("Transport", "Host"),
        Role::Assignment => ("Assignment", "Switch"),
        Role::Backpressure => ("Backpressure", "Switch"),
    };
    let definitions = schema["$defs"].as_object_mut().expect("the model has definitions");
    let choices = definitions[names]["oneOf"].as_array_mut().expect("a name is one of several");
    choices.push(json!({ "description": part.about, "type": "string", "const": part.name }));
    let mut table = part.schema();
    let fields = table.as_object_mut().expect("a table has keys");
    if let Some(Json::Object(own)) = fields.remove("$defs") {
        definitions.extend(own);
    }
    fields.retain(|key, _| key != "$schema" && key != "title");
    let empty = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let properties = definitions[at]["properties"].as_object_mut().expect("a struct has properties");
    let tables = properties.entry("mine").or_insert(empty);
    tables["description"] = "Parameters of schemes of your own, by name.".into();
    tables["properties"][part.table()] = table;
}

/// Makes the schema of a whole scenario file, for editors and for the documentation.
///
/// Nothing is required at the top: a key may come from `extends`, from a variant or from the command line.
pub fn scenario_schema() -> Json {
    let mut schema = of_runs().clone();
    let object = schema.as_object_mut().expect("a schema is an object");
    object.remove("required");
    object.insert("title".into(), "Backwater scenario file".into());
    schema
}

/// Makes the schema of a claims file, for editors.
pub fn claims_schema() -> Json {
    let mut properties = Map::from_iter(CLAIMS_KEYS.map(|key| (key.to_string(), of_plan_key(key))));
    let figure = properties["figure"]["properties"].as_object_mut().expect("a figure has keys");
    figure.retain(|key, _| CLAIMS_FIGURE_KEYS.contains(&key.as_str()));
    let definitions = used(&properties);
    json!({
        "$schema": of_runs()["$schema"],
        "title": "Backwater claims file",
        "description": "What the results of the scenario beside it should show.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// Returns the definitions that these properties refer to, and those that these refer to.
fn used(properties: &Map<String, Json>) -> Map<String, Json> {
    let mut found = Map::new();
    let mut waiting: Vec<&Json> = properties.values().collect();
    while let Some(node) = waiting.pop() {
        let target = node["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        if let Some(name) = target.filter(|name| !found.contains_key(*name)) {
            let definition = &of_runs()["$defs"][name];
            found.insert(name.to_string(), definition.clone());
            waiting.push(definition);
        }
        match node {
            Json::Array(items) => waiting.extend(items),
            Json::Object(table) => waiting.extend(table.values()),
            _ => {}
        }
    }
    found
}

fn of_plan_key(key: &str) -> Json {
    let overrides = "dotted keys and their values, such as \"switch.queues\" = 128";
    match key {
        "extends" => {
            json!({ "type": "string", "description": "Another scenario file, relative to this one; this one's keys go on top." })
        }
        "source" => json!({
            "type": "object",
            "description": "The publication that the scenario is taken from.",
            "properties": {
                "paper": { "type": "string", "description": "Title, and where and when it appeared." },
                "doi": { "type": "string", "description": "Digital object identifier, if it has one." },
                "url": { "type": "string", "description": "Address, if it has no identifier." },
                "section": { "type": "string", "description": "Section that describes the set-up." },
            },
            "additionalProperties": false,
        }),
        "sweep" => json!({
            "type": "object",
            "description": "Dotted keys and the list of values each takes in turn; the runs are the product of all lists and variants.",
        }),
        "seeds" => seeds::schema(),
        "variant" => json!({
            "type": "array",
            "description": format!("Named variants of the scenario: {overrides}."),
            "items": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
        }),
        "scale" => {
            let scales = SCALES.map(|scale| (scale.to_string(), json!({ "type": "object" })));
            json!({
                "type": "object",
                "description": format!("What changes at each scale: {overrides}. \"quick\" is taken unless another is asked for."),
                "properties": Map::from_iter(scales),
                "additionalProperties": false,
            })
        }
        "without" => grammar::without(),
        "configured" => grammar::configured(),
        "components" => grammar::components(),
        "figure" => grammar::figure(),
        "expect" => grammar::expectations(&SCALES),
        _ => unreachable!("every plan key has a schema"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_names_every_top_level_key() {
        let schema = scenario_schema();
        for key in [
            "seed", "scheme", "topology", "switch", "host", "workload", "run", "measure", "fault", "extends", "variant",
        ] {
            assert!(schema["properties"][key].is_object(), "{key}");
        }
        assert_eq!(schema["additionalProperties"], false);
        assert!(schema.get("required").is_none());
    }
}
