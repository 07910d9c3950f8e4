//! Texts of users: what they say in digits, and how they are shown in one line of sane length.

/// A whole number written in digits alone, without the sign and the separators that other formats allow.
pub(crate) fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// At most `limit` characters.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.into();
    }
    let kept: String = text.chars().take(limit - 3).collect();
    format!("{kept}...")
}

/// The character, or its number where it would not show or would turn the line round.
pub(crate) fn legible(c: char) -> String {
    let escaped = c.escape_debug().to_string();
    if escaped.starts_with("\\u") || c.is_control() { c.escape_default().to_string() } else { c.to_string() }
}

/// Of a long text beginning and end: what is allowed stands there.
pub(crate) fn abridge(text: &str) -> String {
    let count = text.chars().count();
    if count <= 1500 {
        return text.into();
    }
    let (head, tail): (String, String) = (text.chars().take(300).collect(), text.chars().skip(count - 1000).collect());
    format!("{head} ... {tail}")
}
