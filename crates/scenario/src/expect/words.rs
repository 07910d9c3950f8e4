//! Texts of expectations that have their own syntax.

use crate::document::{Node, Value};
use backwater_types::{BitsPerSec, Bytes, Duration};

/// Names of the forms in the schema, and their descriptions.
pub(crate) const FORMS: &[(&str, &str)] = &[
    ("Statistic", "a statistic: mean, min, max, or a percentile such as p50, p99 or p99.99"),
    (
        "SampleStatistic",
        "a statistic: mean, min, max, a percentile such as p99, or a share such as \"share>720000\" or \"share<=720000\"",
    ),
    (
        "FlowsStatistic",
        "a statistic: mean, max, a percentile from p0 to p99, or a share such as \"share>32\" or \"share<=32\"",
    ),
    (
        "SharingStatistic",
        "a statistic of per cents: mean, max, a percentile from p0 to p99, or a share such as \"share>0\" or \"share<=50\"",
    ),
    ("Spread", "\"deviation\": the standard deviation over the points that `over` makes one, in place of their mean"),
    ("SizeRange", "a range of sizes in bytes: \"<=3000\", \">1000000\" or \"(200000,1000000]\""),
    ("SweptNumber", "a number, or a text with a unit such as \"325 KB\", as a swept key takes"),
    ("SummaryPath", "a number of summary.json, such as \"buffer.p99_bytes\" or \"load[class=incast].offered_bps\""),
];

/// Paths of the numbers in `summary.json`, which `measure/summary.rs` of the simulator writes; a test compares both.
/// `[]` is an entry of a list, selected by one of its keys.
const SUMMARY: &[(&str, &[&str])] = &[
    ("flows", &["total", "counted", "finished", "unfinished", "retransmitted_packets"]),
    ("ending", &["held_queues"]),
    ("deadlock", &["ports", "components"]),
    ("load[]", &["asked", "realised", "sampling_error", "flows", "offered_bps"]),
    ("core_utilisation", &[]),
    (
        "slowdown[]",
        &[
            "size_low_bytes",
            "size_high_bytes",
            "flows",
            "unfinished",
            "mean",
            "p50",
            "p95",
            "p99",
            "mean_excess_ns",
            "p99_excess_ns",
        ],
    ),
    ("buffer", &["mean_bytes", "p50_bytes", "p95_bytes", "p99_bytes", "max_bytes"]),
    ("active_flows", &["mean", "p50", "p99", "max", "share_below_queues"]),
    (
        "pause",
        &[
            "pfc_pauses",
            "pfc_paused_fraction",
            "bfc_pauses",
            "bfc_resumes",
            "bfc_bitmaps",
            "flow_pauses",
            "flow_resumes",
        ],
    ),
    ("collisions", &["assignments", "collisions"]),
    ("valleys", &["packets"]),
    ("drops", &["buffer", "headroom", "link-loss", "link-down", "no-route", "paused", "nic", "not-ect", "credit"]),
    ("loss", &["data_packets", "dropped", "share", "share_per_port"]),
    ("timeouts", &["total", "flows", "silent", "tail", "retransmission", "held", "handshake"]),
    ("credits", &["received", "wasted", "waste", "dropped"]),
    ("recirculated", &["headers", "waited", "waited_share", "longest_ns"]),
    ("collectives[]", &["flows", "started", "received", "completion_ps"]),
    ("jobs[]", &["ranks", "operations", "iterations", "ended", "iteration_ps", "slowest_ps", "sent_bytes", "waiting"]),
    ("queueing_delay", &["mean_ns", "p50_ns", "p99_ns", "packets"]),
    ("scheduled_delay[]", &["p50_ns", "p95_ns", "p99_ns", "packets"]),
    ("throughput[]", &["goodput_bps", "early_goodput_bps"]),
    ("packet_hops", &[]),
    ("sim_time_ps", &[]),
];

/// Whether a value has the form of this name; `None` if no form has the name.
pub(crate) fn reads(form: &str, node: &Node) -> Option<bool> {
    let text = node.text();
    Some(match form {
        "Statistic" => text.is_some_and(is_statistic),
        "SampleStatistic" => text.is_some_and(|text| is_statistic(text) || is_share(text)),
        "Spread" => text == Some("deviation"),
        "FlowsStatistic" | "SharingStatistic" => {
            text.is_some_and(|text| is_share(text) || text != "min" && is_statistic(text) && !text.contains('.'))
        }
        "SizeRange" => text.is_some_and(is_size_range),
        "SweptNumber" => number_of(node).is_some(),
        "SummaryPath" => text.is_some_and(is_summary_path),
        _ => return None,
    })
}

