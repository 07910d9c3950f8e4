//! Credits of a link: no neighbour sends data that does not fit the buffer.
//!
//! An extension of the BFC paper, which drops when many queues fill one after another (BFC-A28). Byte counts are
//! absolute, as in InfiniBand's link-level flow control: a later frame replaces a lost one, and a repeated frame
//! changes nothing.
//!
//! ```text
//! upstream:    sent   += bytes of each data packet; one is sent only while sent + a full packet <= limit
//! downstream:  limit  = most bytes that may be sent in all; held here and promised: window = limit - received + held
//!              sum of windows <= buffer
//!              window = reserve + min(held, alpha / (1 + alpha) x (shared part - grants of others))
//!              a frame with `limit` goes up each time it has grown by `step`
//! ```
//!
//! The reserve of a link keeps it busy for the round trip of a credit: `2 x delay x rate + step + 3 full packets + the
//! frame`. Links share the rest of the buffer. An ingress is granted as much more as it holds, up to its share, so no
//! link has to wait until others empty theirs. A granted window is never revoked: it shrinks as packets depart.
//!
//! **Loss.** An upstream port that has waited a period for credit reports its count of bytes sent. Links keep order, so
//! bytes sent and not received are lost: they count as received and departed. The answer is the limit. A port that has
//! credit asks nothing. A report of less than was received, or of more than the limit, cannot be true. Its answer is the
//! limit as well, and it changes nothing.
//!
//! Bytes held are counted by link, not by queue. A full window therefore also stops queues of the link that no pause
//! holds, and links that wait for each other in a cycle deadlock, as under PFC. BFC's pauses stay in force and act long
//! before that.

use crate::meta::Resident;
use crate::shape::Shape;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::{BitsPerSec, Bytes, CONTROL_WIRE, ControlFrame, Duration, Instant, OutOfRange, PortId, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Division of the buffer among links.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct CreditParams {
    /// Bytes always granted to each link. Absent: as many as keep the link busy.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub reserve: Option<Bytes>,
    /// Share of a link in the shared part: at most `alpha` times the unused rest.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1024)))]
    pub alpha: f64,
    /// Growth of a limit that causes a frame.
    pub step: Bytes,
}

impl Default for CreditParams {
    fn default() -> CreditParams {
        CreditParams { reserve: None, alpha: 1.0, step: Bytes(8_000) }
    }
}

impl Ranges for CreditParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.alpha > 0.0 && self.alpha <= 1024.0, "alpha", "more than 0 and at most 1024")?;
        OutOfRange::unless(self.step.0 > 0, "step", "more than 0")
    }
}

impl CreditParams {
    /// Bytes that keep a link of this rate and delay busy, with full packets of `largest` bytes.
    pub fn busy(&self, rate: BitsPerSec, delay: Duration, largest: u64) -> u64 {
        Duration(2 * delay.0).bytes_at(rate).0 + self.step.0 + 3 * largest + u64::from(CONTROL_WIRE)
    }

    /// Bytes always granted to a link of this rate and delay.
    pub fn reserve(&self, rate: BitsPerSec, delay: Duration, largest: u64) -> u64 {
        self.reserve.map_or_else(|| self.busy(rate, delay, largest), |bytes| bytes.0)
    }
}

/// The downstream half: grants of a switch to the neighbours that feed it.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    ports: Vec<Granted>,
    /// Bytes of the buffer beyond all reserves, and how many of them are granted.
    shared: u64,
    taken: u64,
    /// Alpha in units of 1/65536.
    alpha: u64,
    step: u64,
    /// Whether a neighbour has sent more than its limit. Windows may then not fit the buffer.
    exceeded: bool,
}

/// Counts of one ingress, in bytes since its link came up.
#[derive(Clone, Copy, Debug)]
struct Granted {
    received: u64,
    limit: u64,
    /// The last limit sent.
    announced: u64,
    held: u64,
    reserve: u64,
    /// Bytes taken from [`Grants::shared`].
    taken: u64,
}

impl Granted {
    fn window(&self) -> u64 {
        (self.limit + self.held).saturating_sub(self.received)
    }
}

