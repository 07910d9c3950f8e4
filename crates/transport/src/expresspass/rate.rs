//! Rate of a flow's credits, which the receiver changes once a round trip.
//!
//! Source: baselines 6. c is the rate over the highest that the link can carry, w the weight; credits are counted over
//! the last round trip or more:
//!
//! ```text
//! start:                c = a, or a x packets / small_flow for a flow of fewer packets ; w = w_init
//! target = (1 - c) x target_loss
//! lost share > target:  c = min(c, rate of the credits that were answered x (1 + target)) ; w = max(w / 2, w_min)
//! else:                 w = min(w + 0.05, 0.5) if the last change was an increase too ; c = w + (1 - w) c
//! c from one credit a round trip to 1
//! ```
//!
//! A credit is answered by a packet, or lost once a later one is answered. Floating point: additions, multiplications
//! and divisions only.

use crate::expresspass::ExpressPassParams;
use crate::rate::IdlePath;
use backwater_types::{Bytes, Duration, Instant};

/// Rate of one flow's credits.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreditRate {
    /// Rate as a share of the highest (c).
    rate: f64,
    /// Weight of the highest rate in an increase (w).
    weight: f64,
    /// Whether the last change was an increase.
    increased: bool,
    /// Credits answered since the last change.
    answered: u32,
    /// Credits lost since the last change.
    lost: u32,
    /// Time of the last change.
    changed: Instant,
    /// Smoothed round trip, picoseconds; zero before the first sample.
    round_trip: f64,
}

impl CreditRate {
    /// Starts again, as the sender requests credits for `packets` packets.
    pub fn start(&mut self, params: &ExpressPassParams, now: Instant, packets: u32) {
        *self = CreditRate {
            rate: params.first_rate(packets.into()),
            weight: params.initial_weight,
            changed: now,
            round_trip: self.round_trip,
            ..CreditRate::default()
        };
    }

    /// Counts the answer to a credit of time `sent`; `lost` credits before it were not answered.
    #[inline]
    pub fn on_data(&mut self, now: Instant, sent: Instant, lost: u32) {
        self.answered += 1;
        self.lost += lost;
        let sample = now.since(sent).0 as f64;
        self.round_trip = if self.round_trip > 0.0 { 0.8 * self.round_trip + 0.2 * sample } else { sample };
    }

    /// Updates the rate before a credit is sent; `gap` is the time between two at the highest rate, picoseconds.
    #[inline]
    pub fn on_credit(&mut self, params: &ExpressPassParams, now: Instant, gap: f64) {
        let elapsed = now.since(self.changed).0 as f64;
        if self.answered == 0 || elapsed < self.round_trip || elapsed == 0.0 {
            return;
        }
        let (answered, lost) = (self.answered as f64, self.lost as f64);
        let target = (1.0 - self.rate) * params.target_loss;
        if lost / (answered + lost) > target {
            self.rate = self.rate.min(answered * gap / elapsed * (1.0 + target));
            self.weight = (self.weight / 2.0).max(params.min_weight);
            self.increased = false;
        } else {
            self.increase();
        }
        self.rate = self.rate.max(gap / self.round_trip).min(1.0);
        (self.answered, self.lost, self.changed) = (0, 0, now);
    }

    fn increase(&mut self) {
        if self.increased {
            self.weight = (self.weight + WEIGHT_STEP).min(WEIGHT_MAX);
        }
        self.increased = true;
        self.rate = self.weight + (1.0 - self.weight) * self.rate;
    }

    /// Rate as a share of the highest.
    #[inline(always)]
    pub fn share(&self) -> f64 {
        self.rate
    }

    /// Round trips, of `capacity` credits at the highest rate, that `packets` credits take beyond those at the highest
    /// rate, if none is lost.
    pub fn ramp(params: &ExpressPassParams, packets: u64, capacity: f64) -> f64 {
        let mut flow = CreditRate::default();
        flow.start(params, Instant::ZERO, packets.min(u32::MAX.into()) as u32);
        let (mut left, mut behind) = (packets as f64, 0.0);
        loop {
            let sent = flow.rate * capacity;
            if sent >= left || flow.rate > 0.999 {
                return behind + left / capacity * (1.0 / flow.rate - 1.0);
            }
            left -= sent;
            behind += 1.0 - flow.rate;
            flow.increase();
        }
    }
}

const WEIGHT_STEP: f64 = 0.05;
const WEIGHT_MAX: f64 = 0.5;

