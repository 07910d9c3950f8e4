//! A `.topo` file describes a fat tree of two or three tiers.
//!
//! ```text
//! Nodes 64
//! Tiers 2
//! Podsize 64
//! Tier 0
//! Downlink_speed_Gbps 400
//! Radix_Down 16
//! Radix_Up 8
//! Oversubscribed 2
//! Downlink_Latency_ns 500
//! Switch_Latency_ns 0
//! Tier 1
//! Downlink_speed_Gbps 400
//! Radix_Down 4
//! Downlink_Latency_ns 500
//! ```
//!
//! Source: `fat_tree_topology.cpp` of uet-htsim (sim/datacenter). Tier 0 are the switches of hosts, tier 1 aggregation,
//! tier 2 cores. Speeds and latencies are those of the links downwards. There are also `Queue_Up`, `Queue_Down` (bytes)
//! and `Bundle` (parallel links to a switch below). Each switch of hosts has a link, or a bundle, to each aggregation
//! switch of its pod. Core switches are shared out among the aggregation switches of a pod.
//!
//! | what the original does | here |
//! |---|---|
//! | keys in any case, comments with `#` | the same |
//! | words are split at single blanks | at any blanks |
//! | unknown lines before the first tier are ignored | refused |
//! | a second value is refused unless the first was 0 | refused |
//! | two tiers with several pods wire pods to one another | refused |
//! | a third tier is ignored if `Tiers` is 2, and so are `Radix_Up`, `Queue_Up` of its second | refused |
//! | Oversubscribed is Radix_Down / Radix_Up in whole numbers, whatever the speeds | the same: 3:2 cannot be said |
//! | numbers of uplinks follow from speeds and Oversubscribed, and must be those of the radixes | the same |

use crate::job::RANKS_MAX;
use crate::op::{BYTES_MAX, TIME_MAX};
use crate::refused::Refused;
use crate::text::{digits, quoted};
use crate::unwritten::Unwritten;
use backwater_types::{BitsPerSec, Bytes, Duration};
use std::collections::HashMap;
use std::fmt;
use std::io::{BufWriter, Write};

/// A fat tree of two or three tiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Number of hosts.
    pub hosts: u32,
    /// Hosts of a pod; all of them if there are two tiers.
    pub pod_hosts: u32,
    /// `[tier]`: its switches, those of hosts first.
    pub tiers: Vec<Tier>,
}

/// The switches of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Rate of each link to the tier below, or to hosts.
    pub rate: BitsPerSec,
    /// Number of links downwards.
    pub radix_down: u32,
    /// Number of links upwards; 0 at the top.
    pub radix_up: u32,
    /// Capacity of a port downwards, if the file says it.
    pub queue_down: Option<Bytes>,
    /// Capacity of a port upwards, if the file says it.
    pub queue_up: Option<Bytes>,
    /// Links downwards for each link upwards.
    pub oversubscribed: u32,
    /// Parallel links to each switch below.
    pub bundle: u32,
    /// Latency of each link to the tier below, or to hosts.
    pub link_latency: Duration,
    /// Latency of a switch.
    pub switch_latency: Duration,
}

/// Numbers of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Pods.
    pub pods: u32,
    /// Switches of hosts in each pod.
    pub tors: u32,
    /// Aggregation switches in each pod.
    pub aggregation: u32,
    /// Core switches; 0 if there are two tiers.
    pub cores: u32,
}

/// A value that does not fit others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Tier of the value; `None` if it is of the whole tree.
    pub tier: Option<usize>,
    /// Its key.
    pub key: &'static str,
    /// What it is, and what was expected.
    pub problem: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.tier {
            Some(tier) => write!(f, "tier {tier}: {} {}", self.key, self.problem),
            None => write!(f, "{} {}", self.key, self.problem),
        }
    }
}

