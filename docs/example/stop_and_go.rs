//! Stop and go: a switch stops a neighbour with too much data in its buffer, and restarts it once little of that is
//! left.
//!
//! The worked example of CONTRIBUTING.md: the smallest complete backpressure. Source: the Xon and Xoff of IEEE 802.3x,
//! with both thresholds fixed.
//!
//! ```text
//! on enqueue:  bytes[ingress] += wire ; above `stop`, send PAUSE once
//! on dequeue:  bytes[ingress] -= wire ; paused and at most `go` left, send RESUME
//! ```
//!
//! Parameters: `stop` and `go`, wire bytes from one ingress port in the buffer.

use backwater_dataplane::queues::Queues;
use backwater_dataplane::{Backpressure, Grain, Meta, PausedPorts, Pauses, Pausing, Refresh, Resident, Shape};
use backwater_types::{Bytes, ControlFrame, Duration, Instant, OutOfRange, Packet, PortId, QueueId, Ranges};

extern crate alloc;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Parameters of stop and go.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct StopAndGoParams {
    /// Bytes in the buffer above which their ingress is stopped.
    pub stop: Bytes,
    /// Bytes in the buffer at or below which a stopped ingress restarts.
    pub go: Bytes,
    /// Period in which a stop is repeated, in case its frame was lost.
    pub refresh: Duration,
}

impl Default for StopAndGoParams {
    fn default() -> StopAndGoParams {
        StopAndGoParams { stop: Bytes(200_000), go: Bytes(100_000), refresh: Duration::from_us(100) }
    }
}

impl Ranges for StopAndGoParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.go < self.stop, "go", &format!("less than stop = {}", self.stop))
    }
}

/// Properties of the pauses: each holds a port, and is repeated.
impl Pauses for StopAndGoParams {
    fn pausing(&self) -> Pausing<'_> {
        Pausing { refresh: self.refresh, ..Pausing::of(Grain::Port) }
    }
}

/// Buffered bytes of one switch, by ingress.
#[derive(Clone, Debug)]
pub struct StopAndGo {
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

impl<Q: Queues> Backpressure<Q> for StopAndGo {
    type Params = StopAndGoParams;
    /// A stopped port holds all its data, as with PFC.
    type Upstream = PausedPorts;

    fn new(params: &StopAndGoParams, shape: &Shape) -> StopAndGo {
        let ports = shape.ports.len();
        StopAndGo {
            stop: params.stop.0,
            go: params.go.0,
            ports: vec![Ingress::default(); ports],
            refresh: Refresh::new(ports, params.refresh),
        }
    }

    fn upstream(_params: &StopAndGoParams, _shape: &Shape) -> PausedPorts {
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
