//! Claims files: what stands in `NAME.claims.toml` counts as if it stood in `NAME.toml`, and errors name its lines.

use std::fs;
use std::path::{Path, PathBuf};

use backwater_scenario::{Plan, load};

const SCENARIO: &str = r#"scheme = "pfc"
run.duration = "1 us"
workload = [{ kind = "long-lived", count = 1, to = ["host0"] }]
[topology]
kind = "single-switch"
hosts = 3
rate = "1 Gbps"
delay = "1 us"
[[variant]]
name = "A"
[[variant]]
name = "B"
[figure]
paper = "bfc"
number = "1"
title = "A figure"
panels = [{ label = "losses", value = { summary = "loss.share" } }]
"#;

const CLAIMS: &str = r#"# Claims.
[without]
A = "B"

[figure]
missing = ["C"]
published = [{ panel = "losses", variant = "A", value = 0 }]
finding = "Nothing is lost."

[[expect]]
claim = "own-1"
kind = "equals"
variant = "A"
value = { summary = "loss.share" }
expected = 0
"#;

/// A directory of its own, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, files: &[(&str, &str)]) -> Place {
        let place = std::env::temp_dir().join(format!("backwater-claims-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).expect("a directory of its own");
        let place = Place(place);
        for (file, text) in files {
            fs::write(place.0.join(file), text).expect("it can be written");
        }
        place
    }

    fn load(&self, file: &str) -> Plan {
        load(&self.0.join(file), &[], None).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The refusal of a file, without the directory's name.
    fn refusal(&self, file: &str) -> String {
        let error = load(&self.0.join(file), &[], None).expect_err("it is wrong");
        error.to_string().replace(&format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR), "")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn two_files_are_as_good_as_one() {
    let whole = format!("{SCENARIO}{}", CLAIMS.replace("[figure]\n", "").replace("[without]\nA = \"B\"\n", ""));
    let whole = format!("without.A = \"B\"\n{whole}");
    let one = Place::new("one", &[("s.toml", &whole)]).load("s.toml");
    let two = Place::new("two", &[("s.toml", SCENARIO), ("s.claims.toml", CLAIMS)]).load("s.toml");
    assert_eq!(one, two);
    assert_eq!((two.expect.len(), &two.without["A"]), (1, &"B".into()));
    assert_eq!(two.figure["finding"], "Nothing is lost.");
    let without = Place::new("none", &[("s.toml", SCENARIO)]).load("s.toml");
    assert_eq!((without.expect.len(), without.runs), (0, two.runs));
}

#[test]
fn a_file_that_extends_another_has_its_claims_or_its_own() {
    let files = [("s.toml", SCENARIO), ("s.claims.toml", CLAIMS), ("t.toml", "extends = \"s.toml\"\nname = \"t\"\n")];
    let place = Place::new("extends", &files);
    assert_eq!(place.load("t.toml").expect[0]["claim"], "own-1");
    let own = CLAIMS.replace("own-1", "own-2").replace("Nothing is", "Little is");
    fs::write(place.0.join("t.claims.toml"), own).expect("it can be written");
    let plan = place.load("t.toml");
    assert_eq!((&plan.expect[0]["claim"], plan.expect.len()), (&"own-2".into(), 1));
    assert_eq!((&plan.figure["finding"], &plan.figure["number"]), (&"Little is lost.".into(), &"1".into()));
    assert_eq!(place.load("s.toml").figure["finding"], "Nothing is lost.");
}

/// Names are checked in a file's own claims; what a file that it extends claims may be about other variants.
#[test]
fn claims_of_an_extended_file_may_name_what_is_left_out() {
    let other = "extends = \"s.toml\"\n[[variant]]\nname = \"D\"\n";
    let files = [("s.toml", SCENARIO), ("s.claims.toml", CLAIMS), ("t.toml", other)];
    assert_eq!(Place::new("left-out", &files).load("t.toml").expect.len(), 1);
    let own = CLAIMS.replace("variant = \"A\"\nvalue", "variant = \"E\"\nvalue");
    let place = Place::new("left-out-own", &[("s.toml", SCENARIO), ("s.claims.toml", &own)]);
    assert!(place.refusal("s.toml").starts_with("s.claims.toml:13: expect.0.variant = \"E\": "));
}

#[test]
fn errors_name_the_claims_file_and_its_line() {
    let cases = [
        ("[without]", "[without", "s.claims.toml:2: not TOML"),
        (
            "expected = 0",
            "expectd = 0",
            "s.claims.toml:15: expect.0.expectd = 0: unknown key; did you mean \"expected\"?",
        ),
        (
            "A = \"B\"",
            "A = \"F\"",
            "s.claims.toml:3: without.A = \"F\": no such variant; expected one of \"A\", \"B\", \"C\"",
        ),
        (
            "panel = \"losses\"",
            "panel = \"loss\"",
            "s.claims.toml:7: figure.published.0.panel = \"loss\": did you mean",
        ),
        ("loss.share", "loss.shore", "s.claims.toml:14: expect.0.value"),
        ("# Claims.", "seed = 3", "s.claims.toml:1: seed = 3: not a key of a claims file; expected one of expect, "),
        (
            "# Claims.",
            "expcet = 3",
            "s.claims.toml:1: expcet = 3: not a key of a claims file; did you mean \"expect\"?",
        ),
        (
            "missing = [\"C\"]",
            "panels = []",
            "s.claims.toml:6: figure.panels = []: not a key of a claims file; expected one of figure.finding, \
             figure.missing, figure.published; all other keys go into ",
        ),
        ("[without]\nA = \"B\"", "without = 3", "s.claims.toml:2: without = 3: expected a table"),
        ("[figure]\n", "figure = 3\n[x]\n", "s.claims.toml:"),
    ];
    for (good, bad, said) in cases {
        assert!(CLAIMS.contains(good), "{good}");
        let claims = CLAIMS.replacen(good, bad, 1);
        let refusal = Place::new("errors", &[("s.toml", SCENARIO), ("s.claims.toml", &claims)]).refusal("s.toml");
        assert!(refusal.starts_with(said), "{refusal}\nexpected {said}");
    }
}

#[test]
fn a_key_stands_in_one_of_the_two() {
    let cases = [
        (
            format!("without.A = \"B\"\n{SCENARIO}"),
            "s.claims.toml:2: without = { A = \"B\" }: s.toml:1 has it too: expected it in one of the two files",
        ),
        (
            format!("{SCENARIO}missing = []\n"),
            "s.claims.toml:6: figure.missing = [\"C\"]: s.toml:18 has it too: expected it in one of the two files",
        ),
    ];
    for (scenario, said) in cases {
        let place = Place::new("twice", &[("s.toml", &scenario), ("s.claims.toml", CLAIMS)]);
        assert_eq!(place.refusal("s.toml"), said);
    }
}

#[test]
fn claims_alone_cannot_be_run() {
    let files = [("s.toml", SCENARIO), ("s.claims.toml", CLAIMS), ("t.toml", "extends = \"s.claims.toml\"\n")];
    let place = Place::new("alone", &files);
    let said = "is a claims file, which cannot be run: expected its scenario, s.toml";
    assert_eq!(place.refusal("s.claims.toml"), format!("s.claims.toml: {said}"));
    assert_eq!(place.refusal("t.toml"), format!("t.toml:1: extends = \"s.claims.toml\": {said}"));
}

#[test]
fn a_claims_file_that_cannot_be_read_is_an_error() {
    let place = Place::new("unreadable", &[("s.toml", SCENARIO)]);
    fs::create_dir(place.0.join("s.claims.toml")).expect("a directory");
    assert_eq!(place.refusal("s.toml"), "s.claims.toml: is a directory: expected a file");
    #[cfg(unix)]
    {
        fs::remove_dir(place.0.join("s.claims.toml")).expect("it is empty");
        std::os::unix::fs::symlink("nowhere", place.0.join("s.claims.toml")).expect("a link");
        assert_eq!(place.refusal("s.toml"), "s.claims.toml: cannot be read: there is no such file");
    }
    assert!(!Path::new("s.claims.toml").exists());
}