const GBPS: u64 = 1_000_000_000;
const NODES: &str = "Nodes";
const TIERS: &str = "Tiers";
const POD: &str = "Podsize";
const TIER: &str = "Tier";
const SPEED: &str = "Downlink_speed_Gbps";
const DOWN: &str = "Radix_Down";
const UP: &str = "Radix_Up";
const QUEUE_DOWN: &str = "Queue_Down";
const QUEUE_UP: &str = "Queue_Up";
const OVERSUBSCRIBED: &str = "Oversubscribed";
const BUNDLE: &str = "Bundle";
const LINK: &str = "Downlink_Latency_ns";
const SWITCH: &str = "Switch_Latency_ns";
/// Keys of a tier with the numbers that they may have.
const KEYS: [(&str, u64, u64); 9] = [
    (SPEED, 1, 100_000),
    (DOWN, 1, RANKS_MAX as u64),
    (UP, 1, RANKS_MAX as u64),
    (QUEUE_DOWN, 1, BYTES_MAX),
    (QUEUE_UP, 1, BYTES_MAX),
    (OVERSUBSCRIBED, 1, RANKS_MAX as u64),
    (BUNDLE, 1, RANKS_MAX as u64),
    (LINK, 1, TIME_MAX.0 / 1000),
    (SWITCH, 0, TIME_MAX.0 / 1000),
];
const HEADERS: [(&str, u64, u64); 3] = [(NODES, 1, RANKS_MAX as u64), (TIERS, 2, 3), (POD, 1, RANKS_MAX as u64)];

/// Values that were read: by tier, [`HEAD`] for the header, and key, with their lines.
type Values = HashMap<(usize, &'static str), (u64, u64)>;
const HEAD: usize = usize::MAX;

/// Reads a fat tree. `file` is its name in messages.
///
/// # Errors
/// Names the first line that is refused, what it has, and what was expected.
pub fn read(text: &str, file: &str) -> Result<FatTree, Refused> {
    let mut values = Values::new();
    let mut tier = HEAD;
    for (line, content) in (1..).zip(text.lines()) {
        let words: Vec<&str> = content.split_ascii_whitespace().take(3).collect();
        if words.first().is_some_and(|word| !word.starts_with('#')) {
            read_line(&mut values, &mut tier, line, &words).map_err(|problem| Refused::line(file, line, problem))?;
        }
    }
    let tree = assemble(&values).map_err(|problem| Refused::at(file, problem))?;
    let refuse = |mismatch: Mismatch| match values.get(&(mismatch.tier.unwrap_or(HEAD), mismatch.key)) {
        Some((line, _)) => Refused::line(file, *line, format_args!("{} {}", mismatch.key, mismatch.problem)),
        None => Refused::at(file, mismatch),
    };
    tree.switches().map_err(refuse)?;
    Ok(tree)
}

fn read_line(values: &mut Values, tier: &mut usize, line: u64, words: &[&str]) -> Result<(), String> {
    let is = |key: &str| key.eq_ignore_ascii_case(words[0]);
    let [_, value] = words else {
        return Err(format!("{}: expected a key and a number", quoted(words.join(" "))));
    };
    let number = |key: &str, low: u64, high: u64| {
        let number = digits(value).filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| format!("{key} {}: expected {low} to {high}", quoted(value)))
    };
    if is(TIER) {
        let Some((_, tiers)) = values.get(&(HEAD, TIERS)) else { return Err("Tier: expected Tiers before it".into()) };
        *tier = number(TIER, 0, tiers - 1)? as usize;
        return Ok(());
    }
    let allowed: &[_] = if *tier == HEAD { &HEADERS } else { &KEYS };
    let Some((key, low, high)) = allowed.iter().find(|(key, ..)| is(key)) else {
        let keys = allowed.iter().map(|(key, ..)| *key).collect::<Vec<_>>().join(", ");
        return Err(format!("{}: expected {keys} or Tier", quoted(words[0])));
    };
    if matches!(*key, UP | QUEUE_UP) && *tier as u64 + 1 == values[&(HEAD, TIERS)].1 {
        return Err(format!("{key}: expected none, as nothing is above tier {tier}"));
    }
    match values.insert((*tier, key), (line, number(key, *low, *high)?)) {
        Some((first, _)) => Err(format!("{key}: expected it once, as on line {first}")),
        None => Ok(()),
    }
}

