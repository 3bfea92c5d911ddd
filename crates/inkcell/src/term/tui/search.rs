//! Search for text in the notebook.
//!
//! Owns the definition of a hit: the pattern itself, in any case unless it has a capital letter. It must not know the
//! screen.

use inkcell_engine::notebook::Notebook;

use super::cursor::Direction;

/// Returns true if a text contains the pattern.
pub(super) fn holds(text: &str, pattern: &str) -> bool {
    match pattern.chars().any(char::is_uppercase) {
        true => text.contains(pattern),
        false => text.to_lowercase().contains(&pattern.to_lowercase()),
    }
}

/// The next cell in this direction whose source or output contains the pattern. The search wraps around. Also returns
/// the line of the source, if the hit is there.
pub(super) fn find(
    notebook: &Notebook,
    pattern: &str,
    from: usize,
    to: Direction,
) -> Option<(usize, Option<usize>)> {
    let count = notebook.len();
    let holds = |text: &str| holds(text, pattern);
    for step in 1..=count {
        let at = match to {
            Direction::Down => (from + step) % count,
            Direction::Up => (from + count - step) % count,
        };
        let Some(cell) = notebook.cell(at) else { continue };
        let source = cell.source().text;
        if let Some(line) = source.lines().position(&holds) {
            return Some((at, Some(line)));
        }
        let in_output =
            || cell.outputs().iter().any(|output| holds(&output.text().unwrap_or_default()));
        if in_output() {
            return Some((at, None));
        }
    }
    None
}
