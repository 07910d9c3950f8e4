//! What control makes of a flow, however lost packets are recovered: how many may be in flight, and when the next may start.

use crate::flow::{Next, Outgoing, Start};
use crate::rate::Control;
use alloc::vec::Vec;
use backwater_types::{Duration, Instant, Kind, flags};

/// Parameters of flows under a control.
#[derive(Clone, Debug)]
pub struct PacedParams<P> {
    /// `[site]`: of end-to-end control.
    pub controls: Vec<P>,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u16,
}

impl<P> PacedParams<P> {
    /// Of the control of flows that start there.
    #[inline(always)]
    fn control(&self, site: u32) -> &P {
        &self.controls[site as usize]
    }
}

/// Of packets in flight: no limit.
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// A window of so many packets, terabytes of them, is none: what is in flight may then be less than nothing.
const WINDOW_MAX: u64 = 1 << 31;

/// A flow under control `C`.
#[derive(Clone, Debug)]
pub(crate) struct Paced<C: Control> {
    pub(crate) control: C,
    pub(crate) key: u32,
    site: u32,
    /// Of the flow.
    pub(crate) packets: u32,
    /// Wire bytes of the last of them.
    last_wire: u16,
    pub(crate) class: u8,
    flags: u8,
    /// Packets in flight at which the window is shut; [`UNLIMITED`] if it never is.
    pub(crate) limit: u32,
    /// Earliest start of the next packet.
    pub(crate) not_before: Instant,
    /// Wire bytes of the packet sent last.
    sent_wire: u16,
    /// Its pace was set.
    repaced: bool,
}

impl<C: Control> Paced<C> {
    /// Of a flow that starts.
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
            repaced: false,
        };
        flow.set_limit(params);
        flow
    }

    /// When packets in flight were sent, where control asks for it.
    pub(crate) fn times(&self, params: &PacedParams<C::Params>) -> C::Times {
        C::times(params.control(self.site))
    }

    #[inline(always)]
    fn set_limit(&mut self, params: &PacedParams<C::Params>) {
        let packets = self.control.window(params.control(self.site)).div_ceil(params.payload);
        self.limit = if packets < WINDOW_MAX { packets as u32 } else { UNLIMITED };
    }

    /// Control is told something. If that changes the pace, what waits does so for the time its predecessor takes at the rate that
    /// holds now, where control asks for that.
    #[inline(always)]
    pub(crate) fn tell(&mut self, params: &PacedParams<C::Params>, what: impl FnOnce(&mut C, &C::Params) -> bool) {
        let control = params.control(self.site);
        let before = self.gap(control);
        if what(&mut self.control, control) {
            self.set_limit(params);
            self.repaced = self.control.moves();
            self.not_before = Instant((self.not_before + self.gap(control)).0.saturating_sub(before.0));
        }
    }

    /// Gap behind the last packet sent, where a change of the pace moves what waits for it.
    #[inline(always)]
    fn gap(&self, control: &C::Params) -> Duration {
        if self.control.moves() { self.control.moved_by(control, self.sent_wire as u64) } else { Duration::ZERO }
    }

    /// Whether its pace was set since this was asked.
    #[inline(always)]
    pub(crate) fn repaced(&mut self) -> bool {
        core::mem::take(&mut self.repaced)
    }

    /// Packets before `next` that are full.
    #[inline(always)]
    pub(crate) fn whole_before(&self, params: &PacedParams<C::Params>, next: u32) -> u32 {
        next - (next == self.packets && self.last_wire < params.full_wire) as u32
    }

    /// Wire bytes of packet `seq`, if its time has come.
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

    /// Packet `seq`, of `wire` bytes, starts.
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

    /// When the timer of control is due.
    #[inline(always)]
    pub(crate) fn timer(&self, params: &PacedParams<C::Params>) -> Instant {
        self.control.timer(params.control(self.site))
    }

    /// The timer of control runs, if it is due.
    pub(crate) fn on_timer(&mut self, params: &PacedParams<C::Params>, now: Instant) {
        if self.timer(params) <= now {
            self.tell(params, |control, params| control.on_timer(params, now));
        }
    }
}

/// Methods of [`Sender`](crate::flow::Sender) that a sender with a field `paced` answers from it alone.
macro_rules! answered_by_paced {
    () => {
        #[inline(always)]
        fn wound(&mut self) -> Option<(Instant, u8)> {
            self.paced.control.wound()
        }

        fn on_clock(&mut self, params: &Self::Params, now: Instant, clock: u8) {
            self.paced.tell(&params.paced, |control, params| control.on_clock(params, now, clock));
        }

        #[inline(always)]
        fn pace(&self) -> Instant {
            self.paced.not_before
        }

        #[inline(always)]
        fn moves(&self) -> bool {
            self.paced.control.moves()
        }

        #[inline(always)]
        fn repaced(&mut self) -> bool {
            self.paced.repaced()
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
