//! Lines wrapped to a width: the widths of characters and the places for a break.
//!
//! Owns the promise that no row is wider than asked. A width is the larger of two counts: Unicode's for
//! the whole text, and the plain sum over its characters. Terminals disagree about joined characters, and
//! a row that is too short does no harm. It must not know the meaning of the text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::frame::{Line, Role};

/// Replaces a character that is wider than the row.
const TOO_WIDE: &str = "\u{fffd}";

const JOINER: char = '\u{200d}';

/// The places for a line break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wrap {
    /// Break at any column, as a terminal does. For program output, in which every space counts.
    Anywhere,
    /// Break between words if possible. For sentences.
    Words,
}

/// Columns that a text may take at most.
pub(crate) fn columns(text: &str) -> usize {
    let sum: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    sum.max(text.width())
}

/// Characters in one cluster. A terminal would draw longer storms of combining marks over other rows.
const MAX_JOINED: usize = 24;

/// Length in bytes of the first cluster: a character and the marks that belong to it.
fn unbroken(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else { return 0 };
    let mut last = first;
    let mut is_pair = false;
    for (at, c) in chars {
        let is_flag = is_regional(first) && is_regional(c) && !is_pair && last == first;
        let is_tone = matches!(c, '\u{1f3fb}'..='\u{1f3ff}') && last.width() == Some(2);
        let is_joined = last == JOINER && !c.is_ascii();
        if c.width() != Some(0) && !is_flag && !is_tone && !is_joined {
            return at;
        }
        is_pair |= is_flag;
        last = c;
    }
    text.len()
}

/// The cluster, cut to the limit of characters.
fn calm(piece: &str) -> &str {
    piece.char_indices().nth(MAX_JOINED).map_or(piece, |(end, _)| &piece[..end])
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// One cluster, with its role and its columns.
struct Piece<'a> {
    text: &'a str,
    role: Role,
    columns: usize,
}

/// Passes on a line cluster by cluster. A cluster wider than the row comes as separate characters.
fn pieces<'a>(text: &'a str, line: &Line, width: usize, out: &mut dyn FnMut(Piece<'a>)) {
    let mut spans = line.spans().iter();
    let mut role = Role::Plain;
    let mut role_end = 0;
    let mut at = 0;
    while at < text.len() {
        while at >= role_end {
            let Some(span) = spans.next() else { break };
            role = span.role();
            role_end += span.text().len();
        }
        let whole = &text[at..at + unbroken(&text[at..])];
        at += whole.len();
        let piece = calm(whole);
        let wide = columns(piece);
        if wide <= width {
            out(Piece { text: piece, role, columns: wide });
            continue;
        }
        for (start, c) in piece.char_indices() {
            match c.width().unwrap_or(0) {
                // A combining mark has lost its base character here.
                0 => {}
                wide if wide > width => out(Piece { text: TOO_WIDE, role, columns: 1 }),
                columns => {
                    let text = &piece[start..start + c.len_utf8()];
                    out(Piece { text, role, columns });
                }
            }
        }
    }
}

/// Wraps a line into rows of at most `width` columns. An empty line is one row.
pub(crate) fn wrap(line: &Line, width: usize, how: Wrap) -> Vec<Line> {
    let width = width.max(1);
    let text = line.text();
    if text.len() <= width && text.is_ascii() {
        return vec![line.clone()];
    }
    let mut rows = Vec::new();
    let mut row: Vec<Piece<'_>> = Vec::new();
    let mut used = 0;
    pieces(&text, line, width, &mut |piece| {
        // A word that moved down may still not fit, so the loop may run twice.
        while used + piece.columns > width {
            let rest = match how {
                Wrap::Anywhere => Vec::new(),
                Wrap::Words => last_word(&mut row, &piece),
            };
            rows.push(joined(&std::mem::replace(&mut row, rest)));
            used = row.iter().map(|piece| piece.columns).sum();
            if how == Wrap::Words && row.is_empty() && piece.text == " " {
                return;
            }
        }
        used += piece.columns;
        row.push(piece);
    });
    if !row.is_empty() || rows.is_empty() {
        rows.push(joined(&row));
    }
    rows
}

/// Takes the unfinished word off the end of a row, if another word stands before it.
fn last_word<'a>(row: &mut Vec<Piece<'a>>, next: &Piece<'_>) -> Vec<Piece<'a>> {
    if next.text == " " {
        return Vec::new();
    }
    let space = row.iter().rposition(|piece| piece.text == " ");
    let is_after_text = |at: &usize| row[..*at].iter().any(|piece| piece.text != " ");
    match space.filter(is_after_text) {
        Some(space) => {
            let rest = row.split_off(space + 1);
            row.truncate(space);
            rest
        }
        None => Vec::new(),
    }
}

