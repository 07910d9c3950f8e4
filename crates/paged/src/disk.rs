//! A table in a temporary file, with some of its pages in memory.
//!
//! Each page has one place in memory, which it shares with other pages: the page that is asked for takes it. Places are
//! locked one by one, so threads that read different pages do not wait for one another.

use crate::record::Record;
use backwater_types::hash::mix64;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a page, about.
const PAGE: usize = 4096;
/// Pages in memory: 8 megabytes. Few in tests, which look at more.
const PLACES: usize = if cfg!(test) { 8 } else { 2048 };
/// Number of no page.
const NO_PAGE: usize = usize::MAX;

/// A table in a file. Clones share the file until one of them is changed.
pub(crate) struct Disk<T> {
    file: Arc<File>,
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
        let disk = Disk { file: Arc::new(tempfile::tempfile()?), len: rows.len(), places: places() };
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
            if place.changed && (self.is_shared() || self.write(place.page, &place.rows).is_err()) {
                // The page that is here has to stay.
                return self.read(page, Vec::new())[at];
            }
            let rows = self.read(page, std::mem::take(&mut place.rows));
            *place = Place { page, changed: false, rows };
        }
        place.rows[at]
    }

    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.file) > 1
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
            if here.len() == Self::ROWS && !self.is_shared() {
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
        if self.is_shared() {
            self.part()?;
        }
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

    /// Gives this clone a file of its own.
    fn part(&mut self) -> io::Result<()> {
        let mut own = Disk { file: Arc::new(tempfile::tempfile()?), len: self.len, places: places() };
        for page in 0..self.len.div_ceil(Self::ROWS) {
            let rows = page * Self::ROWS..self.len.min((page + 1) * Self::ROWS);
            own.write(page, &rows.map(|row| self.get(row)).collect::<Vec<_>>())?;
        }
        std::mem::swap(self, &mut own);
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

/// A clone has the changed pages of its original, and the file in common with it.
impl<T: Record> Clone for Disk<T> {
    fn clone(&self) -> Disk<T> {
        let copy = |place: &Mutex<Place<T>>| {
            let place = lock(place);
            match place.changed {
                true => Mutex::new(Place { page: place.page, changed: true, rows: place.rows.clone() }),
                false => Mutex::new(Place::default()),
            }
        };
        Disk { file: self.file.clone(), len: self.len, places: self.places.iter().map(copy).collect() }
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
