//! HPCC with PINT: a rate, and a window in proportion to it, from one number that the switches on the path write into
//! packets.
//!
//! Sources: Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, sections 3.4 and 4.3;
//! HPCC's simulator, mode 10.
//!
//! ```text
//! a switch, as a data packet leaves q bytes in the port, dt after the one before, which had L bytes; B bytes/s, T the longest base
//! round trip:                  U' = min(dt, T) q / (B T^2) + L / (B T) + (T - dt) U / T
//! and writes, if it is more than the packet's:  n = ceil(512 U'), p = log n / log base, rounded up with probability
//!                              (n - base^below) / (base^above - base^below), else down
//! per sampled ACK:             U = base^p / 512, and from it R by the rules of HPCC
//! window = Wmax R / line ; a packet of L bytes is followed by a gap of 8 L / R
//! ```
//!
//! Products are sums of logarithms, as in a switch: in units of 2^-15, of numbers cut to 16 bits and rounded up with
//! the probability of the fraction that is cut off. U starts at 0, the first ACK changes nothing, rates start at line
//! rate. Time is in whole nanoseconds.
//!
//! Random draws: a switch one for each data packet, and before it one for each number of more than 16 bits; a sender
//! one for each ACK and NACK. In ns-3's order of events all come from `rand()`, one stream for the network; else each
//! port has its own stream, and an ACK is sampled by a hash of its flow and number. The simulator's field is 2 B on the
//! wire, whatever p needs; here it is `pint_bytes`. Powers of the base are rounded correctly, and logarithms come from
//! a pinned library: the simulator's may differ in the last bit, which matters where a number is within 10^-15 of being
//! rounded otherwise.

use crate::rate::{Ack, ClosedForm, Control, Site};
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension, Instant, LibraryRand, LinkShape, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// HPCC with PINT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct PintParams {
    /// Target utilisation (eta).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub utilization: f64,
    /// Steps of additive increase before a multiplicative one (maxStage).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub max_stage: u32,
    /// Rate added at every update (W_AI / T).
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Base of the logarithm in which utilisation is written.
    #[cfg_attr(feature = "schema", schemars(range(min = 1.01, max = 2)))]
    pub log_base: f64,
    /// Share of the ACKs that control reacts to.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub sampled: f64,
    /// Bytes of telemetry on every data packet.
    pub pint_bytes: Bytes,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// The window is in proportion to the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
    /// Seed by which senders sample ACKs, which is filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub seed: u64,
    /// Generator that senders and switches share in ns-3's order of events, which is filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub rand: Option<LibraryRand>,
    /// Powers of the base, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    powers: Vec<f64>,
}

impl Default for PintParams {
    fn default() -> PintParams {
        PintParams {
            utilization: 0.95,
            max_stage: 0,
            additive_increase: BitsPerSec(50_000_000),
            min_rate: BitsPerSec(100_000_000),
            log_base: 1.05,
            sampled: 1.0,
            pint_bytes: Bytes(1),
            paced: true,
            window_follows_rate: true,
            site: Site::default(),
            seed: 0,
            rand: None,
            powers: Vec::new(),
        }
    }
}

impl Ranges for PintParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let within = |share: f64| share > 0.0 && share <= 1.0;
        OutOfRange::unless(within(self.utilization), "utilization", "more than 0 and at most 1")?;
        OutOfRange::unless(self.max_stage <= 1000, "max_stage", "0 to 1000")?;
        OutOfRange::unless(self.min_rate.0 > 0, "min_rate", "more than 0 bps")?;
        OutOfRange::unless((1.01..=2.0).contains(&self.log_base), "log_base", "1.01 to 2")?;
        OutOfRange::unless(within(self.sampled), "sampled", "more than 0 and at most 1")?;
        OutOfRange::unless(self.pint_bytes.0 <= 512, "pint_bytes", "up to 512 B")
    }
}

/// Units of utilisation in a fully used link; the least that is written is one.
const UNITS: f64 = 512.0;

/// Telemetry of one packet: the power of the base that stands for the utilisation of the most used link so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power(u16);

