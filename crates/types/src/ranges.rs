//! Values that are not any value of their type.

use alloc::format;
use alloc::string::{String, ToString};

/// A value that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Dotted key of the value, from the table that was checked.
    pub key: String,
    /// What was allowed.
    pub expected: String,
}

impl OutOfRange {
    /// Refuses the value of `key` unless `holds`.
    ///
    /// # Errors
    /// If it does not.
    pub fn unless(holds: bool, key: &str, expected: &str) -> Result<(), OutOfRange> {
        if holds { Ok(()) } else { Err(OutOfRange { key: key.to_string(), expected: expected.to_string() }) }
    }

    /// In a sentence.
    pub fn problem(&self) -> String {
        format!("expected {}", self.expected)
    }

    /// The same, of a table in another.
    pub fn within(self, table: &str) -> OutOfRange {
        OutOfRange { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Parameters whose ranges can be checked without knowing anything else.
pub trait Ranges {
    /// The first value out of its range.
    ///
    /// # Errors
    /// If there is one.
    fn check(&self) -> Result<(), OutOfRange>;
}
