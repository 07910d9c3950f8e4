//! Scenarios from text.

use backwater_scenario::{Scenario, load_str};
use std::path::Path;

/// Returns the only scenario that `text` describes.
pub fn scenario(text: &str) -> Scenario {
    crate::under_test::ready();
    match load_str(text, Path::new("."), "test", &[], None) {
        Ok(mut plan) => plan.runs.remove(0).scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}
