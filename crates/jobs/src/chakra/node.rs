//! A trace has a file for each rank, `NAME.0.et` and so on.
//!
//! Source: `schema/protobuf/et_def.proto` (mlcommons/chakra 21585d8). A file has a GlobalMetadata, and then nodes. Zero
//! values are not written, so the first node may have no id. Integers may be of any integer type.

use super::wire::{Fields, Messages, Value, packed};
use crate::refused::Refused;
use std::io::Read;

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Place in the file, bytes.
    pub at: u64,
    /// Identifier.
    pub id: u64,
    /// Name.
    pub name: String,
    /// What it is: 1 metadata, 2 load, 3 store, 4 computation, 5 send, 6 receive, 7 collective.
    pub kind: u64,
    /// Nodes that it waits for, by its dependencies of data.
    pub after: Vec<u64>,
    /// Nodes that it waits for, by its dependencies of control.
    pub control: Vec<u64>,
    /// Duration in microseconds.
    pub micros: u64,
    /// Values of its inputs, of metadata.
    pub inputs: String,
    /// Whether it runs on the CPU; `None` if the node does not say.
    pub on_cpu: Option<bool>,
    /// Kind of collective.
    pub comm_type: Option<u64>,
    /// Bytes of a message or a collective.
    pub comm_size: Option<u64>,
    /// Sending rank.
    pub comm_src: Option<u64>,
    /// Receiving rank.
    pub comm_dst: Option<u64>,
    /// Tag.
    pub comm_tag: u64,
    /// Name of its group; empty: all ranks.
    pub group: String,
    /// Whether its collective leaves out a dimension of the network (`involved_dim`).
    pub some_dimensions: bool,
}

/// Reads the nodes of a rank. `file` is the file's name in messages.
///
/// # Errors
/// At the first byte that is not valid.
pub fn read(from: impl Read, file: &str) -> Result<Vec<Node>, Refused> {
    let mut messages = Messages::new(from, file);
    if !messages.advance()? {
        return Err(Refused::at(file, "is empty: expected metadata and nodes"));
    }
    let mut nodes = Vec::new();
    let mut fields = Fields::new(&messages.message);
    while let Some((number, value)) = fields.next().map_err(|at| messages.refuse(at, "expected metadata of a trace"))? {
        if !matches!((number, value), (1 | 2, Value::Bytes(_))) {
            return Err(messages.refuse(0, "expected metadata of a trace, with a version and attributes"));
        }
    }
    while messages.advance()? {
        let node = node(&messages.message, messages.at).map_err(|(at, problem)| messages.refuse(at, problem))?;
        if node.kind == 0 {
            // A node takes memory, and an empty one a byte of the file.
            return Err(messages.refuse(0, "a node without a type: expected 1 to 7"));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

type Wrong = (usize, &'static str);

fn node(message: &[u8], at: u64) -> Result<Node, Wrong> {
    let mut node = Node { at, ..Node::default() };
    let mut fields = Fields::new(message);
    let damaged = |at: usize| (at, "expected a field of a node");
    while let Some((number, value)) = fields.next().map_err(damaged)? {
        match (number, value) {
            (1, Value::Varint(id)) => node.id = id,
            (2, Value::Bytes(name)) => node.name = String::from_utf8_lossy(name).into_owned(),
            (3, Value::Varint(kind)) => node.kind = kind,
            (4 | 5, Value::Varint(id)) => node.causes(number).push(id),
            (4 | 5, Value::Bytes(ids)) => {
                let causes = node.causes(number);
                packed(ids, |id| causes.push(id)).ok_or((0, "expected identifiers of nodes"))?;
            }
            (6, Value::Varint(_)) => {}
            (7, Value::Varint(micros)) => node.micros = micros,
            (8, Value::Bytes(inputs)) => node.inputs = values(inputs).ok_or((0, "expected inputs of a node"))?,
            (9, Value::Bytes(_)) => {}
            (10, Value::Bytes(attribute)) => node.set(attribute).ok_or((0, "expected an attribute of a node"))?,
            (1..=10, _) => return Err((0, "a field of a node has another type than its definition")),
            _ => {}
        }
    }
    Ok(node)
}

/// Field of an attribute that is a list of truth values.
const BOOLEANS: u64 = 28;

/// Whether one of a list of truth values is false.
fn some_are_false(list: &[u8]) -> Option<bool> {
    let (mut fields, mut found) = (Fields::new(list), false);
    while let Some((number, value)) = fields.next().ok()? {
        match (number, value) {
            (1, Value::Varint(value)) => found |= value == 0,
            (1, Value::Bytes(values)) => packed(values, |value| found |= value == 0)?,
            _ => return None,
        }
    }
    Some(found)
}

/// Values of inputs or outputs.
fn values(bytes: &[u8]) -> Option<String> {
    let (mut fields, mut text) = (Fields::new(bytes), String::new());
    while let Some((number, value)) = fields.next().ok()? {
        if let (1, Value::Bytes(values)) = (number, value) {
            text = String::from_utf8_lossy(values).into_owned();
        }
    }
    Some(text)
}

impl Node {
    /// Dependencies of field 4, of control, or of field 5, of data.
    fn causes(&mut self, field: u64) -> &mut Vec<u64> {
        if field == 4 { &mut self.control } else { &mut self.after }
    }

    /// Sets what an attribute says. `None` if it is damaged.
    fn set(&mut self, attribute: &[u8]) -> Option<()> {
        let (mut name, mut value) = (&b""[..], None);
        let mut fields = Fields::new(attribute);
        while let Some((number, field)) = fields.next().ok()? {
            match (number, field) {
                (1, Value::Bytes(text)) => name = text,
                (2, _) => {}
                _ => value = Some((number, field)),
            }
        }
        // A zero has a field in a choice, but a writer may leave it out.
        let integer = match value {
            None => Some(0),
            Some((7 | 9 | 11 | 13 | 27, Value::Varint(value))) => Some(value),
            // Signed integers in zigzag.
            Some((15 | 17, Value::Varint(value))) => Some((value >> 1) ^ (value & 1).wrapping_neg()),
            Some((19 | 23, Value::Four(bytes))) => Some(u64::from(u32::from_le_bytes(bytes))),
            Some((21 | 25, Value::Eight(bytes))) => Some(u64::from_le_bytes(bytes)),
            Some(_) => None,
        };
        let text = || match value {
            Some((29, Value::Bytes(text))) => Some(String::from_utf8_lossy(text).into_owned()),
            None => Some(String::new()),
            // Groups may be named by a number.
            _ => integer.map(|number| number.to_string()),
        };
        match name {
            b"is_cpu_op" => self.on_cpu = Some(integer? != 0),
            b"comm_type" => self.comm_type = Some(integer?),
            b"comm_size" => self.comm_size = Some(integer?),
            b"comm_src" => self.comm_src = Some(integer?),
            b"comm_dst" => self.comm_dst = Some(integer?),
            b"comm_tag" => self.comm_tag = integer?,
            b"pg_name" => self.group = text()?,
            b"involved_dim" => {
                self.some_dimensions = match value {
                    None => false,
                    Some((BOOLEANS, Value::Bytes(list))) => some_are_false(list)?,
                    Some(_) => return None,
                }
            }
            _ => {}
        }
        Some(())
    }
}
