//! Parameters of TCP.

use crate::rate::IdlePath;
use alloc::format;
use backwater_types::{Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// TCP. Windows count full segments of `host.payload`; the timeout is at least `host.rto`, which is also the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct TcpParams {
    /// What a sender does about marks.
    pub marks: Marks,
    /// DCTCP: weight of the newest window in the estimate of the marked share.
    pub g: f64,
    /// DCTCP: the estimate of a new connection, 0 to 1.
    pub alpha: f64,
    /// Initial window, segments.
    pub initial_window: u32,
    /// No window is larger, segments; the receiver's window. 0: no limit.
    pub max_window: u32,
    /// A mark leaves at least this window, segments.
    pub min_window: u32,
    /// Duplicates of an acknowledgement, or segments above a hole, that mean loss.
    pub dup_acks: u32,
    /// What may be sent while losses are repaired.
    pub recovery: Recovery,
    /// Longest timeout after backing off.
    pub rto_max: Duration,
    /// Segments that one acknowledgement stands for at most; out of order every one is acknowledged, and so is what opens a
    /// connection.
    pub ack_every: u32,
    /// An acknowledgement waits no longer for more segments.
    pub ack_delay: Duration,
    /// Connections flows go over.
    pub connections: Connections,
    /// A connection idle for longer than its timeout starts again with the initial window.
    pub idle_restart: bool,
    /// As in ns-2: also if its window was smaller, not only if it was larger (RFC 5681), and after an idle time longer than srtt + 4
    /// var, whatever `rto` is.
    pub idle_raises: bool,
    /// A new connection begins with a segment without payload, and waits for its acknowledgement.
    pub handshake: bool,
    /// With persistent connections: how many two hosts have from the start, opened already.
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

/// Positions in acknowledged blocks have 16 bits.
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
    /// With the shortest timeout, and limits as numbers.
    pub fn with_rto(self, rto_min: Duration) -> TcpParams {
        TcpParams { rto_min, max_window: if self.max_window == 0 { u32::MAX } else { self.max_window }, ..self }
    }

    /// What a flow alone, over a connection that carried none before, takes beyond store and forward, on a path its largest
    /// window covers and with each segment acknowledged: a round trip to open the connection, if it is not, and in slow start
    /// what each window leaves of its round trip.
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

/// What a TCP sender does about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Marks {
    /// It is not ECN-capable.
    None,
    /// The window is cut by half the share of marked segments, once a window (RFC 8257).
    Dctcp,
    /// The window is halved, once a window (RFC 3168).
    EcnStar,
}

/// What counts as in flight, and so against the window, while TCP repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Recovery {
    /// What is not known to have arrived or to be lost (RFC 6675).
    Rfc6675,
    /// What is not known to have arrived (Fall and Floyd 1996), as in ns-2: with much of a window lost the rest waits for a
    /// timeout.
    Sack1,
}

/// Connections flows go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Connections {
    /// Each flow over a new one.
    PerFlow,
    /// The idle one between the two hosts that was opened first, with the window it had, or a new one if all are busy.
    Persistent,
}
