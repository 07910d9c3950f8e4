//! Control by code outside of the simulator, such as a class in Python. The simulator calls it once per round trip or
//! per some ACKs. It gets the signals that HPCC, TIMELY and DCQCN react to, and sets the rate, the window and a timer.
//!
//! ```text
//! (R, W, timer) = react(signals)   once per round trip, or every `every` ACKs if that is set;
//!                                  also at each CNP, loss and expiry of the timer.
//! window = W if it is set, else Wmax x R / line.
//! gap behind a packet of L bytes = 8 L / R.
//! ```
//!
//! Starts at `start_rate` of the line. Without a reaction nothing changes: a fixed window at that rate. A change of rate
//! leaves the send time of the packet that waits.

use crate::rate::hpcc::{HOPS, Int};
use crate::rate::{Ack, ClosedForm, Control, Loss, SendTimes, Site};
use alloc::string::String;
use alloc::sync::Arc;
use backwater_types::{Bytes, Duration, Instant, OutOfRange, Ranges};
use core::fmt::Debug;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Cause of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// ACKs: those of a round trip, or as many as `every`.
    Ack,
    /// A congestion notification of the receiver.
    Cnp,
    /// A loss that the receiver or a switch told of.
    Missed,
    /// Nothing was acknowledged for the retransmission timeout.
    Timeout,
    /// The timer that the reaction had set.
    Timer,
}

/// Telemetry of one hop (HPCC's INT).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hop {
    /// Bytes that waited at the port.
    pub queued: u64,
    /// Rate at which the port sent since the last call, bit/s. Zero at the first call.
    pub sent: f64,
    /// Rate of the link, bit/s.
    pub rate: f64,
}

/// Signals of one flow since the last call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// Cause of the call.
    pub event: Event,
    /// Time of the call.
    pub now: Instant,
    /// Key of the flow, the same in all of its calls.
    pub flow: u32,
    /// Present rate, bit/s.
    pub rate: f64,
    /// Present window, payload bytes; `u64::MAX`: none.
    pub window: u64,
    /// ACKs since the last call for ACKs.
    pub acks: u32,
    /// Marked ACKs among them.
    pub marked: u32,
    /// Next packet the receiver expects.
    pub seq: u32,
    /// Next packet the sender will send.
    pub next: u32,
    /// Round trip of the newest acknowledged packet.
    pub rtt: Option<Duration>,
    /// Telemetry of each hop of that packet; the first `hop_count` are filled in.
    pub hops: [Hop; HOPS],
    /// Hops with telemetry.
    pub hop_count: usize,
    /// Rate of the NIC and other properties of the flow's source and path.
    pub site: Site,
}

/// Values that a reaction sets. An absent value stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// Rate, bit/s; at least 1 and at most that of the line.
    pub rate: Option<f64>,
    /// Window, payload bytes.
    pub window: Option<u64>,
    /// Time to the next call for [`Event::Timer`], instead of the one that runs. Beyond the end of time: none.
    pub timer: Option<Duration>,
}

/// Code that reacts to the signals of flows. Calls for one flow are in order of time.
pub trait Reaction: Debug + Send + Sync {
    /// Reacts to the signals of one flow.
    fn react(&self, signals: &Signals) -> Setting;
}

/// The reaction of all flows, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Reactions(pub Option<Arc<dyn Reaction>>);

/// Two of these are equal if they are the same code.
impl PartialEq for Reactions {
    fn eq(&self, other: &Reactions) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        }
    }
}

/// Control by code outside of the simulator. Python's `Experiment(control=...)` sets these keys.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct CallbackParams {
    /// Name of the control, in reports.
    pub name: String,
    /// Digest of its module and parameters.
    pub code: String,
    /// ACKs from one call to the next, up to 1 000 000. 0: one call per round trip.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1_000_000)))]
    pub every: u32,
    /// Wire bytes of telemetry on every data packet.
    pub telemetry_bytes: Bytes,
    /// Least time between two congestion notifications of a receiver. Absent: there are none.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cnp_interval: Option<Duration>,
    /// Rate at which flows start, as a share of the line rate.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub start_rate: f64,
    /// The window is in proportion to the rate, unless it is set.
    pub window_follows_rate: bool,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// Code that reacts.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub reactions: Reactions,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Default for CallbackParams {
    fn default() -> CallbackParams {
        CallbackParams {
            name: String::new(),
            code: String::new(),
            every: 0,
            telemetry_bytes: Bytes(0),
            cnp_interval: None,
            start_rate: 1.0,
            window_follows_rate: true,
            paced: true,
            reactions: Reactions::default(),
            site: Site::default(),
        }
    }
}

