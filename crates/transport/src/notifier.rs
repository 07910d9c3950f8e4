//! Notifications of congestion by a receiver: at most one in an interval, if a marked packet came in it.

use crate::flow::Reply;
use alloc::boxed::Box;
use backwater_types::{Duration, Extension, Instant, Kind, Packet, flags};

/// What a receiver remembers of its last notification, from the first mark on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifier(Option<Box<Notice>>);

#[derive(Clone, Copy, Debug)]
struct Notice {
    /// The next goes no sooner.
    next: Instant,
    /// A marked packet came since the last.
    due: bool,
    /// One of the flow.
    packet: Packet,
}

impl Notifier {
    /// A packet came in. Whether to notify now; if it was marked within the interval, that will be due once this is over.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, now: Instant, interval: Option<Duration>, packet: &Packet) -> bool {
        match interval {
            Some(interval) if packet.has(flags::CE) => self.on_mark(now, interval, packet),
            _ => false,
        }
    }

    fn on_mark(&mut self, now: Instant, interval: Duration, packet: &Packet) -> bool {
        let notice = self.0.get_or_insert_with(|| Box::new(Notice { next: now, due: false, packet: *packet }));
        notice.due = now < notice.next;
        if !notice.due {
            notice.next = now + interval;
        }
        !notice.due
    }

    /// When the next notification is due; [`Instant::NEVER`] if no mark waits for it.
    #[inline(always)]
    pub(crate) fn timer(&self) -> Instant {
        match &self.0 {
            Some(notice) if notice.due => notice.next,
            _ => Instant::NEVER,
        }
    }

    /// Its time has come. A packet of the flow that is to be notified.
    pub(crate) fn on_timer(&mut self, now: Instant, interval: Option<Duration>) -> Option<&Packet> {
        let (Some(notice), Some(interval)) = (&mut self.0, interval) else { return None };
        (notice.due, notice.next) = (false, now + interval);
        Some(&notice.packet)
    }
}

/// A notification to the sender of `packet`, of `wire` bytes.
pub(crate) fn cnp<E: Extension>(packet: &Packet, wire: u16) -> Reply<E> {
    Reply { kind: Kind::Cnp, seq: packet.seq, word: None, wire, flags: 0, extension: E::default() }
}
