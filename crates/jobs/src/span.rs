//! Times of a rank in a phase: from its first operation to its last, and how long it computed.

use backwater_types::{Duration, Instant};

/// A rank in a phase of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Repetition of the job.
    pub repetition: u32,
    /// Phase, an index into [`Job::phases`](crate::Job::phases).
    pub phase: u32,
    /// Rank.
    pub rank: u32,
    /// When its first operation was ready.
    pub begin: Instant,
    /// When its last operation ended; [`Instant::NEVER`] if one has not.
    pub end: Instant,
    /// Time in which it computed on at least one stream. Time of computations of two phases at once belongs to that
    /// whose computation began first. So it is within the span, and no time counts twice.
    pub compute: Duration,
    /// Payload that it handed to the NIC, bytes.
    pub sent: u64,
}

/// The spans of a rank in a repetition that runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    /// In order of phases.
    open: Vec<Open>,
    /// Place of the phase that was last asked for.
    last: usize,
    /// Phases of the computations that run, in the order in which these began, and since when the first has run alone or
    /// as the first.
    computing: Vec<u32>,
    since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    span: Span,
    /// Operations that were ready and have not ended.
    under_way: u32,
}

impl Spans {
    fn of(&mut self, phase: u32, now: Instant) -> &mut Open {
        if self.open.get(self.last).is_none_or(|open| open.span.phase != phase) {
            let place = self.open.partition_point(|open| open.span.phase < phase);
            if self.open.get(place).is_none_or(|open| open.span.phase != phase) {
                let (begin, end, compute) = (now, Instant::NEVER, Duration::ZERO);
                let span = Span { repetition: 0, phase, rank: 0, begin, end, compute, sent: 0 };
                self.open.insert(place, Open { span, under_way: 0 });
            }
            self.last = place;
        }
        &mut self.open[self.last]
    }

    /// An operation of a phase is ready.
    pub(crate) fn on_ready(&mut self, phase: u32, now: Instant) {
        self.of(phase, now).under_way += 1;
    }

    /// A computation of a phase has begun.
    pub(crate) fn on_computing(&mut self, phase: u32, now: Instant) {
        if self.computing.is_empty() {
            self.since = now;
        }
        self.computing.push(phase);
    }

    /// A computation of a phase has ended.
    pub(crate) fn on_computed(&mut self, phase: u32, now: Instant) {
        let first = self.computing[0];
        self.of(first, now).span.compute.0 += now.since(self.since).0;
        self.since = now;
        let ended = self.computing.iter().position(|other| *other == phase).expect("it began");
        self.computing.remove(ended);
    }

    /// A message of a phase was handed to the NIC.
    pub(crate) fn on_sent(&mut self, phase: u32, bytes: u64, now: Instant) {
        self.of(phase, now).span.sent += bytes;
    }

    /// An operation of a phase has ended.
    pub(crate) fn on_ended(&mut self, phase: u32, now: Instant) {
        let open = self.of(phase, now);
        open.under_way -= 1;
        open.span.end = now;
    }

    /// Takes the spans of the phases `of` in a repetition. Those of phases with operations under way have no end.
    pub(crate) fn take(&mut self, of: impl Fn(u32) -> bool, repetition: u32, rank: u32, all: &mut Vec<Span>) {
        self.open.retain(|Open { span, under_way }| {
            if !of(span.phase) {
                return true;
            }
            let end = if *under_way > 0 { Instant::NEVER } else { span.end };
            all.push(Span { repetition, rank, end, ..*span });
            false
        });
        self.last = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_two_computations_at_once_counts_once() {
        let mut spans = Spans::default();
        for (phase, at) in [(4, 10), (2, 20)] {
            spans.on_ready(phase, Instant(at));
            spans.on_computing(phase, Instant(at));
        }
        for (phase, at) in [(4, 50), (2, 70)] {
            spans.on_computed(phase, Instant(at));
            spans.on_ended(phase, Instant(at));
        }
        spans.on_sent(2, 100, Instant(70));
        spans.on_ready(7, Instant(80));
        let mut all = Vec::new();
        spans.take(|phase| phase == 4, 3, 9, &mut all);
        assert_eq!(all.len(), 1);
        spans.take(|_| true, 3, 9, &mut all);
        let span = |phase, [begin, end]: [u64; 2], compute, sent| {
            let (begin, end, compute) = (Instant(begin), Instant(end), Duration(compute));
            Span { repetition: 3, phase, rank: 9, begin, end, compute, sent }
        };
        assert_eq!(all, [span(4, [10, 50], 40, 0), span(2, [20, 70], 20, 100), span(7, [80, u64::MAX], 0, 0)]);
    }
    /// A computation of one phase runs within one of another phase. All of its time belongs to the other.
    #[test]
    fn compute_is_within_its_span() {
        let mut spans = Spans::default();
        for (phase, at) in [(1, 0), (2, 30)] {
            spans.on_ready(phase, Instant(at));
            spans.on_computing(phase, Instant(at));
        }
        for (phase, at) in [(2, 40), (1, 100)] {
            spans.on_computed(phase, Instant(at));
            spans.on_ended(phase, Instant(at));
        }
        let mut all = Vec::new();
        spans.take(|_| true, 0, 0, &mut all);
        let times: Vec<_> = all.iter().map(|span| (span.phase, span.end.0 - span.begin.0, span.compute.0)).collect();
        assert_eq!(times, [(1, 100, 100), (2, 10, 0)]);
    }
}
