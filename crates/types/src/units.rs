//! Quantities as types. Time is whole picoseconds: a byte takes 80 ps at 100 Gb/s and 10 ps at 800 Gb/s, exactly.
//!
//! Text forms carry units: `"100 Gbps"`, `"1 us"`, `"12 MB"`; KB is 10^3 and KiB is 2^10 bytes.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

/// A point in simulated time, picoseconds since the start. Its range is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Instant(pub u64);

/// A span of simulated time, picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

/// A number of bytes; on the wire unless a name says payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSec(pub u64);

impl Instant {
    /// The start of the simulation.
    pub const ZERO: Instant = Instant(0);
    /// Later than every event.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);

    /// Whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }

    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// Seconds as a float, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// Bytes that `rate` carries in this time, rounded down.
    pub fn bytes_at(self, rate: BitsPerSec) -> Bytes {
        Bytes((self.0 as u128 * rate.0 as u128 / 8_000_000_000_000) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0 + d.0)
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0 - d.0)
    }
}

/// Serialisation time of a byte at one rate, as a fixed-point multiplier.
///
/// 44.20 fixed point picoseconds per byte, rounded down. Rates that divide 8 000 000 000 000 (1, 10, 25, 40, 50, 100,
/// 200, 400, 800 Gb/s, ...) are exact. Any other rate is short by less than 1 ps per 2^20 bytes.
///
/// In whole nanoseconds the result is that of [`whole_ns`], without its division wherever 32.32 fixed point nanoseconds
/// are precise enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SerTime {
    per_byte: u64,
    /// Rate in bit/s, for times in whole nanoseconds; 0 for exact ones.
    whole_ns_at: u64,
}

/// Bound of the error of a frame's time, in fixed point and by [`whole_ns`], in units of 2^-32 ns. A frame has less
/// than 2^16 bytes of up to 2^13 ns; fixed point loses up to 2^-32 ns a byte, `whole_ns` 2^-53 of the time and 2^-64 s.
const IN_DOUBT: u64 = 1 << 17;

impl SerTime {
    /// Makes the exact multiplier of a link of this rate.
    ///
    /// # Panics
    /// On a rate of zero.
    pub const fn of(rate: BitsPerSec) -> SerTime {
        assert!(rate.0 > 0, "a link has a rate");
        SerTime { per_byte: ((8_000_000_000_000u128 << 20) / rate.0 as u128) as u64, whole_ns_at: 0 }
    }

    /// Makes the multiplier of a link of this rate, for times in whole nanoseconds.
    ///
    /// # Panics
    /// On a rate of zero.
    pub const fn in_whole_ns(rate: BitsPerSec) -> SerTime {
        assert!(rate.0 > 0, "a link has a rate");
        let per_byte = (8_000_000_000u128 << 32) / rate.0 as u128;
        SerTime { per_byte: if per_byte < 1 << 45 { per_byte as u64 } else { 0 }, whole_ns_at: rate.0 }
    }

    /// Time to put `wire_bytes` on the wire, rounded down to a picosecond (or a nanosecond).
    #[inline(always)]
    pub const fn of_bytes(self, wire_bytes: u64) -> Duration {
        if self.whole_ns_at != 0 {
            return self.whole_ns(wire_bytes);
        }
        // A jumbo frame (2^14 B) at 1 Mb/s (2^23 ps a byte, 2^43 in fixed point) stays inside 64 bits.
        Duration((wire_bytes * self.per_byte) >> 20)
    }

    #[inline(always)]
    const fn whole_ns(self, wire: u64) -> Duration {
        if wire < 1 << 16 {
            let ns = wire * self.per_byte;
            let fraction = ns & ((1 << 32) - 1);
            if fraction >= IN_DOUBT && fraction <= (1 << 32) - IN_DOUBT {
                return Duration::from_ns(ns >> 32);
            }
        }
        whole_ns(wire, self.whole_ns_at as f64)
    }
}

/// Transmission time of `wire` bytes at `rate` bit/s, converted from seconds as ns-3.17 does: truncated to a binary
/// fraction of 64 bits, then to nanoseconds. A time between nanoseconds loses its fraction, and a whole number of
/// nanoseconds mostly loses one.
#[inline(always)]
pub const fn whole_ns(wire: u64, rate: f64) -> Duration {
    let seconds = wire as f64 * 8.0 / rate;
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * 18_446_744_073_709_551_616.0) as u64;
    Duration::from_ns(whole * 1_000_000_000 + ((fraction as u128 * 1_000_000_000) >> 64) as u64)
}

/// Error of a quantity that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// Unit names that are allowed.
    pub expected: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for UnitError {}

const DURATIONS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
const RATES: &[(&str, u64)] =
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

