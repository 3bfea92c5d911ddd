//! Makes control characters visible, so that no terminal obeys them.
//!
//! Owns the visible form of each. A text that comes back in this form counts as unchanged.

use std::borrow::Cow;

/// The visible form of a control character: its picture if Unicode has one, else its number.
pub fn visible_char(c: char) -> Cow<'static, str> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('?').to_string().into(),
        '\u{7f}' => "\u{2421}".into(),
        c => format!("\\u{{{:x}}}", c as u32).into(),
    }
}

/// Makes the control characters of a text visible. Tabs and line ends stay, CR LF among them.
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

/// Makes the control characters of a single line, such as a path, visible, including tabs and line ends.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c.is_control() {
            true => out.push_str(&visible_char(c)),
            false => out.push(c),
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

    #[test]
    fn a_line_stays_one_line() {
        for (given, wanted) in [
            ("a/b c.ipynb", "a/b c.ipynb"),
            ("a\nb\r\n\tc", "a␊b␍␊␉c"),
            ("\u{1b}[2J\u{85}", "␛[2J\\u{85}"),
        ] {
            assert_eq!(visible_line(given), wanted);
        }
    }
}
