//! An exception for a reader: its place, the failing line, its name and message.
//!
//! Owns the recognition of lines in tracebacks of IPython and of Python. It keeps every line; an unknown line is shown
//! like the rest.

use std::borrow::Cow;

use inkcell_engine::kernel::PyError;
use inkcell_engine::output::Cleaner;

use crate::view::fold::lines::Lines;
use crate::view::paint::{Role, columns};

/// Limits on a traceback: a longer one keeps its first and its last lines.
const FIRST_LINES: usize = 50;
const LAST_LINES: usize = 150;

/// The words at the right edge of the first line of a traceback.
const LAST_CALL: &str = "Traceback (most recent call last)";

/// Removes everything that a terminal would act on.
pub(in crate::view) fn cleaned(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut out = String::with_capacity(text.len());
    cleaner.push(text.as_bytes(), &mut |piece| out.push_str(piece));
    cleaner.finish(&mut |piece| out.push_str(piece));
    out
}

/// A traceback within its bounds.
pub(in crate::view) struct Traceback {
    pub(in crate::view) lines: Lines,
    /// Number of lines left out, and the lines after the gap.
    pub(in crate::view) rest: Option<(usize, Lines)>,
}

/// Lines of an exception, without colours.
pub(in crate::view) fn traceback(error: &PyError) -> Traceback {
    let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
    let text = match lines.is_empty() {
        true => cleaned(&format!("{}: {}", error.name, error.value)),
        false => cleaned(&lines.join("\n")),
    };
    let total = text.lines().count();
    if total <= FIRST_LINES + LAST_LINES {
        return Traceback { lines: Lines::of(&text), rest: None };
    }
    let part = |lines: &mut dyn Iterator<Item = &str>| {
        let mut part = Lines::default();
        for line in lines {
            part.push(line);
            part.push("\n");
        }
        part
    };
    let hidden = total - FIRST_LINES - LAST_LINES;
    let last = part(&mut text.lines().skip(FIRST_LINES + hidden));
    Traceback { lines: part(&mut text.lines().take(FIRST_LINES)), rest: Some((hidden, last)) }
}

/// Line of the cell's own code that failed, counted from 1: the innermost such line of the traceback.
pub(in crate::view) fn line_in_cell(error: &PyError, count: Option<u64>) -> Option<usize> {
    let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
    let text = cleaned(&lines.join("\n"));
    let found = text.lines().rev().find_map(|line| {
        let place = line.trim_start().strip_prefix("Cell In[")?;
        let (number, place) = place.split_once("], line ")?;
        let is_this = count.is_none_or(|count| number.parse() == Ok(count));
        let digits = place.split(|c: char| !c.is_ascii_digit()).next()?;
        is_this.then(|| digits.parse().ok()).flatten()
    });
    found.filter(|line| *line > 0)
}

/// Classifies the lines of a traceback in order.
#[derive(Default)]
pub(in crate::view) struct Roles {
    is_after_place: bool,
}

impl Roles {
    /// The role of the next line.
    pub(in crate::view) fn of(&mut self, line: &str) -> Role {
        let is_after_place = std::mem::take(&mut self.is_after_place);
        let body = line.trim_start();
        if is_rule(line) || body.contains(LAST_CALL) {
            return Role::Dim;
        }
        if body.starts_with("Cell In[") || body.starts_with("File ") {
            self.is_after_place = true;
            return Role::Name;
        }
        let is_pointer = !body.is_empty() && body.chars().all(|c| ['^', '~', ' '].contains(&c));
        if is_arrow(line)
            || is_pointer
            || (is_after_place && line.starts_with("    ") && !is_numbered(body))
        {
            return Role::Failing;
        }
        if line.starts_with(' ') && is_numbered(body) { Role::Plain } else { Role::Error }
    }
}

/// Fits a traceback line to a narrow screen: shortens a rule, and gives up alignment to the right edge.
pub(in crate::view) fn narrowed(line: &str, width: usize) -> Cow<'_, str> {
    if columns(line) <= width {
        return Cow::Borrowed(line);
    }
    if is_rule(line) {
        return Cow::Owned("-".repeat(width));
    }
    match line.split_once(LAST_CALL) {
        Some((name, "")) if name.ends_with("  ") => {
            Cow::Owned(format!("{}  {LAST_CALL}", name.trim_end()))
        }
        _ => Cow::Borrowed(line),
    }
}

