//! Flow-size tables: those shipped in `data/workloads`, and CSV files of users.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use backwater_types::Bytes;

use crate::error::Error;
use crate::model::{SizeTable, Sizes};
use crate::suggest::expected;

macro_rules! tables {
    ($($name:literal: $path:literal,)*) => {
        const TABLES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../data/workloads/", $path)))),*];
    };
}

tables! {
    "alibaba_storage": "alibaba_storage.csv",
    "cache": "cache.csv",
    "data_mining": "data_mining.csv",
    "fb_hadoop": "fb_hadoop.csv",
    "google_rpc": "google_rpc.csv",
    "homa_w1_fb_keyvalue": "homa_w1_fb_keyvalue.csv",
    "homa_w2_google_search_rpc": "homa_w2_google_search_rpc.csv",
    "homa_w3_google_all_rpc": "homa_w3_google_all_rpc.csv",
    "homa_w4_fb_hadoop": "homa_w4_fb_hadoop.csv",
    "homa_w5_dctcp_web_search": "homa_w5_dctcp_web_search.csv",
    "web_search": "web_search.csv",
    "web_server": "web_server.csv",
    "alibaba_solar2022_ebs": "variants/alibaba_solar2022_ebs.csv",
    "cache_follower_expresspass": "variants/cache_follower_expresspass.csv",
    "cache_follower_homa_intracluster": "variants/cache_follower_homa_intracluster.csv",
    "cache_follower_roy_all_parsimon": "variants/cache_follower_roy_all_parsimon.csv",
    "data_mining_expresspass": "variants/data_mining_expresspass.csv",
    "fb_hadoop_bfc_authors": "variants/fb_hadoop_bfc_authors.csv",
    "fb_hadoop_hpcc": "variants/fb_hadoop_hpcc.csv",
    "fb_hadoop_roy_all_parsimon": "variants/fb_hadoop_roy_all_parsimon.csv",
    "google_rpc_bfc_authors": "variants/google_rpc_bfc_authors.csv",
    "web_search_bfc_authors": "variants/web_search_bfc_authors.csv",
    "web_search_expresspass": "variants/web_search_expresspass.csv",
    "web_server_expresspass": "variants/web_server_expresspass.csv",
    "web_server_roy_all_parsimon": "variants/web_server_roy_all_parsimon.csv",
}

/// Names of the shipped tables, the primary ones first.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// A shipped table, parsed once.
pub fn table(name: &str) -> Option<&'static SizeTable> {
    static PARSED: OnceLock<Vec<SizeTable>> = OnceLock::new();
    let parsed = PARSED.get_or_init(|| {
        let parse = |(name, text): &(&str, &str)| {
            parse(text, name).unwrap_or_else(|error| panic!("a shipped table is valid: {error}"))
        };
        TABLES.iter().map(parse).collect()
    });
    TABLES.iter().position(|(known, _)| *known == name).map(|i| &parsed[i])
}

impl SizeTable {
    /// Returns the size at cumulative probability `u`, 0 to below 1, before any rounding.
    ///
    /// Linear: interpolated on the segment with `cdf[i-1] < u <= cdf[i]`; step: the smallest size whose `cdf >= u`.
    pub fn at(&self, u: f64) -> f64 {
        let i = self.points.partition_point(|(_, cdf)| *cdf < u).min(self.points.len() - 1);
        let (size, cdf) = self.points[i];
        if !self.linear || i == 0 {
            return size;
        }
        let (size_below, cdf_below) = self.points[i - 1];
        size_below + (size - size_below) * (u - cdf_below) / (cdf - cdf_below)
    }

    /// Mean of [`SizeTable::at`] over `u`, bytes.
    ///
    /// Exact for the table: the trapezoid rule if linear, the sum over the points if not. Like the generators that the
    /// tables come from, it ignores rounding to whole packets.
    pub fn mean(&self) -> f64 {
        let mut mean = 0.0;
        let (mut size_below, mut cdf_below) = (self.points[0].0, 0.0);
        for &(size, cdf) in &self.points {
            mean += (cdf - cdf_below) * if self.linear { (size_below + size) / 2.0 } else { size };
            (size_below, cdf_below) = (size, cdf);
        }
        mean
    }

