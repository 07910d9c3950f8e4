//! A digest of a run's measurements: a 256-bit hash of each table, and a hash of these hashes.
//!
//! The flow table is hashed by the times of flows, their retransmissions and their timeouts; start times are hashed for
//! closed-loop flows only. All other columns of the flow table follow from the scenario, and the slowdown table follows
//! from the flow table. All other tables are hashed by every column. Measurements outside the tables are hashed as
//! table `run`. Wall-clock times are left out.

use crate::outcome::{Digests, Outcome};
use crate::samples::Samples;
use crate::tables;
use backwater_dataplane::Recirculated;

/// Version of the digest, which changes with the hashed values and with the method.
pub const VERSION: &str = "backwater outcome 2";

/// Tables hashed by all their columns.
const TABLES: [&str; 9] =
    ["buffers", "queues", "pools", "mmus", "active_flows", "pauses", "ports", "drops", "queueing_delay"];

/// Completes an outcome: brings its rows into order, and computes its digests.
pub fn conclude(mut outcome: Outcome) -> Outcome {
    outcome.sort();
    outcome.digest = of(&outcome);
    outcome
}

/// Computes the digests of a run.
pub fn of(outcome: &Outcome) -> Digests {
    let mut tables = vec![("run", run(outcome)), ("flows", flows(outcome))];
    tables.extend(TABLES.map(|name| (name, table(outcome, name))));
    // Optional tables are hashed only where a run has them, so that they do not change the digests of other runs.
    let optional = [
        ("scheduled_delay", !outcome.scheduled_delays.is_empty()),
        ("links", !outcome.links.is_empty()),
        ("data_queues", outcome.scenario.measure.data_queues),
        ("sharing", outcome.scenario.measure.sharing),
    ];
    tables.extend(optional.into_iter().filter(|(_, there)| *there).map(|(name, _)| (name, table(outcome, name))));
    let named: Vec<&str> = tables.iter().map(|(name, _)| *name).chain(optional.map(|(name, _)| name)).collect();
    let sampled = Samples::SCHEMA.iter().map(|(name, _)| *name).filter(|name| !named.contains(name));
    tables.extend(sampled.filter(|name| !is_empty(outcome, name)).map(|name| (name, table(outcome, name))));
    let mut whole = blake3::Hasher::new();
    whole.update(VERSION.as_bytes());
    for (name, hash) in &tables {
        whole.update(name.as_bytes()).update(hash.as_bytes());
    }
    let hex = |hash: &blake3::Hash| hash.to_hex().to_string();
    let tables = tables.iter().map(|(name, hash)| (*name, hex(hash))).collect();
    Digests { whole: hex(&whole.finalize()), tables }
}

fn run(outcome: &Outcome) -> blake3::Hash {
    let mut words = outcome.goodput.clone();
    words.extend([outcome.packet_hops, outcome.ended.0, outcome.complete as u64]);
    words.extend(outcome.timeout_reasons);
    if outcome.credits.received > 0 {
        words.extend([outcome.credits.received, outcome.credits.wasted]);
    }
    words.extend(outcome.valleys);
    let Recirculated { headers, waited, longest } = outcome.recirculated;
    if headers > 0 {
        words.extend([headers, waited, longest.0]);
    }
    hash_words(words.into_iter())
}

fn flows(outcome: &Outcome) -> blake3::Hash {
    let results = (0..outcome.received.len()).flat_map(|i| {
        let counts = u64::from(outcome.retransmitted.get(i)) | u64::from(outcome.timeouts.get(i)) << 32;
        [outcome.received.get(i).0, outcome.acknowledged.get(i).0, counts]
    });
    hash_words(results.chain(outcome.started.iter().map(|at| at.0)))
}

/// Whether a table has no rows.
fn is_empty(outcome: &Outcome, name: &str) -> bool {
    let columns = tables::table(outcome, name).expect("a table of the schema");
    columns.first().is_none_or(|(_, values)| values.to_bytes().1.is_empty())
}

fn table(outcome: &Outcome, name: &str) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    for (column, values) in tables::table(outcome, name).expect("the schema has this table") {
        let (kind, bytes) = values.to_bytes();
        hash.update(column.as_bytes())
            .update(kind.as_bytes())
            .update(&(bytes.len() as u64).to_le_bytes())
            .update(&bytes);
    }
    hash.finalize()
}

/// Hashes words as little-endian bytes, buffered in large pieces.
fn hash_words(words: impl Iterator<Item = u64>) -> blake3::Hash {
    const PIECE: usize = 1 << 15;
    let (mut hash, mut piece) = (blake3::Hasher::new(), Vec::with_capacity(PIECE));
    for word in words {
        piece.extend_from_slice(&word.to_le_bytes());
        if piece.len() == PIECE {
            hash.update(&piece);
            piece.clear();
        }
    }
    hash.update(&piece).finalize()
}
