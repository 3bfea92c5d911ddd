//! The lines of an exception: its place, the failing line, its name and message.
//!
//! Owns the recognition of lines in tracebacks of IPython and of Python. It keeps every line; an unknown line is shown
//! like the rest.

use std::borrow::Cow;

use crate::view::paint::{Role, columns};
use crate::words::call::LAST_CALL;

/// Classifies the lines of a traceback in order.
#[derive(Default)]
pub(super) struct Roles {
    is_after_place: bool,
}

impl Roles {
    /// The role of the next line.
    pub(super) fn of(&mut self, line: &str) -> Role {
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
pub(super) fn narrowed(line: &str, width: usize) -> Cow<'_, str> {
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
}