fn assemble(values: &Values) -> Result<FatTree, String> {
    let get = |tier, key| values.get(&(tier, key)).map(|(_, value)| *value);
    let head = |key| get(HEAD, key).ok_or_else(|| format!("has no {key}: expected it before the first Tier"));
    let (hosts, tiers, pod_hosts) = (head(NODES)? as u32, head(TIERS)? as usize, head(POD)? as u32);
    let tiers = (0..tiers).map(|tier| {
        let need = |key| get(tier, key).ok_or_else(|| format!("has no {key} of tier {tier}: expected it"));
        Ok(Tier {
            rate: BitsPerSec(need(SPEED)? * GBPS),
            radix_down: need(DOWN)? as u32,
            radix_up: if tier + 1 < tiers { need(UP)? as u32 } else { 0 },
            queue_down: get(tier, QUEUE_DOWN).map(Bytes),
            queue_up: get(tier, QUEUE_UP).map(Bytes),
            oversubscribed: get(tier, OVERSUBSCRIBED).unwrap_or(1) as u32,
            bundle: get(tier, BUNDLE).unwrap_or(1) as u32,
            link_latency: Duration::from_ns(need(LINK)?),
            switch_latency: Duration::from_ns(get(tier, SWITCH).unwrap_or(0)),
        })
    });
    Ok(FatTree { hosts, pod_hosts, tiers: tiers.collect::<Result<_, String>>()? })
}

impl FatTree {
    /// Counts the switches.
    ///
    /// # Errors
    /// If values do not fit: each number of links must be whole, and that of uplinks the one that follows from speeds.
    ///
    /// # Panics
    /// If there are not two or three tiers, or a number is 0.
    pub fn switches(&self) -> Result<Switches, Mismatch> {
        let FatTree { hosts, pod_hosts, tiers } = self;
        assert!((2..=3).contains(&tiers.len()), "two or three tiers");
        let [tor, aggregation] = [tiers[0], tiers[1]];
        let wrong = |tier, key, problem: String| Err(Mismatch { tier, key, problem });
        self.check_bundles()?;
        if hosts % pod_hosts != 0 {
            return wrong(None, POD, format!("{pod_hosts}: expected a divisor of Nodes, {hosts}"));
        }
        if tiers.len() == 2 && pod_hosts != hosts {
            return wrong(None, POD, format!("{pod_hosts}: expected {hosts}, as Nodes, of two tiers"));
        }
        if pod_hosts % tor.radix_down != 0 {
            return wrong(Some(0), DOWN, format!("{}: expected a divisor of Podsize, {pod_hosts}", tor.radix_down));
        }
        let pods = hosts / pod_hosts;
        let expected = tor.radix_down / tor.radix_up;
        if tor.oversubscribed != expected {
            let Tier { oversubscribed, radix_down, radix_up, .. } = tor;
            let problem = format!("{oversubscribed}: expected {radix_down} / {radix_up} in whole numbers, {expected}");
            return wrong(Some(0), OVERSUBSCRIBED, problem);
        }
        let uplinks = self.uplinks(0, u64::from(*hosts))?;
        let below = u64::from(pods) * u64::from(aggregation.radix_down);
        if uplinks % below != 0 {
            let problem = format!(
                "{}: expected a divisor of {} uplinks of a pod",
                aggregation.radix_down,
                uplinks / u64::from(pods)
            );
            return wrong(Some(1), DOWN, problem);
        }
        let each = uplinks / below;
        if each * u64::from(aggregation.bundle) != u64::from(tor.radix_up) {
            let from = format!("{each} aggregation switches a pod, which follow from {uplinks} uplinks");
            let problem = format!("{}: expected {} links to each of {from}", tor.radix_up, aggregation.bundle);
            return wrong(Some(0), UP, problem);
        }
        let cores = if tiers.len() == 3 { self.cores(uplinks, each)? } else { 0 };
        Ok(Switches { pods, tors: pod_hosts / tor.radix_down, aggregation: each as u32, cores: cores as u32 })
    }

