//! List of entries by flow, for a few of many flows: a search compares flow numbers alone, as most flows have no entry.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Entries in the order of arrival; a flow may have several.
#[derive(Clone, Debug)]
pub(super) struct ByFlow<T> {
    /// `[at]`: flow of the entry.
    flows: VecDeque<u32>,
    entries: VecDeque<T>,
}

impl<T> ByFlow<T> {
    /// Builds an empty list.
    pub(super) const fn new() -> ByFlow<T> {
        ByFlow { flows: VecDeque::new(), entries: VecDeque::new() }
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, flow: u32, entry: T) {
        self.flows.push_back(flow);
        self.entries.push_back(entry);
    }

    /// Takes one entry out, if it exists; later ones move up.
    pub(super) fn remove(&mut self, at: usize) -> Option<T> {
        self.flows.remove(at);
        self.entries.remove(at)
    }

    /// Removes all entries of a flow.
    pub(super) fn remove_flow(&mut self, flow: u32) {
        while let Some(at) = self.position(flow, |_| true) {
            self.remove(at);
        }
    }

    /// Whether there is no entry.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Place of the first entry of a flow that passes `is`.
    pub(super) fn position(&self, flow: u32, is: impl Fn(&T) -> bool) -> Option<usize> {
        let of = |(at, other): (usize, &u32)| *other == flow && is(&self.entries[at]);
        self.flows.iter().enumerate().position(of)
    }

    /// Entries of a flow.
    pub(super) fn of_mut(&mut self, flow: u32) -> impl Iterator<Item = &mut T> {
        self.flows.iter().zip(&mut self.entries).filter_map(move |(of, entry)| (*of == flow).then_some(entry))
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// All entries.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }
}

impl<T> Index<usize> for ByFlow<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.entries[at]
    }
}

impl<T> IndexMut<usize> for ByFlow<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.entries[at]
    }
}
