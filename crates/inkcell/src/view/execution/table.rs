//! Tables in the text that a program prints.
//!
//! Owns the guess which lines are the head of a table, so that a preview can keep them. A wrong guess moves a few lines
//! of the preview, and hides none without counting it.

use std::ops::Range;

use crate::view::paint::columns;

/// Lines of a head at most: those of a frame with types.
const HEAD_LINES: usize = 5;

/// Lines of a block at least. A shorter one at the end is the note about the size of a table.
const BLOCK_LINES: usize = 3;

/// Lines at the start of a block in which a rule ends the head.
const RULE_LINES: usize = 12;

/// The lines of the head of the table with which a text ends.
pub(super) fn head(lines: &[&str]) -> Option<Range<usize>> {
    let mut end = lines.len();
    while end > 0 {
        let is_blank = |line: &&str| line.trim().is_empty();
        let start = lines[..end].iter().rposition(is_blank).map_or(0, |at| at + 1);
        if end - start >= BLOCK_LINES {
            let head = head_of_block(&lines[start..end])?;
            return Some(start + head.start..start + head.end);
        }
        end = start.saturating_sub(1);
    }
    None
}

fn head_of_block(block: &[&str]) -> Option<Range<usize>> {
    let head = ruled(block).or_else(|| aligned(block))?;
    (head.len() <= HEAD_LINES).then_some(head)
}

/// The head above a rule, with the rule, and with the border above it if there is one.
fn ruled(block: &[&str]) -> Option<Range<usize>> {
    let lines = &block[..block.len().min(RULE_LINES)];
    let first = lines.iter().position(|line| is_rule(line))?;
    let is_border = lines[first].trim_start().starts_with(['┌', '╭', '╔', '┏', '+']);
    if !is_border {
        return (first > 0).then(|| first - 1..first + 1);
    }
    // A frame with types has dashes below the names too. Its head ends at the joined rule.
    let joined = lines.iter().position(|line| line.trim_start().starts_with(['╞', '┡', '╠', '├']));
    let next =
        || lines.iter().skip(first + 1).position(|line| is_rule(line)).map(|at| first + 1 + at);
    let end = joined.or_else(next)?;
    Some(first..end + 1)
}

fn is_rule(line: &str) -> bool {
    let is_line = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let is_dash = |c: &char| "-=".contains(*c) || is_line(*c);
    line.chars().all(|c| "-=+|: ".contains(c) || is_line(c))
        && line.chars().filter(is_dash).count() >= 3
}

/// The head of a table whose lines are all equally long, as data frames are printed: the names stand right of the
/// index, so their lines begin with a space.
fn aligned(block: &[&str]) -> Option<Range<usize>> {
    let width = columns(block.last()?);
    let start = block.iter().rposition(|line| columns(line) != width).map_or(0, |at| at + 1);
    let table = &block[start..];
    let names = table.iter().take_while(|line| line.starts_with(' ')).count();
    if names == 0 || names == table.len() || table.len() < BLOCK_LINES {
        return None;
    }
    // The name of the index has a line of its own.
    let has_index_name = table.get(names).is_some_and(|line| {
        let name = line.trim_end();
        !name.contains("  ") && columns(name) * 2 <= width
    });
    Some(start..start + names + usize::from(has_index_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Range<usize>> {
        head(&text.lines().collect::<Vec<_>>())
    }

    #[test]
    fn heads_of_tables_are_found() {
        let pandas = "   a   b\n0  1  10\n1  2  20\n2  3  30";
        assert_eq!(found(pandas), Some(0..1));
        let sized = format!("text\n\n{pandas}\n\n[3 rows x 2 columns]\n");
        assert_eq!(found(&sized), Some(2..3));
        let named = "      a   b\nname       \nx     1  10\ny     2  20\nz     3  30";
        assert_eq!(found(named), Some(0..2));
        let two_levels = "    a        b\n  low high low\n0   1    2   3\n1   1    2   3";
        assert_eq!(found(two_levels), Some(0..2));
        assert_eq!(found("a | b\n--+--\n1 | 2\n3 | 4"), Some(0..2));
        assert_eq!(found("| a | b |\n|---|---|\n| 1 | 2 |"), Some(0..2));
        assert_eq!(found("+---+\n| a |\n+---+\n| 1 |\n+---+"), Some(0..3));
        assert_eq!(found("rows\n┌───┐\n│ a │\n│---│\n╞═══╡\n│ 1 │\n└───┘"), Some(1..5));
    }

    #[test]
    fn other_text_has_no_head() {
        let lines = "line 1\nline 2\nline 3\nline 4";
        for text in ["", "one", lines, " a\n b\n c\n d", "---\n---", "\n\n\n"] {
            assert_eq!(found(text), None, "{text:?}");
        }
    }
}