/// Telemetry state of one port.
#[derive(Clone, Debug)]
pub struct PintPort {
    /// Averaging time (T), nanoseconds.
    base: u64,
    /// Logarithm of T.
    log_base: f64,
    /// Logarithm of the link's rate in bytes a second.
    log_rate: f64,
    /// Utilisation of the link (U).
    utilization: f64,
    /// Bytes of the packet that was sent last; 0 before the first.
    last_wire: u32,
    /// Nanosecond at which it was sent.
    last_at: u64,
    code: Code,
    rand: Rand,
}

/// Source of a port's random numbers.
#[derive(Clone, Debug)]
enum Rand {
    Own(Stream),
    Library(LibraryRand),
}

impl Rand {
    /// Draws a number below 2^31.
    fn draw(&mut self) -> u32 {
        match self {
            Rand::Own(stream) => stream.next_u32() >> 1,
            Rand::Library(rand) => rand.draw(),
        }
    }
}

impl Extension for Power {
    type Port = PintPort;
    const STAMPED: bool = true;

    fn port(link: &LinkShape) -> PintPort {
        let base = (link.pint.base_rtt.0 / 1000).max(1);
        PintPort {
            base,
            log_base: libm::log2(base as f64) * LOG_UNITS,
            log_rate: libm::log2((link.rate.0 / 8) as f64) * LOG_UNITS,
            utilization: 0.0,
            last_wire: 0,
            last_at: 0,
            code: Code::new(link.pint.log_base),
            rand: match &link.pint.rand {
                Some(rand) => Rand::Library(rand.clone()),
                None => Rand::Own(Stream::new(link.seed, 0, 0)),
            },
        }
    }

    fn stamp(&mut self, port: &mut PintPort, now: Instant, queued: u64) {
        port.utilization = port.measure(now.0 / 1000, queued);
        let power = port.code.encode(port.utilization, port.rand.draw());
        if power > self.0 {
            self.0 = power & port.code.mask;
        }
    }

    #[inline(always)]
    fn sent(port: &mut PintPort, now: Instant, wire: u16) {
        (port.last_wire, port.last_at) = (wire.into(), now.0 / 1000);
    }
}

impl PintPort {
    /// Returns U with the packet that leaves at nanosecond `now`.
    fn measure(&mut self, now: u64, queued: u64) -> f64 {
        let second = libm::log2(1e9) * LOG_UNITS;
        let after = if self.last_wire == 0 { self.base } else { (now - self.last_at).min(self.base) };
        let mut sum = 0.0;
        if queued >> 8 > 0 {
            let (time, queue) = (log2(after as u32, &mut self.rand), log2((queued >> 8) as u32, &mut self.rand));
            sum = power_of_two((time + queue) as f64 + second - self.log_rate - 2.0 * self.log_base) * 256.0;
        }
        if self.last_wire > 0 {
            let sent = log2(self.last_wire, &mut self.rand);
            sum += power_of_two(sent as f64 + second - self.log_rate - self.log_base);
        }
        if self.base > after && self.utilization > 0.0 {
            let rest = log2((self.base - after) as u32, &mut self.rand);
            let before = log2(libm::round(self.utilization * 8192.0) as u32, &mut self.rand);
            sum += power_of_two((rest + before) as f64 - self.log_base) / 8192.0;
        }
        sum
    }
}

/// Units of a logarithm in 1.
const LOG_UNITS: f64 = (1 << 15) as f64;
/// Bits of a number that its logarithm is taken of.
const BITS: u32 = 16;
/// Logarithm of zero: any sum with it is a logarithm of zero.
const LOG_OF_NONE: i64 = i32::MIN as i64;

/// Returns the logarithm of `x`, in units, rounded down.
fn log2(mut x: u32, rand: &mut Rand) -> i64 {
    if x == 0 {
        return LOG_OF_NONE;
    }
    let cut = (u32::BITS - x.leading_zeros()).saturating_sub(BITS);
    if cut > 0 {
        let mask = (1 << cut) - 1;
        let up = x & mask > rand.draw() & mask;
        x = (x & !mask) + (u32::from(up) << cut);
    }
    (libm::log2(x.into()) * LOG_UNITS) as i64
}