    fn check_bundles(&self) -> Result<(), Mismatch> {
        for (tier, Tier { radix_down, radix_up, bundle, .. }) in self.tiers.iter().enumerate() {
            let wrong = |key, problem: String| Err(Mismatch { tier: Some(tier), key, problem });
            if tier == 0 && *bundle != 1 {
                return wrong(BUNDLE, format!("{bundle}: expected 1, as a host has one link"));
            }
            if radix_down % bundle != 0 {
                return wrong(DOWN, format!("{radix_down}: expected a multiple of Bundle, {bundle}"));
            }
            if let Some(above) = self.tiers.get(tier + 1)
                && radix_up % above.bundle != 0
            {
                return wrong(
                    UP,
                    format!("{radix_up}: expected a multiple of Bundle of the tier above, {}", above.bundle),
                );
            }
        }
        Ok(())
    }

    /// Number of links from a tier upwards, which has `down` links downwards.
    fn uplinks(&self, tier: usize, down: u64) -> Result<u64, Mismatch> {
        let (this, above) = (self.tiers[tier], self.tiers[tier + 1]);
        let (down, up) =
            (u128::from(down) * u128::from(this.rate.0), u128::from(above.rate.0) * u128::from(this.oversubscribed));
        if !down.is_multiple_of(up) {
            let [down, up] = [down, up].map(|rate| rate / u128::from(GBPS));
            let problem = format!("{}: expected whole uplinks, not {down} Gb/s / {up} Gb/s", this.oversubscribed);
            return Err(Mismatch { tier: Some(tier), key: OVERSUBSCRIBED, problem });
        }
        // At most 2^20 hosts times 10^5 Gb/s over 1 Gb/s.
        Ok((down / up) as u64)
    }

    /// Number of core switches, with `tor_uplinks` from the first tier to `aggregation` switches of each pod.
    fn cores(&self, tor_uplinks: u64, aggregation: u64) -> Result<u64, Mismatch> {
        let (middle, core) = (self.tiers[1], self.tiers[2]);
        let uplinks = self.uplinks(1, tor_uplinks)?;
        let down = u64::from(core.radix_down);
        if uplinks % down != 0 {
            let problem = format!("{down}: expected a divisor of {uplinks} uplinks of aggregation switches");
            return Err(Mismatch { tier: Some(2), key: DOWN, problem });
        }
        let cores = uplinks / down;
        if cores % aggregation != 0 {
            let problem = format!("{down}: expected a multiple of {aggregation} core switches, not {cores}");
            return Err(Mismatch { tier: Some(2), key: DOWN, problem });
        }
        let expected = cores * u64::from(core.bundle) / aggregation;
        if expected != u64::from(middle.radix_up) {
            let problem = format!("{}: expected {expected}, as {cores} core switches need", middle.radix_up);
            return Err(Mismatch { tier: Some(1), key: UP, problem });
        }
        Ok(cores)
    }
}

