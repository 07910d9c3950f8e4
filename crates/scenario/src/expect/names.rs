//! Names in expectations and panels have to exist, and combinations of their keys have to make sense.

use std::collections::BTreeSet;

use super::grammar::{ARITHMETIC, LEAVES, RESULT};
use super::words::number_of;
use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::merge;
use crate::suggest::hint;

/// Names that exist.
pub(crate) struct Names<'a> {
    /// Variants, or the scheme of a file without variants; and variants that a figure shows and no run has.
    pub(crate) variants: &'a [&'a str],
    /// Classes of the runs; `None` where the command line chose other runs than the file's.
    pub(crate) classes: Option<&'a BTreeSet<String>>,
    /// Whether a run's resolved scenario has a number at a path; `None` like `classes`.
    pub(crate) is_number: Option<&'a dyn Fn(&str) -> bool>,
    /// Whether a network has a node of this name or pattern; `None` like `classes`.
    pub(crate) is_node: Option<&'a dyn Fn(&str) -> bool>,
    /// Results of computations; empty for simulations.
    pub(crate) results: &'a BTreeSet<String>,
    /// Keys that are swept at any scale.
    pub(crate) swept: &'a BTreeSet<Vec<String>>,
    /// Whether runs that differ in their seed alone are judged together.
    pub(crate) seeds: bool,
    /// Values that swept keys take at this scale.
    pub(crate) sweep: Option<&'a Table>,
    /// Place of the file. Expectations from files that it extends may name things that this file left out, and are then
    /// not judged.
    pub(crate) place: &'a Place,
}

/// Checks expectations, after their keys and types were checked by the schema.
///
/// # Errors
/// Names the first value that is wrong, and the names that exist.
pub(crate) fn check_expectations(expect: Option<&Node>, names: &Names) -> Result<(), Error> {
    let mut claims = BTreeSet::new();
    for (i, expectation) in items(expect).iter().enumerate() {
        let table = expectation.table().expect("checked to be a table");
        let scope =
            Scope { names, table, key: format!("expect.{i}"), own: expectation.place.is_in_file_of(names.place) };
        scope.check()?;
        let claim = &table["claim"];
        if !claims.insert(claim.text().unwrap_or("")) {
            let problem = "an earlier expectation has this name; expected another";
            return Err(claim.error(format!("expect.{i}.claim"), problem));
        }
    }
    Ok(())
}

/// Checks the panels of a figure.
///
/// # Errors
/// As [`check_expectations`].
pub(crate) fn check_panels(figure: Option<&Node>, names: &Names) -> Result<(), Error> {
    for (i, panel) in items(figure.and_then(|figure| figure.get("panels"))).iter().enumerate() {
        let table = panel.table().expect("checked to be a table");
        let scope =
            Scope { names, table, key: format!("figure.panels.{i}"), own: panel.place.is_in_file_of(names.place) };
        scope.check_value("value", true)?;
        for (name, place) in table.get("marks").and_then(Node::table).into_iter().flatten() {
            if number_of(place).is_none() {
                let problem = "expected a number, or a text with a unit such as \"325 KB\", as a swept key takes";
                return Err(place.error(format!("figure.panels.{i}.marks.{name}"), problem));
            }
        }
    }
    Ok(())
}

/// Checks a table of variants, each with the variant that claims are judged with in its place (`without`,
/// `configured`).
///
/// # Errors
/// As [`check_expectations`].
pub(crate) fn check_instead(table: Option<&Node>, key: &str, names: &Names) -> Result<(), Error> {
    let mut pairs = table.and_then(Node::table).into_iter().flatten();
    pairs.try_for_each(|(named, other)| check_other(named, other, format!("{key}.{named}"), names))
}

/// Checks a table of variants, each with a table of mechanisms and the variants that lack one each.
///
/// # Errors
/// As [`check_expectations`].
pub(crate) fn check_components(table: Option<&Node>, names: &Names) -> Result<(), Error> {
    for (credited, parts) in table.and_then(Node::table).into_iter().flatten() {
        for (part, other) in parts.table().into_iter().flatten() {
            check_other(credited, other, format!("components.{credited}.{part}"), names)?;
        }
    }
    Ok(())
}

