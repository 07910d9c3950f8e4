//! Random numbers as ns-3.17 generates them: each is the first of a new stream of MRG32k3a, and streams are numbered
//! across the whole network.
//!
//! Sources: L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators",
//! Operations Research 47(1), 1999; L'Ecuyer et al., "An object-oriented random-number package with many long streams
//! and substreams", Operations Research 50(6), 2002. HPCC's simulator creates a random variable for each number and
//! destroys it afterwards.
//!
//! ```text
//! x' = (1403580 x[n-2] - 810728 x[n-3]) mod m1 ; y' = (527612 y[n-1] - 1370589 y[n-3]) mod m2
//! u = (x' - y' mod m1) / (m1 + 1)
//! stream k, seed 1, run 1: all six are 1, then 2^127 k + 2^76 steps on
//! ```
//!
//! A step is a product with a matrix, so many steps are a product with its power. All arithmetic is on integers, except
//! for u. Only marks and lost frames, in networks with ns-3's order of events, use these streams: streams are numbered
//! in the order of those events. An error model has one stream with a fixed number, and uses it for all its numbers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Streams of a network, in the order of use.
#[derive(Clone, Debug)]
pub struct Ns3Streams(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Number of the next unused stream.
    next: AtomicUsize,
    /// `[i]`: jump from a stream to the one 2^i further on.
    jumps: Vec<Step>,
}

impl Ns3Streams {
    /// Streams from number `first` on; earlier ones belong to objects built before the first random number.
    pub fn after(first: usize) -> Ns3Streams {
        let mut jump = (0..127).fold(Step::ONE, |step, _| step.twice());
        let mut jumps = Vec::with_capacity(u64::BITS as usize);
        for _ in 0..u64::BITS {
            jumps.push(jump);
            jump = jump.twice();
        }
        Ns3Streams(Arc::new(Shared { next: AtomicUsize::new(first), jumps }))
    }

    fn take(&self) -> usize {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The stream with a fixed number, outside the count.
    pub fn numbered(&self, stream: u64) -> Ns3Stream {
        Ns3Stream(self.jump(first_run(), stream))
    }

    /// The same state `streams` streams further on.
    fn jump(&self, mut state: State, mut streams: u64) -> State {
        while streams > 0 {
            state = self.0.jumps[streams.trailing_zeros() as usize].of(state);
            streams &= streams - 1;
        }
        state
    }

    /// A copy with a count of its own.
    pub fn fork(&self) -> Ns3Streams {
        let Shared { next, jumps } = &*self.0;
        Ns3Streams(Arc::new(Shared { next: AtomicUsize::new(next.load(Ordering::Relaxed)), jumps: jumps.clone() }))
    }
}

/// A stream used for many numbers.
#[derive(Clone, Debug)]
pub struct Ns3Stream(State);

impl Ns3Stream {
    /// Returns the next number, uniform between 0 and 1.
    #[inline]
    pub fn draw(&mut self) -> f64 {
        self.0 = Step::ONE.of(self.0);
        self.0.uniform()
    }
}

/// First state of stream 0.
fn first_run() -> State {
    let substream = (0..76).fold(Step::ONE, |step, _| step.twice());
    substream.of(State([1; 3], [1; 3]))
}

/// A switch's view of the network's streams.
#[derive(Clone, Debug)]
pub(crate) struct Ns3Draws {
    streams: Ns3Streams,
    /// Number of a stream, and its first state.
    stream: usize,
    begins: State,
}

impl Ns3Draws {
    pub(crate) fn new(streams: Ns3Streams) -> Ns3Draws {
        Ns3Draws { streams, stream: 0, begins: first_run() }
    }

    /// Returns the first number of the next stream, uniform between 0 and 1.
    pub(crate) fn next(&mut self) -> f64 {
        let stream = self.streams.take();
        self.begins = self.streams.jump(self.begins, (stream - self.stream) as u64);
        self.stream = stream;
        Step::ONE.of(self.begins).uniform()
    }

