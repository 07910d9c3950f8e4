//! Computations: runs that compute something in place of simulating a network. `[compute]` has the `kind` of
//! computation and its parameters.
//!
//! Python implements them: it hands over the schema of each kind's parameters and the names of its results. Here files
//! with computations are checked as all others are, and defaults are filled in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::document::Node;
use crate::error::Error;
use crate::model::{Scenario, Sizes};
use crate::{resolve, schema, sizes, structure};

/// The key that makes a run a computation.
pub(crate) const KEY: &str = schema::COMPUTE;
/// Keys that computations share with simulations.
const SHARED: [&str; 3] = ["name", "description", "seed"];

/// Computations that Python offers, by kind.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Computations(BTreeMap<String, Kind>);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    description: String,
    /// JSON schema of each parameter, with its `default` if it may be left out.
    parameters: Map<String, Json>,
    results: Vec<String>,
}

/// A run: a simulation or a computation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Work {
    /// A network to simulate.
    Simulation(Box<Scenario>),
    /// A computation: `name`, `description`, `seed`, and `compute` with every parameter.
    Computation(Json),
}

impl Work {
    /// Name of a run without a variant.
    pub(crate) fn called(&self) -> &str {
        match self {
            Work::Simulation(scenario) => &scenario.scheme,
            Work::Computation(json) => json[KEY]["kind"].as_str().unwrap_or(""),
        }
    }

    /// The run's `name`, or its `description`.
    pub(crate) fn text(&self, key: &str) -> &str {
        match self {
            Work::Simulation(scenario) if key == "name" => &scenario.name,
            Work::Simulation(scenario) => &scenario.description,
            Work::Computation(json) => json[key].as_str().unwrap_or(""),
        }
    }

    /// The network, if the run is a simulation.
    pub(crate) fn network(&self) -> Option<&Scenario> {
        match self {
            Work::Simulation(scenario) => Some(scenario),
            Work::Computation(_) => None,
        }
    }
}

impl Computations {
    /// Parses JSON of the form `{ kind: { description, parameters, results } }`.
    ///
    /// # Errors
    /// If the text is not of this form.
    pub fn from_json(text: &str) -> Result<Computations, Error> {
        serde_json::from_str(text).map_err(|error| Error::at("computations", error.to_string()))
    }

    /// Names of all results of a run.
    pub(crate) fn results(&self, work: &Work) -> BTreeSet<String> {
        let kind = work.network().is_none().then(|| self.0.get(work.called())).flatten();
        kind.map(|kind| kind.results.iter().cloned().collect()).unwrap_or_default()
    }

    /// Makes the schema of the table `[compute]`.
    fn table(&self) -> Json {
        let form = |(name, kind): (&String, &Kind)| {
            let mut properties = Map::from_iter([("kind".to_string(), json!({ "const": name }))]);
            properties.extend(kind.parameters.clone());
            let open = kind.parameters.iter().filter(|(_, schema)| schema.get("default").is_none());
            let required: Vec<&str> = std::iter::once("kind").chain(open.map(|(name, _)| name.as_str())).collect();
            json!({
                "type": "object",
                "description": kind.description,
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        };
        let forms: Vec<Json> = self.0.iter().map(form).collect();
        json!({ "description": "What to work out in place of simulating a network.", "oneOf": forms })
    }

    /// Makes the schema of a whole run.
    fn schema(&self) -> Json {
        let runs = schema::of_runs();
        let shared = SHARED.iter().map(|key| (key.to_string(), runs["properties"][key].clone()));
        let properties: Map<String, Json> = shared.chain([(KEY.to_string(), self.table())]).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": [KEY],
            "additionalProperties": false,
            "$defs": runs["$defs"],
        })
    }

    /// Checks the document of one run and fills in defaults. Size tables that the command line names are read from
    /// `dir`.
    pub(crate) fn resolve(&self, document: Node, dir: &Path) -> Result<Json, Error> {
        if self.0.is_empty() {
            let problem = "is a computation: expected a network to simulate";
            return Err(document.get(KEY).expect("that is why it is here").error(KEY, problem));
        }
        structure::check(&self.schema(), &document)?;
        let mut json = document.to_json();
        let mut own = json[KEY].take();
        for (name, schema) in &self.0[own["kind"].as_str().expect("checked to be text")].parameters {
            match schema.get("default") {
                Some(default) if own.get(name).is_none() => own[name] = default.clone(),
                _ => {}
            }
            if schema["$ref"] == "#/$defs/Sizes" {
                own[name] = sizes(&document, &format!("{KEY}.{name}"), &own[name], dir)?;
            }
        }
        let given = |key: &str, default: Json| json.get(key).cloned().unwrap_or(default);
        let (name, description) = (given("name", "".into()), given("description", "".into()));
        Ok(json!({ "name": name, "description": description, "seed": given("seed", 1.into()), KEY: own }))
    }
}

/// Makes the schema of scenario files, with these computations.
pub fn file_schema(computations: &Computations) -> Json {
    let mut schema = schema::scenario_schema();
    schema["properties"][KEY] = computations.table();
    schema
}

/// Reads flow sizes: replaces the name of a file by its points.
fn sizes(document: &Node, key: &str, given: &Json, dir: &Path) -> Result<Json, Error> {
    let wrong = |field: &str, problem: String| {
        let place = format!("{key}.{field}");
        document.find(place.split('.')).0.error(place.as_str(), problem)
    };
    let sizes: Sizes = serde_json::from_value(given.clone())
        .map_err(|error| document.find(key.split('.')).0.error(key, error.to_string()))?;
    let sizes = match sizes {
        Sizes::File(file) => Sizes::Points(resolve::read(document, &format!("{key}.file"), &file, dir, sizes::read)?),
        known => known,
    };
    sizes::check(&sizes).map_err(|(field, problem)| wrong(&field, problem))?;
    Ok(serde_json::to_value(&sizes).expect("sizes are plain data"))
}