    /// Returns the size drawn where the table has `size`, in whole bytes. With `whole_packets`, sizes above one packet
    /// are rounded up as by the authors of BFC, a multiple of packets by one more (traffic 1).
    #[inline]
    pub fn drawn(&self, size: f64) -> u64 {
        let bytes = (size as u64).max(1);
        if self.whole_packets && bytes > PACKET { (bytes / PACKET + 1) * PACKET } else { bytes }
    }

    /// Means of the drawn sizes, bytes, and of their squares; offered load is computed from the first.
    ///
    /// Exact but for truncation to whole bytes, half a byte of each size.
    pub fn drawn_moments(&self) -> [f64; 2] {
        let mut moments = [0.0; 2];
        let (mut size_below, mut cdf_below) = (self.points[0].0, 0.0);
        for &(size, cdf) in &self.points {
            let low = if self.linear { size_below } else { size };
            let of_segment = match self.whole_packets {
                true => rounded_moments(low, size),
                false => [(low + size) / 2.0, (low * low + low * size + size * size) / 3.0],
            };
            moments.iter_mut().zip(of_segment).for_each(|(sum, moment)| *sum += (cdf - cdf_below) * moment);
            (size_below, cdf_below) = (size, cdf);
        }
        moments
    }

    /// Describes what is wrong with the points, and which one: sizes and probabilities must not fall, and end at 1.
    pub(crate) fn fault(&self) -> Option<(usize, String)> {
        let last = self.points.len().saturating_sub(1);
        if self.points.len() < 2 {
            return Some((last, format!("expected at least 2 points, found {}", self.points.len())));
        }
        if self.points.len() > POINTS_MAX {
            return Some((POINTS_MAX, format!("expected at most {POINTS_MAX} points, found {}", self.points.len())));
        }
        let mut below = (0.0, 0.0);
        for (i, &(size, cdf)) in self.points.iter().enumerate() {
            if !(0.0..=SIZE_MAX).contains(&size) {
                return Some((i, format!("size {size}: expected 0 to {SIZE_MAX} bytes")));
            }
            if !(0.0..=1.0).contains(&cdf) {
                return Some((i, format!("cumulative probability {cdf}: expected 0 to 1")));
            }
            if size < below.0 {
                return Some((i, format!("size {size} after {}: expected sizes that do not fall", below.0)));
            }
            if cdf < below.1 {
                return Some((
                    i,
                    format!("cumulative probability {cdf} after {}: expected one that does not fall", below.1),
                ));
            }
            below = (size, cdf);
        }
        if below.1 != 1.0 {
            return Some((last, format!("the last cumulative probability is {}: expected 1", below.1)));
        }
        if self.mean() < 1.0 {
            return Some((last, format!("the mean size is {:.3} bytes: expected at least 1", self.mean())));
        }
        None
    }
}

/// Describes what is wrong with flow sizes, and where in them.
pub(crate) fn check(sizes: &Sizes) -> Result<(), (String, String)> {
    let need = |holds: bool, field: &str, problem: String| if holds { Ok(()) } else { Err((field.into(), problem)) };
    let size = |field: &str, bytes: Bytes| {
        need((1..=SIZE_MAX as u64).contains(&bytes.0), field, "expected 1 B to 128 GiB".into())
    };
    match sizes {
        Sizes::Table(name) if table(name).is_none() => {
            let known: Vec<&str> = names().collect();
            Err(("table".into(), format!("unknown table; {}", expected(name, &known, "backwater list workloads"))))
        }
        Sizes::Table(_) => Ok(()),
        Sizes::File(_) => {
            Err(("file".into(), "a resolved scenario carries the points of its tables, not files".into()))
        }
        Sizes::Points(table) => match table.fault() {
            Some((i, problem)) => Err((format!("points.points.{i}"), problem)),
            None => Ok(()),
        },
        Sizes::Fixed(bytes) => size("fixed", *bytes),
        Sizes::Exponential(bytes) => size("exponential", *bytes),
        Sizes::Uniform([least, most]) => {
            size("uniform.0", *least)?;
            size("uniform.1", *most)?;
            need(least <= most, "uniform.1", format!("expected at least the first size, {least}"))
        }
    }
}