    /// Skips a stream whose number is not used.
    pub(crate) fn skip(&mut self) {
        self.streams.take();
    }
}

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
const NORM: f64 = 1.0 / (M1 + 1) as f64;

/// The last three numbers of both recurrences, oldest first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State([u64; 3], [u64; 3]);

impl State {
    /// The latest number as a fraction.
    fn uniform(self) -> f64 {
        let State([.., x], [.., y]) = self;
        let difference = if x > y { x - y } else { x + M1 - y };
        difference as f64 * NORM
    }
}

type Matrix = [[u64; 3]; 3];

/// A transition between states: one matrix for each recurrence.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step(Matrix, Matrix);

impl Step {
    const ONE: Step = Step(
        [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]],
        [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]],
    );

    fn of(&self, State(x, y): State) -> State {
        State(apply(&self.0, x, M1), apply(&self.1, y, M2))
    }

    /// The transition applied twice.
    fn twice(self) -> Step {
        Step(square(&self.0, M1), square(&self.1, M2))
    }
}

fn apply(matrix: &Matrix, v: [u64; 3], m: u64) -> [u64; 3] {
    matrix.map(|row| (0..3).fold(0, |sum, i| (sum + row[i] * v[i] % m) % m))
}

fn square(matrix: &Matrix, m: u64) -> Matrix {
    let columns = [0, 1, 2].map(|j| apply(matrix, matrix.map(|row| row[j]), m));
    [0, 1, 2].map(|i| columns.map(|column| column[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First numbers of the package's own example, with seed 12345.
    #[test]
    fn the_recurrence_is_that_of_the_package() {
        let mut state = State([12_345; 3], [12_345; 3]);
        for expected in [0.127_011_122_046_577, 0.318_527_565_396_794_5, 0.309_186_015_583_270_1] {
            state = Step::ONE.of(state);
            let u = state.uniform();
            assert!((u - expected).abs() < 1e-15, "{u} for {expected}");
        }
    }

    #[test]
    fn many_steps_at_once_are_as_many_one_by_one() {
        let begins = State([1, 2, 3], [4, 5, 6]);
        let slow = (0..1024).fold(begins, |state, _| Step::ONE.of(state));
        assert_eq!((0..10).fold(Step::ONE, |step, _| step.twice()).of(begins), slow);
    }

    /// Rows of the package's matrices for streams and substreams.
    #[test]
    fn streams_are_as_far_apart_as_published() {
        let stream = (0..127).fold(Step::ONE, |step, _| step.twice());
        assert_eq!(stream.0[0], [2_427_906_178, 3_580_155_704, 949_770_784]);
        assert_eq!(stream.1[0], [1_464_411_153, 277_697_599, 1_610_723_613]);
        let substream = (0..76).fold(Step::ONE, |step, _| step.twice());
        assert_eq!(substream.0[0], [82_758_667, 1_871_391_091, 4_127_413_238]);
        assert_eq!(substream.1[0], [1_511_326_704, 3_759_209_742, 1_610_795_712]);
    }

    /// The first number of a numbered stream is that of a variable with this stream number.
    #[test]
    fn a_numbered_stream_begins_where_a_counted_one_does() {
        let streams = Ns3Streams::after(40);
        let mut counted = Ns3Draws::new(streams.fork());
        let mut numbered = streams.numbered(40);
        assert_eq!(numbered.draw(), counted.next());
        assert_ne!(
            numbered.draw(),
            counted.next(),
            "a numbered stream continues, a counted one starts the next stream"
        );
    }

    #[test]
    fn a_network_has_one_count_of_streams() {
        let streams = Ns3Streams::after(40);
        let (mut alone, mut one, mut other) =
            (Ns3Draws::new(streams.fork()), Ns3Draws::new(streams.clone()), Ns3Draws::new(streams));
        let drawn = [0; 6].map(|_| alone.next());
        let first = [one.next(), other.next(), one.next()];
        other.skip();
        assert_eq!(
            [first[0], first[1], first[2], one.next(), other.next()],
            [drawn[0], drawn[1], drawn[2], drawn[4], drawn[5]]
        );
        assert!(drawn.iter().all(|u| *u > 0.0 && *u < 1.0));
    }
}
