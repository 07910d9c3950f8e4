//! Claims files: `NAME.claims.toml` beside `NAME.toml` says what the results should show.
//!
//! A scenario is a file to copy and change, so the judging of a published result stands apart from it. Both files
//! together are one document: each value keeps the line of the file that it is written in.

use std::path::{Path, PathBuf};

use crate::document::{CLAIMS_ENDING, Node, Table, Value};
use crate::error::Error;
use crate::merge;
use crate::schema::{CLAIMS_FIGURE_KEYS, CLAIMS_KEYS};
use crate::sizes::read_text;
use crate::suggest::hint;

/// Reads the scenario file at `path`, with the claims file beside it if there is one.
///
/// # Errors
/// If either cannot be read or is not TOML, if `path` is itself a claims file, or if the claims file has a key that
/// belongs to a scenario, or one that the scenario has too.
pub(super) fn read(path: &Path) -> Result<Node, Error> {
    if let Some(scenario) = scenario_of(path) {
        let problem = format!("is a claims file, which cannot be run: expected its scenario, {scenario}");
        return Err(Error::at(path.display().to_string(), problem));
    }
    let mut document = document(path)?;
    let beside = path.with_extension(&CLAIMS_ENDING[1..]);
    if beside.symlink_metadata().is_ok() {
        let claims = self::document(&beside)?.into_table();
        let Value::Table(table) = &mut document.value else { unreachable!("a document is a table") };
        check(table, &claims, path)?;
        merge::merge(table, claims);
    }
    Ok(document)
}

fn document(path: &Path) -> Result<Node, Error> {
    let name = path.display().to_string();
    Node::from_toml(&read_text(path, &name)?, &name, path.parent().unwrap_or(Path::new("")))
}

/// Name of the scenario that the file at `path` judges; `None` if it is no claims file.
fn scenario_of(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(CLAIMS_ENDING)?;
    let scenario: PathBuf = path.with_file_name(format!("{stem}.toml"));
    Some(scenario.display().to_string())
}

/// Checks that `claims` has only keys of a claims file, and none that `scenario` has too.
fn check(scenario: &Table, claims: &Table, path: &Path) -> Result<(), Error> {
    check_keys(scenario, claims, "", &CLAIMS_KEYS, path)?;
    if let Some(figure) = claims.get("figure").and_then(Node::table) {
        let drawn = scenario.get("figure").and_then(Node::table);
        check_keys(drawn.unwrap_or(&Table::new()), figure, "figure.", &CLAIMS_FIGURE_KEYS, path)?;
    }
    Ok(())
}

fn check_keys(scenario: &Table, claims: &Table, above: &str, allowed: &[&str], path: &Path) -> Result<(), Error> {
    let file = path.display();
    for (key, node) in claims {
        if !allowed.contains(&key.as_str()) {
            let hint = hint(key, allowed.iter().copied());
            let expected = allowed.iter().map(|key| format!("{above}{key}")).collect::<Vec<_>>().join(", ");
            let problem =
                format!("not a key of a claims file; {hint}expected one of {expected}; all other keys go into {file}");
            return Err(node.error(format!("{above}{key}"), problem));
        }
        let both_tables = node.table().is_some() && key == "figure";
        if let Some(other) = scenario.get(key).filter(|_| !both_tables) {
            let problem = format!("{} has it too: expected it in one of the two files", other.place);
            return Err(node.error(format!("{above}{key}"), problem));
        }
    }
    Ok(())
}
