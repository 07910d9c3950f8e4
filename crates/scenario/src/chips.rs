//! Switching chips: ports, packet memory and its division, each with its source, as a fragment of a scenario's
//! `[switch]`.
//!
//! Source: Bai et al., "One More Config Is Enough", IEEE/ACM ToN 2021, Table I; newer chips from publications about
//! them. The table's figures per port follow with 1 MB = 1024 KB, in Tofino's row with 1000 KB. So `memory` is written
//! in MiB for chips that the table counts that way.

use std::path::Path;
use std::sync::OnceLock;

use backwater_types::{BitsPerSec, Bytes};
use serde::Serialize;

use crate::document::{Node, Place, Table, Value};

/// A chip as `backwater list chips` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChipInfo {
    /// Name in `switch.chip = "..."`.
    pub name: &'static str,
    /// Name in prose.
    pub title: String,
    /// Description in one sentence.
    pub summary: String,
    /// Source of the figures, and those that are not published.
    pub source: String,
    /// Front ports.
    pub ports: u64,
    /// Rate of a port, bit/s.
    pub rate_bps: u64,
    /// Packet memory in all, in the units of its source.
    pub memory: String,
    /// Packet memory in all, bytes.
    pub memory_bytes: u64,
    /// Memory management units, each with its own pool.
    pub mmus: u64,
    /// Ports of one MMU.
    pub mmu_ports: u64,
    /// Shared pool of one MMU, bytes.
    pub pool_bytes: u64,
    /// Bytes reserved for each queue; 0 where the source does not state them.
    pub private_bytes: u64,
    /// Dynamic threshold: a queue may take this multiple of the free pool.
    pub alpha: f64,
}

/// Chips shipped, in the order they are listed.
const CHIPS: [(&str, &str); 8] = [
    ("broadcom-56538", include_str!("../chips/broadcom-56538.toml")),
    ("trident-plus", include_str!("../chips/trident-plus.toml")),
    ("trident2", include_str!("../chips/trident2.toml")),
    ("tomahawk", include_str!("../chips/tomahawk.toml")),
    ("tofino", include_str!("../chips/tofino.toml")),
    ("tomahawk2", include_str!("../chips/tomahawk2.toml")),
    ("tomahawk3", include_str!("../chips/tomahawk3.toml")),
    ("tofino2", include_str!("../chips/tofino2.toml")),
];

/// Returns all chips.
pub fn chips() -> Vec<ChipInfo> {
    all().iter().map(|chip| chip.info.clone()).collect()
}

/// Returns the keys of `[switch]` that a chip sets, or `None` for an unknown chip.
pub(crate) fn chip(name: &str) -> Option<&'static Table> {
    all().iter().find(|chip| chip.info.name == name).map(|chip| &chip.keys)
}

struct Chip {
    info: ChipInfo,
    keys: Table,
}

fn all() -> &'static [Chip] {
    static ALL: OnceLock<Vec<Chip>> = OnceLock::new();
    ALL.get_or_init(|| CHIPS.iter().map(|(name, text)| parse(name, text)).collect())
}

