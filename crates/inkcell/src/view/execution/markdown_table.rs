//! Markdown tables with aligned columns.
//!
//! Owns the reading of a table and the widths of its columns. A table that does not fit stays as written. It
//! must not know the rest of Markdown: the caller renders the text of each cell.

use crate::view::paint::{Line, Role, columns, fit};

/// Least width of a column, in columns of the terminal.
const LEAST: usize = 3;

const BETWEEN: &str = " │ ";

/// Side of its column to which a cell is aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Align {
    Left,
    Right,
    Middle,
}

/// Reads the table that starts at the first of these lines. Returns its rows and the lines it takes.
pub(super) fn table(
    lines: &[&str],
    width: usize,
    read: &dyn Fn(&str, Role) -> Line,
) -> Option<(Vec<Line>, usize)> {
    let (head, marks) = (lines.first()?, lines.get(1)?);
    let head = cells(head).filter(|cells| !cells.is_empty())?;
    let marks: Vec<Option<Align>> =
        cells(marks)?.iter().map(|mark| align(mark)).collect::<Option<_>>()?;
    if marks.len() != head.len() {
        return None;
    }
    let body: Vec<Vec<String>> = lines[2..].iter().map_while(|line| cells(line)).collect();
    let taken = body.len() + 2;
    let across = body.iter().map(Vec::len).fold(head.len(), usize::max);
    let read_row = |row: &[String], role| -> Vec<Line> {
        (0..across).map(|at| read(row.get(at).map_or("", |cell| cell.as_str()), role)).collect()
    };
    let is_numeric = |at: usize| {
        let mut texts =
            body.iter().filter_map(|row| row.get(at)).filter(|text| !text.is_empty()).peekable();
        texts.peek().is_some() && texts.all(|text| is_number(text))
    };
    let aligns: Vec<Align> = (0..across)
        .map(|at| {
            let by_kind = if is_numeric(at) { Align::Right } else { Align::Left };
            marks.get(at).copied().flatten().unwrap_or(by_kind)
        })
        .collect();
    let head = read_row(&head, Role::Strong);
    let body: Vec<Vec<Line>> = body.iter().map(|row| read_row(row, Role::Plain)).collect();
    let widths = widths(std::iter::once(&head).chain(&body), across, width)?;
    let mut rows = vec![row(&head, &widths, &aligns), rule(&widths)];
    rows.extend(body.iter().map(|cells| row(cells, &widths, &aligns)));
    Some((rows, taken))
}

/// The texts between the bars of a line. `None` for a line without a bar.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let is_escaped = |text: &str| text.ends_with("\\|");
    let inner = match inner.strip_suffix('|') {
        Some(shorter) if !is_escaped(inner) => shorter,
        _ => inner,
    };
    let has_bar = line.contains('|');
    let mut cells = vec![String::new()];
    let mut before = ' ';
    for c in inner.chars() {
        match (c, cells.last_mut()) {
            ('|', Some(cell)) if before == '\\' => {
                cell.pop();
                cell.push('|');
            }
            ('|', _) => cells.push(String::new()),
            (c, Some(cell)) => cell.push(c),
            _ => {}
        }
        before = c;
    }
    has_bar.then(|| cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

/// Reads `---`, `:--`, `--:` or `:-:`. `None` for other text; the inner option is the side, if the mark
/// names one.
fn align(mark: &str) -> Option<Option<Align>> {
    let dashes = mark.trim_start_matches(':').trim_end_matches(':');
    let is_mark =
        !dashes.is_empty() && dashes.chars().all(|c| c == '-') && mark.len() <= dashes.len() + 2;
    let side = match (mark.starts_with(':'), mark.ends_with(':')) {
        (true, true) => Some(Align::Middle),
        (true, false) => Some(Align::Left),
        (false, true) => Some(Align::Right),
        (false, false) => None,
    };
    is_mark.then_some(side)
}

fn is_number(text: &str) -> bool {
    let is_part =
        |c: char| c.is_ascii_digit() || ['.', ',', '-', '+', 'e', 'E', '%', '−'].contains(&c);
    text.starts_with(|c: char| c.is_ascii_digit() || ['-', '+', '.', '−'].contains(&c))
        && text.chars().all(is_part)
        || ["NaN", "nan", "None", "<NA>"].contains(&text)
}

/// Width of each column: that of its widest cell, or less if the table would not fit.
fn widths<'a>(
    rows: impl Iterator<Item = &'a Vec<Line>>,
    across: usize,
    width: usize,
) -> Option<Vec<usize>> {
    let mut widths = vec![1; across];
    for row in rows {
        for (wide, cell) in widths.iter_mut().zip(row) {
            *wide = (*wide).max(columns(&cell.text()));
        }
    }
    let room = width.checked_sub(columns(BETWEEN) * across.saturating_sub(1))?;
    let least = |cap: usize| widths.iter().map(|wide| (*wide).min(cap)).sum::<usize>();
    let widest = widths.iter().copied().max().unwrap_or(1);
    let cap = (LEAST..=widest.max(LEAST)).rev().find(|cap| least(*cap) <= room)?;
    Some(widths.iter().map(|wide| (*wide).min(cap)).collect())
}

fn row(cells: &[Line], widths: &[usize], aligns: &[Align]) -> Line {
    let mut line = Line::default();
    for (at, (cell, (wide, align))) in cells.iter().zip(widths.iter().zip(aligns)).enumerate() {
        if at > 0 {
            line.push_clean(Role::Dim, BETWEEN);
        }
        let cell = fit(cell, *wide);
        let spare = wide.saturating_sub(columns(&cell.text()));
        let before = match align {
            Align::Left => 0,
            Align::Right => spare,
            Align::Middle => spare / 2,
        };
        // The last column needs no padding on the right.
        let after = if at + 1 == cells.len() { 0 } else { spare - before };
        line.push_clean(Role::Plain, &" ".repeat(before));
        line = cell.behind(line);
        line.push_clean(Role::Plain, &" ".repeat(after));
    }
    line
}

fn rule(widths: &[usize]) -> Line {
    let parts: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
    Line::of(Role::Dim, &parts.join("─┼─"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(text: &str, width: usize) -> Option<String> {
        let lines: Vec<&str> = text.lines().collect();
        let (rows, taken) = table(&lines, width, &|text, role| Line::of(role, text))?;
        let rows: Vec<String> = rows.iter().map(Line::text).collect();
        Some(format!("{}\n{taken}", rows.join("\n")))
    }

    #[test]
    fn columns_are_in_line() {
        let table = "| name | n | where |\n| --- | --- | :-: |\n| 日本 | 1 | a \\| b |\n| a | -20.5 | c |\nend";
        insta::assert_snapshot!(draw(table, 80).unwrap(), @r"
        name │     n │ where
        ─────┼───────┼──────
        日本 │     1 │ a | b
        a    │ -20.5 │   c
        4
        ");
    }

    #[test]
    fn a_wide_table_is_made_narrower_and_one_without_room_is_left() {
        let table = "a | b\n--|--\nxxxxxxxxxxxxxxxx|yyyyyyyy|more";
        let wanted =
            ["a       │ b       │ ", "────────┼─────────┼─────", "xxxxxx… │ yyyyyy… │ more", "3"];
        assert_eq!(draw(table, 24).unwrap(), wanted.join("\n"));
        assert_eq!(draw(table, 12), None);
        for none in
            ["a | b\n--|", "a | b", "no\n---", "a\n|---|", "| a |\n| : |", "| a |\n| :::--- |"]
        {
            assert_eq!(draw(none, 80), None, "{none}");
        }
    }
}
