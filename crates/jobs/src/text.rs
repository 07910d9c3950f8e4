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

/// Parses a decimal number without sign, exact in units of `1 / scale`, a power of ten. `None` if it is not whole in
/// these.
pub(crate) fn scaled(text: &str, scale: u64) -> Option<u64> {
    let (whole, mut fraction) = text.split_once('.').map_or((text, "0"), |(whole, fraction)| (whole, fraction));
    if fraction.is_empty() || !fraction.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let (mut sum, mut unit) = (digits::<u64>(whole)?.checked_mul(scale)?, scale);
    while let Some(digit) = fraction.bytes().next() {
        fraction = &fraction[1..];
        match (digit, unit) {
            (b'0', _) => {}
            (_, 0 | 1) => return None,
            (digit, unit) => sum = sum.checked_add(u64::from(digit - b'0') * (unit / 10))?,
        }
        unit /= 10;
    }
    Some(sum)
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
    fn decimals_are_exact() {
        assert_eq!((scaled("1.5", 1000), scaled("1.0010", 1000), scaled("7", 1)), (Some(1500), Some(1001), Some(7)));
        assert_eq!(
            (scaled("1.0001", 1000), scaled("1.", 1000), scaled(".5", 1000), scaled("1.-", 9)),
            (None, None, None, None)
        );
        assert_eq!((scaled("0.000000", 1), scaled("18446744073709551.616", 1000)), (Some(0), None));
    }

    #[test]
    fn what_is_shown_is_short_and_in_one_line() {
        assert_eq!(quoted("a\n\u{202e}\"b"), "\"a\\n\\u{202e}\"b\"");
        assert_eq!(quoted(vec![b'x'; 1000]), format!("\"{}...\"", "x".repeat(60)));
        assert_eq!(quoted([0xff]), "\"\u{fffd}\"");
    }
}
