//! Sending side of TCP: the window, the state of each segment in flight, and the retransmission timer.

use crate::tcp::congestion::Congestion;
use crate::tcp::params::{Marks, Recovery, TcpParams};
use crate::tcp::receiver::TcpAck;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use backwater_types::{Duration, Instant};

/// Sending side of one flow.
#[derive(Clone, Debug)]
pub struct TcpSender {
    /// Segments of the flow, including one that opens the connection.
    pub total: u32,
    /// Whether the first segment opens the connection and goes alone.
    pub handshake: bool,
    /// Window and estimates, kept for the connection's next flow.
    pub congestion: Congestion,
    /// First segment not acknowledged.
    pub acked: u32,
    /// Next segment never sent.
    pub next: u32,
    /// Retransmitted segments.
    pub retransmitted: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    phase: Phase,
    /// Segment whose acknowledgement ends [`Phase::Recovery`] and [`Phase::Loss`].
    recover: u32,
    /// Scoreboard of the segments from `acked` on; those beyond its end are in flight.
    board: VecDeque<Segment>,
    /// Segments of `board` that were selectively acknowledged.
    selected: u32,
    /// Segments of `board` that are lost and not retransmitted.
    lost: u32,
    /// Segments of `board` that were retransmitted.
    resent: u32,
    /// Segments missing below this were declared lost before.
    judged: u32,
    /// Whether the first lost segment may go regardless of segments in flight.
    at_once: bool,
    /// Whether the window stopped the last attempt to send.
    limited: bool,
    /// Segment whose acknowledgement allows the next cut.
    cut_until: Option<u32>,
    /// End of the window whose marks are counted.
    window_end: u32,
    /// Segments acknowledged in that window.
    counted: u32,
    /// Marked segments in that window.
    marked: u32,
    /// Segment whose round trip is measured, and its send time.
    timed: Option<(u32, Instant)>,
    /// Start of the retransmission timer.
    since: Instant,
    /// Doublings of the timeout.
    backoff: u32,
}

impl TcpSender {
    /// Opens a flow of `total` segments, over a connection with this state.
    pub fn new(total: u32, handshake: bool, congestion: Congestion, now: Instant) -> TcpSender {
        TcpSender {
            // An endless flow stays endless.
            total: total.saturating_add(handshake as u32),
            handshake,
            congestion,
            acked: 0,
            next: 0,
            retransmitted: 0,
            timeouts: 0,
            phase: Phase::Open,
            recover: 0,
            board: VecDeque::new(),
            selected: 0,
            lost: 0,
            resent: 0,
            judged: 0,
            at_once: false,
            limited: false,
            cut_until: None,
            window_end: 0,
            counted: 0,
            marked: 0,
            timed: None,
            since: now,
            backoff: 0,
        }
    }