/// Returns the number that has this logarithm.
fn power_of_two(log: f64) -> f64 {
    libm::exp2(log / LOG_UNITS)
}

/// Code of a utilisation as a power of a base.
#[derive(Clone, Debug)]
struct Code {
    /// One over the logarithm of the base.
    factor: f64,
    /// Bits of the power that are written.
    mask: u16,
    powers: Vec<f64>,
}

impl Code {
    fn new(base: f64) -> Code {
        let factor = 1.0 / libm::log(base);
        // Bits that the power of 512 senders at full rate needs.
        let bits = libm::ceil(libm::log2(libm::log(UNITS * UNITS) * factor));
        Code { factor, mask: if bits <= 8.0 { u8::MAX.into() } else { u16::MAX }, powers: powers(base) }
    }

    /// Encodes a utilisation; `draw` decides between rounding up and down.
    fn encode(&self, utilization: f64, draw: u32) -> u16 {
        let units = (libm::ceil(utilization * UNITS) as u32).max(1) as f64;
        let power = libm::log(units) * self.factor;
        let (above, below) = (libm::ceil(power) as u16, libm::floor(power) as u16);
        let low = self.powers[below as usize];
        // At a power of the base both are that power, and the probability of rounding up is 0.
        let high = self.powers[if above == below { above + 1 } else { above } as usize];
        if f64::from(draw % 65_536) < (units - low) / (high - low) * 65_536.0 { above } else { below }
    }
}

