//! Tables that lie in memory while they are short, and in a temporary file when they are long.
//!
//! A run reads few rows of a long table at a time, and most of these are near one another. So the rows lie in an unnamed
//! temporary file, and memory holds the pages that were used last ([`disk`]). A table in a file has the same rows as one
//! in memory.
//!
//! A table stays in memory if no temporary file can be made, or if the file has no more room.

mod disk;
mod record;

pub use record::Record;

use disk::Disk;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

/// Most rows of a table in memory: 2 to 32 megabytes.
pub const ROWS_MAX: usize = 1 << 20;

/// A table of rows, which are numbered from 0.
pub struct Paged<T> {
    rows: Rows<T>,
    /// Most rows in memory.
    max: usize,
}

enum Rows<T> {
    Memory(Vec<T>),
    Disk(Disk<T>),
}

/// A clone of a table in a file has a file of its own.
impl<T: Record> Clone for Paged<T> {
    fn clone(&self) -> Paged<T> {
        let mut copy = Paged::new(self.max);
        match &self.rows {
            Rows::Memory(rows) => copy.rows = Rows::Memory(rows.clone()),
            Rows::Disk(_) => copy.extend(self),
        }
        copy
    }
}

impl<T> Default for Paged<T> {
    /// Makes a table that stays in memory.
    fn default() -> Paged<T> {
        Paged::new(usize::MAX)
    }
}

impl<T> Paged<T> {
    /// Makes a table of which at most `max` rows lie in memory, before it goes to a file.
    pub fn new(max: usize) -> Paged<T> {
        Paged { rows: Rows::Memory(Vec::new()), max }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Memory(rows) => rows.len(),
            Rows::Disk(rows) => rows.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most rows in memory.
    pub fn max(&self) -> usize {
        self.max
    }
}

impl<T: Record> Paged<T> {
    /// Makes a table of `len` equal rows.
    pub fn filled(row: T, len: usize, max: usize) -> Paged<T> {
        let mut table = Paged::new(max);
        match len <= max {
            true => table.rows = Rows::Memory(vec![row; len]),
            false => (0..len).for_each(|_| table.push(row)),
        }
        table
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        match &mut self.rows {
            Rows::Memory(rows) if rows.len() < self.max => rows.push(row),
            _ => self.push_to_disk(row),
        }
    }

    #[cold]
    fn push_to_disk(&mut self, row: T) {
        if let Rows::Memory(rows) = &mut self.rows {
            match Disk::new(rows) {
                Ok(disk) => self.rows = Rows::Disk(disk),
                Err(_) => {
                    // Try again when there are twice as many.
                    self.max = self.max.saturating_mul(2).max(1);
                    return rows.push(row);
                }
            }
        }
        if let Rows::Disk(disk) = &mut self.rows
            && disk.push(row).is_err()
        {
            self.recall().push(row);
        }
    }

    /// Brings the rows back to memory, when there is no more room in the file.
    #[cold]
    fn recall(&mut self) -> &mut Vec<T> {
        (self.rows, self.max) = (Rows::Memory(self.iter().collect()), usize::MAX);
        match &mut self.rows {
            Rows::Memory(rows) => rows,
            Rows::Disk(_) => unreachable!("they are in memory"),
        }
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> T {
        match &self.rows {
            Rows::Memory(rows) => rows[row],
            Rows::Disk(rows) => rows.get(row),
        }
    }

    /// Replaces a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn set(&mut self, row: usize, value: T) {
        match &mut self.rows {
            Rows::Memory(rows) => rows[row] = value,
            Rows::Disk(disk) => {
                if disk.set(row, value).is_err() {
                    self.recall()[row] = value;
                }
            }
        }
    }

    /// Replaces every row by what `change` makes of it.
    pub fn update(&mut self, mut change: impl FnMut(T) -> T) {
        match &mut self.rows {
            Rows::Memory(rows) => rows.iter_mut().for_each(|row| *row = change(*row)),
            Rows::Disk(_) => (0..self.len()).for_each(|row| self.set(row, change(self.get(row)))),
        }
    }

    /// Sorts the rows. Rows that compare equal have to be equal.
    pub fn sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        if let Rows::Memory(rows) = &mut self.rows {
            return rows.sort_unstable_by(compare);
        }
        let (len, run) = (self.len(), self.max.max(1));
        let mut runs = Paged::new(self.max);
        for from in (0..len).step_by(run) {
            let mut rows: Vec<T> = self.scan(from..len.min(from + run)).collect();
            rows.sort_unstable_by(&compare);
            runs.extend_from_slice(&rows);
        }
        let mut heads: Vec<_> =
            (0..len).step_by(run).map(|from| runs.scan(from..len.min(from + run)).peekable()).collect();
        let mut least = || {
            let heads = heads.iter_mut().filter_map(|run| Some((*run.peek()?, run)));
            let (_, run) = heads.min_by(|(one, _), (other, _)| compare(one, other))?;
            run.next()
        };
        *self = Paged::new(self.max);
        self.extend(std::iter::from_fn(&mut least));
    }