impl Grants {
    /// Creates the grants of a switch.
    ///
    /// # Panics
    /// If the reserves exceed the buffer; scenarios are checked for that.
    pub(super) fn new(params: &CreditParams, shape: &Shape) -> Grants {
        let largest = shape.largest_packet.into();
        let granted = |port: &crate::shape::PortShape| {
            let reserve = params.reserve(port.rate, Duration(port.hrtt.0 / 2), largest);
            Granted { received: 0, limit: reserve, announced: reserve, held: 0, reserve, taken: 0 }
        };
        let ports: Vec<Granted> = shape.ports.iter().map(granted).collect();
        let reserves = ports.iter().map(|port| port.reserve).sum();
        Grants {
            shared: shape.buffer.min(u64::MAX >> 1).checked_sub(reserves).expect("the buffer holds the reserves"),
            ports,
            taken: 0,
            alpha: (params.alpha * 65536.0 + 0.5) as u64,
            step: params.step.0,
            exceeded: false,
        }
    }

    /// Records the arrival of a packet of `wire` bytes from `ingress`. Returns a new limit to send.
    pub(super) fn enter(&mut self, ingress: PortId, wire: u64) -> Option<ControlFrame> {
        let port = &mut self.ports[ingress as usize];
        port.received += wire;
        port.held += wire;
        self.exceeded |= port.received > port.limit;
        self.settle(ingress)
    }

    /// Records the departure of a packet from `ingress`. Returns a new limit to send.
    pub(super) fn leave(&mut self, ingress: PortId, wire: u64) -> Option<ControlFrame> {
        self.ports[ingress as usize].held -= wire;
        self.settle(ingress)
    }

    /// Handles the report that the neighbour at `ingress` has sent `sent` bytes: bytes not received are lost. A report
    /// that cannot be true changes nothing. Returns the limit to answer with.
    pub(super) fn sync(&mut self, ingress: PortId, sent: u64) -> ControlFrame {
        let port = &mut self.ports[ingress as usize];
        if (port.received..=port.limit).contains(&sent) {
            port.received = sent;
            self.settle(ingress);
        }
        self.announce(ingress)
    }

    /// Restarts all counts after the link of `ingress` came up. Returns the limit to send.
    pub(super) fn restart(&mut self, ingress: PortId) -> ControlFrame {
        let port = &mut self.ports[ingress as usize];
        (port.received, port.limit) = (0, 0);
        self.settle(ingress);
        self.announce(ingress)
    }

    fn announce(&mut self, ingress: PortId) -> ControlFrame {
        let port = &mut self.ports[ingress as usize];
        port.announced = port.limit;
        ControlFrame::Credit(port.limit)
    }

    /// Grants `ingress` its share. Returns its limit if that has grown by a step.
    fn settle(&mut self, ingress: PortId) -> Option<ControlFrame> {
        let port = &mut self.ports[ingress as usize];
        let window = port.window();
        let of_shared = window.saturating_sub(port.reserve);
        self.taken = self.taken - port.taken + of_shared;
        port.taken = of_shared;
        let others_leave = self.shared.saturating_sub(self.taken) + of_shared;
        let most = (u128::from(others_leave) * u128::from(self.alpha) / u128::from(self.alpha + 65536)) as u64;
        let target = port.reserve + port.held.min(most);
        if target > window {
            port.limit = port.received + target - port.held;
            self.taken += target - port.reserve - of_shared;
            port.taken = target - port.reserve;
        }
        (port.limit >= port.announced + self.step).then(|| self.announce(ingress))
    }

    /// Compares the bytes held with the packets, and the grants with the buffer.
    pub(super) fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut held = alloc::vec![0u64; self.ports.len()];
        residents.iter().for_each(|r| held[r.held.ingress as usize] += u64::from(r.packet.wire));
        for (i, (port, held)) in self.ports.iter().zip(held).enumerate() {
            if port.held != held {
                return Err(format!("ingress {i} is charged {} bytes, {held} are held", port.held));
            }
            if port.taken != port.window().saturating_sub(port.reserve) {
                return Err(format!(
                    "ingress {i} has {} bytes of the shared part, {} counted",
                    port.window(),
                    port.taken
                ));
            }
        }
        let taken: u64 = self.ports.iter().map(|port| port.taken).sum();
        if taken != self.taken || (taken > self.shared && !self.exceeded) {
            return Err(format!(
                "{taken} bytes are granted beyond reserves, {} counted of {}",
                self.taken, self.shared
            ));
        }
        Ok(())
    }
}