/// Means of a size uniform from `low` to `high`, rounded up to whole packets, and of its square.
fn rounded_moments(low: f64, high: f64) -> [f64; 2] {
    let packet = PACKET as f64;
    // The first size in whole bytes that is rounded.
    let first = packet + 1.0;
    let rounded = |size: f64| ((size / packet).floor() + 1.0) * packet;
    // Integrals from 0: of sizes that are not rounded, of k whole steps and of the rest, where step j is j packets
    // high.
    let integrals = |size: f64| {
        let (plain, k) = (size.min(first), (size / packet).floor());
        let steps = [k * (k + 1.0) / 2.0, k * (k + 1.0) * (2.0 * k + 1.0) / 6.0];
        let stepped =
            |power: i32, steps: f64| packet.powi(power + 1) * steps + (size - k * packet) * rounded(size).powi(power);
        // Up to `first`, 1 byte into the second step, there are no steps.
        let before = [packet * packet + 2.0 * packet, packet.powi(3) + 4.0 * packet * packet];
        let beyond = |power: i32, i: usize| if size > first { stepped(power, steps[i]) - before[i] } else { 0.0 };
        [plain.powi(2) / 2.0 + beyond(1, 0), plain.powi(3) / 3.0 + beyond(2, 1)]
    };
    if high <= low {
        let size = if high < first { high } else { rounded(high) };
        return [size, size * size];
    }
    let (from, to) = (integrals(low), integrals(high));
    [(to[0] - from[0]) / (high - low), (to[1] - from[1]) / (high - low)]
}

/// Payload of the packets that sizes are rounded to, bytes.
const PACKET: u64 = 1000;
/// Most points of a table: points are numbered in 16 bits where sizes are drawn.
const POINTS_MAX: usize = 65_000;
/// Largest flow, bytes: packets of a flow are counted in 32 bits, and the smallest full packet is 64 B.
pub(crate) const SIZE_MAX: f64 = (1u64 << 37) as f64;

/// Reads a CSV file; `name` is its name in messages.
///
/// # Errors
/// If the file cannot be read, or at a line that is not valid.
pub fn read(path: &Path, name: &str) -> Result<SizeTable, Error> {
    parse(&read_text(path, name)?, name)
}

/// Largest file that is read, bytes: a list of some millions of flows.
const TEXT_MAX: u64 = 1 << 28;

/// Returns the length of a plain file, or tells whether it is missing or something else.
pub(crate) fn plain_file(path: &Path, name: &str) -> Result<u64, Error> {
    let refuse = |problem: String| Error::at(name, problem);
    let kind = fs::metadata(path).map_err(|error| refuse(format!("cannot be read: {}", plain(&error))))?;
    if kind.is_dir() {
        return Err(refuse("is a directory: expected a file".into()));
    }
    if !kind.is_file() {
        return Err(refuse("is not a plain file".into()));
    }
    Ok(kind.len())
}

