//! `[seeds]`: runs that differ in nothing but their seed, over which results are averaged.

use serde_json::{Value as Json, json};

use crate::document::{Node, Value};
use crate::error::Error;

/// Most seeds; more are a slip.
const COUNT_MAX: i128 = 1000;
/// Last seed: tables of results have signed 64-bit integers.
pub(crate) const LAST: i128 = i64::MAX as i128;
/// Seed of a scenario that names none.
const DEFAULT: i128 = 1;

/// Makes the schema of the table.
pub(crate) fn schema() -> Json {
    json!({
        "type": "object",
        "description": "How many seeds each run is made with. What is measured has an interval over them.",
        "properties": {
            "count": { "type": "integer", "minimum": 1, "maximum": COUNT_MAX as u64, "description": "Seeds, one after the other; 1 by default." },
            "first": { "type": "integer", "format": "uint64", "minimum": 0, "maximum": LAST as u64, "description": "The first of them; the scenario's seed by default." },
            "fixed": { "type": "string", "description": "Why this seed and no other: it is part of the set-up, and what is measured is exact." },
        },
        "additionalProperties": false,
    })
}

/// Returns the seeds that the table asks for, one after the other.
///
/// # Errors
/// If the table contradicts itself, or seeds are swept beside it.
pub(crate) fn of(table: &Node, seed: Option<&Node>, sweep: Option<&Node>) -> Result<Vec<Node>, Error> {
    let number = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    if let Some(seed) = seed.filter(|seed| number(Some(seed)).is_none()) {
        return Ok(vec![seed.clone()]); // No seed at all, which is for the check of a run to say.
    }
    let count = number(table.get("count")).unwrap_or(1);
    if let Some(swept) = sweep.and_then(|sweep| sweep.get("seed")) {
        return Err(swept.error("sweep.seed", "given beside [seeds]: expected one of the two"));
    }
    if let Some(fixed) = table.get("fixed").filter(|_| count > 1) {
        return Err(
            fixed.error("seeds.fixed", format!("one seed is fixed, {count} are asked for: expected seeds.count = 1"))
        );
    }
    let first = number(table.get("first")).or(number(seed)).unwrap_or(DEFAULT);
    if first > LAST - (count - 1) {
        let problem = format!("{count} seeds follow one another from {first}: expected the last to be at most {LAST}");
        return Err(table.get("first").or(seed).unwrap_or(table).error("seeds.first", problem));
    }
    let place = table.get("count").unwrap_or(table).place.clone();
    Ok((first..first + count).map(|seed| Node { value: Value::Int(seed), place: place.clone() }).collect())
}
