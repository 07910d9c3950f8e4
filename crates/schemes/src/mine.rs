//! Schemes of the user's own, which live outside this repository.
//!
//! A module that is built with such schemes adds them here before it reads a scenario ([`add`]). Scenarios name them
//! and their parts `mine/NAME`. The parameters of a part are in the table `[host.mine.NAME]` or `[switch.mine.NAME]`.
//! Where no scheme was added, `mine` is an unknown key, and nothing here is used.

use crate::host::{Of, Stated};
use backwater_dataplane::{Pauses, Pausing};
use backwater_transport::ClosedForm;
use backwater_types::{OutOfRange, Ranges};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Beginning of the names of these schemes.
pub const PREFIX: &str = "mine/";

/// Everything that was added.
static ADDED: OnceLock<Added> = OnceLock::new();

#[derive(Default)]
struct Added {
    presets: Vec<(&'static str, &'static str)>,
    parts: Vec<Part>,
}

/// A scheme of the user's own: its preset, and the parts that it brings.
pub struct MineScheme {
    /// Name in scenarios, `mine/NAME`.
    pub name: &'static str,
    /// A fragment of a scenario, as those in `presets/`.
    pub preset: &'static str,
    /// Parts that the registry does not have.
    pub parts: Vec<Part>,
}

/// Adds schemes to those of the registry. Call it once, before anything reads a scenario.
///
/// # Panics
/// If it was called before, or if two schemes or two parts have one name.
pub fn add(schemes: Vec<MineScheme>) {
    let mut all = Added::default();
    for scheme in schemes {
        all.presets.push((scheme.name, scheme.preset));
        all.parts.extend(scheme.parts);
    }
    check_names(all.presets.iter().map(|(name, _)| *name));
    check_names(all.parts.iter().map(|part| part.name));
    assert!(ADDED.set(all).is_ok(), "schemes are added once");
}

/// Checks that names begin as they should, and that they differ: a part is found by its name.
fn check_names(names: impl Iterator<Item = &'static str>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(name.starts_with(PREFIX), "\"{name}\": names of your own begin with \"{PREFIX}\"");
        assert!(seen.insert(name), "\"{name}\" is the name of two schemes or of two parts; rename one");
    }
}

/// Name and preset of each scheme that was added.
pub fn presets() -> &'static [(&'static str, &'static str)] {
    ADDED.get().map_or(&[], |all| &all.presets)
}

/// Every part that was added.
pub fn parts() -> &'static [Part] {
    ADDED.get().map_or(&[], |all| &all.parts)
}

/// Key of a scenario that names a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `host.transport`.
    Transport,
    /// `switch.assignment`.
    Assignment,
    /// `switch.backpressure`.
    Backpressure,
}

/// A part of a scheme: a transport, an assignment or a backpressure.
pub struct Part {
    /// Name in scenarios, `mine/NAME`.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Key that names it.
    pub role: Role,
    key: &'static str,
    default: Held,
    read: fn(Json) -> Result<Held, String>,
    check: fn(&Held) -> Result<(), OutOfRange>,
    schema: fn() -> Json,
    states: States,
    extension: Option<TypeId>,
}

/// Properties that a part states, from its parameters.
enum States {
    Nothing,
    Transport(fn(&Held) -> Box<dyn Stated>),
    Backpressure(fn(&Held) -> Pausing<'_>),
}

/// Parameters of a part, as text and typed.
#[derive(Clone)]
struct Held {
    json: Json,
    typed: Arc<dyn Any + Send + Sync>,
}

impl Held {
    fn new<P: Serialize + Send + Sync + 'static>(params: P) -> Held {
        let json = serde_json::to_value(&params).expect("parameters are a table");
        Held { json, typed: Arc::new(params) }
    }

    fn typed<P: 'static>(&self) -> &P {
        self.typed.downcast_ref().expect("a part has parameters of one type")
    }
}

/// A table of parameters, which can be read, checked and described.
pub trait Parameters: Ranges + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<P: Ranges + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Parameters for P {}

impl Part {
    fn new<P: Parameters>(name: &'static str, about: &'static str, role: Role, states: States) -> Part {
        Part {
            name,
            about,
            role,
            key: format!("mine.{}", name.strip_prefix(PREFIX).unwrap_or(name)).leak(),
            default: Held::new(P::default()),
            read: |json| serde_json::from_value::<P>(json).map(Held::new).map_err(|error| error.to_string()),
            check: |held| held.typed::<P>().check(),
            schema: || schemars::schema_for!(P).to_value(),
            states,
            extension: None,
        }
    }

    /// A transport that is a congestion control.
    pub fn control<C: ClosedForm>(name: &'static str, about: &'static str) -> Part
    where
        C::Params: Parameters,
    {
        let stated = |held: &Held| -> Box<dyn Stated> { Box::new(Of::<C>(held.typed::<C::Params>().clone())) };
        let part = Part::new::<C::Params>(name, about, Role::Transport, States::Transport(stated));
        Part { extension: Some(TypeId::of::<C::Extension>()), ..part }
    }