/// Reads a text file, or tells whether it is missing, not a plain file or not text.
pub(crate) fn read_text(path: &Path, name: &str) -> Result<String, Error> {
    let refuse = |problem: String| Error::at(name, problem);
    let len = plain_file(path, name)?;
    if len > TEXT_MAX {
        return Err(refuse(format!("has {len} bytes: expected at most {TEXT_MAX}")));
    }
    let bytes = fs::read(path).map_err(|error| refuse(format!("cannot be read: {}", plain(&error))))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        Error::at(format!("{name}:{line}"), "is not UTF-8 text")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

/// Reason of an I/O error without the operating system's number.
fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// Parses a table of either form.
///
/// Our form: comments with `#`, the header `size_bytes,cdf`, then rows with a probability of 0 to 1. A comment may
/// contain `interpolation=step` (default: linear) and `whole_packets=true`. The HPCC simulators' form: `bytes percent`
/// rows without a header, 0 to 100. `name` is the file's name in messages.
///
/// # Errors
/// At the first line that is not a point, or whose point does not follow those before.
pub fn parse(text: &str, name: &str) -> Result<SizeTable, Error> {
    let mut table = SizeTable { points: Vec::new(), linear: true, whole_packets: false };
    let mut lines = Vec::new();
    let mut percent = None;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        let place = || format!("{name}:{number}");
        if let Some(comment) = line.strip_prefix('#') {
            read_comment(comment, &mut table).map_err(|problem| Error::at(place(), problem))?;
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let percent = match percent {
            Some(percent) => percent,
            None if header(line) => {
                percent = Some(false);
                continue;
            }
            None if line.contains(',') || !starts_with_number(line) => {
                let expected = "expected the header \"size_bytes,cdf\", or rows \"bytes percent\" without a header";
                return Err(Error::at(place(), format!("\"{line}\": {expected}")));
            }
            None => {
                percent = Some(true);
                true
            }
        };
        let (form, fields): (_, Vec<&str>) = if percent {
            ("two numbers, bytes and percent (0 to 100)", line.split_whitespace().collect())
        } else {
            ("two numbers, size_bytes,cdf", line.split(',').map(str::trim).collect())
        };
        if fields.len() != 2 {
            return Err(Error::at(place(), format!("\"{line}\": expected {form}, not {} fields", fields.len())));
        }
        let mut numbers = [0.0; 2];
        for (slot, field) in numbers.iter_mut().zip(&fields) {
            *slot = decimal(field).ok_or_else(|| Error::at(place(), format!("\"{field}\": expected {form}")))?;
        }
        table.points.push((numbers[0], if percent { numbers[1] / 100.0 } else { numbers[1] }));
        lines.push(number);
    }
    // Files end at 0.99999999 or so when the last row was computed.
    if let Some(last) = table.points.last_mut().filter(|last| (last.1 - 1.0).abs() < 1e-9) {
        last.1 = 1.0;
    }
    match table.fault() {
        Some((i, problem)) => Err(Error::at(format!("{name}:{}", lines.get(i).copied().unwrap_or(1)), problem)),
        None => Ok(table),
    }
}

fn header(line: &str) -> bool {
    line.split(',').map(str::trim).eq(["size_bytes", "cdf"])
}

fn starts_with_number(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|field| decimal(field).is_some())
}

/// Parses a finite number in decimal, perhaps with an exponent.
fn decimal(field: &str) -> Option<f64> {
    let plain = field.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    field.parse().ok().filter(|x: &f64| plain && x.is_finite())
}

