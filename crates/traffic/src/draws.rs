//! Real-valued random numbers, the same on every machine.
//!
//! Uniform 64-bit words come from counter-based streams. Logarithms, exponentials and roots come from a pinned `libm`,
//! never from the platform's library.

/// Converts a word to a uniform number in `[0, 1)` with 53 bits.
pub fn uniform(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Converts a word to an exponential number of mean 1.
pub fn exponential(word: u64) -> f64 {
    -libm::log(1.0 - uniform(word))
}

/// Converts a word to a standard normal number, by the inverse of the distribution function to 16 digits.
///
/// Source: Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37, 1988.
/// Each number takes one word. 85 % of the numbers take no logarithm.
pub fn normal(word: u64) -> f64 {
    // The centre of the word's cell, so p is neither 0 nor 1.
    let p = ((word >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(r, &CENTRAL);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let z = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) };
    if q < 0.0 { -z } else { z }
}

type Coefficients = ([f64; 8], [f64; 8]);

fn ratio(x: f64, (above, below): &Coefficients) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    horner(above) / horner(below)
}

const CENTRAL: Coefficients = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_855,
    ],
);

const MIDDLE: Coefficients = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const FAR: Coefficients = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_887_9,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash;

    #[test]
    fn normal_quantiles_match_the_tables() {
        let at = |p: f64| normal((p * (1u64 << 53) as f64) as u64 * 2048);
        for (p, z) in
            [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.025, -1.959_963_984_540_054), (0.999_999, 4.753_424_308_8)]
        {
            assert!((at(p) - z).abs() < 1e-8, "{p}: {}", at(p));
        }
    }

    #[test]
    fn a_million_draws_have_the_right_moments() {
        let n = 1_000_000;
        let (mut sum, mut square, mut exp) = (0.0, 0.0, 0.0);
        for k in 0..n {
            let z = normal(hash::draw(1, k));
            sum += z;
            square += z * z;
            exp += exponential(hash::draw(2, k));
        }
        let n = n as f64;
        assert!((sum / n).abs() < 0.004 && (square / n - 1.0).abs() < 0.006 && (exp / n - 1.0).abs() < 0.004);
    }
}
