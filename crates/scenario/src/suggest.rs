//! "Did you mean": the closest allowed name.

/// Longest word that is compared; longer ones are no slips, and comparing them would take long.
const WORD_MAX: usize = 100;
/// More names than these do not help in an error.
const MANY: usize = 12;

/// Shortest part of a name, between underscores, by which it is recognised.
const PART_MIN: usize = 5;

/// Returns the allowed name closest to `word`, if it is close enough to be a slip; or else the first that `word` is a
/// beginning of.
fn closest<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    if word.len() > WORD_MAX {
        return None;
    }
    let limit = word.chars().count() / 3;
    let word = plain(word);
    let ranked = allowed.into_iter().filter(|name| name.len() <= WORD_MAX).filter_map(|name| {
        let edits = distance(&word, &plain(name));
        let begun = word.len() >= 3 && plain(name).starts_with(&word);
        (edits <= limit || begun).then_some((if edits <= limit { edits } else { limit + 1 }, name))
    });
    ranked.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// Returns the first allowed name that has a part of `word`, as `fb_hadoop` has of `facebook_hadoop`.
fn related<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let parts = || word.split('_').filter(|part| part.len() >= PART_MIN);
    allowed.iter().copied().find(|name| name.split('_').any(|part| parts().any(|other| other == part)))
}

fn asked(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("did you mean \"{name}\"? "))
}

/// Returns `did you mean "bfc"? `, or nothing, to go before the list of allowed names.
pub(crate) fn hint<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    asked(closest(word, allowed))
}

/// Returns what was expected in place of `word`: the closest name or a related one, and all allowed names, or if they are
/// many the command that lists them.
pub(crate) fn expected(word: &str, allowed: &[&str], command: &str) -> String {
    let hint = asked(closest(word, allowed.iter().copied()).or_else(|| related(word, allowed)));
    match allowed.len() {
        0..=MANY => format!("{hint}expected one of {}", allowed.join(", ")),
        many => format!("{hint}expected one of the {many} names that `{command}` lists"),
    }
}

/// Counts the edits from `a` to `b`: insert, delete, replace, or swap two neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let keys = ["queues", "quantum", "buffer", "symmetric_ecmp"];
        assert_eq!(closest("quues", keys), Some("queues"));
        assert_eq!(closest("bufer", keys), Some("buffer"));
        assert_eq!(closest("Symmetric-ECMP", keys), Some("symmetric_ecmp"));
        assert_eq!(closest("colour", keys), None);
        assert_eq!(closest("google", ["fb_hadoop", "google_rpc", "google_rpc_bfc_authors"]), Some("google_rpc"));
        let tables = ["cache", "fb_hadoop", "web_search", "homa_w4_fb_hadoop"];
        assert_eq!(related("facebook_hadoop", &tables), Some("fb_hadoop"));
        assert_eq!(related("Hadoop", &tables), Some("fb_hadoop"));
        assert_eq!(related("my_web_load", &tables), None);
        assert_eq!(distance("bcf", "bfc"), 1);
    }

    #[test]
    fn many_names_are_left_to_the_command_that_lists_them() {
        let names: Vec<String> = (0..13).map(|i| format!("name{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(
            expected("nam3", &names, "backwater list names"),
            "did you mean \"name3\"? expected one of the 13 names that `backwater list names` lists"
        );
        assert_eq!(expected("x", &names[..2], "backwater list names"), "expected one of name0, name1");
    }
}