impl ExpressPassParams {
    /// Completion time of a flow alone beyond store and forward at its [share](ExpressPassParams::share) of the link.
    /// It consists of a request and the first credit, and in each round trip of the shortfall of its rate.
    pub fn startup(&self, path: &IdlePath, data: Bytes) -> Duration {
        // Request and credit are as long as headers and an acknowledgement, to a few bytes.
        let capacity = path.round_trip.0 as f64 * self.share(data) / path.packet.0 as f64;
        let ramp = CreditRate::ramp(self, path.packets, capacity) * path.round_trip.0 as f64;
        Duration(path.opening.0 + ramp as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picoseconds between credits at the highest rate, and of a round trip.
    const GAP: f64 = 129_760.0;
    const ROUND_TRIP: u64 = 8_000_000;

    fn started() -> CreditRate {
        let mut rate = CreditRate::default();
        rate.start(&ExpressPassParams::default(), Instant::ZERO, 1000);
        rate
    }

    /// Advances a round trip in which `answered` credits were answered and `lost` were lost.
    fn period(rate: &mut CreditRate, number: u64, answered: u32, lost: u32) {
        let now = Instant(number * ROUND_TRIP);
        for k in 0..answered {
            rate.on_data(now, Instant(now.0 - ROUND_TRIP), if k == 0 { lost } else { 0 });
        }
        rate.on_credit(&ExpressPassParams::default(), now, GAP);
    }

    /// With nothing lost the distance to the highest rate shrinks by 1 - w each time: w is 1/16 twice, for the first
    /// increase does not follow another, then grows by 0.05 up to 0.5.
    #[test]
    fn loss_free_periods_close_in_on_the_highest_rate() {
        let mut rate = started();
        assert_eq!(rate.share(), 0.5);
        let (mut weight, mut distance) = (0.0625, 0.5);
        for k in 1..=20 {
            period(&mut rate, k, 20, 0);
            if k > 1 {
                weight = f64::min(weight + 0.05, 0.5);
            }
            distance *= 1.0 - weight;
            assert!((1.0 - rate.share() - distance).abs() < 1e-12, "after {k}: {}", rate.share());
        }
        assert_eq!(rate.weight, 0.5);
    }

    /// 20 answered in a round trip of 61.65 gaps are a rate of 0.324; the target at c = 1/2 is 1/16.
    #[test]
    fn loss_above_the_target_sets_the_rate_that_came_through() {
        let mut rate = started();
        period(&mut rate, 1, 20, 5);
        let through = 20.0 * GAP / ROUND_TRIP as f64;
        assert!((rate.share() - through * (1.0 + 0.0625)).abs() < 1e-12, "{}", rate.share());
        assert_eq!(rate.weight, 1.0 / 32.0);
        // Never up: more came through than the rate says, by chance.
        let before = rate.share();
        period(&mut rate, 2, 60, 40);
        assert!(rate.share() <= before);
        assert_eq!(rate.weight, 1.0 / 64.0);
        period(&mut rate, 3, 1, 9);
        assert_eq!(rate.weight, 0.01, "and no lower");
        // The next increase has the unchanged weight.
        let before = rate.share();
        period(&mut rate, 4, 20, 0);
        assert_eq!((rate.weight, rate.share()), (0.01, 0.01 + 0.99 * before));
    }

    #[test]
    fn loss_up_to_the_target_is_none() {
        let mut rate = started();
        period(&mut rate, 1, 15, 1);
        assert!(rate.share() > 0.5, "1 of 16 is the target at 1/2");
    }

    #[test]
    fn one_credit_a_round_trip_is_the_least() {
        let mut rate = started();
        for k in 1..100 {
            period(&mut rate, 100 * k, 1, 99);
        }
        assert!((rate.share() - GAP / ROUND_TRIP as f64).abs() < 1e-9, "{}", rate.share());
    }

    #[test]
    fn it_changes_once_a_round_trip_and_only_by_what_was_heard() {
        let (mut rate, params) = (started(), ExpressPassParams::default());
        rate.on_credit(&params, Instant(10 * ROUND_TRIP), GAP);
        assert_eq!(rate.share(), 0.5, "nothing has come to an end");
        rate.on_data(Instant(ROUND_TRIP), Instant::ZERO, 0);
        rate.on_credit(&params, Instant(ROUND_TRIP - 1), GAP);
        assert_eq!(rate.share(), 0.5, "a round trip has not gone by");
        rate.on_credit(&params, Instant(ROUND_TRIP), GAP);
        let once = rate.share();
        rate.on_data(Instant(ROUND_TRIP), Instant::ZERO, 0);
        rate.on_credit(&params, Instant(ROUND_TRIP + 1), GAP);
        assert!(once > 0.5 && rate.share() == once);
    }

    /// With a first rate of a half, from two periods on: 0.5 + 0.5 x 15/16 + 0.5 x 15/16 x 0.8875 and so on.
    #[test]
    fn the_ramp_is_the_sum_of_what_each_round_trip_falls_short() {
        let params = ExpressPassParams::default();
        assert!((CreditRate::ramp(&params, 1000, 61.65) - 2.5).abs() < 0.1);
        // All within the first round trip, at half the rate.
        assert_eq!(CreditRate::ramp(&params, 20, 60.0), 20.0 / 60.0);
    }

    #[test]
    fn a_small_flow_starts_in_proportion() {
        let params = ExpressPassParams { small_flow: 40, ..ExpressPassParams::default() };
        let first = |packets| {
            let mut rate = CreditRate::default();
            rate.start(&params, Instant::ZERO, packets);
            rate.share()
        };
        assert_eq!([1, 20, 40, 4000].map(first), [0.5 / 40.0, 0.25, 0.5, 0.5]);
    }
}