/// Sort key of a swept value: a number, or a quantity in its base unit; `None` for other values.
pub(crate) fn number_of(node: &Node) -> Option<f64> {
    match &node.value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(x) => Some(*x).filter(|x| x.is_finite()),
        Value::Text(text) => {
            let time = text.parse::<Duration>().map(Duration::as_secs_f64);
            let size = || text.parse::<Bytes>().map(|size| size.0 as f64);
            let rate = || text.parse::<BitsPerSec>().map(|rate| rate.0 as f64);
            time.or_else(|_| size()).or_else(|_| rate()).ok()
        }
        _ => None,
    }
}

/// Whether a name matches a pattern, in which `*` is any text. Other special characters are not supported, and such
/// patterns match all.
pub(crate) fn is_like(pattern: &str, name: &str) -> bool {
    if pattern.contains(['?', '[']) {
        return true;
    }
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let Some((middle, tail)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
    for part in middle.split('*') {
        match left.split_once(part) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    left.ends_with(tail)
}

fn is_statistic(text: &str) -> bool {
    let percentile = |digits: &str| {
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        is_number(whole, 2) && is_number(fraction, 6)
    };
    matches!(text, "mean" | "min" | "max") || text.strip_prefix('p').is_some_and(percentile)
}

fn is_share(text: &str) -> bool {
    let bound = text.strip_prefix("share<=").or(text.strip_prefix("share>"));
    bound.is_some_and(|digits| is_number(digits, 18))
}

fn is_size_range(text: &str) -> bool {
    let one = text.strip_prefix("<=").or(text.strip_prefix('>'));
    let both = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(']')).and_then(|rest| rest.split_once(','));
    let rising = |(low, high): (&str, &str)| {
        is_number(low, 18) && is_number(high, 18) && low.parse::<u64>().ok() < high.parse::<u64>().ok()
    };
    one.is_some_and(|digits| is_number(digits, 18)) || both.is_some_and(rising)
}

/// Whether a path is of the form `load[class=incast].offered_bps`, `load[class].offered_bps`, or by index
/// `load.0.offered_bps`.
fn is_summary_path(text: &str) -> bool {
    SUMMARY.iter().any(|(root, leaves)| {
        let (name, list) = root.strip_suffix("[]").map_or((*root, false), |name| (name, true));
        let Some(rest) = text.strip_prefix(name) else { return false };
        if leaves.is_empty() {
            return rest.is_empty();
        }
        let leaf = match list {
            false => rest.strip_prefix('.'),
            true => entry(rest),
        };
        leaf.is_some_and(|leaf| leaves.contains(&leaf))
    })
}

/// Rest of a path behind an entry of a list.
fn entry(rest: &str) -> Option<&str> {
    if let Some(picked) = rest.strip_prefix('[') {
        let (key, behind) = picked.split_once(']')?;
        let name = key.split_once('=').map_or(key, |(name, _)| name);
        let known = key == "class" || key.contains('=') && ["class", "hop", "bin"].contains(&name);
        return behind.strip_prefix('.').filter(|_| known);
    }
    let (place, leaf) = rest.strip_prefix('.')?.split_once('.')?;
    is_number(place, 6).then_some(leaf)
}

/// Whether a text is one to `most` digits.
fn is_number(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_spelt_as_they_are_read() {
        for text in ["mean", "min", "max", "p0", "p50", "p99.99"] {
            assert!(is_statistic(text), "{text}");
        }
        for text in ["", "p", "p999x", "p100", "p9.", "median", "p\u{665}\u{660}", "p1.1234567"] {
            assert!(!is_statistic(text), "{text}");
        }
        assert!(is_share("share>32") && is_share("share<=720000"));
        assert!(!is_share("share<32") && !is_share("share>") && !is_share("share>1e3"));
    }

    #[test]
    fn patterns_are_those_of_a_shell() {
        for pattern in ["spine12", "spine*", "*", "*12", "s*1*", "s*i*2", "sp*ne*2", "[st]*", "spine1?"] {
            assert!(is_like(pattern, "spine12"), "{pattern}");
        }
        for pattern in ["spine1", "spin", "leaf*", "*1", "s*x*", "spine12*2", ""] {
            assert!(!is_like(pattern, "spine12"), "{pattern}");
        }
    }

    #[test]
    fn ranges_rise() {
        assert!(is_size_range("<=3000") && is_size_range(">0") && is_size_range("(0,1]"));
        for text in ["", "<3000", "(2,1]", "(1,1]", "(1,2)", "<=9999999999999999999", "<= 3"] {
            assert!(!is_size_range(text), "{text}");
        }
    }

    #[test]
    fn paths_lead_to_numbers() {
        for text in [
            "loss.share",
            "packet_hops",
            "load[class=a.b].offered_bps",
            "throughput[class].goodput_bps",
            "scheduled_delay[hop=2-1].p99_ns",
            "load.0.asked",
        ] {
            assert!(is_summary_path(text), "{text}");
        }
        for text in
            ["loss", "loss.shar", "load.offered_bps", "load[0].asked", "packet_hops.0", "load[class=x].as_asked"]
        {
            assert!(!is_summary_path(text), "{text}");
        }
    }
}
