//! Clock of one egress port: the time it has sent data of each class, data of each queue, and ACKs and frames.
//!
//! A waiting packet reads the clock at the start and at the end of its wait. The difference of the readings tells whose
//! turn it was meanwhile, so a wait costs the same however long it is.

use backwater_engine::observe::Transmission;
use backwater_types::{Duration, Instant, QueueId, SerTime};

/// Clock of one port, in one cache line, with its counts elsewhere.
///
/// The clock runs while a followed packet or flow waits at the port, and stands still otherwise. A reading is valid
/// only if the clock has run since.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct PortClock {
    /// Current or last transmission; not yet in `counts`.
    last: Transmission,
    /// Class of `last`.
    class: u8,
    runs: bool,
    ser: SerTime,
    /// Queues in which followed packets wait, as bits by queue number modulo 64. Counts of other queues stand still. A
    /// queue that shares a bit may be counted as well, which does no harm.
    waited: u64,
    /// Number of classes.
    classes: u16,
    /// Picoseconds of sending: ACKs and frames; then data `[class]`; then data `[queue][class]`.
    counts: Box<[u64]>,
}

const _: () = assert!(size_of::<PortClock>() == 64);

/// Reading of a port's clock by a waiting packet or flow.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// Instant up to which the time of the packet or flow is accounted for.
    pub(super) at: Instant,
    /// ACKs and frames; then data `[class]`; then data of the packet's queue `[class]`. During a pause the same counts
    /// follow once more, as of the start of the pause.
    counts: Vec<u64>,
}

/// Sender of a span, from the view of a waiting packet or flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Same flow.
    Own,
    /// Same queue, another flow of this class.
    Queue(u8),
    /// Another queue, a flow of this class.
    Others(u8),
    /// ACKs and control frames.
    Frames,
    /// No transmission.
    Idle,
}

impl PortClock {
    /// Builds a stopped clock of a port with this serialisation time.
    pub(super) fn new(ser: SerTime, classes: usize) -> PortClock {
        PortClock {
            last: Transmission::NONE,
            class: 0,
            runs: false,
            ser,
            waited: 0,
            classes: classes as u16,
            counts: vec![0; 1 + classes].into(),
        }
    }

    fn classes(&self) -> usize {
        self.classes.into()
    }

    /// Serialisation time of the port.
    pub(super) fn ser(&self) -> SerTime {
        self.ser
    }

    /// Whether the clock runs.
    #[inline(always)]
    pub(super) fn runs(&self) -> bool {
        self.runs
    }

    /// Starts the clock of a port whose last transmission is `last`, of class `class`.
    pub(super) fn start(&mut self, last: Transmission, class: u8) {
        (self.last, self.class, self.runs) = (last, class, true);
    }

    /// Stops the clock.
    pub(super) fn stop(&mut self) {
        self.runs = false;
    }

    /// Time of the last transmission that has passed at `at`, ps.
    fn progress(&self, at: Instant) -> u64 {
        let last = self.last;
        if at <= last.at { 0 } else { at.since(last.at).0.min(self.ser.of_bytes(last.wire().into()).0) }
    }

    /// Place of a queue's first count.
    fn at_queue(&self, queue: QueueId) -> usize {
        1 + self.classes() * (1 + usize::from(queue))
    }

    /// Counts this queue from now on, as a followed packet waits in it.
    pub(super) fn count_queue(&mut self, queue: QueueId) {
        let end = self.at_queue(queue) + self.classes();
        if self.counts.len() < end {
            let mut counts = std::mem::take(&mut self.counts).into_vec();
            counts.resize(end, 0);
            self.counts = counts.into();
        }
        self.waited |= bit(queue);
    }

    /// Counts only these queues from now on.
    pub(super) fn count_only(&mut self, queues: impl Iterator<Item = QueueId>) {
        self.waited = queues.fold(0, |waited, queue| waited | bit(queue));
    }

    /// Counted queues of a port with at most 64 queues.
    pub(super) fn counted(&self) -> impl Iterator<Item = QueueId> + use<> {
        let mut waited = self.waited;
        std::iter::from_fn(move || {
            let first = waited.trailing_zeros();
            waited &= waited.wrapping_sub(1);
            (first < 64).then_some(first as QueueId)
        })
    }

    /// Counts the last transmission as the port starts `next`, of class `class`. Returns the last transmission and its
    /// duration, ps.
    #[inline(always)]
    pub(super) fn advance(&mut self, next: Transmission, class: u8) -> (Transmission, u64) {
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

    /// Reads the clock at `at`, which must not be before the last transmission began. `queue` is the queue of the
    /// waiting packet, `None` where flows do not share queues.
    pub(super) fn read(&self, reading: &mut Reading, queue: Option<QueueId>, at: Instant) {
        let progress = self.progress(at);
        reading.counts.clear();
        reading.counts.extend((0..self.places(queue)).map(|place| self.count_in(place, queue, progress)));
        reading.at = at;
    }

    /// Reads the clock once more at `at`, where a pause of the waiting packet begins.
    pub(super) fn read_pause(&self, reading: &mut Reading, queue: Option<QueueId>, at: Instant) {
        let (progress, places) = (self.progress(at), self.places(queue));
        reading.counts.truncate(places);
        reading.counts.extend((0..places).map(|place| self.count_in(place, queue, progress)));
    }

    /// Removes a pause of length `paused`, which ends at `at`, from the reading, with all that was sent meanwhile.
    pub(super) fn skip_pause(&self, reading: &mut Reading, queue: Option<QueueId>, at: Instant, paused: Duration) {
        let progress = self.progress(at);
        let (counts, then) = reading.counts.split_at_mut(self.places(queue));
        for (place, (count, then)) in counts.iter_mut().zip(then).enumerate() {
            *count += self.count_in(place, queue, progress) - *then;
        }
        reading.at += paused;
    }

    /// Number of counts in the reading of a packet that waits in `queue`.
    fn places(&self, queue: Option<QueueId>) -> usize {
        1 + if queue.is_some() { 2 } else { 1 } * self.classes()
    }

    /// Splits the time since the reading into turns, and reads the clock anew. `own` is the time that data of the same
    /// flow, of class `own_class`, has taken since: `[in the same queue, in others]`.
    pub(super) fn split(
        &self,
        reading: &mut Reading,
        queue: Option<QueueId>,
        (own, own_class): ([u64; 2], u8),
        now: Instant,
        mut each: impl FnMut(Turn, Duration),
    ) {
        let progress = self.progress(now);
        let mut spent = |place: usize| {
            let count = self.count_in(place, queue, progress);
            count - std::mem::replace(&mut reading.counts[place], count)
        };
        let mut idle = now.since(std::mem::replace(&mut reading.at, now)).0;
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

    /// Count at this place of a reading, including `progress` of the last transmission.
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

    /// Time of the last transmission that has passed at `at`, ps, if it is data of this flow: `[of queue, of another]`.
    pub(super) fn own_progress(&self, queue: Option<QueueId>, flow: u32, at: Instant) -> [u64; 2] {
        let mut own = [0; 2];
        if self.last.queue().is_some() && self.last.flow() == flow {
            own[usize::from(self.last.queue() != queue)] = self.progress(at);
        }
        own
    }
}

impl Reading {
    /// Builds an empty reading, with time accounted for up to `at`.
    pub(super) const fn none_until(at: Instant) -> Reading {
        Reading { at, counts: Vec::new() }
    }
}

fn bit(queue: QueueId) -> u64 {
    1 << (queue % 64)
}
