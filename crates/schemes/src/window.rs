//! Cap on a flow's bytes in flight, as scenarios write it.

use backwater_types::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cap on a flow's bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// No cap.
    None,
    /// One bandwidth-delay product of the longest path, of propagation alone.
    Bdp,
    /// The largest base BDP over pairs of hosts: propagation both ways and one payload's serialisation a hop (baselines
    /// 0.2).
    BaseBdp,
    /// The base BDP of each pair of hosts.
    PairBdp,
    /// A size.
    Size(Bytes),
}

impl Serialize for Window {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Window::None => s.serialize_str("none"),
            Window::Bdp => s.serialize_str("bdp"),
            Window::BaseBdp => s.serialize_str("base-bdp"),
            Window::PairBdp => s.serialize_str("pair-bdp"),
            Window::Size(bytes) => bytes.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Window, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            "none" => Ok(Window::None),
            "bdp" => Ok(Window::Bdp),
            "base-bdp" => Ok(Window::BaseBdp),
            "pair-bdp" => Ok(Window::PairBdp),
            _ => text
                .parse()
                .map(Window::Size)
                .map_err(|_| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &WINDOW_FORMS)),
        }
    }
}

impl JsonSchema for Window {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": WINDOW_FORMS })
    }
}

const WINDOW_FORMS: &str = "\"none\", \"bdp\", \"base-bdp\", \"pair-bdp\" or a size with a unit, such as \"104 KB\"";
