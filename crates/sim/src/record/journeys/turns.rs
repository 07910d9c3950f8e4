//! Whose turn it was at a port while something waited there: the port counts how long it sent of each class, each queue
//! and frames, and what waits compares two readings. So a wait costs the same however long it is.

use backwater_types::{Duration, Instant, QueueId, SerTime};

/// What a port sent last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) flow: u32,
    pub(super) wire: u16,
    /// `None`: no data.
    pub(super) queue: Option<QueueId>,
}

impl Sent {
    pub(super) const NOTHING: Sent = Sent { at: Instant::ZERO, flow: 0, wire: 0, queue: None };

    pub(super) fn is_data_of(self, flow: u32) -> bool {
        self.queue.is_some() && self.flow == flow
    }
}

/// Counts of one port, in picoseconds of sending, of all that it sent before the last.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    ser: SerTime,
    classes: usize,
    /// Frames; then data by class; then by queue and class.
    counts: Vec<u64>,
}

/// What one that waits read of its port when its time was last accounted for.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// Frames; then data by class; then data of its queue by class.
    counts: Vec<u64>,
    /// The same before that: room to compare.
    before: Vec<u64>,
    /// Data of its flow, in its queue and in others: what was counted for it since then. Wraps.
    own: [u64; 2],
}

/// Whose turn it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Of the same flow.
    Own,
    /// Of the same queue, of other flows of this class.
    Queue(u8),
    /// Of other queues.
    Others(u8),
    /// Of ACKs and control frames.
    Frames,
    /// Nobody's.
    Idle,
}

impl Turns {
    pub(super) fn new(ser: SerTime, classes: usize) -> Turns {
        Turns { ser, classes, counts: vec![0; 1 + classes] }
    }

    pub(super) fn ser(&self) -> SerTime {
        self.ser
    }

    /// How long `last`, which may not have ended, has been sent by `at`.
    fn progress(&self, last: Sent, at: Instant) -> u64 {
        if at <= last.at { 0 } else { at.since(last.at).0.min(self.ser.of_bytes(last.wire.into()).0) }
    }

    fn at_queue(&self, queue: QueueId) -> usize {
        1 + self.classes * (1 + usize::from(queue))
    }

    /// The port sends something else: adds `last`, of this class. How long that was.
    pub(super) fn count(&mut self, last: Sent, class: u8, now: Instant) -> u64 {
        let span = self.progress(last, now);
        match last.queue {
            None => self.counts[0] += span,
            Some(queue) => {
                let (class, at) = (usize::from(class), self.at_queue(queue));
                if self.counts.len() < at + self.classes {
                    self.counts.resize(at + self.classes, 0);
                }
                self.counts[1 + class] += span;
                self.counts[at + class] += span;
            }
        }
        span
    }

    /// Has one that waits in `queue`, or in none that others share, see the counts at `at`, which is not before the port
    /// sent `last`. `own` says whether that is of its flow.
    pub(super) fn show(
        &self,
        seen: &mut Seen,
        queue: Option<QueueId>,
        (last, class): (Sent, u8),
        own: bool,
        at: Instant,
    ) {
        let Seen { counts, .. } = seen;
        counts.clear();
        counts.extend(&self.counts[..1 + self.classes]);
        if let Some(queue) = queue {
            let at = self.at_queue(queue);
            let of = |class: usize| self.counts.get(at + class).copied().unwrap_or(0);
            counts.extend((0..self.classes).map(of));
        }
        let progress = self.progress(last, at);
        match last.queue {
            None => counts[0] += progress,
            Some(of) => {
                counts[1 + usize::from(class)] += progress;
                if Some(of) == queue {
                    counts[1 + self.classes + usize::from(class)] += progress;
                }
            }
        }
        seen.at = at;
        seen.own = [0; 2];
        if own {
            seen.own[usize::from(last.queue != queue)] = progress.wrapping_neg();
        }
    }

    /// Tells whose turn it was, and how long, since one that waits saw the counts; it sees them anew.
    pub(super) fn tell(
        &self,
        seen: &mut Seen,
        queue: Option<QueueId>,
        last: (Sent, u8),
        (own_last, own_class): (bool, u8),
        now: Instant,
        mut each: impl FnMut(Turn, Duration),
    ) {
        let (since, own_before) = (seen.at, seen.own);
        std::mem::swap(&mut seen.counts, &mut seen.before);
        self.show(seen, queue, last, own_last, now);
        // What `show` set aside of the transmission under way is part of this time.
        let own = [0, 1].map(|i| own_before[i].wrapping_sub(seen.own[i]));
        let spent = |i: usize| seen.counts[i] - seen.before[i];
        let mut idle = now.since(since).0;
        let mut turn = |turn: Turn, span: u64| {
            idle -= span;
            if span > 0 {
                each(turn, Duration(span));
            }
        };
        turn(Turn::Own, own[0] + own[1]);
        for class in 0..self.classes {
            let mine = |i: usize| if class == usize::from(own_class) { own[i] } else { 0 };
            let here = if queue.is_some() { spent(1 + self.classes + class) } else { 0 };
            turn(Turn::Queue(class as u8), here - mine(0));
            turn(Turn::Others(class as u8), spent(1 + class) - here - mine(1));
        }
        turn(Turn::Frames, spent(0));
        each(Turn::Idle, Duration(idle));
    }
}

impl Seen {
    /// One that has not looked, and whose time is accounted for until `at`.
    pub(super) const fn nothing_until(at: Instant) -> Seen {
        Seen { at, counts: Vec::new(), before: Vec::new(), own: [0; 2] }
    }

    /// Its flow's data was sent by the port for so long, from this queue; it waits in `queue`.
    pub(super) fn count_own(&mut self, queue: Option<QueueId>, from: Option<QueueId>, span: u64) {
        let own = &mut self.own[usize::from(from != queue)];
        *own = own.wrapping_add(span);
    }
}
