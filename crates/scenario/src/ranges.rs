//! Ranges of names: `host2..host5` stands for `host2`, `host3`, `host4` and `host5`.

/// Most names of a range: a network has no more hosts, and no more switches.
const NAMES_MAX: u32 = 60_000;

/// Expands `host2`, `host5` to `host2`, `host3`, `host4`, `host5`.
pub(crate) fn range(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |name: &str| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at(name.len() - digits);
        // `host01` is another name than `host1`.
        let plain = number == "0" || !number.starts_with('0');
        Some((prefix.to_string(), number.parse::<u32>().ok().filter(|_| plain)?))
    };
    let ((prefix, low), (other, high)) = (split(first.trim())?, split(last.trim())?);
    let sound = prefix == other && low <= high && high - low < NAMES_MAX;
    sound.then(|| (low..=high).map(|number| format!("{prefix}{number}")).collect())
}