    /// Lists a few rows.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn range(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = T> + Clone + use<'_, T> {
        assert!(rows.end <= self.len(), "rows {rows:?} of {}", self.len());
        rows.map(|row| self.get(row))
    }

    /// Lists many rows, page by page.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn scan(&self, rows: Range<usize>) -> Scan<'_, T> {
        assert!(rows.end <= self.len(), "rows {rows:?} of {}", self.len());
        Scan { table: self, rows, page: Vec::new(), at: 0 }
    }

    /// Lists all rows.
    pub fn iter(&self) -> Scan<'_, T> {
        self.scan(0..self.len())
    }

    /// Adds rows.
    pub fn extend_from_slice(&mut self, rows: &[T]) {
        let room = self.max.saturating_sub(self.len());
        match &mut self.rows {
            Rows::Memory(own) if rows.len() <= room => own.extend_from_slice(rows),
            Rows::Memory(_) => rows.iter().for_each(|row| self.push(*row)),
            Rows::Disk(disk) => {
                let before = disk.len();
                if disk.append(rows).is_err() {
                    let written = disk.len() - before;
                    self.recall().extend_from_slice(&rows[written..]);
                }
            }
        }
    }
}

/// Rows of a table, one after another.
pub struct Scan<'a, T> {
    table: &'a Paged<T>,
    rows: Range<usize>,
    /// Page of a table in a file, and the next row in it.
    page: Vec<T>,
    at: usize,
}

impl<T: Record> Iterator for Scan<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let row = self.rows.next()?;
        match &self.table.rows {
            Rows::Memory(rows) => Some(rows[row]),
            Rows::Disk(disk) => {
                if self.at == self.page.len() {
                    self.at = disk.page_of(row, &mut self.page);
                }
                self.at += 1;
                Some(self.page[self.at - 1])
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl<T: Record> ExactSizeIterator for Scan<'_, T> {}

impl<'a, T: Record> IntoIterator for &'a Paged<T> {
    type Item = T;
    type IntoIter = Scan<'a, T>;

    fn into_iter(self) -> Scan<'a, T> {
        self.iter()
    }
}

/// A table that stays in memory.
impl<T> From<Vec<T>> for Paged<T> {
    fn from(rows: Vec<T>) -> Paged<T> {
        Paged { rows: Rows::Memory(rows), max: usize::MAX }
    }
}

impl<T: Record> Extend<T> for Paged<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl<T: Record + PartialEq> PartialEq for Paged<T> {
    fn eq(&self, other: &Paged<T>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Record + PartialEq, const N: usize> PartialEq<[T; N]> for Paged<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

/// Shows the first rows.
impl<T: Record + fmt::Debug> fmt::Debug for Paged<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.iter().take(100));
        if self.len() > 100 { list.finish_non_exhaustive() } else { list.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;

    /// Rows that are pushed and replaced at random are those of a vector, in memory and in a file, and in clones.
    #[test]
    fn a_table_holds_what_a_vector_would() {
        for seed in 0..20 {
            let mut rng = Stream::new(seed, 1, 2);
            let max = [usize::MAX, 0, 1, 10_000, 60_000][seed as usize % 5];
            let (mut rows, mut table) = (vec![7_u32; 1000], Paged::filled(7, 1000, max));
            for step in 0..100_000_u32 {
                let row = rng.next_u32() as usize % rows.len();
                match rng.next_u32() % 4 {
                    0 if step % 5 == 0 => {
                        rows[row] = step;
                        table.set(row, step);
                    }
                    1 if step % 3 == 0 => assert_eq!(table.get(row), rows[row]),
                    2 => {
                        rows.push(step);
                        table.push(step);
                    }
                    3 => {
                        let more: Vec<u32> = (step..step + rng.next_u32() % 8).collect();
                        rows.extend_from_slice(&more);
                        table.extend_from_slice(&more);
                    }
                    _ => {}
                }
            }
            assert_eq!(matches!(table.rows, Rows::Disk(_)), rows.len() > max);
            let few = rows.len() / 3..rows.len() / 2;
            assert!(table.range(few.clone()).eq(rows[few.clone()].iter().copied()));
            assert!(table.scan(few.clone()).eq(rows[few].iter().copied()));
            let mut other = table.clone();
            assert!(table == other && table.len() == rows.len() && table.iter().eq(rows.iter().copied()));
            other.update(|row| row ^ 1);
            assert!(table.iter().eq(rows.iter().copied()) && other.iter().eq(rows.iter().map(|row| row ^ 1)));
        }
    }

    #[test]
    fn rows_in_a_file_are_sorted_as_those_in_memory() {
        for (len, max) in [(0, 0), (1, 0), (100_000, 100), (100_000, 1_000_000), (300_000, 7_001)] {
            let mut rng = Stream::new(len, max as u64, 3);
            let mut rows: Vec<u64> = (0..len).map(|_| u64::from(rng.next_u32() % 50_000)).collect();
            let mut table = Paged::new(max);
            table.extend(rows.iter().copied());
            table.sort_unstable_by(u64::cmp);
            rows.sort_unstable();
            assert!(table.iter().eq(rows), "{len} rows, {max} in memory");
        }
    }

    /// Threads that read a table at once each see its rows.
    #[test]
    fn threads_share_a_table() {
        let mut table = Paged::new(10);
        table.extend(0..100_000_u64);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let table = &table;
                scope.spawn(move || {
                    let mut rng = Stream::new(thread, 5, 6);
                    for _ in 0..30_000 {
                        let row = rng.next_u32() as usize % table.len();
                        assert_eq!(table.get(row), row as u64);
                    }
                });
            }
        });
    }
}
