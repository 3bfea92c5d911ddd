//! An exception: its lines within bounds, and the line of the cell that failed.
//!
//! Owns those bounds. It keeps the lines as they are; painters recognise their parts.

use inkcell_engine::kernel::PyError;

use super::lines::Lines;
use crate::output::cleaned;

/// Limits on a traceback: a longer one keeps its first and its last lines.
const FIRST_LINES: usize = 50;
const LAST_LINES: usize = 150;

/// A traceback within its bounds.
pub(super) struct Traceback {
    pub(super) lines: Lines,
    /// Number of lines left out, and the lines after the gap.
    pub(super) rest: Option<(usize, Lines)>,
}

/// Lines of an exception, without colours.
pub(super) fn traceback(error: &PyError) -> Traceback {
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
pub(super) fn line_in_cell(error: &PyError, count: Option<u64>) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(lines: &[&str]) -> PyError {
        PyError {
            name: "ZeroDivisionError".to_owned(),
            value: "division by zero".to_owned(),
            traceback: Vec::new(),
            plain: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn the_line_of_the_cell_that_failed_is_found() {
        let in_cell = |lines: &[&str], count| line_in_cell(&error(lines), count);
        let ipython = ["Cell In[3], line 5", "----> 5 f(1)", "", "Cell In[3], line 3, in f(x)"];
        assert_eq!(in_cell(&ipython, Some(3)), Some(3));
        assert_eq!(in_cell(&ipython, Some(4)), None);
        assert_eq!(in_cell(&ipython, None), Some(3));
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