/// Reads `interpolation=` and `whole_packets=` from a comment; the rest is prose.
fn read_comment(comment: &str, table: &mut SizeTable) -> Result<(), String> {
    for word in comment.split_whitespace() {
        let word = word.trim_end_matches([',', ';', '.', ':']);
        match word.split_once('=') {
            Some(("interpolation", "linear")) => table.linear = true,
            Some(("interpolation", "step")) => table.linear = false,
            Some(("interpolation", _)) => {
                return Err(format!("{word}: expected interpolation=linear or interpolation=step"));
            }
            Some(("whole_packets", "true")) => table.whole_packets = true,
            Some(("whole_packets", "false")) => table.whole_packets = false,
            Some(("whole_packets", _)) => {
                return Err(format!("{word}: expected whole_packets=true or whole_packets=false"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means by the closed form for each rule, computed independently when the tables were collected.
    #[test]
    fn shipped_tables_have_their_published_means() {
        let known = [
            ("google_rpc", 2891.6),
            ("homa_w3_google_all_rpc", 2927.4),
            ("fb_hadoop", 121_849.0),
            ("web_search", 1_711_250.0),
            ("homa_w5_dctcp_web_search", 2_515_863.3),
            ("alibaba_storage", 40_869.8),
            ("web_server", 62_228.8),
            ("cache", 935_452.5),
            ("data_mining", 12_658_198.6),
            ("homa_w1_fb_keyvalue", 188.7),
            ("homa_w2_google_search_rpc", 440.8),
            ("homa_w4_fb_hadoop", 127_796.6),
            ("google_rpc_bfc_authors", 2907.0),
            ("fb_hadoop_bfc_authors", 121_849.2),
            ("fb_hadoop_hpcc", 120_420.8),
            ("fb_hadoop_roy_all_parsimon", 568_754.6),
            ("web_search_bfc_authors", 1_711_257.5),
            ("web_search_expresspass", 1_710_004.4),
            ("web_server_expresspass", 66_121.0),
            ("web_server_roy_all_parsimon", 91_343.0),
            ("cache_follower_homa_intracluster", 686_866.1),
            ("cache_follower_expresspass", 712_573.5),
            ("cache_follower_roy_all_parsimon", 609_883.0),
            ("data_mining_expresspass", 7_487_883.7),
            ("alibaba_solar2022_ebs", 39_423.5),
        ];
        assert_eq!(known.len(), names().count());
        for (name, mean) in known {
            let table = table(name).expect("shipped");
            assert!((table.mean() - mean).abs() < 0.06, "{name}: {}", table.mean());
        }
    }

    #[test]
    fn only_the_authors_tables_round_to_whole_packets() {
        for name in names() {
            assert_eq!(table(name).expect("shipped").whole_packets, name.ends_with("_bfc_authors"), "{name}");
        }
    }

    /// Sizes uniform from 500 to 2500 B become themselves up to 1000, then 2000 and 3000: (750 x 500 + 2000 x 1000 +
    /// 3000 x 500) / 2000 B, but for the byte from 1000 to 1001 that is not rounded. The mean of every table is that of
    /// a million of its sizes.
    #[test]
    fn the_mean_drawn_is_that_of_whole_packets() {
        let table = SizeTable { points: vec![(500.0, 0.0), (2500.0, 1.0)], linear: true, whole_packets: true };
        let [mean, squares] = table.drawn_moments();
        assert!((mean - (375_000.0 + 2_000_000.0 + 1_500_000.0 - 999.5) / 2000.0).abs() < 1e-9, "{mean}");
        let cubes = (1001f64.powi(3) - 500f64.powi(3)) / 3.0;
        assert!((squares - (cubes + 999.0 * 4e6 + 500.0 * 9e6) / 2000.0).abs() < 1e-6, "{squares}");
        let drawn = [999.9, 1000.0, 1000.9, 1001.0, 1999.0, 2000.0].map(|size| table.drawn(size));
        assert_eq!(drawn, [999, 1000, 1000, 2000, 2000, 3000]);
        for name in names() {
            let table = super::table(name).expect("shipped");
            let [mean, squares] = table.drawn_moments();
            assert!(table.whole_packets || (mean / table.mean() - 1.0).abs() < 1e-12, "{name}");
            let n = 1_000_000;
            let (mut sum, mut sum_of_squares) = (0.0, 0.0);
            for i in 0..n {
                let size = table.drawn(table.at((i as f64 + 0.5) / n as f64)) as f64;
                sum += size;
                sum_of_squares += size * size;
            }
            // Whole bytes lose up to one of each size; a few of a million sizes are the largest, which squares rest on.
            let (sum, sum_of_squares) = (sum / n as f64, sum_of_squares / n as f64);
            assert!((sum / mean - 1.0).abs() < 1e-3 + 1.0 / mean, "{name}: {sum} for {mean}");
            assert!((sum_of_squares / squares - 1.0).abs() < 0.03, "{name}: {sum_of_squares} for {squares}");
        }
    }

    #[test]
    fn quantiles_follow_the_rule_of_the_table() {
        let mut table =
            SizeTable { points: vec![(0.0, 0.0), (100.0, 0.5), (300.0, 1.0)], linear: true, whole_packets: false };
        assert_eq!(table.at(0.25), 50.0);
        assert_eq!(table.at(0.75), 200.0);
        assert_eq!(table.mean(), 125.0);
        table.linear = false;
        assert_eq!(table.at(0.25), 100.0);
        assert_eq!(table.at(0.5), 100.0);
        assert_eq!(table.at(0.75), 300.0);
        assert_eq!(table.mean(), 200.0);
    }

    #[test]
    fn a_repeated_size_is_an_atom_and_a_repeated_probability_is_a_gap() {
        let points = vec![(10.0, 0.2), (10.0, 0.6), (20.0, 0.6), (30.0, 1.0)];
        let table = SizeTable { points, linear: true, whole_packets: false };
        assert_eq!(table.at(0.1), 10.0);
        assert_eq!(table.at(0.5), 10.0);
        assert_eq!(table.at(0.8), 25.0);
        assert!((table.mean() - (0.6 * 10.0 + 0.4 * 25.0)).abs() < 1e-12);
    }

    #[test]
    fn both_forms_read_the_same() {
        let ours = parse("# interpolation=linear\nsize_bytes,cdf\n0,0\n1000,0.5\n2000,1\n", "a").expect("valid");
        let theirs = parse("0 0\n1000 50\n2000 100\n", "b").expect("valid");
        assert_eq!(ours, theirs);
        assert!(!parse("# interpolation=step\nsize_bytes,cdf\n0,0\n1,1", "c").expect("valid").linear);
    }
}
