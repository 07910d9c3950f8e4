//! A queue of copies in a ring of a power-of-two size.
//!
//! Like `VecDeque`, except that an emptied ring restarts at its first place: a port that seldom queues stays in one
//! cache line instead of walking through its whole capacity. The ring grows by doubling.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A FIFO of copies.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    places: Box<[T]>,
    /// Positions of the first item and one past the last. Both only count up, wrapping, while the ring is not empty.
    first: u32,
    end: u32,
}

impl<T: Copy> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Box::default(), first: 0, end: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Whether the ring is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Number of items.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.end.wrapping_sub(self.first) as usize
    }

    #[inline(always)]
    fn place(&self, count: u32) -> usize {
        count as usize & (self.places.len() - 1)
    }

    /// The first item.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.places[self.place(self.first)]) }
    }

    /// The second item.
    #[inline(always)]
    pub fn second(&self) -> Option<&T> {
        if self.len() < 2 { None } else { Some(&self.places[self.place(self.first.wrapping_add(1))]) }
    }

    /// All items, first to last.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len() as u32).map(|i| &self.places[self.place(self.first.wrapping_add(i))])
    }

    /// The last item.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.places[self.place(self.end.wrapping_sub(1))]) }
    }

    /// Appends an item. Returns it in place.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) -> &mut T {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.end);
        self.end = self.end.wrapping_add(1);
        let item = &mut self.places[place];
        *item = value;
        item
    }

    /// Takes the first item.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.drop_front();
        Some(value)
    }

    /// Drops the first item, if there is one. Returns the next one.
    #[inline(always)]
    pub fn drop_front(&mut self) -> Option<&T> {
        if self.len() <= 1 {
            (self.first, self.end) = (0, 0);
            return None;
        }
        self.first = self.first.wrapping_add(1);
        Some(&self.places[self.place(self.first)])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let (old, queued) = (self.places.len(), self.len());
        let mut places = Vec::with_capacity((2 * old).max(4));
        places.extend((0..queued as u32).map(|i| self.places[self.place(self.first.wrapping_add(i))]));
        places.resize((2 * old).max(4), filler);
        (self.first, self.end, self.places) = (0, queued as u32, places.into_boxed_slice());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_across_growth_and_wrap() {
        let (mut ring, mut next_in, mut next_out) = (Ring::default(), 0u32, 0u32);
        for round in 0..200 {
            for _ in 0..round % 23 {
                ring.push_back(next_in);
                next_in += 1;
            }
            assert_eq!(ring.len(), (next_in - next_out) as usize);
            for _ in 0..round % 19 {
                assert_eq!(ring.front().copied(), (next_out < next_in).then_some(next_out));
                next_out += u32::from(next_out < next_in);
                let next = ring.drop_front().copied();
                assert_eq!(next, (next_out < next_in).then_some(next_out));
            }
        }
        assert!(next_out > 1000 && ring.back().is_none_or(|last| *last + 1 == next_in));
    }
}
