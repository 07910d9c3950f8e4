//! Errors of users, with the place, the value and what was allowed.

use crate::text::{abridge, legible, shorten};

/// An error in a scenario.
///
/// Shown as `PLACE: KEY = VALUE: PROBLEM`, such as
/// `fig9.toml:12: switch.buffer = "12 Mb": expected "infinite" or a size with a unit, such as "12 MB"`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Error {
    /// Place where the value was written: `fig9.toml:12`, `--set seed=x`, `preset "bfc"`, `sizes.csv:7`.
    pub place: String,
    /// Dotted path of the key, such as `workload.0.load`; empty if the error is about no key.
    pub key: String,
    /// Value as TOML, if there is one short enough to show.
    pub value: Option<String>,
    /// What is wrong and what is allowed.
    pub problem: String,
    /// Label of the run, if the file describes several.
    pub run: Option<String>,
}

impl Error {
    /// Makes an error about a place that is not a key, such as a file that cannot be read.
    pub(crate) fn at(place: impl Into<String>, problem: impl Into<String>) -> Error {
        Error { place: place.into(), key: String::new(), value: None, problem: problem.into(), run: None }
    }

    /// Name of the file in `place`: `fig9.toml` for `fig9.toml:12`; none for a `--set`, a preset, a chip or resolved
    /// JSON.
    pub fn file(&self) -> Option<&str> {
        let elsewhere = ["--set ", "preset \"", "chip \"", "resolved scenario"];
        if elsewhere.iter().any(|start| self.place.starts_with(start)) {
            return None;
        }
        match self.place.rsplit_once(':') {
            Some((file, line)) if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) => Some(file),
            _ => Some(&self.place),
        }
    }

    fn text(&self) -> String {
        // `--set seed=x` contains key and value.
        let set = self.place.strip_prefix("--set ").and_then(|set| set.split_once('='));
        let said = self.value.is_some() && set.is_some_and(|(key, _)| key.trim() == self.key);
        let mut text = shorten(&self.place, 300);
        if !self.key.is_empty() && !said {
            text.push_str(": ");
            text.push_str(&shorten(&self.key, 200));
            if let Some(value) = &self.value {
                text.push_str(" = ");
                text.push_str(value);
            }
        }
        text.push_str(": ");
        text.push_str(&abridge(&self.problem));
        if let Some(run) = &self.run {
            text.push_str(&format!(" (run {run})"));
        }
        // The message is one line, whatever characters keys and names of the user have.
        text.chars().map(legible).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn the_file_of_a_place_is_without_its_line() {
        let cases = [
            ("fig9.toml:12", Some("fig9.toml")),
            ("a:b/fig9.toml", Some("a:b/fig9.toml")),
            ("--set seed=x:1", None),
            ("preset \"bfc\"", None),
            ("resolved scenario", None),
        ];
        for (place, file) in cases {
            assert_eq!(Error::at(place, "is wrong").file(), file);
        }
    }
}
