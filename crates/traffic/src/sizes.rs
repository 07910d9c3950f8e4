//! Distributions of flow sizes.

use crate::draws;
use backwater_scenario::model::{SizeTable, Sizes};
use backwater_scenario::sizes;

/// A distribution of flow sizes, bytes.
#[derive(Clone, Debug)]
pub enum Sampler {
    /// A constant size.
    Fixed(u64),
    /// An exponential size with this mean, rounded to whole bytes, at least 1.
    Exponential(f64),
    /// A uniform whole number of bytes, from the first to the second inclusive.
    Uniform(u64, u64),
    /// A size from a table.
    Table(TableSampler),
}

/// Inverse of a cumulative distribution, with a guide table that makes the search short.
#[derive(Clone, Debug)]
pub struct TableSampler {
    table: SizeTable,
    /// `[cell of u]`, `GUIDE` cells: index of the first point with a cumulative probability of at least the cell's
    /// lower end.
    guide: Vec<u16>,
    /// Mean of the sizes drawn, bytes.
    mean: f64,
    /// Standard deviation of the sizes drawn, over their mean.
    variation: f64,
}

/// Cells of the guide table: one for each value of a word's 12 high bits.
const GUIDE: usize = 4096;

impl Sampler {
    /// Creates the sampler for sizes of a valid scenario.
    pub fn new(sizes: &Sizes) -> Sampler {
        match sizes {
            Sizes::Fixed(bytes) => Sampler::Fixed(bytes.0),
            Sizes::Exponential(mean) => Sampler::Exponential(mean.0 as f64),
            Sizes::Uniform([least, most]) => Sampler::Uniform(least.0, most.0),
            Sizes::Points(table) => Sampler::Table(TableSampler::new(table.clone())),
            Sizes::Table(name) => {
                Sampler::Table(TableSampler::new(sizes::table(name).expect("scenario checked: table exists").clone()))
            }
            Sizes::File(_) => unreachable!("the reader turns files into points"),
        }
    }

    /// Mean of the sizes drawn, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sampler::Fixed(bytes) => *bytes as f64,
            Sampler::Exponential(mean) => *mean,
            Sampler::Uniform(least, most) => (*least as f64 + *most as f64) / 2.0,
            Sampler::Table(table) => table.mean,
        }
    }

    /// Mean of the table before sizes are rounded, bytes. For sizes without a table, the mean of the sizes drawn.
    pub fn table_mean(&self) -> f64 {
        match self {
            Sampler::Table(table) => table.table.mean(),
            _ => self.mean(),
        }
    }

    /// Standard deviation of the sizes drawn, over their mean.
    pub fn variation(&self) -> f64 {
        match self {
            Sampler::Fixed(_) => 0.0,
            Sampler::Exponential(_) => 1.0,
            Sampler::Uniform(least, most) => (most - least) as f64 / 12f64.sqrt() / self.mean(),
            Sampler::Table(table) => table.variation,
        }
    }

    /// Upper bound of `n` drawn sizes, bytes. Exponential sizes exceed it with a probability of `e^-8`.
    pub fn largest(&self, n: f64) -> f64 {
        match self {
            Sampler::Fixed(bytes) => *bytes as f64,
            Sampler::Exponential(mean) => mean * (8.0 + libm::log(n.max(1.0))),
            Sampler::Uniform(_, most) => *most as f64,
            Sampler::Table(table) => {
                let (size, _) = *table.table.points.last().expect("a table has points");
                table.table.drawn(size) as f64
            }
        }
    }

    /// Converts a random word to a size, bytes; at least 1.
    pub fn draw(&self, word: u64) -> u64 {
        match self {
            Sampler::Fixed(bytes) => *bytes,
            Sampler::Exponential(mean) => (mean * draws::exponential(word) + 0.5).max(1.0) as u64,
            // Lemire 2016, in 64 bits: probabilities of sizes are equal to one part in 2^27.
            Sampler::Uniform(least, most) => least + ((word as u128 * (most - least + 1) as u128) >> 64) as u64,
            Sampler::Table(table) => table.draw(word),
        }
    }
}

impl TableSampler {
    fn new(table: SizeTable) -> TableSampler {
        let mut guide = Vec::with_capacity(GUIDE);
        let mut point = 0;
        for cell in 0..GUIDE {
            while table.points[point].1 < cell as f64 / GUIDE as f64 {
                point += 1;
            }
            guide.push(point as u16);
        }
        let [mean, squares] = table.drawn_moments();
        let variation = (squares - mean * mean).max(0.0).sqrt() / mean;
        TableSampler { table, guide, mean, variation }
    }

    fn draw(&self, word: u64) -> u64 {
        let (u, points) = (draws::uniform(word), &self.table.points);
        let mut i = self.guide[(word >> 52) as usize] as usize;
        while points[i].1 < u {
            i += 1;
        }
        let (size, p) = points[i];
        let value = match i.checked_sub(1).map(|before| points[before]) {
            Some((low, q)) if self.table.linear && p > q => low + (size - low) * (u - q) / (p - q),
            _ => size,
        };
        self.table.drawn(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{Bytes, hash};

    #[test]
    fn uniform_sizes_reach_both_ends_and_no_further() {
        let sampler = |least, most| Sampler::new(&Sizes::Uniform([Bytes(least), Bytes(most)]));
        let die = sampler(1, 6);
        let mut seen = [0u32; 8];
        (0..60_000).for_each(|k| seen[die.draw(hash::draw(1, k)) as usize] += 1);
        // Each face is expected 10 000 times, with standard deviation 91.
        assert!(seen[1..=6].iter().all(|n| n.abs_diff(10_000) < 500) && seen[0] + seen[7] == 0, "{seen:?}");
        assert_eq!((die.draw(0), die.draw(u64::MAX), die.mean()), (1, 6, 3.5));
        assert_eq!((sampler(9, 9).draw(u64::MAX), sampler(9, 9).mean()), (9, 9.0));
        let widest = sampler(1, 1 << 37);
        assert_eq!((widest.draw(0), widest.draw(u64::MAX)), (1, 1 << 37));
    }
}