fn joined(row: &[Piece<'_>]) -> Line {
    let mut line = Line::default();
    for piece in row {
        line.push_clean(piece.role, piece.text);
    }
    line
}

/// The line as one row, cut with an ellipsis if it is too long.
pub(crate) fn fit(line: &Line, width: usize) -> Line {
    let width = width.max(1);
    let rows = wrap(line, width, Wrap::Anywhere);
    let [row] = rows.as_slice() else {
        let shorter = wrap(line, width.saturating_sub(1).max(1), Wrap::Anywhere);
        let mut cut = if width > 1 { shorter[0].clone() } else { Line::default() };
        cut.push_clean(Role::Dim, "…");
        return cut;
    };
    row.clone()
}

/// The same rows behind a margin of spaces.
pub(in crate::view) fn indented(rows: Vec<Line>, margin: usize) -> Vec<Line> {
    if margin == 0 {
        return rows;
    }
    let behind = |row: Line| match row.is_empty() {
        true => row,
        false => row.behind(Line::of(Role::Plain, &" ".repeat(margin))),
    };
    rows.into_iter().map(behind).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, width: usize, how: Wrap) -> Vec<String> {
        let line = Line::of(Role::Plain, text);
        wrap(&line, width, how).iter().map(Line::text).collect()
    }

    /// B:T-22
    #[test]
    fn lines_break_between_characters_and_never_inside_one() {
        let table: [(&str, usize, &[&str]); 12] = [
            ("", 5, &[""]),
            ("abc", 5, &["abc"]),
            ("abcdefg", 3, &["abc", "def", "g"]),
            ("日本語", 4, &["日本", "語"]),
            ("日本語", 3, &["日", "本", "語"]),
            ("a日本", 2, &["a", "日", "本"]),
            ("日x", 1, &["\u{fffd}", "x"]),
            ("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]),
            ("x👨\u{200d}👩\u{200d}👧y", 6, &["x", "👨\u{200d}👩\u{200d}👧", "y"]),
            ("👨\u{200d}👩", 2, &["👨", "👩"]),
            ("a❤\u{fe0f}b", 2, &["a", "❤\u{fe0f}", "b"]),
            ("🇩🇪🇫🇷", 2, &["🇩🇪", "🇫🇷"]),
        ];
        for (text, width, wanted) in table {
            assert_eq!(rows(text, width, Wrap::Anywhere), wanted, "{text:?} at {width}");
        }
    }

    #[test]
    fn sentences_break_between_words() {
        let table: [(&str, usize, &[&str]); 5] = [
            ("the cat sat", 7, &["the cat", "sat"]),
            ("the cat sat", 8, &["the cat", "sat"]),
            ("the cat sat", 9, &["the cat", "sat"]),
            ("extraordinary cat", 5, &["extra", "ordin", "ary", "cat"]),
            ("  indented word", 9, &["  indente", "d word"]),
        ];
        for (text, width, wanted) in table {
            assert_eq!(rows(text, width, Wrap::Words), wanted, "{text:?} at {width}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_ends_in_an_ellipsis() {
        for (text, width, wanted) in
            [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("日本語", 4, "日…"), ("ab", 1, "…")]
        {
            assert_eq!(fit(&Line::of(Role::Plain, text), width).text(), wanted);
        }
    }

    /// Text far from anything a user would write.
    fn odd_text() -> impl Strategy<Value = String> {
        let odd: Vec<char> =
            "\t\u{1b}\r\u{200d}\u{fe0f}\u{fe0e}\u{301}\u{20e3}1❤👩🏽🇩日 لا\u{ad}\u{1160}"
                .chars()
                .collect();
        let odd = prop_oneof![4 => prop::sample::select(odd), 1 => any::<char>()];
        prop::collection::vec(odd, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    /// Whether a row fits, by both counts.
    fn fits(row: &Line, width: usize) -> bool {
        let text = row.text();
        let sum: usize = text.chars().filter_map(UnicodeWidthChar::width).sum();
        sum <= width && text.width() <= width
    }

    proptest! {
        /// B:T-22
        #[test]
        fn no_row_is_wider_than_asked(text in odd_text(), more in odd_text(), width in 1usize..200) {
            let mut line = Line::of(Role::Plain, &text);
            line.push(Role::Error, &more);
            for how in [Wrap::Anywhere, Wrap::Words] {
                for row in wrap(&line, width, how) {
                    prop_assert!(fits(&row, width), "{row:?} at {width}");
                }
            }
            prop_assert!(fits(&fit(&line, width), width));
        }

        #[test]
        fn nothing_is_lost_where_there_is_room(text in odd_text(), width in 100usize..200) {
            let line = Line::of(Role::Plain, &text);
            let rows = wrap(&line, width, Wrap::Anywhere);
            prop_assert_eq!(rows.iter().map(Line::text).collect::<String>(), line.text());
        }
    }
}
