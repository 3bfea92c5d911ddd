//! Frames as text: plain, or in the sixteen colours of every terminal.
//!
//! Owns the look of roles. It must not know the content. The caller decides on colours by the choice of
//! painter.

use std::borrow::Cow;

use super::frame::{Frame, Line, Paint, Role};

/// Text only, without any escape sequence.
pub(crate) fn plain(frame: &Frame) -> String {
    let mut out = String::new();
    for line in &frame.lines {
        for span in line.spans() {
            out.push_str(span.text());
        }
        out.push('\n');
    }
    out
}

/// Text in colours, with the pictures of its lines.
pub(crate) fn ansi(frame: &Frame) -> String {
    let mut out = String::new();
    for line in &frame.lines {
        paint_line(line, &mut out);
        out.push('\n');
    }
    out
}

/// Each span ends its own look, so that a line can be shown alone.
pub(in crate::view) fn paint_line(line: &Line, out: &mut String) {
    if let Some(picture) = line.picture() {
        // Make room first, so that the screen does not scroll while the terminal draws. The frame's lines
        // below reserve these rows and bring the cursor past the picture.
        let rows = picture.rows();
        out.extend(std::iter::repeat_n('\n', rows));
        out.push_str(&format!("\u{1b}[{rows}A"));
    }
    for span in line.spans() {
        match role_codes(span.role()) {
            look if look.is_empty() => out.push_str(span.text()),
            look => out.push_str(&format!("\u{1b}[{look}m{}\u{1b}[0m", span.text())),
        }
    }
    if let Some(picture) = line.picture() {
        // Save the cursor: terminals disagree on its position after a picture.
        out.push_str("\u{1b}7");
        out.push_str(&String::from_utf8_lossy(picture.bytes()));
        out.push_str("\u{1b}8");
    }
}

/// Parameters of the escape sequence that starts a role.
fn role_codes(role: Role) -> Cow<'static, str> {
    let look = match role {
        Role::Plain => "",
        Role::Dim => "2",
        Role::Title | Role::Strong => "1",
        Role::Emphasis => "3",
        Role::Success | Role::Text => "32",
        Role::Warning => "33",
        Role::Error => "31",
        Role::Failing => "1;31",
        Role::Deleted => "7;31",
        Role::Inserted => "7;32",
        Role::Keyword => "35",
        Role::Name => "34",
        Role::Code | Role::Number => "36",
        Role::Comment => "90",
        Role::Pixels { front, back } => {
            return format!("38;{};48;{}", colour(front), colour(back)).into();
        }
    };
    look.into()
}

fn colour(paint: Paint) -> String {
    match paint {
        Paint::True(red, green, blue) => format!("2;{red};{green};{blue}"),
        Paint::Indexed(number) => format!("5;{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painters_differ_in_colours_only() {
        let mut line = Line::of(Role::Error, "bad\u{1b}[0m");
        line.push(Role::Plain, " and ");
        line.push(Role::Dim, "dim");
        let frame = Frame { lines: vec![line, Line::default()] };
        assert_eq!(plain(&frame), "bad␛[0m and dim\n\n");
        let wanted = "\u{1b}[31mbad␛[0m\u{1b}[0m and \u{1b}[2mdim\u{1b}[0m\n\n";
        assert_eq!(ansi(&frame), wanted);
    }
}
