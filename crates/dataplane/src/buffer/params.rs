//! Parameters of a switch's memory: the shared buffer, and its division among memory management units.

use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::Bytes;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Size of a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// Unlimited.
    Infinite,
    /// Bytes shared by all ports.
    Shared(Bytes),
}

#[cfg(feature = "schema")]
impl Serialize for BufferSize {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            BufferSize::Infinite => s.serialize_str("infinite"),
            BufferSize::Shared(bytes) => bytes.serialize(s),
        }
    }
}

#[cfg(feature = "schema")]
impl<'de> Deserialize<'de> for BufferSize {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<BufferSize, D::Error> {
        let text = String::deserialize(d)?;
        if text == "infinite" {
            return Ok(BufferSize::Infinite);
        }
        text.parse().map(BufferSize::Shared).map_err(|_| {
            let expected = "\"infinite\" or a size with a unit, such as \"12 MB\"";
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &expected)
        })
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for BufferSize {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Buffer".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "\"infinite\" or a size with a unit, such as \"12 MB\"" })
    }
}

/// Memory of a switch: private to queues, and shared by the ports of an MMU (spec G.1).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct Mmu {
    /// Ports of an MMU, taken in the order of a switch's links: hosts first. Absent: one MMU for all.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub ports: Option<u16>,
    /// Neighbours at the ports of each MMU, by name, in place of `ports`. Neighbours not named belong to the first MMU.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Vec::is_empty"))]
    pub neighbours: Vec<Vec<String>>,
    /// Private bytes of each queue, used before the pool.
    pub private: Bytes,
    /// Settings of single queues that differ from `private` and `switch.alpha`.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Vec::is_empty"))]
    pub queue: Vec<QueueMemory>,
    /// Bytes that a departing packet gives back first (BCC-A4).
    pub returns: Returns,
}

/// Memory of one queue of each port.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct QueueMemory {
    /// Dynamic threshold of the queue. Absent: `switch.alpha`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub alpha: Option<f64>,
    /// Private bytes of the queue. Absent: `switch.mmu.private`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub private: Option<Bytes>,
}

/// Bytes that a departing packet gives back first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Returns {
    /// Bytes of the pool: private bytes stay filled.
    #[default]
    Shared,
    /// Private bytes.
    Private,
}
