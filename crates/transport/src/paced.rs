//! Pacing of a flow by its congestion control, whichever way lost packets are recovered: how many packets may be in
//! flight, and when the next may start.

use crate::flow::{Next, Outgoing, Start};
use crate::rate::Control;
use alloc::vec::Vec;
use backwater_types::{Duration, Instant, Kind, flags};

/// Parameters of flows under a congestion control.
#[derive(Clone, Debug)]
pub struct PacedParams<P> {
    /// `[site]`: parameters of congestion control.
    pub controls: Vec<P>,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u16,
}

impl<P> PacedParams<P> {
    /// Returns the parameters of congestion control of flows that start at `site`.
    #[inline(always)]
    fn control(&self, site: u32) -> &P {
        &self.controls[site as usize]
    }
}

/// Limit of packets in flight that no flow reaches.
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// Packets of a window (terabytes) that imposes no limit. In a smaller window, packets in flight may be negative, in
/// two's complement.
const WINDOW_MAX: u64 = 1 << 31;

/// A flow under control `C`.
#[derive(Clone, Debug)]
pub(crate) struct Paced<C: Control> {
    pub(crate) control: C,
    pub(crate) key: u32,
    site: u32,
    /// Packets of the flow.
    pub(crate) packets: u32,
    /// Wire bytes of the last packet.
    last_wire: u16,
    pub(crate) class: u8,
    flags: u8,
    /// Packets in flight at which the window is shut; [`UNLIMITED`] if it never is.
    pub(crate) limit: u32,
    /// Earliest start of the next packet.
    pub(crate) not_before: Instant,
    /// Wire bytes of the packet sent last.
    sent_wire: u16,
    /// Whether the send time was set since it was last asked for.
    moved: bool,
}

impl<C: Control> Paced<C> {
    /// Starts a flow.
    pub(crate) fn new(params: &PacedParams<C::Params>, now: Instant, start: Start) -> Paced<C> {
        let Start { dst: _, key, site, packets, last_wire, class, flags } = start;
        let control = C::new(params.control(site));
        let mut flow = Paced {
            control,
            key,
            site,
            packets,
            last_wire,
            class,
            flags,
            limit: 0,
            not_before: now,
            sent_wire: 0,
            moved: false,
        };
        flow.set_limit(params);
        flow
    }

    /// Makes the record of send times of packets in flight, where control asks for it.
    pub(crate) fn times(&self, params: &PacedParams<C::Params>) -> C::Times {
        C::times(params.control(self.site))
    }

    #[inline(always)]
    fn set_limit(&mut self, params: &PacedParams<C::Params>) {
        let packets = self.control.window(params.control(self.site)).div_ceil(params.payload);
        self.limit = if packets < WINDOW_MAX { packets as u32 } else { UNLIMITED };
    }

    /// Lets control handle `event`, and applies a change of its window or rate. On a rate change the send time of the
    /// next packet shifts by the change of the spacing behind its predecessor, where control [moves](Control::moves)
    /// it.
    #[inline(always)]
    pub(crate) fn update(&mut self, params: &PacedParams<C::Params>, event: impl FnOnce(&mut C, &C::Params) -> bool) {
        let control = params.control(self.site);
        let before = self.spacing(control);
        if event(&mut self.control, control) {
            self.set_limit(params);
            self.moved = self.control.moves();
            self.not_before = Instant((self.not_before + self.spacing(control)).0.saturating_sub(before.0));
        }
    }

    /// Returns the spacing behind the last packet sent; zero where a rate change does not move the next.
    #[inline(always)]
    fn spacing(&self, control: &C::Params) -> Duration {
        if self.control.moves() { self.control.spacing(control, self.sent_wire as u64) } else { Duration::ZERO }
    }

    /// Whether the send time was set since the last call.
    #[inline(always)]
    pub(crate) fn take_moved(&mut self) -> bool {
        core::mem::take(&mut self.moved)
    }

    /// Counts the full packets before `next`.
    #[inline(always)]
    pub(crate) fn whole_before(&self, params: &PacedParams<C::Params>, next: u32) -> u32 {
        next - (next == self.packets && self.last_wire < params.full_wire) as u32
    }

    /// Returns the wire bytes of packet `seq`, if pacing lets it start.
    #[inline(always)]
    pub(crate) fn peek(&self, params: &PacedParams<C::Params>, now: Instant, seq: u32) -> Next<u16> {
        if self.not_before > now {
            Next::NotBefore(self.not_before)
        } else {
            Next::Packet(if seq + 1 == self.packets { self.last_wire } else { params.full_wire })
        }
    }

    /// Payload bytes of the flow from packet `seq` on.
    #[inline(always)]
    pub(crate) fn left_from(&self, params: &PacedParams<C::Params>, seq: u32) -> u64 {
        let header = u64::from(params.full_wire) - params.payload;
        match self.packets - seq {
            0 => 0,
            left => u64::from(left - 1) * params.payload + u64::from(self.last_wire).saturating_sub(header),
        }
    }

    /// Sends packet `seq`, of `wire` bytes.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        params: &PacedParams<C::Params>,
        now: Instant,
        seq: u32,
        wire: u16,
    ) -> Outgoing<C::Extension> {
        let control = params.control(self.site);
        self.control.on_sent(control, now, wire as u64);
        self.not_before = now + self.control.gap(control, wire as u64);
        self.sent_wire = wire;
        let last = if seq + 1 == self.packets { flags::LAST } else { 0 };
        let (class, flags) = (self.class, self.flags | last);
        let extension = self.control.outgoing(now, self.left_from(params, seq));
        Outgoing { kind: Kind::Data, seq, wire, class, flags, extension }
    }

    /// Returns the expiry of control's timer.
    #[inline(always)]
    pub(crate) fn timer(&self, params: &PacedParams<C::Params>) -> Instant {
        self.control.timer(params.control(self.site))
    }

    /// Handles the expiry of control's timer, if it is due.
    pub(crate) fn on_timer(&mut self, params: &PacedParams<C::Params>, now: Instant) {
        if self.timer(params) <= now {
            self.update(params, |control, params| control.on_timer(params, now));
        }
    }
}

/// Defines the methods of [`Sender`](crate::flow::Sender) that a sender answers from its field `paced` alone.
macro_rules! answered_by_paced {
    () => {
        #[inline(always)]
        fn take_armed(&mut self) -> Option<(Instant, u8)> {
            self.paced.control.take_armed()
        }

        fn on_expiry(&mut self, params: &Self::Params, now: Instant, timer: u8) {
            self.paced.update(&params.paced, |control, params| control.on_expiry(params, now, timer));
        }

        #[inline(always)]
        fn next_send(&self) -> Instant {
            self.paced.not_before
        }

        #[inline(always)]
        fn moves(&self) -> bool {
            self.paced.control.moves()
        }

        #[inline(always)]
        fn take_moved(&mut self) -> bool {
            self.paced.take_moved()
        }

        #[inline(always)]
        fn key(&self) -> u32 {
            self.paced.key
        }

        #[inline(always)]
        fn class(&self) -> u8 {
            self.paced.class
        }
    };
}

pub(crate) use answered_by_paced;