/// Returns `[p]`: base^p, correctly rounded, for all that fit into 32 bits.
fn powers(base: f64) -> Vec<f64> {
    let most = libm::ceil(libm::log(u32::MAX as f64) / libm::log(base)) as usize + 2;
    let mut powers = Vec::with_capacity(most);
    // A number and its rounding error: 106 bits.
    let (mut power, mut rest) = (1.0, 0.0);
    for _ in 0..most {
        powers.push(power);
        let product = power * base;
        let off = libm::fma(power, base, -product) + rest * base;
        (power, rest) = (product + off, off - ((product + off) - product));
    }
    powers
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Pint {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Rate a round trip ago (Rc), bit/s.
    reference: f64,
    /// Steps of additive increase since the last multiplicative one.
    stage: u32,
    /// Next packet to be sent at the last update; 0 before the first ACK.
    updated: u32,
}

impl Pint {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

impl PintParams {
    /// Whether control reacts to an ACK.
    #[inline]
    fn samples(&self, ack: &Ack<Power>) -> bool {
        let draw = match &self.rand {
            Some(rand) => rand.draw(),
            None if self.sampled == 1.0 => return true,
            None => hash::draw(self.seed, u64::from(ack.key) << 32 | u64::from(ack.seq)) as u32,
        };
        draw % 65_536 < (65_536.0 * self.sampled) as u32
    }

    /// Returns the rate and the stage that follow from a utilisation.
    fn next(&self, flow: &Pint, utilization: f64) -> (f64, u32) {
        let over = utilization / self.utilization;
        let (rate, stage) = if over >= 1.0 || flow.stage >= self.max_stage {
            (self.site.kept(flow.reference / over), 0)
        } else {
            (flow.reference, flow.stage + 1)
        };
        let rate = rate + self.additive_increase.0 as f64;
        (rate.max(self.min_rate.0 as f64).min(self.site.line_rate), stage)
    }
}

impl Control for Pint {
    type Params = PintParams;
    type Extension = Power;
    type Times = ();
    type Due = Instant;

    fn at(params: &PintParams, site: Site) -> PintParams {
        PintParams { site, powers: powers(params.log_base), ..params.clone() }
    }

    fn draw_from(params: &mut PintParams, seed: u64, rand: Option<&LibraryRand>) {
        (params.seed, params.rand) = (hash::stream(seed, 0x7069_6e74, 0), rand.cloned());
    }

    fn new(params: &PintParams) -> Pint {
        let rate = params.site.line_rate;
        Pint { rate, reference: rate, stage: 0, updated: 0 }
    }

    #[inline(always)]
    fn window(&self, params: &PintParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &PintParams, wire: u64) -> Duration {
        params.site.time_at(if params.paced { self.rate } else { params.site.line_rate }, wire)
    }

    #[inline(always)]
    fn spacing(&self, params: &PintParams, wire: u64) -> Duration {
        params.site.moving_gap(self.rate, wire, || self.gap(params, wire))
    }

    #[inline]
    fn on_ack(&mut self, params: &PintParams, ack: Ack<Power>) -> bool {
        if !params.samples(&ack) {
            return false;
        }
        if self.updated == 0 {
            self.updated = ack.next;
            return false;
        }
        let stage;
        (self.rate, stage) = params.next(self, params.powers[ack.extension.0 as usize] / UNITS);
        if ack.seq > self.updated {
            (self.reference, self.stage) = (self.rate, stage);
            self.updated = self.updated.max(ack.next);
        }
        true
    }
}

impl ClosedForm for Pint {
    const ASKS_BASE_RTT: bool = true;

    fn carried(params: &PintParams) -> Bytes {
        params.pint_bytes
    }

    fn min_rate(params: &PintParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }

    /// The target, less one step of the base.
    fn share(params: &PintParams) -> f64 {
        params.utilization / params.log_base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::PintShape;

    /// 12.288 us at 25 Gb/s are 38 400 B.
    const BASE: u64 = 12_288;
    const LINE: f64 = 25e9;

    fn params() -> PintParams {
        let site = Site { line_rate: LINE, window: 38_400, base_rtt: Duration::from_ns(BASE), ..Site::default() };
        Pint::at(&PintParams::default(), site)
    }

    fn port(log_base: f64) -> PintPort {
        let pint = PintShape { base_rtt: Duration::from_ns(BASE), log_base, rand: None };
        Power::port(&LinkShape { pint, seed: 7, ..LinkShape::new(BitsPerSec(LINE as u64)) })
    }

    fn ack(seq: u32, next: u32, power: u16) -> Ack<Power> {
        Ack { now: Instant(0), key: 9, seq, next, whole: next, marked: false, rtt: None, extension: Power(power) }
    }

    /// A flow that has had its first ACK.
    fn flow(params: &PintParams) -> Pint {
        let mut flow = Pint::new(params);
        assert!(!flow.on_ack(params, ack(1, 40, 200)), "the first sets the scene");
        flow
    }

    #[test]
    fn powers_are_rounded_correctly() {
        // 1.05^2 and 1.05^100 to more digits than fit.
        let powers = powers(1.05);
        assert_eq!((powers[0], powers[1], powers[2]), (1.0, 1.05, 1.1025));
        assert_eq!(powers[100], 131.501_257_846_304_01);
        assert!(powers[powers.len() - 2] > u32::MAX as f64);
    }

    /// A number between two powers is rounded to either, so that the mean of the decoded numbers is the number.
    #[test]
    fn what_is_written_is_right_in_the_mean() {
        let code = Code::new(1.05);
        for units in [1.0, 2.0, 100.0, 486.0, 512.0, 5000.0] {
            let read = |draw: u32| code.powers[code.encode(units / UNITS, draw) as usize];
            let mean = (0..65_536).map(read).sum::<f64>() / 65_536.0;
            assert!((mean - units).abs() < 1e-3 * units, "{mean} for {units}");
        }
        assert_eq!(code.encode(0.0, 0), 0, "the least there is");
        assert_eq!((Code::new(1.05).mask, Code::new(1.02).mask), (0xff, 0xffff));
    }

    /// A port that sends a packet of 1050 B every 336 ns at 25 Gb/s is full, and one that sends half as many half: sums
    /// of shares of a round trip, as a geometric series.
    #[test]
    fn a_port_knows_how_much_of_it_is_used() {
        for (gap, expected) in [(336, 1.0), (672, 0.5)] {
            let (mut port, mut now) = (port(1.05), Instant(0));
            for _ in 0..1000 {
                port.utilization = port.measure(now.0 / 1000, 0);
                Power::sent(&mut port, now, 1050);
                now = Instant(now.0 + 1000 * gap);
            }
            let u = port.utilization;
            assert!((u - expected).abs() < 0.01 * expected, "{u} for {expected}");
        }
    }

    #[test]
    fn a_queue_counts_by_what_the_link_sends_in_a_round_trip() {
        let mut port = port(1.05);
        Power::sent(&mut port, Instant(0), 1050);
        // A round trip later, with one and a half times of its bytes queued: 1.5, and the packet that was sent.
        let u = port.measure(BASE, 57_600);
        assert!((u - (1.5 + 1050.0 / 38_400.0)).abs() < 0.001, "{u}");
    }

    #[test]
    fn packets_bring_the_most_used_link() {
        let (mut busy, mut idle) = (port(1.05), port(1.05));
        (busy.utilization, busy.last_wire) = (2.0, 1050);
        let mut power = Power::default();
        power.stamp(&mut busy, Instant(1000), 0);
        let most = power;
        assert!(port(1.05).code.powers[most.0 as usize] / UNITS > 1.8);
        power.stamp(&mut idle, Instant(1000), 0);
        assert_eq!(power, most);
    }

    #[test]
    fn numbers_of_more_than_16_bits_are_rounded_by_what_is_cut_off() {
        let mut rand = Rand::Own(Stream::new(1, 2, 3));
        let exact = |x: f64| (libm::log2(x) * LOG_UNITS) as i64;
        assert_eq!(log2(65_535, &mut rand), exact(65_535.0));
        // Three quarters of the last unit.
        let up = (0..10_000).filter(|_| log2((40_000 << 2) + 3, &mut rand) == exact(160_004.0)).count();
        assert!((7_300..7_700).contains(&up), "{up}");
    }

    #[test]
    fn rates_follow_what_is_read_as_hpcc_has_it() {
        let params = params();
        let mut flow = flow(&params);
        // 1.05^128 / 512 is 1.0068 of the link.
        let u = params.powers[128] / UNITS;
        assert!(flow.on_ack(&params, ack(2, 41, 128)));
        let expected = LINE / (u / 0.95) + 50e6;
        assert_eq!((flow.rate(), flow.reference), (expected, LINE), "between updates from the rate a round trip ago");
        assert!(flow.on_ack(&params, ack(41, 80, 128)));
        assert_eq!(flow.reference, expected);
        assert_eq!(flow.window(&params), (38_400.0 * (expected / LINE)) as u64);
        assert_eq!(flow.gap(&params, 1050), Duration((1050.0 * 8e12 / expected) as u64));
    }

    #[test]
    fn additive_steps_come_before_a_multiplicative_one() {
        let params = PintParams { max_stage: 2, ..params() };
        let mut flow = flow(&params);
        (flow.rate, flow.reference) = (5e9, 5e9);
        let half = params.powers[114] / UNITS;
        let mut rates = [0.0; 3];
        for (seq, rate) in (41..).step_by(40).zip(&mut rates) {
            flow.on_ack(&params, ack(seq, seq + 39, 114));
            *rate = flow.rate();
        }
        assert_eq!(rates, [5.05e9, 5.1e9, 5.1e9 / (half / 0.95) + 50e6]);
    }

    #[test]
    fn as_many_acks_are_looked_at_as_are_sampled() {
        let params = PintParams { sampled: 0.25, ..params() };
        let looked = (0..10_000).filter(|seq| params.samples(&ack(*seq, 0, 0))).count();
        assert!((2_300..2_700).contains(&looked), "{looked}");
        let rand = LibraryRand::default();
        let (mut shared, expected) = (params.clone(), rand.fork());
        Pint::draw_from(&mut shared, 1, Some(&rand));
        for seq in 0..100 {
            assert_eq!(shared.samples(&ack(seq, 0, 0)), expected.draw() % 65_536 < 16_384);
        }
    }
}