/// The upstream half: the limit on a port of a switch or a NIC.
#[derive(Clone, Debug)]
pub struct Gate {
    sent: u64,
    limit: u64,
    /// Bytes of a full packet.
    largest: u64,
    period: Duration,
    /// Time to ask for credit; never while the port has some.
    ask_at: Instant,
}

impl Gate {
    /// Creates a gate with an initial credit of `reserve` bytes, for packets of at most `largest` bytes, that asks
    /// every `period` while it has no credit.
    pub fn new(reserve: u64, largest: u64, period: Duration) -> Gate {
        Gate { sent: 0, limit: reserve, largest, period, ask_at: Instant::NEVER }
    }

    /// Whether the port may send a packet of any size.
    #[inline(always)]
    pub fn may_send(&self) -> bool {
        self.limit >= self.sent.saturating_add(self.largest)
    }

    /// Records a data packet of `wire` bytes sent.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Instant, wire: u64) {
        self.sent += wire;
        if !self.may_send() && self.ask_at == Instant::NEVER {
            self.ask_at = now + self.period;
        }
    }

    /// Handles a limit from the neighbour.
    pub fn grant(&mut self, limit: u64) {
        self.limit = limit;
        if self.may_send() {
            self.ask_at = Instant::NEVER;
        }
    }

    /// Closes the gate until the neighbour grants credit: the link came back, or the neighbour does not answer.
    pub fn close(&mut self, now: Instant) {
        (self.sent, self.limit, self.ask_at) = (0, 0, now);
    }

    /// Opens the gate: the link is down, and all data sent is lost.
    pub fn open(&mut self) {
        (self.sent, self.limit, self.ask_at) = (0, u64::MAX, Instant::NEVER);
    }

    /// Time of the next [`Gate::ask`].
    #[inline(always)]
    pub fn ask_at(&self) -> Instant {
        self.ask_at
    }

    /// Returns the frame that asks for credit, if it is due.
    pub fn ask(&mut self, now: Instant) -> Option<ControlFrame> {
        (self.ask_at <= now).then(|| {
            self.ask_at = now + self.period;
            ControlFrame::CreditSent(self.sent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::PortShape;
    use alloc::vec;
    use alloc::vec::Vec;
    use backwater_types::hash::Stream;

    const FULL: u64 = 1048;

    fn shape(buffer: u64) -> Shape {
        let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
        Shape { buffer, ..Shape::new(vec![port; 4], 8) }
    }

    #[test]
    fn the_reserve_is_a_round_trip_a_step_three_packets_and_a_frame() {
        let busy = CreditParams::default().busy(BitsPerSec(100_000_000_000), Duration::from_us(1), FULL);
        assert_eq!(busy, 25_000 + 8_000 + 3 * FULL + 64);
    }

    /// Four links send all that they may into a switch that empties at random. Frames are lost both ways, and packets
    /// too.
    #[test]
    fn grants_fit_the_buffer_whatever_is_lost() {
        let (params, full) = (CreditParams::default(), 200_000);
        for seed in 0..40 {
            let (mut grants, mut rng) = (Grants::new(&params, &shape(full)), Stream::new(seed, 1, 2));
            let reserve = params.reserve(BitsPerSec(100_000_000_000), Duration::from_us(1), FULL);
            let mut gates = vec![Gate::new(reserve, FULL, Duration::from_us(10)); 4];
            let mut held: Vec<Vec<u64>> = vec![Vec::new(); 4];
            let (mut most, mut passed, mut now) = (0, 0, Instant::ZERO);
            for step in 0..40_000 {
                now += Duration::from_ns(100);
                let port = rng.next_u32() as usize % 4;
                let frame = if rng.next_u32() % 3 > 0 && gates[port].may_send() {
                    let wire = u64::from(49 + rng.next_u32() % 1000);
                    gates[port].on_sent(now, wire);
                    let lost = rng.next_u32().is_multiple_of(50);
                    (!lost).then(|| held[port].push(wire)).and_then(|()| grants.enter(port as PortId, wire))
                } else if rng.next_u32() % 4 > 0 || step % 20_000 > 15_000 {
                    held[port].pop().and_then(|wire| {
                        passed += wire;
                        grants.leave(port as PortId, wire)
                    })
                } else {
                    None
                };
                let asked = gates[port].ask(now).filter(|_| rng.next_u32() % 4 > 0);
                let answer = asked.map(|frame| match frame {
                    ControlFrame::CreditSent(sent) => grants.sync(port as PortId, sent),
                    other => panic!("{other:?}"),
                });
                for frame in [frame, answer].into_iter().flatten().filter(|_| rng.next_u32() % 4 > 0) {
                    let ControlFrame::Credit(limit) = frame else { panic!("{frame:?}") };
                    gates[port].grant(limit);
                }
                let now_held: u64 = held.iter().flatten().sum();
                assert!(now_held <= full, "seed {seed}, step {step}: {now_held} B");
                assert!(grants.taken <= grants.shared);
                most = most.max(now_held);
            }
            assert!(passed > 1_000_000, "seed {seed}: {passed} B passed");
            assert!(most > full / 2, "seed {seed}: the fill never exceeded {most} B");
        }
    }

    /// A neighbour that sends what it likes and reports any count leaves grants that agree with the bytes held.
    #[test]
    fn false_reports_and_data_beyond_the_limit_leave_consistent_grants() {
        let params = CreditParams::default();
        for seed in 0..40 {
            let (mut grants, mut rng) = (Grants::new(&params, &shape(200_000)), Stream::new(seed, 2, 2));
            let mut held = [0u64; 4];
            for step in 0..20_000 {
                let port = rng.next_u32() as usize % 4;
                match rng.next_u32() % 16 {
                    0 => {
                        let wide = u64::from(rng.next_u32()) << (rng.next_u32() % 32);
                        let Granted { received, limit, .. } = grants.ports[port];
                        let reports = [0, wide, received.saturating_sub(1), received, limit, limit + 1];
                        let sent = reports[rng.next_u32() as usize % reports.len()];
                        let answer = grants.sync(port as PortId, sent);
                        assert_eq!(answer, ControlFrame::Credit(grants.ports[port].limit));
                        let possible = received <= sent && sent <= limit;
                        assert_eq!(grants.ports[port].received, if possible { sent } else { received });
                    }
                    1 if rng.next_u32().is_multiple_of(100) => drop(grants.restart(port as PortId)),
                    1..8 if held[port] >= FULL => {
                        held[port] -= FULL;
                        grants.leave(port as PortId, FULL);
                    }
                    _ if held.iter().sum::<u64>() + FULL <= 200_000 => {
                        held[port] += FULL;
                        grants.enter(port as PortId, FULL);
                    }
                    _ => {}
                }
                let what = format!("seed {seed}, step {step}: {grants:?}");
                assert!(grants.ports.iter().map(|port| port.held).eq(held), "{what}");
                let taken = grants.ports.iter().map(|port| port.window().saturating_sub(port.reserve));
                assert!(taken.clone().eq(grants.ports.iter().map(|port| port.taken)), "{what}");
                assert_eq!(taken.sum::<u64>(), grants.taken, "{what}");
            }
        }
    }

    #[test]
    fn a_link_alone_is_granted_what_it_holds_up_to_its_share_and_others_keep_their_reserve() {
        let params = CreditParams::default();
        let (mut grants, reserve) = (Grants::new(&params, &shape(400_000)), 36_208);
        assert_eq!(grants.ports[0].limit, reserve);
        let shared = 400_000 - 4 * reserve;
        assert_eq!(grants.shared, shared);
        // Ingress 0 holds all that it sends.
        while grants.ports[0].limit >= grants.ports[0].received + FULL {
            grants.enter(0, FULL);
        }
        let window = grants.ports[0].window();
        assert!(window <= reserve + shared / 2 && window + FULL > reserve + shared / 2, "{window}");
        assert_eq!(grants.ports[1].limit, reserve);
        // Ingress 1 has half of the rest.
        while grants.ports[1].limit >= grants.ports[1].received + FULL {
            grants.enter(1, FULL);
        }
        let second = grants.ports[1].window();
        assert!(second <= reserve + shared / 4 + FULL && second + 2 * FULL > reserve + shared / 4, "{second}");
        // An ingress that empties gives back all but its reserve.
        while grants.ports[0].held > 0 {
            grants.leave(0, FULL);
        }
        assert_eq!(grants.ports[0].window(), reserve);
        assert_eq!(grants.ports[0].taken, 0);
    }
}
