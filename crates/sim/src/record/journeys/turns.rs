//! Whose turn it was at a port while something waited there: the port counts how long it sent of each class, each queue
//! and frames, and what waits compares two readings. So a wait costs the same however long it is.

use backwater_engine::observe::Transmission;
use backwater_types::{Duration, Instant, QueueId, SerTime};

/// Counts of one port, in picoseconds of sending, of all that it sent before the last: a cache line, and what it counts.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Turns {
    /// What the port sends, or sent last, and its class.
    last: Transmission,
    class: u8,
    ser: SerTime,
    /// Queues that one waits in, as bits by their numbers modulo 64: only theirs are counted.
    waited: u64,
    classes: u16,
    /// Frames; then data by class; then by queue and class.
    counts: Box<[u64]>,
}

const _: () = assert!(size_of::<Turns>() == 64);

/// What one that waits read of its port when its time was last accounted for.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// Frames; then data by class; then data of its queue by class. Once it has been held, the same again, as it was then.
    counts: Vec<u64>,
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
        Turns {
            last: Transmission::NONE,
            class: 0,
            ser,
            waited: 0,
            classes: classes as u16,
            counts: vec![0; 1 + classes].into(),
        }
    }

    fn classes(&self) -> usize {
        self.classes.into()
    }

    pub(super) fn ser(&self) -> SerTime {
        self.ser
    }

    /// The port has sent `last`, of this class, and counts from now on.
    pub(super) fn begin(&mut self, last: Transmission, class: u8) {
        (self.last, self.class) = (last, class);
    }

    /// How long the last, which may not have ended, has been sent by `at`.
    fn progress(&self, at: Instant) -> u64 {
        let last = self.last;
        if at <= last.at { 0 } else { at.since(last.at).0.min(self.ser.of_bytes(last.wire().into()).0) }
    }

    fn at_queue(&self, queue: QueueId) -> usize {
        1 + self.classes() * (1 + usize::from(queue))
    }

    /// One waits in this queue from now on.
    pub(super) fn wait_in(&mut self, queue: QueueId) {
        let end = self.at_queue(queue) + self.classes();
        if self.counts.len() < end {
            let mut counts = std::mem::take(&mut self.counts).into_vec();
            counts.resize(end, 0);
            self.counts = counts.into();
        }
        self.waited |= bit(queue);
    }

    /// In these queues are those that still wait.
    pub(super) fn wait_only_in(&mut self, queues: impl Iterator<Item = QueueId>) {
        self.waited = queues.fold(0, |waited, queue| waited | bit(queue));
    }

    /// Queues that one may wait in, of a port with no more than 64.
    pub(super) fn waited(&self) -> impl Iterator<Item = QueueId> + use<> {
        let mut waited = self.waited;
        std::iter::from_fn(move || {
            let first = waited.trailing_zeros();
            waited &= waited.wrapping_sub(1);
            (first < 64).then_some(first as QueueId)
        })
    }

    /// The port sends `next`, of this class: counts the last. What that was, and how long.
    #[inline(always)]
    pub(super) fn count(&mut self, next: Transmission, class: u8) -> (Transmission, u64) {
        let (last, span) = (self.last, self.progress(next.at));
        match last.queue() {
            None => self.counts[0] += span,
            Some(queue) => {
                let (class, at) = (usize::from(self.class), self.at_queue(queue));
                self.counts[1 + class] += span;
                if self.waited & bit(queue) != 0
                    && let Some(count) = self.counts.get_mut(at + class)
                {
                    *count += span;
                }
            }
        }
        (self.last, self.class) = (next, class);
        (last, span)
    }

    /// Has one that waits in `queue`, or in none that others share, see the counts at `at`, which is not before the
    /// port sent the last.
    pub(super) fn show(&self, seen: &mut Seen, queue: Option<QueueId>, at: Instant) {
        let progress = self.progress(at);
        seen.counts.clear();
        seen.counts.extend((0..self.places(queue)).map(|place| self.count_in(place, queue, progress)));
        seen.at = at;
    }

    /// One that has seen the counts is held from `at` on.
    pub(super) fn hold(&self, seen: &mut Seen, queue: Option<QueueId>, at: Instant) {
        let (progress, places) = (self.progress(at), self.places(queue));
        seen.counts.truncate(places);
        seen.counts.extend((0..places).map(|place| self.count_in(place, queue, progress)));
    }

    /// One that was held for so long, up to `at`, goes on as if it had not been: what was counted meanwhile does not count for it.
    pub(super) fn resume(&self, seen: &mut Seen, queue: Option<QueueId>, at: Instant, held: Duration) {
        let progress = self.progress(at);
        let (counts, then) = seen.counts.split_at_mut(self.places(queue));
        for (place, (count, then)) in counts.iter_mut().zip(then).enumerate() {
            *count += self.count_in(place, queue, progress) - *then;
        }
        seen.at += held;
    }

    /// How many counts one sees that waits in `queue`.
    fn places(&self, queue: Option<QueueId>) -> usize {
        1 + if queue.is_some() { 2 } else { 1 } * self.classes()
    }

    /// Tells whose turn it was, and how long, since one that waits saw the counts; it sees them anew. Data of its own flow were sent for
    /// so long since then, of its queue and of others, and are of this class.
    pub(super) fn tell(
        &self,
        seen: &mut Seen,
        queue: Option<QueueId>,
        (own, own_class): ([u64; 2], u8),
        now: Instant,
        mut each: impl FnMut(Turn, Duration),
    ) {
        let progress = self.progress(now);
        let mut spent = |place: usize| {
            let count = self.count_in(place, queue, progress);
            count - std::mem::replace(&mut seen.counts[place], count)
        };
        let mut idle = now.since(std::mem::replace(&mut seen.at, now)).0;
        let mut turn = |turn: Turn, span: u64| {
            idle -= span;
            if span > 0 {
                each(turn, Duration(span));
            }
        };
        turn(Turn::Own, own[0] + own[1]);
        for class in 0..self.classes() {
            let mine = |i: usize| if class == usize::from(own_class) { own[i] } else { 0 };
            let all = spent(1 + class);
            let here = if queue.is_some() { spent(1 + self.classes() + class) } else { 0 };
            turn(Turn::Queue(class as u8), here - mine(0));
            turn(Turn::Others(class as u8), all - here - mine(1));
        }
        turn(Turn::Frames, spent(0));
        each(Turn::Idle, Duration(idle));
    }

    /// The count that what waits in `queue` sees in this place, when the last has been sent for `progress`.
    #[inline(always)]
    fn count_in(&self, place: usize, queue: Option<QueueId>, progress: u64) -> u64 {
        let (last, class) = (self.last.queue(), usize::from(self.class));
        let (count, under_way) = match place.checked_sub(1 + self.classes()) {
            None => (self.counts[place], place == last.map_or(0, |_| 1 + class)),
            Some(of) => {
                let count = queue.and_then(|queue| self.counts.get(self.at_queue(queue) + of));
                (count.copied().unwrap_or(0), of == class && last == queue)
            }
        };
        count + if under_way { progress } else { 0 }
    }

    /// What the last, if it is data of this flow, had been sent by `at`, in `queue` and in others.
    pub(super) fn own(&self, queue: Option<QueueId>, flow: u32, at: Instant) -> [u64; 2] {
        let mut own = [0; 2];
        if self.last.queue().is_some() && self.last.flow() == flow {
            own[usize::from(self.last.queue() != queue)] = self.progress(at);
        }
        own
    }
}

impl Seen {
    /// One that has not looked, and whose time is accounted for until `at`.
    pub(super) const fn nothing_until(at: Instant) -> Seen {
        Seen { at, counts: Vec::new() }
    }
}

fn bit(queue: QueueId) -> u64 {
    1 << (queue % 64)
}
