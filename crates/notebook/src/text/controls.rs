//! Makes control characters visible, so that no reader obeys them.
//!
//! Owns how each is shown. A text that was shown this way and comes back counts as unchanged.

use std::borrow::Cow;

/// The visible form of a character that must not be obeyed: its picture if Unicode has one, else its number.
pub fn visible_char(c: char) -> Cow<'static, str> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('?').to_string().into(),
        '\u{7f}' => "\u{2421}".into(),
        c => format!("\\u{{{:x}}}", c as u32).into(),
    }
}

/// A text of any number of lines with its control characters made visible. Tabs and line ends stay, CR LF among them.
pub fn visible_controls(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' if characters.peek() == Some(&'\n') => out.push(c),
            c if is_hidden(c) => out.push_str(&visible_char(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_is_shown() {
        for (given, wanted) in [
            ("plain\ttext\r\né\n\u{202e}", "plain\ttext\r\né\n\u{202e}"),
            ("\u{1b}]0;t\u{7}", "␛]0;t␇"),
            ("a\rb\0\u{7f}", "a␍b␀␡"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            ("end\r", "end␍"),
        ] {
            assert_eq!(visible_controls(given), wanted);
            assert_eq!(visible_controls(wanted), wanted, "shown once is shown");
        }
    }
}