    /// Another transport.
    pub fn transport<P: Parameters + Stated + Clone>(name: &'static str, about: &'static str) -> Part {
        let stated = |held: &Held| -> Box<dyn Stated> { Box::new(held.typed::<P>().clone()) };
        Part::new::<P>(name, about, Role::Transport, States::Transport(stated))
    }

    /// A backpressure.
    pub fn backpressure<P: Parameters + Pauses>(name: &'static str, about: &'static str) -> Part {
        Part::new::<P>(name, about, Role::Backpressure, States::Backpressure(|held| held.typed::<P>().pausing()))
    }

    /// A queue assignment.
    pub fn assignment<P: Parameters>(name: &'static str, about: &'static str) -> Part {
        Part::new::<P>(name, about, Role::Assignment, States::Nothing)
    }

    /// Type of what packets of a congestion control carry beside their headers.
    pub fn extension(&self) -> Option<TypeId> {
        self.extension
    }

    /// Name of its table: without the prefix.
    pub fn table(&self) -> &'static str {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name)
    }

    /// Dotted key of its table below `[host]` or `[switch]`.
    pub(crate) fn key(&self) -> &'static str {
        self.key
    }

    /// JSON schema of its table.
    pub fn schema(&self) -> Json {
        (self.schema)()
    }
}

/// A part that a scenario names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mine(u16);

impl Mine {
    /// The part.
    pub fn part(self) -> &'static Part {
        &parts()[self.0 as usize]
    }
}

impl Serialize for Mine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.part().name)
    }
}

impl<'de> Deserialize<'de> for Mine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mine, D::Error> {
        let name = String::deserialize(deserializer)?;
        let place = parts().iter().position(|part| part.name == name);
        place.map(|place| Mine(place as u16)).ok_or_else(|| D::Error::custom(format!("unknown name \"{name}\"")))
    }
}

/// Parameters of parts, by the names of their tables. A part without a table has its defaults.
#[derive(Clone, Default)]
pub struct MineTables(BTreeMap<&'static str, Held>);

impl MineTables {
    /// Whether there is no table.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Completes the tables of the parts in use, and removes all others.
    pub(crate) fn settle(&mut self, used: impl IntoIterator<Item = Mine>) {
        self.0 = used.into_iter().map(|part| (part.part().table(), self.held(part).clone())).collect();
    }

    fn held(&self, part: Mine) -> &Held {
        self.0.get(part.part().table()).unwrap_or(&part.part().default)
    }

    /// Parameters of a part.
    ///
    /// # Panics
    /// If the part has parameters of another type.
    pub fn of<P: 'static>(&self, part: Mine) -> &P {
        self.held(part).typed()
    }

    /// Parameters of the part with this name.
    ///
    /// # Panics
    /// If there is no such part, or if it has parameters of another type.
    pub fn named<P: 'static>(&self, name: &str) -> &P {
        let part = parts().iter().position(|part| part.name == name).expect("a scheme adds its parts");
        self.of(Mine(part as u16))
    }

    /// How a backpressure pauses.
    pub(crate) fn pausing(&self, part: Mine) -> Pausing<'_> {
        match part.part().states {
            States::Backpressure(pausing) => pausing(self.held(part)),
            _ => unreachable!("scenarios name backpressures as backpressure"),
        }
    }

    /// Properties of a transport.
    pub(crate) fn stated(&self, part: Mine) -> Box<dyn Stated> {
        match part.part().states {
            States::Transport(stated) => stated(self.held(part)),
            _ => unreachable!("scenarios name transports as transport"),
        }
    }

    /// Returns the first value that is out of its range, with its dotted key.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        let own = |name: &&str| parts().iter().find(|part| part.table() == *name).expect("it was read as a part's");
        self.0.iter().try_for_each(|(name, held)| (own(name).check)(held).map_err(|wrong| wrong.within(name)))
    }
}

impl fmt::Debug for MineTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, held)| (name, &held.json))).finish()
    }
}

/// Tables are equal if they say the same.
impl PartialEq for MineTables {
    fn eq(&self, other: &MineTables) -> bool {
        self.0.iter().map(|(name, held)| (name, &held.json)).eq(other.0.iter().map(|(name, held)| (name, &held.json)))
    }
}

impl Serialize for MineTables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, held)| (name, &held.json)))
    }
}

impl<'de> Deserialize<'de> for MineTables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MineTables, D::Error> {
        let tables: BTreeMap<String, Json> = BTreeMap::deserialize(deserializer)?;
        let read = |(name, json): (String, Json)| {
            let part = parts().iter().find(|part| part.table() == name);
            let part = part.ok_or_else(|| D::Error::custom(format!("unknown table \"{name}\"")))?;
            Ok((part.table(), (part.read)(json).map_err(D::Error::custom)?))
        };
        Ok(MineTables(tables.into_iter().map(read).collect::<Result<_, _>>()?))
    }
}

/// Value of a key as scenarios write it.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Json::String(word)) => word,
        other => unreachable!("a name is text, not {other:?}"),
    }
}
