//! Texts of users: numbers in digits, and display in one line of limited length.

/// Parses a whole number written in digits alone, without the sign and the separators that other formats allow.
pub(crate) fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Shortens a text to `limit` characters.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.into();
    }
    let kept: String = text.chars().take(limit - 3).collect();
    format!("{kept}...")
}

/// Shows a character, or its number if it is invisible or would reverse the line.
pub(crate) fn legible(c: char) -> String {
    let escaped = c.escape_debug().to_string();
    if escaped.starts_with("\\u") || c.is_control() { c.escape_default().to_string() } else { c.to_string() }
}

/// Shortens a long text in the middle: the end of a message has the allowed values.
pub(crate) fn abridge(text: &str) -> String {
    let count = text.chars().count();
    if count <= 1500 {
        return text.into();
    }
    let (head, tail): (String, String) = (text.chars().take(300).collect(), text.chars().skip(count - 1000).collect());
    format!("{head} ... {tail}")
}