fn parse(name: &'static str, text: &str) -> Chip {
    let document =
        Node::from_toml(text, name, Path::new("")).unwrap_or_else(|error| panic!("a chip is valid TOML: {error}"));
    let about = document.get("chip").expect("a chip opens with what it is");
    let text = |key: &str| about.get(key).and_then(Node::text).expect("it has the key, a text").to_string();
    let whole = |node: Option<&Node>| match node.expect("it has the key").value {
        Value::Int(n) => u64::try_from(n).expect("it is not negative"),
        _ => panic!("it is a whole number"),
    };
    let size = |text: &str| text.parse::<Bytes>().expect("it is a size").0;
    let switch = document.get("switch").and_then(Node::table).expect("a chip has keys of a switch");
    let mmu = switch.get("mmu");
    let private = mmu.and_then(|mmu| mmu.get("private")).and_then(Node::text);
    let ports = whole(about.get("ports"));
    let info = ChipInfo {
        name,
        title: text("title"),
        summary: text("summary"),
        source: text("source"),
        ports,
        rate_bps: text("rate").parse::<BitsPerSec>().expect("it is a rate").0,
        memory: text("memory"),
        memory_bytes: size(&text("memory")),
        mmus: whole(about.get("mmus")),
        mmu_ports: mmu.and_then(|mmu| mmu.get("ports")).map_or(ports, |ports| whole(Some(ports))),
        pool_bytes: size(switch.get("buffer").and_then(Node::text).expect("it has a pool")),
        private_bytes: private.map_or(0, size),
        alpha: match switch.get("alpha").expect("it has alpha").value {
            Value::Int(n) => n as f64,
            Value::Float(x) => x,
            _ => panic!("alpha is a number"),
        },
    };
    Chip { info, keys: switch.iter().map(|(key, node)| (key.clone(), placed(node, name))).collect() }
}

/// Sets the place of every node to the chip.
fn placed(node: &Node, name: &'static str) -> Node {
    let value = match &node.value {
        Value::Table(table) => {
            Value::Table(table.iter().map(|(key, node)| (key.clone(), placed(node, name))).collect())
        }
        value => value.clone(),
    };
    Node { value, place: Place::Chip(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KB a port and KB a port and Gbps, as Table I prints them: KB of 1024 B where memory is in MiB.
    fn per_port(chip: &ChipInfo) -> (f64, f64) {
        let kilo = if chip.memory.ends_with("MiB") { 1024.0 } else { 1000.0 };
        let port = chip.memory_bytes as f64 / chip.ports as f64 / kilo;
        (port, port * 1e9 / chip.rate_bps as f64)
    }

    #[test]
    fn the_papers_table_comes_out() {
        let printed = [
            ("broadcom-56538", 85.0, 85.0),
            ("trident-plus", 192.0, 19.2),
            ("trident2", 384.0, 9.6),
            ("tomahawk", 512.0, 5.12),
            ("tofino", 344.0, 3.44),
        ];
        for ((name, port, gbps), chip) in printed.into_iter().zip(chips()) {
            let computed = per_port(&chip);
            assert_eq!(name, chip.name);
            assert!(
                (computed.0 - port).abs() < 0.5 && (computed.1 - gbps).abs() / gbps < 0.005,
                "{name}: {computed:?}"
            );
        }
    }

    #[test]
    fn the_mmus_are_within_the_chip() {
        for chip in chips() {
            assert!(!chip.title.is_empty() && !chip.summary.is_empty() && !chip.source.is_empty(), "{chip:?}");
            assert_eq!(chip.mmus * chip.mmu_ports, chip.ports, "{}", chip.name);
            let used = chip.mmus * (chip.pool_bytes + chip.mmu_ports * chip.private_bytes);
            assert!(used <= chip.memory_bytes && 10 * used > 9 * chip.memory_bytes, "{}", chip.name);
        }
    }

    #[test]
    fn a_chip_sets_keys_of_a_switch_and_nothing_else() {
        for (name, _) in CHIPS {
            let keys = chip(name).expect("shipped");
            assert!(keys.keys().all(|key| ["alpha", "buffer", "mmu"].contains(&key.as_str())), "{name}");
            assert!(keys.values().all(|node| node.place == Place::Chip(name)), "{name}");
        }
        assert_eq!(chip("tomahawk").expect("shipped")["mmu"].get("private").and_then(Node::text), Some("128 KB"));
        assert!(chip("nonsense").is_none());
    }

    #[test]
    fn a_source_names_what_it_does_not_say() {
        for chip in chips().iter().filter(|chip| chip.private_bytes == 0) {
            assert!(chip.source.contains("not stated"), "{}", chip.name);
            assert_eq!(chip.alpha, 1.0, "{}", chip.name);
        }
    }
}
