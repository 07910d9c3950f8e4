//! What every host does.

use backwater_types::{BitsPerSec, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AckClass;

/// What every host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// End-to-end control.
    pub transport: Transport,
    /// Bytes of payload in a full packet.
    pub payload: Bytes,
    /// Bytes of headers on every data packet.
    pub header: Bytes,
    /// Wire size of an ACK or NACK.
    pub ack: Bytes,
    /// Cap on a flow's bytes in flight (payload). Absent: `"bdp"`; `line-rate` has none but a size given here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// No progress for this long: go back to the last byte acknowledged.
    pub rto: Duration,
    /// A second NACK for the same packet waits this long.
    pub nack_guard: Duration,
    /// Time a received packet spends in the host before it counts and is answered.
    pub delay: Duration,
    /// With `transport = "tcp"`: bytes that wait for the link, first in, first out; more are dropped.
    pub nic_buffer: Bytes,
    /// With `transport = "tcp"`: the NIC marks as `switch.ecn` has it, by the length of its queue.
    pub nic_marks: bool,
    /// Used with `conventions.hosts = "hpcc-sim"`: whether a pause of the data class holds the NIC's ACKs too. Either way
    /// they go before data.
    pub ack_class: AckClass,
    /// Used when `transport = "dctcp"`.
    pub dctcp: Dctcp,
    /// Used when `transport = "tcp"`.
    pub tcp: Tcp,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            transport: Transport::LineRate,
            payload: Bytes(1000),
            header: Bytes(48),
            ack: Bytes(64),
            window: None,
            rto: Duration::from_us(5_000),
            nack_guard: Duration::from_us(500),
            delay: Duration::ZERO,
            nic_buffer: Bytes(10_000_000),
            nic_marks: false,
            ack_class: AckClass::High,
            dctcp: Dctcp::default(),
            tcp: Tcp::default(),
        }
    }
}

impl Host {
    /// The smallest data packet on the wire: one byte of payload, or none where TCP opens connections.
    pub fn smallest_packet(&self) -> Bytes {
        let opens = self.transport == Transport::Tcp && self.tcp.handshake;
        Bytes(self.header.0 + !opens as u64)
    }
}

/// End-to-end control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// None: as fast as the NIC and backpressure let it.
    LineRate,
    /// A fixed window.
    Window,
    /// Rate-based DCTCP (baselines 1.1).
    Dctcp,
    /// TCP with SACK, and what [`Tcp`] says of marks: DCTCP and ECN* among them (baselines 1.2 and 1.3).
    Tcp,
}

/// A cap on bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// None.
    None,
    /// One bandwidth-delay product of the longest path, of propagation alone.
    Bdp,
    /// The largest base BDP over pairs of hosts: propagation both ways and one payload's serialisation a hop (baselines 0.2).
    BaseBdp,
    /// This much.
    Size(Bytes),
}

impl Serialize for Window {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Window::None => s.serialize_str("none"),
            Window::Bdp => s.serialize_str("bdp"),
            Window::BaseBdp => s.serialize_str("base-bdp"),
            Window::Size(bytes) => bytes.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Window, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            "none" => Ok(Window::None),
            "bdp" => Ok(Window::Bdp),
            "base-bdp" => Ok(Window::BaseBdp),
            _ => text
                .parse()
                .map(Window::Size)
                .map_err(|_| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &WINDOW_FORMS)),
        }
    }
}

impl JsonSchema for Window {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": WINDOW_FORMS })
    }
}

const WINDOW_FORMS: &str = "\"none\", \"bdp\", \"base-bdp\" or a size with a unit, such as \"104 KB\"";

/// Rate-based DCTCP (baselines 1.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dctcp {
    /// Weight of the newest batch in the estimate of the marked share.
    pub g: f64,
    /// Rate added once per round trip.
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// The window shrinks with the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp {
            g: 1.0 / 16.0,
            additive_increase: BitsPerSec(961_000_000),
            min_rate: BitsPerSec(100_000_000),
            window_follows_rate: true,
        }
    }
}

/// TCP. Windows count full segments of `host.payload`; the timeout is at least `host.rto`, which is also the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
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
    /// Segments that one acknowledgement stands for at most; out of order, every one is acknowledged.
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
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
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
        }
    }
}

/// What a TCP sender does about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// It is not ECN-capable.
    None,
    /// The window is cut by half the share of marked segments, once a window (RFC 8257).
    Dctcp,
    /// The window is halved, once a window (RFC 3168).
    EcnStar,
}

/// What counts as in flight, and so against the window, while TCP repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// What is not known to have arrived or to be lost (RFC 6675).
    Rfc6675,
    /// What is not known to have arrived (Fall and Floyd 1996), as in ns-2: with much of a window lost the rest waits for a
    /// timeout.
    Sack1,
}

/// Connections flows go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Each flow over a new one.
    PerFlow,
    /// The idle one between the two hosts that was opened first, with the window it had, or a new one if all are busy.
    Persistent,
}
