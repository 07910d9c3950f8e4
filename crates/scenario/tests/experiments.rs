//! Every scenario file that ships loads, at every scale it has, and reads back from its JSON.

use std::fs;
use std::path::{Path, PathBuf};

use backwater_scenario::{from_json, load};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("experiments ship with the source") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_experiment_loads_at_every_scale() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    assert!(found.len() >= 3, "{found:?}");
    for path in found {
        let text = fs::read_to_string(&path).expect("readable");
        let scales = ["smoke", "quick", "paper"].into_iter().filter(|scale| text.contains(&format!("[scale.{scale}")));
        for scale in scales.map(Some).chain([None]) {
            let plan = load(&path, &[], scale).unwrap_or_else(|error| panic!("{scale:?}: {error}"));
            assert!(!plan.name.is_empty() && !plan.description.is_empty(), "{}", path.display());
            for run in &plan.runs {
                let json = serde_json::to_string(&run.scenario).expect("a scenario is plain data");
                let again =
                    from_json(&json).unwrap_or_else(|error| panic!("{} {}: {error}", path.display(), run.label));
                assert_eq!(again, run.scenario, "{} {}", path.display(), run.label);
            }
        }
    }
}
