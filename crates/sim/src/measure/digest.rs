//! What a run measured, in 256 bits: a hash of each of its tables, and one of those.
//!
//! A flow's row follows from the scenario but for its times (that of its start where it waits for others), its retransmissions and its timeouts, and the table of slowdowns follows
//! from these; of all other tables every column counts, and so does what stands in no table. Wall-clock figures are outside.

use crate::measure::outcome::{Digests, Outcome};
use crate::measure::tables;
use backwater_dataplane::Recirculated;

/// Of what is hashed, and how: changes with either.
pub const VERSION: &str = "backwater outcome 2";

/// The tables hashed by their columns.
const TABLES: [&str; 9] =
    ["buffers", "queues", "pools", "mmus", "active_flows", "pauses", "ports", "drops", "queueing_delay"];

/// Of what a run measured.
pub fn of(outcome: &Outcome) -> Digests {
    let mut tables = vec![("run", run(outcome)), ("flows", flows(outcome))];
    tables.extend(TABLES.map(|name| (name, table(outcome, name))));
    // Came later: runs that have none of it have the digest they had.
    let later = [
        ("scheduled_delay", !outcome.scheduled_delays.is_empty()),
        ("links", !outcome.links.is_empty()),
        ("data_queues", outcome.scenario.measure.data_queues),
        ("sharing", outcome.scenario.measure.sharing),
    ];
    tables.extend(later.into_iter().filter(|(_, there)| *there).map(|(name, _)| (name, table(outcome, name))));
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
        let counts = outcome.retransmitted[i] as u64 | (outcome.timeouts[i] as u64) << 32;
        [outcome.received[i].0, outcome.acknowledged[i].0, counts]
    });
    hash_words(results.chain(outcome.started.iter().map(|at| at.0)))
}

fn table(outcome: &Outcome, name: &str) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    for (column, values) in tables::table(outcome, name).expect("a table of the schema") {
        let (kind, bytes) = values.to_bytes();
        hash.update(column.as_bytes())
            .update(kind.as_bytes())
            .update(&(bytes.len() as u64).to_le_bytes())
            .update(&bytes);
    }
    hash.finalize()
}

/// Fed in large pieces.
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
