//! Parameters of TCP.

use crate::rate::IdlePath;
use alloc::format;
use backwater_types::{Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// TCP. Windows count full segments of `host.payload`; `host.rto` is the shortest timeout and the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct TcpParams {
    /// Reaction of a sender to marks.
    pub marks: Marks,
    /// DCTCP: weight of the newest window in the estimate of the marked share.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub g: f64,
    /// DCTCP: estimate of a new connection, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub alpha: f64,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Largest window, segments: the receiver's window. 0: no limit.
    pub max_window: u32,
    /// Smallest window after a mark, segments.
    pub min_window: u32,
    /// Duplicate acknowledgements, or segments above a hole, that mean loss.
    pub dup_acks: u32,
    /// Segments counted as in flight during loss recovery.
    pub recovery: Recovery,
    /// Longest timeout after backing off.
    pub rto_max: Duration,
    /// Most segments per acknowledgement. Segments out of order, and the one that opens a connection, are each
    /// acknowledged.
    pub ack_every: u32,
    /// Longest time that an acknowledgement waits for more segments.
    pub ack_delay: Duration,
    /// Connections that flows use.
    pub connections: Connections,
    /// A connection idle for longer than its timeout starts again with the initial window.
    pub idle_restart: bool,
    /// An idle connection also starts again, as in ns-2, if its window was smaller than the initial one (RFC 5681: only
    /// if larger). It also does so after an idle time of srtt + 4 var, whatever `rto` is.
    pub idle_raises: bool,
    /// A new connection starts with a segment without payload, and waits for its acknowledgement.
    pub handshake: bool,
    /// Connections that two hosts have open from the start, with persistent connections.
    pub open: u32,
    /// Shortest timeout, and the first: `host.rto`.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub rto_min: Duration,
}

impl Default for TcpParams {
    fn default() -> TcpParams {
        TcpParams {
            marks: Marks::Dctcp,
            g: 1.0 / 16.0,
            alpha: 1.0,
            initial_window: 10,
            max_window: 0,
            min_window: 2,
            dup_acks: 3,
            recovery: Recovery::Rfc6675,
            rto_max: Duration::from_us(64_000_000),
            ack_every: 1,
            ack_delay: Duration::from_us(500),
            connections: Connections::PerFlow,
            idle_restart: true,
            idle_raises: false,
            handshake: false,
            open: 2,
            rto_min: Duration::from_us(5_000),
        }
    }
}

/// Largest window, segments: positions in SACK blocks have 16 bits.
const WINDOW_MAX: u32 = 65_535;

impl Ranges for TcpParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let share = |key: &str, value: f64| OutOfRange::unless((0.0..=1.0).contains(&value), key, "0 to 1");
        OutOfRange::unless(self.g > 0.0 && self.g <= 1.0, "g", "more than 0 to 1")?;
        share("alpha", self.alpha)?;
        let segments = |key: &str, value: u32, least: u32| {
            let expected = format!("{least} to {WINDOW_MAX} segments");
            OutOfRange::unless((least..=WINDOW_MAX).contains(&value), key, &expected)
        };
        segments("initial_window", self.initial_window, 1)?;
        segments("max_window", self.max_window, 0)?;
        segments("min_window", self.min_window, 1)?;
        segments("dup_acks", self.dup_acks, 1)?;
        segments("ack_every", self.ack_every, 1)?;
        segments("open", self.open, 0)?;
        let roomy = self.max_window == 0 || self.max_window >= self.initial_window.max(self.min_window);
        OutOfRange::unless(roomy, "max_window", "0 for none, or at least initial_window and min_window")
    }
}

impl TcpParams {
    /// Completes the parameters by the shortest timeout, and turns "no limit" into a number.
    pub fn with_rto(self, rto_min: Duration) -> TcpParams {
        TcpParams { rto_min, max_window: if self.max_window == 0 { u32::MAX } else { self.max_window }, ..self }
    }

    /// Completion time of a flow alone, beyond store and forward. It is a round trip to open the connection, unless it
    /// is open, and the idle rest of each round trip of slow start. Assumes that each segment is acknowledged and that
    /// the largest window covers the path.
    pub fn startup(&self, path: &IdlePath) -> Duration {
        let opened = !self.handshake || self.connections == Connections::Persistent && self.open > 0;
        let mut idle = if opened { 0 } else { path.opening.0 };
        let (mut window, mut sent) = (u64::from(self.initial_window), 0);
        loop {
            sent += window;
            let busy = window * path.packet.0;
            if sent >= path.packets || busy >= path.round_trip.0 {
                return Duration(idle);
            }
            idle += path.round_trip.0 - busy;
            window *= 2;
        }
    }
}

/// Reaction of a TCP sender to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Marks {
    /// None: the sender is not ECN-capable.
    None,
    /// The window is cut by half the share of marked segments, once a window (RFC 8257).
    Dctcp,
    /// The window is halved, once a window (RFC 3168).
    EcnStar,
}

/// Segments that TCP counts as in flight, and so against the window, during loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Recovery {
    /// Segments not known to have arrived nor to be lost (RFC 6675).
    Rfc6675,
    /// Segments not known to have arrived (Fall and Floyd 1996), as in ns-2: with much of a window lost the rest waits
    /// for a timeout.
    Sack1,
}

/// Connections that flows use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Connections {
    /// A new connection for each flow.
    PerFlow,
    /// The idle connection between the two hosts that was opened first, with its last window, or a new one if all are
    /// busy.
    Persistent,
}
