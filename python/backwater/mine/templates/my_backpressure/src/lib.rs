//! Stop and go: a switch stops a neighbour with too much data in its buffer, and restarts it once little of that is
//! left.
//!
//! Source: the Xon and Xoff of IEEE 802.3x, with both thresholds fixed.
//!
//! ```text
//! on enqueue:  bytes[ingress] += wire ; above `stop`, send PAUSE once
//! on dequeue:  bytes[ingress] -= wire ; paused and at most `go` left, send RESUME
//! ```
//!
//! Parameters: `stop` and `go`, wire bytes from one ingress port in the buffer.

use backwater::Scheme;
use backwater::dataplane::queues::Queues;
use backwater::dataplane::{Backpressure, Grain, Meta, PausedPorts, Pauses, Pausing, Refresh, Resident, Shape};
use backwater::parts::{BackpressurePart, LineRate, SingleFifo, Stochastic};
use backwater::types::{Bytes, ControlFrame, Duration, Instant, OutOfRange, Packet, PortId, QueueId, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters, in the table `[switch.mine.my_backpressure]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MyBackpressureParams {
    /// Bytes in the buffer above which their ingress is stopped.
    pub stop: Bytes,
    /// Bytes in the buffer at or below which a stopped ingress restarts.
    pub go: Bytes,
    /// Period in which a stop is repeated, in case its frame was lost.
    pub refresh: Duration,
}

impl Default for MyBackpressureParams {
    fn default() -> MyBackpressureParams {
        MyBackpressureParams { stop: Bytes(200_000), go: Bytes(100_000), refresh: Duration::from_us(100) }
    }
}

impl Ranges for MyBackpressureParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.go < self.stop, "go", &format!("less than stop = {}", self.stop))
    }
}

/// Properties of the pauses: each holds a port, and is repeated.
impl Pauses for MyBackpressureParams {
    fn pausing(&self) -> Pausing<'_> {
        Pausing { refresh: self.refresh, ..Pausing::of(Grain::Port) }
    }
}

/// Buffered bytes of one switch, by ingress.
#[derive(Clone, Debug)]
pub struct MyBackpressure {
    stop: u64,
    go: u64,
    ports: Vec<Ingress>,
    refresh: Refresh,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    bytes: u64,
    stopped: bool,
}

impl Ingress {
    fn frame(&self) -> ControlFrame {
        if self.stopped { ControlFrame::PfcPause(0) } else { ControlFrame::PfcResume(0) }
    }
}

impl<Q: Queues> Backpressure<Q> for MyBackpressure {
    type Params = MyBackpressureParams;
    /// A stopped port holds all its data, as with PFC.
    type Upstream = PausedPorts;

    fn new(params: &MyBackpressureParams, shape: &Shape) -> MyBackpressure {
        let ports = shape.ports.len();
        MyBackpressure {
            stop: params.stop.0,
            go: params.go.0,
            ports: vec![Ingress::default(); ports],
            refresh: Refresh::new(ports, params.refresh),
        }
    }

    fn upstream(_params: &MyBackpressureParams, _shape: &Shape) -> PausedPorts {
        PausedPorts::default()
    }

    /// Whether a packet that finds its port empty would neither stop nor restart its neighbour, and so leave no trace.
    fn passes(&self, ingress: PortId, packet: &Packet) -> bool {
        let port = &self.ports[ingress as usize];
        !port.stopped && port.bytes + packet.wire as u64 <= self.stop
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        _egress: PortId,
        _queue: QueueId,
        _queues: &Q,
    ) -> Option<ControlFrame> {
        let port = &mut self.ports[held.ingress as usize];
        port.bytes += packet.wire as u64;
        if port.stopped || port.bytes <= self.stop {
            return None;
        }
        port.stopped = true;
        self.refresh.on_transition(now, held.ingress as PortId);
        Some(port.frame())
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        let port = &mut self.ports[held.ingress as usize];
        port.bytes -= packet.wire as u64;
        if !port.stopped || port.bytes > self.go {
            return None;
        }
        port.stopped = false;
        self.refresh.on_transition(now, held.ingress as PortId);
        Some(port.frame())
    }

    fn next_refresh(&self) -> Instant {
        self.refresh.next()
    }

    fn refresh(&mut self, now: Instant, send: &mut dyn FnMut(PortId, ControlFrame)) {
        let ports = &self.ports;
        self.refresh.run(now, |port| (ports[port as usize].frame(), !ports[port as usize].stopped), send);
    }

    fn state_of(&mut self, now: Instant, port: PortId, send: &mut dyn FnMut(ControlFrame)) {
        self.refresh.on_transition(now, port);
        send(self.ports[port as usize].frame());
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        for (number, port) in self.ports.iter().enumerate() {
            let here = residents.iter().filter(|r| r.held.ingress as usize == number);
            let bytes: u64 = here.map(|r| r.packet.wire as u64).sum();
            if port.bytes != bytes {
                return Err(format!("ingress {number} counts {} bytes, queues hold {bytes}", port.bytes));
            }
        }
        Ok(())
    }
}

impl<Q: Queues> BackpressurePart<Q> for MyBackpressure {
    const NAME: &'static str = "mine/my_backpressure";
}

/// The scheme: switches with one FIFO per port, or with a queue for each hash of a flow, and senders without control.
pub fn scheme() -> Scheme {
    Scheme::new("mine/my_backpressure", include_str!("../preset.toml"))
        .backpressure::<MyBackpressureParams>("mine/my_backpressure", "Per ingress port, with fixed thresholds.")
        .switch::<SingleFifo, MyBackpressure>()
        .switch::<Stochastic<1>, MyBackpressure>()
        .engine::<LineRate, SingleFifo, MyBackpressure>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater::dataplane::{Composed, DataPlane, PortShape, Readings, Switch};
    use backwater::types::{BitsPerSec, Kind};

    const WIRE: u16 = 1000;

    fn switch() -> Switch<Composed<SingleFifo, MyBackpressure>> {
        let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
        let params = MyBackpressureParams { stop: Bytes(5_000), go: Bytes(2_000), ..MyBackpressureParams::default() };
        Switch::new(&Shape::new(vec![port; 3], 1), &((), params))
    }

    fn packet(seq: u32) -> Packet {
        let (flow, key, kind, flags) = (1, 1, Kind::Data, 0);
        let (sender_slot, receiver_slot, dst, src, upstream_queue, class) = (0, 0, 0, 0, 0, 0);
        Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire: WIRE, upstream_queue, class, kind, flags }
    }

    #[test]
    fn a_neighbour_is_stopped_above_one_threshold_and_goes_on_at_the_other() {
        let mut switch = switch();
        let now = Instant(1_000_000);
        for seq in 0..8 {
            let frame_on = switch.receive(now, &packet(seq).into(), 0, 2).frame_on;
            assert_eq!(frame_on, (seq == 5).then_some(0), "the sixth packet of 1000 B exceeds 5 000 B");
            switch.audit().expect("its counts equal a recount");
        }
        let frame = switch.transmit(now, 0).and_then(|sent| sent.packet.control());
        assert_eq!(frame, Some(ControlFrame::PfcPause(0)));
        assert_eq!(MyBackpressureParams::default().pausing().grain, Grain::Port, "the scope of a PFC frame");
        for left in (0..8).rev() {
            let frame_on = switch.transmit(now, 2).and_then(|sent| sent.frame_on);
            assert_eq!(frame_on, (left == 2).then_some(0), "{left} packets are left");
            switch.audit().expect("its counts equal a recount");
        }
        assert_eq!(switch.next_timer(), now + MyBackpressureParams::default().refresh);
    }

    #[test]
    fn thresholds_the_wrong_way_round_are_refused() {
        let params = MyBackpressureParams { stop: Bytes(1), go: Bytes(2), ..MyBackpressureParams::default() };
        assert_eq!(params.check().map_err(|wrong| wrong.key), Err("go".into()));
    }
}