    /// Whether every segment was acknowledged.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.acked == self.total
    }

    /// Segments in flight by the sender's estimate.
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.next - self.acked - self.selected - self.lost
    }

    /// Segments that count against the window.
    #[inline(always)]
    fn held_against(&self, params: &TcpParams) -> u32 {
        match (params.recovery == Recovery::Sack1) && self.phase == Phase::Recovery {
            false => self.in_flight(),
            true => self.next - self.acked - self.selected + self.resent,
        }
    }

    /// Recounts the segments.
    ///
    /// # Errors
    /// Names the count that disagrees.
    pub fn audit(&self) -> Result<(), String> {
        let count = |kind: Segment| self.board.iter().filter(|segment| **segment == kind).count() as u32;
        let found = [Segment::Acknowledged, Segment::Lost, Segment::SentAgain].map(count);
        let counted = [self.selected, self.lost, self.resent];
        if found != counted {
            return Err(format!("{counted:?} segments selectively acknowledged, lost and sent again, {found:?} found"));
        }
        let out = self.next.checked_sub(self.acked).filter(|_| self.next <= self.total);
        if out.is_none_or(|out| self.board.len() > out as usize) {
            let (acked, next, total, board) = (self.acked, self.next, self.total, self.board.len());
            return Err(format!("{board} segments on record, of {acked}..{next} of {total} that are out"));
        }
        match self.board.front() {
            Some(Segment::Acknowledged) => Err(format!("segment {} arrived and is awaited", self.acked)),
            _ => Ok(()),
        }
    }

    /// Returns the segment that would be sent now, if any may be.
    pub fn candidate(&self, params: &TcpParams) -> Option<u32> {
        if self.is_shut(params) {
            return None;
        }
        if self.lost > 0 {
            let lost = self.board.iter().position(|segment| *segment == Segment::Lost).expect("some are lost");
            return Some(self.acked + lost as u32);
        }
        (self.next < self.total && self.next - self.acked < params.max_window).then_some(self.next)
    }

    /// Whether segments are left to send, for the first time or again.
    pub fn has_unsent(&self) -> bool {
        self.lost > 0 || self.next < self.total
    }

    /// Whether the congestion window is full.
    #[inline(always)]
    fn is_shut(&self, params: &TcpParams) -> bool {
        let opening = self.handshake && self.acked == 0;
        let window = if opening { 1 } else { self.congestion.window as u32 };
        self.held_against(params) >= window && !(self.at_once && self.lost > 0)
    }

    /// Sends the next segment; `None` if none is left or the window is full.
    #[inline(always)]
    pub fn send(&mut self, params: &TcpParams, now: Instant) -> Option<u32> {
        if self.is_shut(params) {
            self.limited = true;
            return None;
        }
        if self.lost > 0 {
            return Some(self.send_again(now));
        }
        if self.next == self.total {
            return None;
        }
        if self.next - self.acked >= params.max_window {
            self.limited = true;
            return None;
        }
        let segment = self.next;
        if self.next == self.acked {
            self.since = now;
        }
        self.next += 1;
        if self.timed.is_none() {
            self.timed = Some((segment, now));
        }
        Some(segment)
    }

    #[cold]
    fn send_again(&mut self, now: Instant) -> u32 {
        let lost = self.board.iter().position(|segment| *segment == Segment::Lost).expect("some are lost");
        self.board[lost] = Segment::SentAgain;
        self.resent += 1;
        self.lost -= 1;
        self.retransmitted += 1;
        self.at_once = false;
        if lost == 0 {
            self.since = now;
        }
        let segment = self.acked + lost as u32;
        if self.timed.is_some_and(|(timed, _)| timed >= segment) {
            // Karn: an acknowledgement could be that of either transmission.
            self.timed = None;
        }
        segment
    }

    /// Handles an acknowledgement.
    #[inline(always)]
    pub fn on_ack(&mut self, params: &TcpParams, now: Instant, ack: TcpAck) {
        let next = ack.next.min(self.total);
        if next > self.next {
            return;
        }
        let advanced = next.saturating_sub(self.acked);
        let opened = self.handshake && self.acked == 0;
        let mut delivered = advanced;
        if advanced > 0 {
            delivered -= self.advance(advanced);
            self.since = now;
            self.backoff = 0;
            if let Some((_, sent)) = self.timed.filter(|(timed, _)| *timed < next) {
                self.congestion.measure(now.since(sent));
                self.timed = None;
            }
        }
        let grown = delivered;
        if ack.block.0 < ack.block.1 {
            delivered += self.select(ack.block);
        }
        self.count_marks(params, ack.marked, delivered);
        if self.phase != Phase::Open && self.acked >= self.recover {
            self.phase = Phase::Open;
            self.at_once = false;
        }
        if ack.marked && self.phase == Phase::Open {
            self.cut(params);
        }
        if self.selected >= params.dup_acks {
            self.judge(params, now);
        }
        if grown > 0 && !ack.marked && self.limited && self.phase != Phase::Recovery && !opened {
            self.grow(params, grown);
        }
        self.limited = false;
        self.congestion.used = now;
    }

    /// Acknowledges the first `n` segments, and counts those that were selectively acknowledged before.
    #[inline(always)]
    fn advance(&mut self, n: u32) -> u32 {
        self.acked += n;
        if self.board.is_empty() { 0 } else { self.shorten(n) }
    }

    #[cold]
    fn shorten(&mut self, n: u32) -> u32 {
        let before = self.selected;
        let n = self.board.len().min(n as usize);
        for segment in self.board.drain(..n) {
            self.selected -= (segment == Segment::Acknowledged) as u32;
            self.lost -= (segment == Segment::Lost) as u32;
            self.resent -= (segment == Segment::SentAgain) as u32;
        }
        before - self.selected
    }

    /// Selectively acknowledges a block, and counts those of its segments that were not before.
    #[cold]
    fn select(&mut self, (from, to): (u32, u32)) -> u32 {
        let (from, to) = (from.max(self.acked + 1), to.min(self.next));
        let mut new = 0;
        for segment in from..to {
            let at = (segment - self.acked) as usize;
            if self.board.len() <= at {
                self.board.resize(at + 1, Segment::InFlight);
            }
            if self.board[at] != Segment::Acknowledged {
                self.lost -= (self.board[at] == Segment::Lost) as u32;
                self.resent -= (self.board[at] == Segment::SentAgain) as u32;
                self.board[at] = Segment::Acknowledged;
                new += 1;
            }
        }
        self.selected += new;
        new
    }

    /// Declares segments lost with enough acknowledged above them (RFC 6675). Retransmitted ones are not declared lost
    /// twice.
    #[cold]
    fn judge(&mut self, params: &TcpParams, now: Instant) {
        let acknowledged = |segment: &(usize, &Segment)| *segment.1 == Segment::Acknowledged;
        let above = self.board.iter().enumerate().rev().filter(acknowledged).nth(params.dup_acks as usize - 1);
        let Some((below, _)) = above else { return };
        let from = self.judged.saturating_sub(self.acked) as usize;
        let mut new = 0;
        for segment in self.board.iter_mut().take(below).skip(from).filter(|segment| **segment == Segment::InFlight) {
            *segment = Segment::Lost;
            new += 1;
        }
        self.lost += new;
        self.judged = self.acked + below as u32;
        if new > 0 && self.phase == Phase::Open {
            self.phase = Phase::Recovery;
            self.recover = self.next;
            self.at_once = true;
            self.since = now;
            self.congestion.threshold = (self.congestion.window / 2.0).max(2.0);
            self.congestion.window = self.congestion.threshold;
        }
    }

    /// Updates DCTCP's estimate once a window.
    #[inline(always)]
    fn count_marks(&mut self, params: &TcpParams, marked: bool, delivered: u32) {
        if params.marks != Marks::Dctcp {
            return;
        }
        self.counted += delivered;
        self.marked += if marked { delivered } else { 0 };
        if self.acked >= self.window_end && self.counted > 0 {
            let share = self.marked as f64 / self.counted as f64;
            self.congestion.alpha = (1.0 - params.g) * self.congestion.alpha + params.g * share;
            (self.counted, self.marked, self.window_end) = (0, 0, self.next);
        }
    }

    /// Cuts the window for a mark, at most once a window: marks of segments sent before a cut do not count.
    fn cut(&mut self, params: &TcpParams) {
        if self.cut_until.is_some_and(|until| self.acked <= until) {
            return;
        }
        let alpha = if params.marks == Marks::Dctcp { self.congestion.alpha } else { 1.0 };
        let least = self.congestion.window.min(params.min_window as f64);
        self.congestion.window = (self.congestion.window * (1.0 - alpha / 2.0)).max(least);
        self.congestion.threshold = self.congestion.window;
        self.cut_until = Some(self.next);
    }

    #[inline(always)]
    fn grow(&mut self, params: &TcpParams, segments: u32) {
        let c = &mut self.congestion;
        let mut left = segments as f64;
        if c.window < c.threshold {
            let step = left.min(c.threshold - c.window);
            c.window += step;
            left -= step;
        }
        if left > 0.0 {
            c.window += left / c.window;
        }
        c.window = c.window.min(params.max_window as f64);
    }

    /// Returns the expiry of the retransmission timer; `None` with nothing in flight.
    #[inline(always)]
    pub fn deadline(&self, params: &TcpParams) -> Option<Instant> {
        let backed_off = self.congestion.rto(params).0.saturating_mul(1 << self.backoff);
        (self.next > self.acked).then(|| self.since + Duration(backed_off.min(params.rto_max.0)))
    }

    /// Handles the expiry of the retransmission timer.
    pub fn on_timeout(&mut self, now: Instant) -> TimeoutReason {
        let reason = match self.board.front() {
            _ if self.handshake && self.acked == 0 => TimeoutReason::Handshake,
            Some(Segment::SentAgain) => TimeoutReason::Retransmission,
            Some(Segment::Lost) => TimeoutReason::Held,
            _ if self.selected > 0 => TimeoutReason::Tail,
            _ => TimeoutReason::Silent,
        };
        if self.phase != Phase::Loss {
            self.congestion.threshold = (self.congestion.window / 2.0).max(2.0);
        }
        self.congestion.window = 1.0;
        self.phase = Phase::Loss;
        self.recover = self.next;
        self.judged = self.next;
        self.board.resize((self.next - self.acked) as usize, Segment::InFlight);
        for segment in self.board.iter_mut().filter(|segment| **segment != Segment::Acknowledged) {
            *segment = Segment::Lost;
        }
        self.lost = self.next - self.acked - self.selected;
        self.resent = 0;
        self.at_once = false;
        self.timed = None;
        self.backoff = (self.backoff + 1).min(32);
        self.timeouts += 1;
        self.since = now;
        reason
    }
}

/// State of a segment above the cumulative acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    InFlight,
    Acknowledged,
    Lost,
    SentAgain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// After a loss that acknowledgements showed, until all segments sent by then are acknowledged.
    Recovery,
    /// After a timeout, until all segments sent by then are acknowledged.
    Loss,
}

/// Cause of a timeout: the state of the first segment not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeoutReason {
    /// No segment behind the first was acknowledged: the end of a flow, or a whole window, is lost.
    Silent,
    /// Too few segments behind the first were acknowledged to declare it lost.
    Tail,
    /// The retransmission of the first segment was lost.
    Retransmission,
    /// The first segment was declared lost, and the window has not yet allowed its retransmission.
    Held,
    /// The first segment opens the connection.
    Handshake,
}

impl TimeoutReason {
    /// All reasons, in order.
    pub const ALL: [TimeoutReason; 5] = [
        TimeoutReason::Silent,
        TimeoutReason::Tail,
        TimeoutReason::Retransmission,
        TimeoutReason::Held,
        TimeoutReason::Handshake,
    ];
}