impl CallbackParams {
    /// Whether no key is set.
    pub fn is_default(&self) -> bool {
        *self == CallbackParams::default()
    }
}

impl Ranges for CallbackParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.name.len() <= 200, "name", "up to 200 bytes")?;
        OutOfRange::unless(self.code.len() <= 64, "code", "up to 64 bytes")?;
        OutOfRange::unless(self.every <= 1_000_000, "every", "0 to 1000000")?;
        OutOfRange::unless(self.telemetry_bytes.0 <= 512, "telemetry_bytes", "up to 512 B")?;
        let interval = self.cnp_interval.unwrap_or(Duration(1_000));
        OutOfRange::unless((1_000..=1_000_000_000_000).contains(&interval.0), "cnp_interval", "1 ns to 1 s")?;
        OutOfRange::unless(self.start_rate > 0.0 && self.start_rate <= 1.0, "start_rate", "more than 0 and at most 1")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    /// Sending rate, bit/s.
    rate: f64,
    /// Window that was set, payload bytes; zero: none was.
    window: u64,
    /// Expiry of the timer.
    timer: Instant,
    /// Key of the flow, once a packet is acknowledged.
    flow: Option<u32>,
    /// Packet whose acknowledgement ends the round trip.
    until: u32,
    /// ACKs since the last call.
    acks: u32,
    /// Marked ACKs among them.
    marked: u32,
    /// Telemetry at the last call.
    int: Int,
}

impl Callback {
    /// Calls the reaction, and sets what it returns.
    fn react(&mut self, params: &CallbackParams, mut signals: Signals) -> bool {
        let (Some(reaction), Some(flow)) = (&params.reactions.0, self.flow) else { return false };
        signals.flow = flow;
        let before = (self.rate, self.window(params));
        (signals.rate, signals.window) = before;
        let setting = reaction.react(&signals);
        if let Some(rate) = setting.rate {
            self.rate = params.site.kept(rate).clamp(1.0, params.site.line_rate);
        }
        if let Some(window) = setting.window {
            self.window = window.max(1);
        }
        if let Some(after) = setting.timer {
            self.timer = signals.now.0.checked_add(after.0).map_or(Instant::NEVER, Instant);
        }
        (self.rate, self.window(params)) != before
    }

    /// Signals of an event that is no ACK.
    fn signals(&self, params: &CallbackParams, event: Event, now: Instant) -> Signals {
        let CallbackParams { site, .. } = *params;
        let Callback { rate, acks, marked, .. } = *self;
        let (hops, hop_count) = ([Hop::default(); HOPS], 0);
        Signals {
            event,
            now,
            flow: 0,
            rate,
            window: 0,
            acks,
            marked,
            seq: 0,
            next: 0,
            rtt: None,
            hops,
            hop_count,
            site,
        }
    }
}

impl Control for Callback {
    type Params = CallbackParams;
    type Extension = Int;
    type Times = SendTimes;
    type Due = ();

    fn at(params: &CallbackParams, site: Site) -> CallbackParams {
        CallbackParams { site, ..params.clone() }
    }

    fn new(params: &CallbackParams) -> Callback {
        let rate = params.site.kept(params.site.line_rate * params.start_rate);
        let (timer, int) = (Instant::NEVER, Int::default());
        Callback { rate, window: 0, timer, flow: None, until: 0, acks: 0, marked: 0, int }
    }