/// Writes a fat tree.
///
/// # Errors
/// If a rate is not whole in Gb/s or a latency in ns; nothing is written then.
pub fn write(tree: &FatTree, out: impl Write) -> Result<(), Unwritten> {
    for (number, tier) in tree.tiers.iter().enumerate() {
        let Tier { rate, link_latency, switch_latency, .. } = tier;
        let latency = [link_latency, switch_latency].into_iter().find(|latency| latency.0 % 1000 != 0);
        let what = match latency {
            Some(latency) => format!("{} ps", latency.0),
            None if rate.0 % GBPS != 0 => format!("{} bit/s", rate.0),
            None => continue,
        };
        return Err(Unwritten::Cannot { what: format!("tier {number} has {what}"), format: "a fat tree of htsim" });
    }
    let mut out = BufWriter::new(out);
    writeln!(out, "{NODES} {}\n{TIERS} {}\n{POD} {}", tree.hosts, tree.tiers.len(), tree.pod_hosts)?;
    for (number, tier) in tree.tiers.iter().enumerate() {
        let top = number + 1 == tree.tiers.len();
        let values = [
            (SPEED, Some(tier.rate.0 / GBPS)),
            (DOWN, Some(tier.radix_down.into())),
            (UP, Some(tier.radix_up.into()).filter(|_| !top)),
            (QUEUE_DOWN, tier.queue_down.map(|queue| queue.0)),
            (QUEUE_UP, tier.queue_up.map(|queue| queue.0).filter(|_| !top)),
            (OVERSUBSCRIBED, Some(tier.oversubscribed.into()).filter(|_| !top)),
            (BUNDLE, Some(tier.bundle.into()).filter(|bundle| *bundle != 1)),
            (LINK, Some(tier.link_latency.0 / 1000)),
            (SWITCH, Some(tier.switch_latency.0 / 1000)),
        ];
        writeln!(out, "\n{TIER} {number}")?;
        for (key, value) in values {
            if let Some(value) = value {
                writeln!(out, "{key} {value}")?;
            }
        }
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "Nodes 128\nTiers 3\nPodsize 16\n\n\
        Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nQueue_Down 9000\nOversubscribed 1\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 5\n\n\
        Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 1\nOversubscribed 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n\n\
        Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";
    const TWO: &str = "nodes 64\nTIERS 2\npodsize\t64\n# x\nTier 0\nDownlink_speed_Gbps 400\r\nradix_down 16\nRadix_Up 8\n\
        Oversubscribed 2\nDownlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps  400\nRadix_Down 8\nBundle 2\nDownlink_Latency_ns 500";

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let tree = read(THREE, "t").expect("valid");
        let mut text = Vec::new();
        write(&tree, &mut text).expect("memory");
        assert_eq!(String::from_utf8_lossy(&text), THREE);
        assert_eq!(tree.tiers[0].queue_down, Some(Bytes(9000)));
        assert_eq!(tree.switches(), Ok(Switches { pods: 8, tors: 4, aggregation: 4, cores: 4 }));
    }

    #[test]
    fn parts_of_units_are_not_written() {
        let said = |change: &dyn Fn(&mut Tier)| {
            let mut tree = read(THREE, "t").expect("valid");
            change(&mut tree.tiers[1]);
            write(&tree, Vec::new()).expect_err("not whole").to_string()
        };
        let expected = "tier 1 has 1500 ps: a fat tree of htsim cannot say that";
        assert_eq!(said(&|tier| tier.switch_latency = Duration(1500)), expected);
        let expected = "tier 1 has 2500000000 bit/s: a fat tree of htsim cannot say that";
        assert_eq!(said(&|tier| tier.rate = BitsPerSec(2_500_000_000)), expected);
    }

    #[test]
    fn two_tiers_have_one_pod_and_may_have_bundles() {
        let tree = read(TWO, "t").expect("valid");
        assert_eq!(tree.switches(), Ok(Switches { pods: 1, tors: 4, aggregation: 4, cores: 0 }));
        assert_eq!((tree.tiers[1].bundle, tree.tiers[1].radix_up), (2, 0));
    }

    #[test]
    fn values_are_refused_by_line() {
        let cases = [
            (TWO, "nodes 64", "nodes 0", "t:1: Nodes \"0\": expected 1 to 1048576"),
            (TWO, "nodes 64\n", "", "t: has no Nodes: expected it before the first Tier"),
            (TWO, "TIERS 2", "Tiers 4", "t:2: Tiers \"4\": expected 2 to 3"),
            (TWO, "TIERS 2", "Tiers two", "t:2: Tiers \"two\": expected 2 to 3"),
            (TWO, "TIERS 2", "Tiers", "t:2: \"Tiers\": expected a key and a number"),
            (TWO, "TIERS 2", "Tiers 2 3", "t:2: \"Tiers 2 3\": expected a key and a number"),
            (TWO, "TIERS 2\n", "", "t:4: Tier: expected Tiers before it"),
            (TWO, "# x", "Hosts 3", "t:4: \"Hosts\": expected Nodes, Tiers, Podsize or Tier"),
            (TWO, "podsize\t64", "podsize 32", "t:3: Podsize 32: expected 64, as Nodes, of two tiers"),
            (TWO, "Tier 1", "Tier 2", "t:11: Tier \"2\": expected 0 to 1"),
            (TWO, "Bundle 2", "Radix_Up 2", "t:14: Radix_Up: expected none, as nothing is above tier 1"),
            (TWO, "Bundle 2", "radix_down 2", "t:14: Radix_Down: expected it once, as on line 13"),
            (TWO, "Bundle 2", "Bundle 3", "t:8: Radix_Up 8: expected a multiple of Bundle of the tier above, 3"),
            (
                TWO,
                "Bundle 2\n",
                "",
                "t:8: Radix_Up 8: expected 1 links to each of 4 aggregation switches a pod, which follow from 32 uplinks",
            ),
            (TWO, "Radix_Up 8\n", "", "t: has no Radix_Up of tier 0: expected it"),
            (TWO, "radix_down 16", "Radix_Down 24", "t:7: Radix_Down 24: expected a divisor of Podsize, 64"),
            (TWO, "Oversubscribed 2", "Oversubscribed 3", "t:9: Oversubscribed 3: expected 16 / 8 in whole numbers, 2"),
            (TWO, "Oversubscribed 2\n", "", "t: tier 0: Oversubscribed 1: expected 16 / 8 in whole numbers, 2"),
            (TWO, "Radix_Down 8", "Radix_Down 6", "t:13: Radix_Down 6: expected a divisor of 32 uplinks of a pod"),
            (THREE, "Podsize 16", "Podsize 24", "t:3: Podsize 24: expected a divisor of Nodes, 128"),
            (
                THREE,
                "Oversubscribed 4",
                "Oversubscribed 5",
                "t:18: Oversubscribed 5: expected whole uplinks, not 12800 Gb/s / 500 Gb/s",
            ),
            (THREE, "Oversubscribed 4", "Oversubscribed 1", "t:17: Radix_Up 1: expected 4, as 16 core switches need"),
            (
                THREE,
                "Radix_Down 8",
                "Radix_Down 64",
                "t:24: Radix_Down 64: expected a divisor of 32 uplinks of aggregation switches",
            ),
            (
                THREE,
                "Radix_Down 8",
                "Radix_Down 16",
                "t:24: Radix_Down 16: expected a multiple of 4 core switches, not 2",
            ),
            (THREE, "Queue_Down 9000", "Bundle 2", "t:9: Bundle 2: expected 1, as a host has one link"),
            (
                THREE,
                "Queue_Down 9000",
                "Nodes 2",
                "t:9: \"Nodes\": expected Downlink_speed_Gbps, Radix_Down, Radix_Up, Queue_Down, \
              Queue_Up, Oversubscribed, Bundle, Downlink_Latency_ns, Switch_Latency_ns or Tier",
            ),
        ];
        for (text, from, to, said) in cases {
            assert!(text.contains(from), "{from}");
            let text = text.replacen(from, to, 1);
            assert_eq!(read(&text, "t").expect_err(&text).to_string(), said, "{from} -> {to}");
        }
    }
}
