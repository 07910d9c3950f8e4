//! A window of packets in flight, go-back-N, and a timeout that grows while nothing is acknowledged.
//!
//! Source: Karn and Partridge, "Improving round-trip time estimates in reliable transport protocols", 1987, for the
//! growth of the timeout.
//!
//! ```text
//! send     while sent - acknowledged < window.
//! NACK k:  go back to packet k.
//! timer:   go back to the first packet not acknowledged, and wait backoff times as long, up to 64 host.rto.
//! ACK:     the next timer runs for host.rto.
//! ```
//!
//! Parameter: `backoff`, a factor. The window is that of the scenario (`host.window`).

use backwater::parts::{Pfc, Queued, SingleFifo, TransportPart};
use backwater::transport::tcp::TimeoutReason;
use backwater::transport::{
    GoBackNReceiver, GoBackNReceiverParams, IdlePath, Next, Outgoing, Sender, Site, Start, Transport,
};
use backwater::types::{Duration, Frame, Instant, Kind, OutOfRange, Ranges, flags};
use backwater::{Host, Scheme, Stated};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most timeouts that add to each other.
const GROWTH_MAX: u64 = 64;

/// Parameters, in the table `[host.mine.my_transport]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MyTransportParams {
    /// Factor by which the timeout grows while nothing is acknowledged.
    pub backoff: u32,
}

impl Default for MyTransportParams {
    fn default() -> MyTransportParams {
        MyTransportParams { backoff: 2 }
    }
}

impl Ranges for MyTransportParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless((1..=16).contains(&self.backoff), "backoff", "1 to 16")
    }
}

/// Properties that results are checked against. A flow starts at line rate, so it takes no time beyond store and
/// forward.
impl Stated for MyTransportParams {
    fn startup(&self, _host: &Host, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }
}

/// Parameters of all flows.
#[derive(Clone, Debug)]
pub struct FlowParams {
    backoff: u64,
    rto: Duration,
    full_wire: u16,
    /// `[site]`: packets in flight at most.
    windows: Vec<u32>,
    receiver: GoBackNReceiverParams,
}

/// The transport.
pub struct MyTransport;

impl Transport for MyTransport {
    type Extension = (); // Packets carry nothing but their headers.
    type Params = FlowParams;
    type Sender = WindowSender;
    type Receiver = GoBackNReceiver;
    type Peers = (); // Senders of a host share nothing.

    fn open(params: &FlowParams, _peers: &mut (), now: Instant, start: Start) -> WindowSender {
        WindowSender { start, next: 0, acked: 0, high: 0, retransmitted: 0, since: now, timeout: params.rto }
    }

    fn receiving(params: &FlowParams) -> &GoBackNReceiverParams {
        &params.receiver
    }
}

/// Sending end of one flow.
#[derive(Clone, Debug)]
pub struct WindowSender {
    start: Start,
    /// Next packet to send.
    next: u32,
    /// First packet that is not acknowledged.
    acked: u32,
    /// One more than the last packet ever sent.
    high: u32,
    retransmitted: u32,
    /// Last time that `acked` moved, or that a packet was sent with nothing in flight.
    since: Instant,
    timeout: Duration,
}

impl Sender for WindowSender {
    type Params = FlowParams;
    type Extension = ();
    type Due = (); // No pacing.

    fn peek(&self, params: &FlowParams, _now: Instant) -> Next<u16> {
        let full = self.next - self.acked >= params.windows[self.start.site as usize];
        match self.next {
            next if next == self.start.packets || full => Next::Blocked,
            next if next + 1 == self.start.packets => Next::Packet(self.start.last_wire),
            _ => Next::Packet(params.full_wire),
        }
    }

