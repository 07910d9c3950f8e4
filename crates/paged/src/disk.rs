//! A table in a temporary file, with some of its pages in memory.
//!
//! Each page has one place in memory, which it shares with other pages. The page that was used last occupies it. Each
//! place has its own lock, so threads that read different pages rarely wait for one another.

use crate::record::Record;
use backwater_types::hash::mix64;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a page, about.
const PAGE: usize = 4096;
/// Pages in memory: 8 megabytes. Few in tests, which look at more.
const PLACES: usize = if cfg!(test) { 8 } else { 2048 };
/// Number of no page.
const NO_PAGE: usize = usize::MAX;

/// A table in a file.
pub(crate) struct Disk<T> {
    file: File,
    len: usize,
    places: Box<[Mutex<Place<T>>]>,
}

/// A page in memory.
struct Place<T> {
    page: usize,
    /// Whether rows differ from those in the file.
    changed: bool,
    rows: Vec<T>,
}

impl<T> Disk<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl<T: Record> Disk<T> {
    /// Rows of a page.
    const ROWS: usize = PAGE / T::BYTES;

    /// Moves `rows` to a file.
    pub(crate) fn new(rows: &[T]) -> io::Result<Disk<T>> {
        let disk = Disk { file: tempfile::tempfile()?, len: rows.len(), places: places() };
        for (page, rows) in rows.chunks(Self::ROWS).enumerate() {
            disk.write(page, rows)?;
        }
        Ok(disk)
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        assert!(row < self.len, "row {row} of {}", self.len);
        let (page, at) = (row / Self::ROWS, row % Self::ROWS);
        let mut place = lock(&self.places[place_of(page)]);
        if place.page != page {
            if place.changed && self.write(place.page, &place.rows).is_err() {
                // There is no room for the page that is here, so it stays.
                return self.read(page, Vec::new())[at];
            }
            let rows = self.read(page, std::mem::take(&mut place.rows));
            *place = Place { page, changed: false, rows };
        }
        place.rows[at]
    }

    pub(crate) fn push(&mut self, row: T) -> io::Result<()> {
        let (page, at) = (self.len / Self::ROWS, self.len % Self::ROWS);
        let place = self.changing(page)?;
        debug_assert_eq!(place.rows.len(), at);
        place.rows.push(row);
        self.len += 1;
        Ok(())
    }

    /// Adds rows. If there is no room for all of them, those before the length are there.
    pub(crate) fn append(&mut self, mut rows: &[T]) -> io::Result<()> {
        while !rows.is_empty() {
            let at = self.len % Self::ROWS;
            let (here, rest) = rows.split_at(rows.len().min(Self::ROWS - at));
            if here.len() == Self::ROWS {
                self.write(self.len / Self::ROWS, here)?;
            } else {
                self.changing(self.len / Self::ROWS)?.rows.extend_from_slice(here);
            }
            self.len += here.len();
            rows = rest;
        }
        Ok(())
    }

    /// Copies the page of a row into `rows`. Returns where in it the row is.
    pub(crate) fn page_of(&self, row: usize, rows: &mut Vec<T>) -> usize {
        let (page, at) = (row / Self::ROWS, row % Self::ROWS);
        let place = lock(&self.places[place_of(page)]);
        if place.page == page {
            rows.clear();
            rows.extend_from_slice(&place.rows);
        } else {
            drop(place);
            *rows = self.read(page, std::mem::take(rows));
        }
        at
    }

    pub(crate) fn set(&mut self, row: usize, value: T) -> io::Result<()> {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.changing(row / Self::ROWS)?.rows[row % Self::ROWS] = value;
        Ok(())
    }

    /// Brings a page to memory that is going to be changed.
    fn changing(&mut self, page: usize) -> io::Result<&mut Place<T>> {
        let at = place_of(page);
        if self.place(at).page != page {
            self.save(at)?;
            let rows = std::mem::take(&mut self.place(at).rows);
            let rows = self.read(page, rows);
            *self.place(at) = Place { page, changed: false, rows };
        }
        let place = self.place(at);
        place.changed = true;
        Ok(place)
    }

    fn place(&mut self, at: usize) -> &mut Place<T> {
        self.places[at].get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a page to the file, if it was changed.
    fn save(&mut self, at: usize) -> io::Result<()> {
        let place = self.place(at);
        if place.changed {
            let (page, rows) = (place.page, std::mem::take(&mut place.rows));
            let written = self.write(page, &rows);
            let place = self.place(at);
            (place.rows, place.changed) = (rows, written.is_err());
            written?;
        }
        Ok(())
    }

    fn write(&self, page: usize, rows: &[T]) -> io::Result<()> {
        let mut bytes = vec![0; rows.len() * T::BYTES];
        bytes.chunks_exact_mut(T::BYTES).zip(rows).for_each(|(bytes, row)| row.write(bytes));
        self.file.write_all_at(&bytes, offset::<T>(page))
    }

    /// Reads a page from the file into `rows`; a page behind the end is empty.
    fn read(&self, page: usize, mut rows: Vec<T>) -> Vec<T> {
        let from = page * Self::ROWS;
        let len = self.len.saturating_sub(from).min(Self::ROWS);
        let mut bytes = [0; PAGE];
        let bytes = &mut bytes[..len * T::BYTES];
        self.file.read_exact_at(bytes, offset::<T>(page)).expect("the temporary file has what was written to it");
        rows.clear();
        rows.reserve_exact(Self::ROWS);
        rows.extend(bytes.chunks_exact(T::BYTES).map(T::read));
        rows
    }
}

impl<T> Default for Place<T> {
    fn default() -> Place<T> {
        Place { page: NO_PAGE, changed: false, rows: Vec::new() }
    }
}

fn places<T>() -> Box<[Mutex<Place<T>>]> {
    (0..PLACES).map(|_| Mutex::default()).collect()
}

/// Place in memory of a page. Rows that are used at once may be equally far from one another, as those of ranks are.
fn place_of(page: usize) -> usize {
    mix64(page as u64) as usize % PLACES
}

fn offset<T: Record>(page: usize) -> u64 {
    page as u64 * (PAGE / T::BYTES * T::BYTES) as u64
}

fn lock<T>(place: &Mutex<Place<T>>) -> MutexGuard<'_, Place<T>> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
