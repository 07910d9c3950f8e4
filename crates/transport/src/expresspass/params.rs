//! Parameters of ExpressPass.

use alloc::vec::Vec;
use backwater_types::{Bytes, CONTROL_WIRE, CreditShape, Duration, OutOfRange, PERIOD_MIN, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// ExpressPass. The defaults are those of its public code.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct ExpressPassParams {
    /// Rate of a flow's first credits, as a share of the highest rate (*alpha*).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub initial_rate: f64,
    /// Weight of the highest rate in a flow's first increase (*w_init*).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5)))]
    pub initial_weight: f64,
    /// Least weight (*w_min*).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5)))]
    pub min_weight: f64,
    /// Target of the share of lost credits, for a rate of zero; it falls to zero at the highest rate.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub target_loss: f64,
    /// Largest variation of the gap between two credits, up or down, as a share of it.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 0.9)))]
    pub jitter: f64,
    /// Least size of a credit; sizes are drawn at random.
    pub credit_min: Bytes,
    /// Largest size of a credit.
    pub credit_max: Bytes,
    /// Credits that may wait at a port.
    pub credit_queue: u16,
    /// Packets below which a flow starts at a rate in proportion to its size; 0: none does.
    pub small_flow: u16,
    /// A sender asks for no more credits once as many came within a round trip as it has packets left.
    pub early_stop: bool,
    /// Time after which a request without a credit is repeated.
    pub retry: Duration,
}

impl Default for ExpressPassParams {
    fn default() -> ExpressPassParams {
        ExpressPassParams {
            initial_rate: 0.5,
            initial_weight: 0.0625,
            min_weight: 0.01,
            target_loss: 0.125,
            jitter: 0.1,
            credit_min: Bytes(76),
            credit_max: Bytes(92),
            credit_queue: 8,
            small_flow: 0,
            early_stop: false,
            retry: Duration::from_us(100),
        }
    }
}

impl Ranges for ExpressPassParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let share = |key: &str, value: f64, most: f64| {
            OutOfRange::unless(value > 0.0 && value <= most, key, &alloc::format!("more than 0, at most {most}"))
        };
        share("initial_rate", self.initial_rate, 1.0)?;
        share("initial_weight", self.initial_weight, 0.5)?;
        share("min_weight", self.min_weight, 0.5)?;
        OutOfRange::unless((0.0..=1.0).contains(&self.target_loss), "target_loss", "0 to 1")?;
        OutOfRange::unless((0.0..=0.9).contains(&self.jitter), "jitter", "0 to 0.9")?;
        let least = Bytes(CONTROL_WIRE.into());
        OutOfRange::unless(
            (least..=self.credit_max).contains(&self.credit_min),
            "credit_min",
            &alloc::format!("at least {least}, and at most credit_max"),
        )?;
        OutOfRange::unless(self.credit_max <= Bytes(1500), "credit_max", "at most 1500 B")?;
        OutOfRange::unless(self.credit_queue > 0, "credit_queue", "at least 1")?;
        OutOfRange::unless_timer("retry", self.retry, PERIOD_MIN)
    }
}

impl ExpressPassParams {
    /// Limits of credits at ports, for packets of `data` bytes.
    pub fn shape(&self, data: Bytes) -> CreditShape {
        CreditShape { queue: self.credit_queue, credit: self.credit().0 as u16, data: data.0 as u16 }
    }

    /// Mean size of a credit.
    fn credit(&self) -> Bytes {
        Bytes((self.credit_min.0 + self.credit_max.0) / 2)
    }

    /// Share of the highest rate at which a flow of so many packets starts.
    pub(super) fn first_rate(&self, packets: u64) -> f64 {
        let small = packets < self.small_flow as u64;
        if small { self.initial_rate * packets as f64 / self.small_flow as f64 } else { self.initial_rate }
    }

    /// Largest share of a link that data takes, with full packets of `data` bytes: credits take the rest.
    pub fn share(&self, data: Bytes) -> f64 {
        data.0 as f64 / (self.credit().0 + data.0) as f64
    }
}

/// Parameters of flows under ExpressPass.
#[derive(Clone, Debug)]
pub struct ExpressPassFlowParams {
    /// Wire bytes of a full packet.
    pub full_wire: u16,
    /// Time without any answer after which a sender requests credits again.
    pub rto: Duration,
    /// Parameters of receivers, and those of both ends.
    pub receiver: ExpressPassReceiverParams,
}

/// Parameters of a flow at its receiver.
#[derive(Clone, Debug)]
pub struct ExpressPassReceiverParams {
    /// Parameters of both ends.
    pub of: ExpressPassParams,
    /// `[host]`: time between two credits at the highest rate of its link, picoseconds.
    pub gaps: Vec<f64>,
    /// Wire bytes of requests, ACKs and NACKs.
    pub ack_wire: u16,
    /// Least time between two NACKs for the same packet.
    pub nack_guard: Duration,
    /// Seed of the run.
    pub seed: u64,
}

impl ExpressPassFlowParams {
    /// Completes the parameters by wire bytes of full packets and of requests, ACKs and NACKs, and by the rates of
    /// hosts' links, bit/s.
    pub fn new(
        of: &ExpressPassParams,
        [full_wire, ack_wire]: [u16; 2],
        [rto, nack_guard]: [Duration; 2],
        rates: impl Iterator<Item = u64>,
        seed: u64,
    ) -> ExpressPassFlowParams {
        let bits = 8.0 * (of.credit().0 + full_wire as u64) as f64;
        let gaps = rates.map(|rate| bits * 1e12 / rate as f64).collect();
        let receiver = ExpressPassReceiverParams { of: of.clone(), gaps, ack_wire, nack_guard, seed };
        ExpressPassFlowParams { full_wire, rto, receiver }
    }
}