    fn next_packet(&mut self, params: &FlowParams, now: Instant) -> Next<Outgoing> {
        let wire = match self.peek(params, now) {
            Next::Packet(wire) => wire,
            Next::NotBefore(at) => return Next::NotBefore(at),
            Next::Blocked => return Next::Blocked,
        };
        let seq = self.next;
        if seq == self.acked {
            self.since = now;
        }
        self.next += 1;
        self.retransmitted += (seq < self.high) as u32;
        self.high = self.high.max(self.next);
        let last = if self.next == self.start.packets { flags::LAST } else { 0 };
        let Start { class, flags, .. } = self.start;
        Next::Packet(Outgoing { kind: Kind::Data, seq, wire, class, flags: flags | last, extension: () })
    }

    fn on_packet(&mut self, params: &FlowParams, now: Instant, packet: &Frame) {
        if packet.seq > self.acked && packet.seq <= self.high {
            self.acked = packet.seq;
            self.next = self.next.max(packet.seq);
            (self.since, self.timeout) = (now, params.rto);
        }
        if packet.kind == Kind::Nack {
            self.next = self.acked;
        }
    }

    fn timer(&self, _params: &FlowParams) -> Instant {
        if self.next > self.acked { self.since + self.timeout } else { Instant::NEVER }
    }

    fn on_timer(&mut self, params: &FlowParams, now: Instant) -> Option<TimeoutReason> {
        if self.timer(params) <= now {
            self.next = self.acked;
            self.since = now;
            self.timeout = Duration((self.timeout.0 * params.backoff).min(params.rto.0 * GROWTH_MAX));
        }
        None
    }

    fn has_unsent(&self) -> bool {
        self.next < self.start.packets
    }

    fn is_done(&self) -> bool {
        self.acked == self.start.packets
    }

    fn key(&self) -> u32 {
        self.start.key
    }

    fn class(&self) -> u8 {
        self.start.class
    }

    fn acknowledged(&self) -> u32 {
        self.acked
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
}

impl TransportPart for MyTransport {
    const NAME: &'static str = "mine/my_transport";
    type Table = MyTransportParams;
    type Nic = Queued;

    fn params(table: &MyTransportParams, host: &Host, sites: &[Site]) -> FlowParams {
        let packets = |window: u64| window.div_ceil(host.payload.0).clamp(1, u32::MAX.into()) as u32;
        FlowParams {
            backoff: table.backoff.into(),
            rto: host.rto,
            full_wire: host.full_packet().0 as u16,
            windows: sites.iter().map(|site| packets(site.window)).collect(),
            receiver: GoBackNReceiverParams {
                ack_wire: host.ack.0 as u16,
                nack_guard: host.nack_guard,
                answers_duplicates: true,
                notifies: None,
                acknowledged: None,
            },
        }
    }
}

/// The scheme: this transport at the hosts, and switches with one FIFO per port and PFC.
pub fn scheme() -> Scheme {
    Scheme::new("mine/my_transport", include_str!("../preset.toml"))
        .transport::<MyTransport>("A window, go-back-N, and a timeout that grows.")
        .transport_engine::<MyTransport, SingleFifo, Pfc>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater::transport::Next;

    #[test]
    fn a_timeout_doubles_until_something_is_acknowledged() {
        let params = FlowParams {
            backoff: 2,
            rto: Duration::from_us(10),
            full_wire: 1048,
            windows: vec![4],
            receiver: GoBackNReceiverParams {
                ack_wire: 64,
                nack_guard: Duration::from_us(500),
                answers_duplicates: true,
                notifies: None,
                acknowledged: None,
            },
        };
        let start = Start { dst: 1, key: 7, site: 0, packets: 9, last_wire: 548, class: 0, flags: 0 };
        let mut flow = MyTransport::open(&params, &mut (), Instant(0), start);
        let send = |flow: &mut WindowSender, now| matches!(flow.next_packet(&params, now), Next::Packet(_));
        let sent = (0..9).filter(|_| send(&mut flow, Instant(0))).count();
        assert_eq!(sent, 4, "the window");
        assert_eq!(flow.timer(&params), Instant(0) + Duration::from_us(10));
        let late = flow.timer(&params);
        flow.on_timer(&params, late);
        assert!(send(&mut flow, late));
        assert_eq!(flow.timer(&params), late + Duration::from_us(20));
    }
}
