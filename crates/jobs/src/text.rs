//! Texts of users: numbers in digits, and display in one line of limited length.

/// Parses a whole number written in digits alone, without the sign and the separators that other formats allow.
pub(crate) fn digits<T: TryFrom<u64>>(text: impl AsRef<[u8]>) -> Option<T> {
    let text = text.as_ref();
    let add = |sum: u64, c: &u8| match c {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(c - b'0')),
        _ => None,
    };
    let number = text.iter().try_fold(0, add).filter(|_| !text.is_empty())?;
    T::try_from(number).ok()
}

/// Shows what a user wrote in quotes: in one line, its first 60 characters.
pub(crate) fn quoted(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    // A character has at most four bytes.
    let head = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]);
    let mut shown: String = head.chars().take(SHOWN).map(legible).collect();
    if text.len() > 4 * SHOWN || head.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    format!("\"{shown}\"")
}

/// Characters that [`quoted`] shows.
const SHOWN: usize = 60;

/// Shows a character, or its number if it is invisible or would reverse the line.
fn legible(c: char) -> String {
    let escaped = c.escape_debug().to_string();
    if escaped.starts_with("\\u") || c.is_control() { c.escape_default().to_string() } else { c.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_in_range() {
        assert_eq!((digits::<u8>("255"), digits::<u8>("256"), digits::<u8>("")), (Some(255), None, None));
        assert_eq!((digits::<u64>("18446744073709551615"), digits::<u64>("18446744073709551616")), (Some(!0), None));
        assert_eq!((digits::<u64>("+1"), digits::<u64>("1_0"), digits::<u64>("00012")), (None, None, Some(12)));
    }

    #[test]
    fn what_is_shown_is_short_and_in_one_line() {
        assert_eq!(quoted("a\n\u{202e}\"b"), "\"a\\n\\u{202e}\"b\"");
        assert_eq!(quoted(vec![b'x'; 1000]), format!("\"{}...\"", "x".repeat(60)));
        assert_eq!(quoted([0xff]), "\"\u{fffd}\"");
    }
}
