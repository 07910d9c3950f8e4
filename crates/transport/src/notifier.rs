//! Congestion notifications (CNPs) of a receiver: at most one in an interval, if a marked packet came in it.

use crate::flow::Reply;
use alloc::boxed::Box;
use backwater_types::{Duration, Extension, Instant, Kind, Packet, flags};

/// Notification state of one flow; nothing before its first marked packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifier(Option<Box<Notice>>);

#[derive(Clone, Copy, Debug)]
struct Notice {
    /// Earliest time of the next notification.
    next: Instant,
    /// Whether a marked packet came since the last notification.
    due: bool,
    /// A packet of the flow, from which the notification takes its addresses.
    packet: Packet,
}

impl Notifier {
    /// Handles a packet and returns whether to notify now. A mark within the interval is notified when the interval is
    /// over.
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

    /// Returns the time of the next notification; [`Instant::NEVER`] if no mark waits for one.
    #[inline(always)]
    pub(crate) fn timer(&self) -> Instant {
        match &self.0 {
            Some(notice) if notice.due => notice.next,
            _ => Instant::NEVER,
        }
    }

    /// Sends the notification that is due: returns a packet of the flow to notify.
    pub(crate) fn on_timer(&mut self, now: Instant, interval: Option<Duration>) -> Option<&Packet> {
        let (Some(notice), Some(interval)) = (&mut self.0, interval) else { return None };
        (notice.due, notice.next) = (false, now + interval);
        Some(&notice.packet)
    }
}

/// Makes a notification of `wire` bytes to the sender of `packet`.
pub(crate) fn cnp<E: Extension>(packet: &Packet, wire: u16) -> Reply<E> {
    Reply { kind: Kind::Cnp, seq: packet.seq, word: None, wire, flags: 0, extension: E::default() }
}
