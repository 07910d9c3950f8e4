//! Memory of a switch: the shared buffer, and how memory management units divide it.

use backwater_types::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Never full.
    Infinite,
    /// This much for all ports together.
    Shared(Bytes),
}

impl Serialize for Buffer {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Buffer::Infinite => s.serialize_str("infinite"),
            Buffer::Shared(bytes) => bytes.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Buffer, D::Error> {
        let text = String::deserialize(d)?;
        if text == "infinite" {
            return Ok(Buffer::Infinite);
        }
        text.parse().map(Buffer::Shared).map_err(|_| {
            let expected = "\"infinite\" or a size with a unit, such as \"12 MB\"";
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &expected)
        })
    }
}

impl JsonSchema for Buffer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buffer".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "\"infinite\" or a size with a unit, such as \"12 MB\"" })
    }
}

/// Memory of a switch: private to queues, and shared by the ports of an MMU (spec G.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mmu {
    /// Ports of an MMU, taken in the order of a switch's links: hosts first. Absent: one MMU for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// The neighbours at the ports of each MMU, one by one, in place of `ports`. Neighbours not named are at the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Vec<String>>,
    /// Bytes that each queue has to itself, used before the pool.
    pub private: Bytes,
    /// Queue by queue, other than `private` and `switch.alpha` say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueMemory>,
    /// What a departing packet gives back first (BCC-A4).
    pub returns: Returns,
}

/// Memory of one queue of each port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueMemory {
    /// Its dynamic threshold. Absent: `switch.alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Bytes it has to itself. Absent: `switch.mmu.private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<Bytes>,
}

/// What a departing packet gives back first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Returns {
    /// Bytes of the pool: what is private stays filled.
    #[default]
    Shared,
    /// Private bytes.
    Private,
}