/// Checks that two variants exist and differ, if the file itself names the other one.
fn check_other(named: &str, other: &Node, key: String, names: &Names) -> Result<(), Error> {
    if !other.place.is_in_file_of(names.place) {
        return Ok(());
    }
    one_of(other, &key, named, names.variants.iter().copied(), "variant")?;
    one_of(other, &key, other.text().unwrap_or(""), names.variants.iter().copied(), "variant")?;
    if other.text() == Some(named) {
        return Err(other.error(key, "expected another variant, to judge with instead of this one"));
    }
    Ok(())
}

/// One expectation or panel.
struct Scope<'a> {
    names: &'a Names<'a>,
    table: &'a Table,
    key: String,
    /// Whether it is in the file itself.
    own: bool,
}

impl Scope<'_> {
    fn check(&self) -> Result<(), Error> {
        let kind = self.text("kind");
        let each = self.table.get("each").and_then(Node::table);
        for (name, node) in each.into_iter().flatten() {
            let key = format!("{}.each.{name}", self.key);
            if items(Some(node)).is_empty() {
                return Err(node.error(key, "expected at least one value"));
            }
            for (n, value) in items(Some(node)).iter().enumerate() {
                self.check_selector(name, value, &format!("{key}.{n}"))?;
            }
        }
        if self.own {
            check_instead(self.table.get("without"), &format!("{}.without", self.key), self.names)?;
        }
        if let Some(variant) = self.table.get("variant") {
            self.check_selector("variant", variant, &format!("{}.variant", self.key))?;
        }
        self.check_where()?;
        self.check_keys("over")?;
        self.check_bounds()?;
        let supplied =
            kind == "ordering" || self.table.contains_key("variant") || each.is_some_and(|e| e.contains_key("variant"));
        for name in ["value", "numerator", "denominator"] {
            if self.table.contains_key(name) {
                self.check_value(name, supplied)?;
            }
        }
        match kind {
            "ordering" => self.check_chains(),
            "knee" => self.check_knee(),
            _ => Ok(()),
        }
    }

    fn text(&self, key: &str) -> &str {
        self.table.get(key).and_then(Node::text).unwrap_or("")
    }

    /// Checks the value of `name`; `supplied` tells whether its measurements need no variant of their own.
    fn check_value(&self, name: &str, supplied: bool) -> Result<(), Error> {
        self.check_inner(&self.table[name], &format!("{}.{name}", self.key), supplied)
    }

    fn check_inner(&self, node: &Node, key: &str, supplied: bool) -> Result<(), Error> {
        let Some(table) = node.table() else { return Ok(()) };
        if let Some(name) = ARITHMETIC.iter().find(|name| table.contains_key(**name)) {
            return items(table.get(*name))
                .iter()
                .enumerate()
                .try_for_each(|(i, inner)| self.check_inner(inner, &format!("{key}.{name}.{i}"), supplied));
        }
        let kinds = |table: &Table| LEAVES.iter().filter(|(leaf, ..)| table.contains_key(*leaf)).count();
        let each = self.table.get("each").and_then(Node::table);
        if kinds(table) == 0 && each.map_or(0, kinds) != 1 {
            let all: Vec<&str> = LEAVES.iter().map(|(leaf, ..)| *leaf).collect();
            let problem =
                format!("does not say what is measured: expected one of {}, here or in `each`", all.join(", "));
            return Err(node.error(key, problem));
        }
        let asked = LEAVES
            .iter()
            .map(|(leaf, ..)| *leaf)
            .find(|leaf| table.contains_key(*leaf) || each.is_some_and(|each| each.contains_key(*leaf)));
        if let Some(leaf) = asked.filter(|leaf| ![RESULT, "scenario"].contains(leaf) && !self.names.results.is_empty())
        {
            let problem = format!("a computation has no {leaf}: expected {RESULT} or scenario");
            return Err(node.error(key, problem));
        }
        if !supplied && !table.contains_key("variant") {
            let problem = "names no variant: expected `variant` here, in the expectation or in its `each`";
            return Err(node.error(key, problem));
        }
        // A panel draws several seeds as one by default.
        let together = self.names.seeds || self.table.contains_key("over") || !self.table.contains_key("kind");
        if let Some(spread) = table.get("spread").filter(|_| !together) {
            let problem = "a spread is that of several points: expected [seeds], or `over` in the expectation";
            return Err(spread.error(format!("{key}.spread"), problem));
        }
        for (name, value) in table {
            self.check_selector(name, value, &format!("{key}.{name}"))?;
        }
        Ok(())
    }

    /// Checks that a variant or a class exists, or the keys of another point of the sweep.
    fn check_selector(&self, name: &str, node: &Node, key: &str) -> Result<(), Error> {
        if !self.own {
            return Ok(());
        }
        let text = node.text().unwrap_or("");
        match (name, self.names.classes) {
            ("variant" | "active_flows_distance", _) => {
                one_of(node, key, text, self.names.variants.iter().copied(), "variant")
            }
            ("class", Some(classes)) if text != "*" => {
                one_of(node, key, text, classes.iter().map(String::as_str), "class of flows")
            }
            ("node" | "peer", _) => {
                let known = self.names.is_node.is_none_or(|is_node| is_node(text));
                let problem =
                    "no run has such a node: expected a name such as \"host0\", or a pattern such as \"spine*\"";
                if known { Ok(()) } else { Err(node.error(key, problem)) }
            }
            (RESULT, _) if self.names.results.is_empty() => {
                Err(node.error(key, "only a computation has results: expected another measurement"))
            }
            (RESULT, _) => one_of(node, key, text, self.names.results.iter().map(String::as_str), "result"),
            ("scenario", _) => {
                // A path with a selector is not looked up: each run may have another entry for it.
                let known = self.names.is_number.is_none_or(|is_number| text.contains('[') || is_number(text));
                let problem = "no run has a number there: expected the dotted key of one, such as \"host.payload\"";
                if known { Ok(()) } else { Err(node.error(key, problem)) }
            }
            ("at", _) => {
                node.table().into_iter().flatten().try_for_each(|(swept, value)| self.check_swept(swept, value, key))
            }
            _ => Ok(()),
        }
    }

    fn check_chains(&self) -> Result<(), Error> {
        let chains = &self.table["chains"];
        let key = format!("{}.chains", self.key);
        if items(Some(chains)).is_empty() {
            return Err(chains.error(key, "expected at least one chain of variants"));
        }
        for (i, chain) in items(Some(chains)).iter().enumerate() {
            let key = format!("{key}.{i}");
            if items(Some(chain)).len() < 2 {
                return Err(chain.error(key, "expected two variants or more, from the lowest to the highest"));
            }
            for (n, variant) in items(Some(chain)).iter().enumerate() {
                self.check_selector("variant", variant, &format!("{key}.{n}"))?;
            }
        }
        Ok(())
    }

    fn check_knee(&self) -> Result<(), Error> {
        let along = &self.table["along"];
        let swept = along.text().unwrap_or("");
        let key = format!("{}.along", self.key);
        self.check_swept(swept, along, &key)?;
        self.check_numbers(swept, along, &key)?;
        let has = |name: &str| self.table.contains_key(name);
        let missing = |problem: &str| {
            let at = self.table.values().next().expect("it has a kind");
            Err(Error { value: None, ..at.error(self.key.clone(), problem) })
        };
        if has("threshold") == (has("factor") || has("relative_to")) || has("factor") != has("relative_to") {
            return missing("expected `threshold`, or `factor` and `relative_to`");
        }
        if has("expected") == (has("low") || has("high")) || has("low") != has("high") {
            return missing("expected `expected`, or `low` and `high`");
        }
        for (n, variant) in items(self.table.get("order")).iter().enumerate() {
            self.check_selector("variant", variant, &format!("{}.order.{n}", self.key))?;
        }
        Ok(())
    }

    fn check_where(&self) -> Result<(), Error> {
        for (swept, wanted) in self.table.get("where").and_then(Node::table).into_iter().flatten() {
            let key = format!("{}.where", self.key);
            self.check_swept(swept, wanted, &key)?;
            let key = format!("{key}.{swept}");
            let problem = "expected a value of the swept key, or bounds: { min = ..., max = ... }";
            match &wanted.value {
                Value::Table(bounds) => {
                    let known = |(name, bound): (&String, &Node)| {
                        ["min", "max"].contains(&name.as_str()) && number_of(bound).is_some()
                    };
                    if bounds.is_empty() || !bounds.iter().all(known) {
                        return Err(wanted.error(key, problem));
                    }
                    self.check_numbers(swept, wanted, &key)?;
                }
                Value::Array(_) => return Err(wanted.error(key, problem)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the swept keys in the list `name`, none of which the expectation goes along.
    fn check_keys(&self, name: &str) -> Result<(), Error> {
        for (n, node) in items(self.table.get(name)).iter().enumerate() {
            let key = format!("{}.{name}.{n}", self.key);
            self.check_swept(node.text().unwrap_or(""), node, &key)?;
            if self.table.get("along").is_some_and(|along| along.text() == node.text()) {
                return Err(node.error(key, "the expectation goes along this key: expected another"));
            }
        }
        Ok(())
    }

    fn check_swept(&self, swept: &str, node: &Node, key: &str) -> Result<(), Error> {
        if !self.own || self.names.swept.contains(&merge::path(swept)) {
            return Ok(());
        }
        let names: Vec<String> = self.names.swept.iter().map(|path| path.join(".")).collect();
        let hint = hint(swept, names.iter().map(String::as_str));
        let allowed = match names.as_slice() {
            [] => "the file has no [sweep]".into(),
            names => format!("expected one of {}", names.join(", ")),
        };
        Err(node.error(key, format!("\"{swept}\" is not a swept key; {hint}{allowed}")))
    }

    /// Checks that values compared along a swept key are numbers.
    fn check_numbers(&self, swept: &str, node: &Node, key: &str) -> Result<(), Error> {
        let values = self.names.sweep.into_iter().flatten().find(|(name, _)| merge::path(name) == merge::path(swept));
        match values.and_then(|(_, values)| items(Some(values)).iter().find(|value| number_of(value).is_none())) {
            Some(word) => {
                let problem =
                    format!("\"{swept}\" takes {}: expected a key that takes numbers or quantities", word.show());
                Err(node.error(key, problem))
            }
            None => Ok(()),
        }
    }

    fn check_bounds(&self) -> Result<(), Error> {
        let number = |key: &str| self.table.get(key).and_then(number_of);
        let wrong =
            |key: &str, problem: &str| Err(self.table[key].error(format!("{}.{key}", self.key), problem.to_string()));
        if let (Some(low), Some(high)) = (number("low"), number("high"))
            && low > high
        {
            return wrong("high", "below `low`: expected at least as much");
        }
        if matches!(self.text("kind"), "ratio" | "between" | "runs") && number("low").or(number("high")).is_none() {
            return wrong("kind", "has no bound: expected `low`, `high` or both");
        }
        if self.text("kind") == "runs" && number("at_least").or(number("at_most")).is_none() {
            return wrong("kind", "has no share of runs: expected `at_least`, `at_most` or both");
        }
        for key in ["at_least", "at_most"] {
            if number(key).is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return wrong(key, "expected a share of runs, from 0 to 1");
            }
        }
        for (key, least) in [("times", 1.0), ("tolerance", 0.0), ("slack", 0.0)] {
            if number(key).is_some_and(|x| x < least) {
                return wrong(key, &format!("expected at least {least}"));
            }
        }
        Ok(())
    }
}

/// Entries of a list; none if the value is not a list.
fn items(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

fn one_of<'n>(
    node: &Node,
    key: &str,
    text: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    what: &str,
) -> Result<(), Error> {
    if known.clone().any(|name| name == text) {
        return Ok(());
    }
    let all = known.clone().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    Err(node.error(key, format!("no such {what}; {}expected one of {all}", hint(text, known))))
}
