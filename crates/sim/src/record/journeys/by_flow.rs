//! What is kept for a few of many flows: most that is asked for is not there, which the flows' numbers alone show.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// In the order in which they came; a flow may have several.
#[derive(Clone, Debug)]
pub(super) struct ByFlow<T> {
    /// `[at]`: of which flow it is.
    flows: VecDeque<u32>,
    entries: VecDeque<T>,
}

impl<T> ByFlow<T> {
    pub(super) const fn new() -> ByFlow<T> {
        ByFlow { flows: VecDeque::new(), entries: VecDeque::new() }
    }

    pub(super) fn push(&mut self, flow: u32, entry: T) {
        self.flows.push_back(flow);
        self.entries.push_back(entry);
    }

    pub(super) fn extend(&mut self, others: impl IntoIterator<Item = (u32, T)>) {
        others.into_iter().for_each(|(flow, entry)| self.push(flow, entry));
    }

    /// Takes one out, if it is there; those after it move up.
    pub(super) fn remove(&mut self, at: usize) -> Option<T> {
        self.flows.remove(at);
        self.entries.remove(at)
    }

    /// All of a flow are gone.
    pub(super) fn remove_flow(&mut self, flow: u32) {
        while let Some(at) = self.position(flow, |_| true) {
            self.remove(at);
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// The first of a flow that is so.
    pub(super) fn position(&self, flow: u32, is: impl Fn(&T) -> bool) -> Option<usize> {
        let of = |(at, other): (usize, &u32)| *other == flow && is(&self.entries[at]);
        self.flows.iter().enumerate().position(of)
    }

    /// Those of a flow.
    pub(super) fn of_mut(&mut self, flow: u32) -> impl Iterator<Item = &mut T> {
        self.flows.iter().zip(&mut self.entries).filter_map(move |(of, entry)| (*of == flow).then_some(entry))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

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
