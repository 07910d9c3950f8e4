//! On which line each operation of a file stands.
//!
//! Kept until the file is read, for messages about operations of ranks that were read before: one byte for each
//! operation that stands within 127 lines of the one before, and more only for others.

/// Lines of ranks and of their operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// `[rank]`: its line, and where its operations start in `steps`.
    ranks: Vec<(u64, usize)>,
    /// `[operation]`: lines since the operation before, or since the rank, 7 bits a byte, the lowest first.
    steps: Vec<u8>,
    last: u64,
}

impl Lines {
    /// Adds a rank.
    pub(super) fn rank(&mut self, line: u64) {
        self.ranks.push((line, self.steps.len()));
        self.last = line;
    }

    /// Adds an operation of the last rank.
    pub(super) fn op(&mut self, line: u64) {
        let mut step = line - self.last;
        self.last = line;
        while step > 0x7f {
            self.steps.push(step as u8 | 0x80);
            step >>= 7;
        }
        self.steps.push(step as u8);
    }

    /// Line of a rank.
    pub(super) fn of_rank(&self, rank: u32) -> u64 {
        self.ranks[rank as usize].0
    }

    /// Line of an operation.
    pub(super) fn of_op(&self, rank: u32, op: u32) -> u64 {
        let (mut line, from) = self.ranks[rank as usize];
        let (mut left, mut shift) = (op + 1, 0);
        for byte in &self.steps[from..] {
            line += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                (left, shift) = (left - 1, 0);
                if left == 0 {
                    break;
                }
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_that_were_added() {
        let mut lines = Lines::default();
        let ranks: [(u64, &[u64]); 4] =
            [(2, &[3, 3, 4, 131, 1 << 40]), (1 << 41, &[]), (1 << 42, &[1 << 43]), (!0, &[!0])];
        for (line, ops) in ranks {
            lines.rank(line);
            ops.iter().for_each(|line| lines.op(*line));
        }
        for (rank, (line, ops)) in (0..).zip(ranks) {
            assert_eq!(lines.of_rank(rank), line);
            (0..).zip(ops).for_each(|(op, line)| assert_eq!(lines.of_op(rank, op), *line));
        }
    }
}