fn is_rule(line: &str) -> bool {
    line.len() > 3 && line.chars().all(|c| c == '-')
}

/// Recognises the arrow before a failing line, as in `----> 5 f(1)`.
fn is_arrow(line: &str) -> bool {
    let body = line.trim_start_matches('-');
    body.len() < line.len() && body.strip_prefix("> ").is_some_and(is_numbered)
}

fn is_numbered(body: &str) -> bool {
    let rest = body.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < body.len() && (rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 9: a rule and a heading laid out for a wide screen take one row each on a narrow one, if there is room.
    #[test]
    fn a_traceback_is_laid_out_for_the_screen() {
        let head = "ZeroDivisionError                         Traceback (most recent call last)";
        let table = [
            ("-".repeat(75), 20, "-".repeat(20)),
            ("-".repeat(75), 80, "-".repeat(75)),
            (head.to_owned(), 80, head.to_owned()),
            (
                head.to_owned(),
                60,
                "ZeroDivisionError  Traceback (most recent call last)".to_owned(),
            ),
            ("----> 1 1/0".to_owned(), 5, "----> 1 1/0".to_owned()),
            (
                "Traceback (most recent call last):".to_owned(),
                20,
                "Traceback (most recent call last):".to_owned(),
            ),
        ];
        for (line, width, wanted) in table {
            assert_eq!(narrowed(&line, width), wanted, "{width}");
        }
    }

    fn error(lines: &[&str]) -> PyError {
        PyError {
            name: "ZeroDivisionError".to_owned(),
            value: "division by zero".to_owned(),
            traceback: Vec::new(),
            plain: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    const IPYTHON: [&str; 12] = [
        "---------------------------------------------------------------------------",
        "ZeroDivisionError                         Traceback (most recent call last)",
        "Cell In[3], line 5",
        "      2     y = x",
        "      3     return y / 0",
        "----> 5 f(1)",
        "",
        "Cell In[3], line 3, in f(x)",
        "      2     y = x",
        "----> 3     return y / 0",
        "",
        "ZeroDivisionError: division by zero",
    ];

    #[test]
    fn what_failed_is_marked() {
        let mut roles = Roles::default();
        let roles: Vec<Role> = IPYTHON.iter().map(|line| roles.of(line)).collect();
        use Role::{Dim, Error, Failing, Name, Plain};
        let wanted =
            [Dim, Dim, Name, Plain, Plain, Failing, Error, Name, Plain, Failing, Error, Error];
        assert_eq!(roles, wanted);
        let python = [
            "Traceback (most recent call last):",
            "  File \"a.py\", line 3, in f",
            "    return y / 0",
            "           ~~^~~",
            "ZeroDivisionError: division by zero",
        ];
        let mut roles = Roles::default();
        let roles: Vec<Role> = python.iter().map(|line| roles.of(line)).collect();
        assert_eq!(roles, [Dim, Name, Failing, Failing, Error]);
    }

    #[test]
    fn the_line_of_the_cell_that_failed_is_found() {
        let in_cell = |lines: &[&str], count| line_in_cell(&error(lines), count);
        assert_eq!(in_cell(&IPYTHON, Some(3)), Some(3));
        assert_eq!(in_cell(&IPYTHON, Some(4)), None);
        assert_eq!(in_cell(&IPYTHON, None), Some(3));
        let syntax = ["  Cell In[1], line 12", "    x = = 1", "        ^", "SyntaxError: invalid"];
        assert_eq!(in_cell(&syntax, Some(1)), Some(12));
        for odd in [
            "Cell In[1], line ",
            "Cell In[",
            "Cell In[1], line 0",
            "Cell In[1], line 99999999999999999999",
        ] {
            assert_eq!(in_cell(&[odd], Some(1)), None, "{odd}");
        }
    }

    #[test]
    fn a_long_traceback_keeps_both_ends() {
        let lines: Vec<String> = (1..=1000).map(|n| format!("frame {n}")).collect();
        let error = PyError { plain: lines, ..error(&[]) };
        let Traceback { lines, rest } = traceback(&error);
        let (hidden, rest) = rest.unwrap();
        assert_eq!((lines.len(), hidden, rest.len()), (50, 800, 150));
        assert_eq!(rest.iter().next().unwrap().text(), "frame 851");
    }
}