    #[inline(always)]
    fn window(&self, params: &CallbackParams) -> u64 {
        match self.window {
            0 => params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate }),
            set => set,
        }
    }

    #[inline(always)]
    fn gap(&self, params: &CallbackParams, wire: u64) -> Duration {
        if params.paced { params.site.gap_at(self.rate, wire) } else { Duration::ZERO }
    }

    fn on_ack(&mut self, params: &CallbackParams, ack: Ack<Int>) -> bool {
        self.flow = Some(ack.key);
        self.acks += 1;
        self.marked += ack.marked as u32;
        let is_due = if params.every == 0 { ack.seq > self.until } else { self.acks >= params.every };
        if !is_due {
            return false;
        }
        let mut hops = [Hop::default(); HOPS];
        let mut hop_count = 0;
        for (queued, sent, span, rate) in ack.extension.since(&self.int, params.site.int_unit.max(1) as u64) {
            let sent = if span > 0 { 8e9 * sent as f64 / span as f64 } else { 0.0 };
            hops[hop_count] = Hop { queued, sent, rate };
            hop_count += 1;
        }
        let signals = Signals {
            seq: ack.seq,
            next: ack.next,
            rtt: ack.rtt,
            hops,
            hop_count,
            ..self.signals(params, Event::Ack, ack.now)
        };
        (self.acks, self.marked, self.until, self.int) = (0, 0, ack.next, ack.extension);
        self.react(params, signals)
    }

    fn on_cnp(&mut self, params: &CallbackParams, now: Instant) -> bool {
        self.react(params, self.signals(params, Event::Cnp, now))
    }

    fn on_loss(&mut self, params: &CallbackParams, now: Instant, loss: Loss) -> bool {
        let event = match loss {
            Loss::Missed => Event::Missed,
            Loss::Timeout => Event::Timeout,
        };
        self.react(params, self.signals(params, event, now))
    }

    const TIMED: bool = true;

    #[inline(always)]
    fn timer(&self, _params: &CallbackParams) -> Instant {
        self.timer
    }

    fn on_timer(&mut self, params: &CallbackParams, now: Instant) -> bool {
        self.timer = Instant::NEVER;
        self.react(params, self.signals(params, Event::Timer, now))
    }

    fn notifies(params: &CallbackParams) -> Option<Duration> {
        params.cnp_interval
    }
}

impl ClosedForm for Callback {
    fn starts_paced(params: &CallbackParams) -> bool {
        params.start_rate < 1.0
    }

    fn share(params: &CallbackParams) -> f64 {
        params.start_rate
    }

    fn carried(params: &CallbackParams) -> Bytes {
        params.telemetry_bytes
    }

    const ASKS_BASE_RTT: bool = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicU32, Ordering};

    /// Halves the rate of a call with a mark, counts calls, and asks for a timer.
    #[derive(Debug, Default)]
    struct Halving(AtomicU32);

    impl Reaction for Halving {
        fn react(&self, signals: &Signals) -> Setting {
            self.0.fetch_add(1, Ordering::Relaxed);
            let rate = (signals.marked > 0).then_some(signals.rate / 2.0);
            Setting { rate, window: None, timer: Some(Duration::from_us(5)) }
        }
    }

    fn flow(every: u32) -> (CallbackParams, Callback, Arc<Halving>) {
        let code = Arc::new(Halving::default());
        let site = Site { line_rate: 1e11, window: 100_000, payload: 1000, ..Site::default() };
        let reactions = Reactions(Some(code.clone()));
        let params = Callback::at(&CallbackParams { every, reactions, ..CallbackParams::default() }, site);
        let control = Callback::new(&params);
        (params, control, code)
    }

    fn ack(seq: u32, next: u32, marked: bool) -> Ack<Int> {
        let (now, rtt) = (Instant(1_000_000 * seq as u64), Some(Duration::from_us(8)));
        Ack { now, key: 7, seq, next, whole: next, marked, rtt, extension: Int::default() }
    }

    #[test]
    fn it_is_called_once_per_round_trip() {
        let (params, mut control, code) = flow(0);
        for seq in 1..=30 {
            control.on_ack(&params, ack(seq, seq + 10, false));
        }
        assert_eq!(code.0.load(Ordering::Relaxed), 3, "after packets 1, 12 and 23");
        assert_eq!(control.timer(&params), Instant(23_000_000 + 5_000_000));
        control.on_timer(&params, Instant(28_000_000));
        assert_eq!((code.0.load(Ordering::Relaxed), control.timer(&params)), (4, Instant(33_000_000)));
    }

    #[test]
    fn it_is_called_after_so_many_acks_and_sets_the_rate() {
        let (params, mut control, code) = flow(4);
        let changed: Vec<bool> = (1..=8).map(|seq| control.on_ack(&params, ack(seq, seq + 10, seq == 2))).collect();
        assert_eq!(changed, [false, false, false, true, false, false, false, false]);
        assert_eq!((code.0.load(Ordering::Relaxed), control.rate), (2, 5e10));
        assert_eq!(control.window(&params), 50_000);
        assert_eq!(control.gap(&params, 1000), Duration(160_000));
    }

    #[test]
    fn without_a_reaction_nothing_changes() {
        let (_, mut control, _) = flow(1);
        let params = CallbackParams { site: flow(1).0.site, ..CallbackParams::default() };
        assert!(!control.on_ack(&params, ack(1, 2, true)));
        assert!(!control.on_loss(&params, Instant(1), Loss::Timeout));
        assert_eq!((control.window(&params), control.timer(&params)), (100_000, Instant::NEVER));
    }
}