/// Reads `"12.5 us"` exactly: the decimal number times its unit has to be a whole number of the base unit.
fn parse(text: &str, units: &'static [(&'static str, u64)], expected: &'static str) -> Result<u64, UnitError> {
    let bad = UnitError { expected };
    let text = text.trim_matches(' ');
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or(bad.clone())?;
    let (number, unit) = (text[..split].trim_end_matches(' '), &text[split..]);
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or(bad.clone())?.1 as u128;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 12 || (number.contains('.') && fraction.is_empty()) {
        return Err(bad);
    }
    let mut digits: u128 = 0;
    let mut written = 0;
    for c in whole.chars().chain(fraction.chars()) {
        digits = digits * 10 + c.to_digit(10).ok_or(bad.clone())? as u128;
        written += 1;
        if written > 24 {
            return Err(bad);
        }
    }
    let divisor = 10u128.pow(fraction.len() as u32);
    let scaled = digits.checked_mul(scale).ok_or(bad.clone())?;
    if scaled % divisor != 0 {
        return Err(bad);
    }
    u64::try_from(scaled / divisor).map_err(|_| bad)
}

/// Writes a value with the largest unit that leaves it whole.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let decimal = units.iter().filter(|(name, _)| !name.contains('i'));
    let best = decimal.filter(|(_, scale)| value.is_multiple_of(*scale)).max_by_key(|(_, scale)| *scale);
    match best {
        Some((name, scale)) if value > 0 => write!(f, "{} {}", value / scale, name),
        _ => write!(f, "{} {}", value, units[0].0),
    }
}

macro_rules! quantity {
    ($name:ident, $units:expr, $expected:literal) => {
        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<$name, UnitError> {
                parse(text, $units, $expected).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(f, self.0, $units)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                    }
                }
                d.deserialize_str(Text)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": $expected })
            }
        }
    };
}

quantity!(Duration, DURATIONS, "a time with a unit, such as \"1 us\" (ps, ns, us, ms, s)");
quantity!(Bytes, SIZES, "a size with a unit, such as \"12 MB\" (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)");
quantity!(BitsPerSec, RATES, "a rate with a unit, such as \"100 Gbps\" (bps, Kbps, Mbps, Gbps, Tbps)");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_byte_takes_80_ps_at_100g() {
        let ser = SerTime::of(BitsPerSec(100_000_000_000));
        assert_eq!(ser.of_bytes(1), Duration(80));
        assert_eq!(ser.of_bytes(1048), Duration(83_840));
        assert_eq!(SerTime::of(BitsPerSec(800_000_000_000)).of_bytes(9000), Duration(90_000));
    }

    #[test]
    fn whole_nanoseconds_lose_their_fraction_and_exact_ones_mostly_a_whole() {
        let ser = SerTime::in_whole_ns(BitsPerSec(100_000_000_000));
        assert_eq!([1048, 60, 1000].map(|wire| ser.of_bytes(wire).0), [83_000, 4_000, 79_000]);
        // 4.104 us: as a double it lies far enough above to keep its last nanosecond.
        assert_eq!(SerTime::in_whole_ns(BitsPerSec(1_000_000_000)).of_bytes(513), Duration(4_104_000));
    }

    /// Frames of every size, where a byte is a whole number of nanoseconds, where many frames are, and where none is;
    /// and longer ones.
    #[test]
    fn whole_nanoseconds_without_a_division_are_those_with_it() {
        for gbps in
            [0.0001, 0.001, 0.015, 0.1, 1.0, 3.0, 7.77, 8.0, 10.0, 25.0, 40.0, 56.0, 100.0, 400.0, 800.0, 1333.0]
        {
            let rate = BitsPerSec((gbps * 1e9) as u64);
            let ser = SerTime::in_whole_ns(rate);
            for wire in (0..1 << 16).chain([1 << 16, 100_000, 1 << 24]) {
                assert_eq!(ser.of_bytes(wire), whole_ns(wire, rate.0 as f64), "{wire} B at {rate}");
            }
        }
    }

    #[test]
    fn units_read_back_what_they_write() {
        for text in ["100 Gbps", "1 us", "12 MB", "1500 B", "2500 ns"] {
            let again = text
                .parse::<Duration>()
                .map(|v| v.to_string())
                .or_else(|_| text.parse::<Bytes>().map(|v| v.to_string()))
                .or_else(|_| text.parse::<BitsPerSec>().map(|v| v.to_string()));
            assert_eq!(again.as_deref(), Ok(text));
        }
        assert_eq!("12 MiB".parse::<Bytes>(), Ok(Bytes(12 << 20)));
        assert_eq!("1 TiB".parse::<Bytes>(), Ok(Bytes(1 << 40)));
        assert_eq!("0.5us".parse::<Duration>(), Ok(Duration(500_000)));
    }

    #[test]
    fn wrong_or_missing_units_are_refused() {
        for text in [
            "12",
            "12 Mb",
            "-1 us",
            "1e3 us",
            "",
            "us",
            "1 . 5 us",
            "0.5 ps",
            "99999999999999999999 s",
            "1. us",
            ".5 us",
            "+1 us",
            "1_000 us",
            "\u{661} us",
            "1\u{a0}us",
            "1 us\n",
            "1 \u{b5}s",
            "1 us s",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
            assert!(text.parse::<Bytes>().is_err(), "{text}");
            assert!(text.parse::<BitsPerSec>().is_err(), "{text}");
        }
    }
}
