//! The output of a cell as rows: the end of its text, trees, pictures or placeholders.
//!
//! Owns the choice of what to leave out in the collapsed view (B:T-11). Text of the program stands behind
//! a margin and text of inkcell does not, so that no output can pass itself off as a remark of inkcell.

use std::ops::Range;

use inkcell_engine::output::{ArtifactRef, ImageItem, JsonItem, RichItem, RichKind};

use super::super::image::{Gallery, claimed_pixels};
use super::traceback::{Roles, narrowed};
use super::{Area, Expansion, json_tree, markdown, plural, table};
use crate::view::fold::cell::{Page, Status};
use crate::view::fold::lines::{LINE_CHARS, Lines, TextLine};
use crate::view::fold::live_output::{Content, Item};
use crate::view::paint::{Line, Role, Wrap, fit, indented, wrap};
use crate::words;

/// Lines of JSON as text in the collapsed view.
const JSON_LINES: usize = 10;

/// Pictures drawn for one cell. The last ones are drawn; earlier ones are only named.
const COLLAPSED_PICTURES: usize = 4;
const EXPANDED_PICTURES: usize = 20;

/// Layout of an output: its area, and its rows of text in the collapsed view.
#[derive(Clone, Copy)]
pub(in crate::view) struct Layout<'a> {
    pub(in crate::view) area: Area,
    pub(in crate::view) preview: usize,
    /// Draws pictures. `None` for a terminal without pictures.
    pub(in crate::view) gallery: Option<&'a Gallery>,
    /// Hint on how to see the rest of cut output.
    pub(in crate::view) more: &'a str,
}

/// Hint for a view with keys.
pub(in crate::view) const EXPANDS: &str = "ctrl+o to expand";

impl Layout<'_> {
    /// Columns left of the program's text; 0 if the area is too narrow.
    pub(in crate::view) fn margin(self) -> usize {
        if self.area.width > 4 { 2 } else { 0 }
    }

    fn inner(self) -> usize {
        self.area.width - self.margin()
    }
}

/// Interpretation of the program's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Text(Role),
    Markdown,
}

/// Renders the output of a cell.
pub(in crate::view) fn rows(content: &Content, status: Status, layout: Layout<'_>) -> Vec<Line> {
    let reading = match status {
        Status::Error => Reading::Text(Role::Error),
        _ if content.has_markdown => Reading::Markdown,
        _ => Reading::Text(Role::Plain),
    };
    let is_json =
        |item: &&Item| matches!(item, Item::Rich(item) if matches!(item.kind, RichKind::Json(_)));
    let has_several = content.items.iter().filter(is_json).count() > 1;
    let mut json_number = 0;
    let pictures = content.items.iter().filter(|item| is_picture(item)).count();
    let mut left = pictures.saturating_sub(match layout.area.expansion {
        Expansion::Collapsed => COLLAPSED_PICTURES,
        Expansion::Expanded => EXPANDED_PICTURES,
    });
    let mut text = CountedRows::default();
    let mut rich = Vec::new();
    for item in &content.items {
        match item {
            Item::Text(lines) => text.push_text(lines, reading, layout),
            Item::Traceback(lines) => text.push_traceback(lines, layout),
            Item::Mark { text: mark, lines } => {
                text.push(remark(Role::Dim, mark, layout.area.width), *lines);
            }
            Item::Rich(item) => {
                json_number += usize::from(matches!(item.kind, RichKind::Json(_)));
                let layout = match is_picture_kind(&item.kind) && left > 0 {
                    true => {
                        left -= 1;
                        Layout { gallery: None, ..layout }
                    }
                    false => layout,
                };
                let header = has_several.then(|| format!("JSON output {json_number}"));
                let rows = indented(rich_rows(item, header, layout), layout.margin());
                match layout.area.expansion {
                    Expansion::Collapsed => rich.extend(rows),
                    Expansion::Expanded => text.push(rows, 1),
                }
            }
        }
    }
    let mut rows = match layout.area.expansion {
        Expansion::Collapsed => text.last(layout),
        Expansion::Expanded => text.rows,
    };
    rows.extend(rich);
    rows
}

/// Rows of text, with the number of lines that begin in each: 0 in a row that continues a long line.
#[derive(Default)]
struct CountedRows {
    rows: Vec<Line>,
    begins: Vec<u64>,
    /// The head of the table with which the text ends, if it ends with one.
    head: Range<usize>,
}

impl CountedRows {
    /// Appends rows that stand for this many lines.
    fn push(&mut self, rows: Vec<Line>, lines: u64) {
        let continued = rows.len().saturating_sub(1);
        self.begins.extend((!rows.is_empty()).then_some(lines));
        self.begins.extend(std::iter::repeat_n(0, continued));
        self.rows.extend(rows);
    }

    fn push_text(&mut self, text: &Lines, reading: Reading, layout: Layout<'_>) {
        let (lines, how) = match reading {
            Reading::Markdown => (markdown::lines(text.iter(), layout.inner()), Wrap::Words),
            Reading::Text(role) => {
                (text.iter().map(|text| text_line(role, text)).collect(), Wrap::Anywhere)
            }
        };
        let head = match layout.area.expansion {
            Expansion::Collapsed => {
                table::head(&text.iter().map(TextLine::text).collect::<Vec<_>>())
            }
            Expansion::Expanded => None,
        };
        // Prose is rendered in lines of its own, except for a table at its beginning.
        let head = head.filter(|head| reading != Reading::Markdown || head.start == 0);
        let head = head.unwrap_or_default();
        for (number, line) in lines.iter().enumerate() {
            if number == head.start {
                self.head.start = self.rows.len();
            }
            self.push(indented(wrap(line, layout.inner(), how), layout.margin()), 1);
            if number + 1 == head.end {
                self.head.end = self.rows.len();
            }
        }
        if head.is_empty() {
            self.head = 0..0;
        }
    }

    /// Appends a traceback, with the failing parts highlighted.
    fn push_traceback(&mut self, lines: &Lines, layout: Layout<'_>) {
        let mut roles = Roles::default();
        for text in lines.iter() {
            let role = roles.of(text.text());
            let mut line = Line::of(role, &narrowed(text.text(), layout.inner()));
            if let Some(omitted) = text.omitted() {
                line.push(Role::Dim, &omitted);
            }
            // Break code at any column, and the prose around it between words.
            let how = if role == Role::Dim { Wrap::Words } else { Wrap::Anywhere };
            self.push(indented(wrap(&line, layout.inner(), how), layout.margin()), 1);
        }
    }

    /// The last rows, below a line that counts the hidden lines. A line of which only the end is shown counts too. A
    /// table keeps its head.
    fn last(self, layout: Layout<'_>) -> Vec<Line> {
        let CountedRows { mut rows, begins, head } = self;
        let hidden = rows.len().saturating_sub(layout.preview);
        if hidden == 0 {
            return rows;
        }
        let is_kept = head.start < hidden && head.len() <= layout.preview / 2;
        let head = if is_kept { head } else { 0..0 };
        let tail = layout.preview - head.len();
        let hidden = rows.len().saturating_sub(tail).max(head.end);
        let lines = begins[..hidden].iter().sum::<u64>() - begins[head.clone()].iter().sum::<u64>();
        if lines == 0 {
            return rows;
        }
        let tail = rows.split_off(hidden);
        let mut shown: Vec<Line> = rows.drain(head).collect();
        shown.extend(more(lines, layout.more, layout.area.width));
        shown.extend(tail);
        shown
    }
}

fn is_picture(item: &Item) -> bool {
    matches!(item, Item::Rich(item) if is_picture_kind(&item.kind))
}

fn is_picture_kind(kind: &RichKind) -> bool {
    matches!(kind, RichKind::Image(_))
}

/// Renders a page of stored output.
pub(in crate::view) fn page_rows(page: &Page, status: Status, layout: Layout<'_>) -> Vec<Line> {
    let lines = Lines::of(&page.text);
    let last = page.first_line + (lines.len() as u64).saturating_sub(1);
    let range = format!("Lines {}-{last} of {}", page.first_line, page.total_lines);
    let role = if status == Status::Error { Role::Error } else { Role::Plain };
    let mut rows = remark(Role::Dim, &range, layout.area.width);
    let expanded = Area { expansion: Expansion::Expanded, ..layout.area };
    let mut text = CountedRows::default();
    text.push_text(&lines, Reading::Text(role), Layout { area: expanded, ..layout });
    rows.extend(text.rows);
    rows
}

/// Renders a remark from inkcell, at the left edge.
pub(in crate::view) fn remark(role: Role, text: &str, width: usize) -> Vec<Line> {
    let lines = Lines::of(text);
    let shown = lines.iter().map(|text| {
        let mut line = Line::of(role, text.text().trim_end_matches('\r'));
        if let Some(omitted) = text.omitted() {
            line.push(role, &omitted);
        }
        line
    });
    shown.flat_map(|line| wrap(&line, width, Wrap::Words)).collect()
}

/// A line of the program's text, with a mark in place of characters that were cut.
pub(in crate::view) fn text_line(role: Role, text: &TextLine) -> Line {
    let mut line = Line::of(role, text.text());
    if let Some(omitted) = text.omitted() {
        line.push(Role::Dim, &omitted);
    }
    line
}

/// The line that counts hidden lines.
pub(in crate::view) fn more(hidden: u64, how: &str, width: usize) -> Vec<Line> {
    let noun = plural(usize::try_from(hidden).unwrap_or(usize::MAX), "line");
    remark(Role::Dim, &format!("… {hidden} more {noun} ({how})"), width)
}

fn rich_rows(item: &RichItem, header: Option<String>, layout: Layout<'_>) -> Vec<Line> {
    let width = layout.inner();
    let lines = match &item.kind {
        RichKind::Json(json) => json_lines(json, header, layout.area.expansion),
        RichKind::Image(image) => return image_rows(image, layout),
        RichKind::Digest { artifact, .. } => {
            let mut line = Line::of(Role::Plain, &item.digest);
            push_pointer(&mut line, artifact.as_ref());
            return wrap(&line, width, Wrap::Words);
        }
        RichKind::Status(_) => Vec::new(),
    };
    match layout.area.expansion {
        Expansion::Collapsed => lines.iter().map(|line| fit(line, width)).collect(),
        Expansion::Expanded => {
            lines.iter().flat_map(|line| wrap(line, width, Wrap::Anywhere)).collect()
        }
    }
}

fn json_lines(json: &JsonItem, header: Option<String>, expansion: Expansion) -> Vec<Line> {
    let mut lines: Vec<Line> =
        header.into_iter().map(|header| Line::of(Role::Dim, &header)).collect();
    match json.raw.as_ref().and_then(|raw| serde_json::from_str(raw).ok()) {
        Some(value) => lines.extend(json_tree::lines(&value, expansion).into_iter().map(clamped)),
        // Fall back to text: the JSON is too large, or serde cannot parse it.
        None => {
            let shown = match expansion {
                Expansion::Collapsed => JSON_LINES,
                Expansion::Expanded => usize::MAX,
            };
            let hidden = json.shown.lines().count().saturating_sub(shown);
            lines.extend(
                json.shown.lines().take(shown).map(|line| clamped(Line::of(Role::Plain, line))),
            );
            if hidden > 0 {
                let more = format!("… {hidden} more {}", plural(hidden, "line"));
                lines.push(Line::of(Role::Dim, &more));
            }
        }
    }
    if json.artifact.is_some() {
        let mut line = Line::of(Role::Dim, "all of it:");
        push_pointer(&mut line, json.artifact.as_ref());
        lines.push(line);
    }
    lines
}

/// A picture, or the placeholder for it (B:T-17).
fn image_rows(image: &ImageItem, layout: Layout<'_>) -> Vec<Line> {
    let ImageItem { mime, data, pixels, artifact } = image;
    let drawn = (data.as_ref().zip(layout.gallery))
        .and_then(|(data, gallery)| gallery.rows(mime, data, layout.inner()));
    drawn.unwrap_or_else(|| {
        let pixels = pixels.or_else(|| data.as_ref().and_then(|data| claimed_pixels(data)));
        let bytes = data.as_ref().map(|data| data.len() as u64);
        let place = artifact.as_ref().map(|stored| format!("artifact://{}", stored.id));
        let line = super::super::image::line(mime, pixels, bytes, place.as_deref());
        wrap(&line, layout.inner(), Wrap::Words)
    })
}

fn push_pointer(line: &mut Line, artifact: Option<&ArtifactRef>) {
    if let Some(ArtifactRef { id, .. }) = artifact {
        line.push(Role::Dim, &format!(" artifact://{id}"));
    }
}

/// Cuts a line made by inkcell to the limit of a line of text.
fn clamped(line: Line) -> Line {
    let chars: usize = line.spans().iter().map(|span| span.text().chars().count()).sum();
    let Some(omitted) = chars.checked_sub(LINE_CHARS).filter(|omitted| *omitted > 0) else {
        return line;
    };
    let mut cut = Line::default();
    let mut room = LINE_CHARS;
    for span in line.spans() {
        let end = span.text().char_indices().nth(room).map_or(span.text().len(), |(at, _)| at);
        cut.push_clean(span.role(), &span.text()[..end]);
        room -= span.text()[..end].chars().count();
    }
    cut.push_clean(Role::Dim, &words::output::chars_omitted(omitted as u64));
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collapsed(text: &str, width: usize) -> Vec<String> {
        let area = Area { width, expansion: Expansion::Collapsed };
        let layout = Layout { area, preview: 10, gallery: None, more: EXPANDS };
        let items = vec![Item::Text(Lines::of(text))];
        let content = Content { items, ..Content::default() };
        rows(&content, Status::Complete, layout).iter().map(Line::text).collect()
    }

    /// Issue 24, 12: the count is in lines of the output, whatever their length and the width of their characters.
    #[test]
    fn hidden_lines_are_counted_as_lines() {
        let numbered = |count: usize, rest: &str| -> String {
            (0..count).map(|at| format!("{at:03}{rest}\n")).collect()
        };
        let table = [
            (numbered(10, ""), None),
            (numbered(11, ""), Some("… 1 more line (ctrl+o to expand)")),
            // Each line takes two rows, so five lines are shown.
            (numbered(30, &"x".repeat(57)), Some("… 25 more lines (ctrl+o to expand)")),
            (numbered(30, &"日".repeat(20)), Some("… 25 more lines (ctrl+o to expand)")),
            (numbered(30, "\t\t\tx"), Some("… 20 more lines (ctrl+o to expand)")),
            // One line of eleven rows: its beginning is hidden.
            ("x".repeat(38 * 11), Some("… 1 more line (ctrl+o to expand)")),
            // Three rows a line: of the fourth line from the end only the last row is shown.
            (numbered(20, &"y".repeat(110)), Some("… 17 more lines (ctrl+o to expand)")),
        ];
        for (text, wanted) in table {
            let shown = collapsed(&text, 40);
            let count = shown.iter().find(|row| row.starts_with('…')).map(String::as_str);
            assert_eq!(count, wanted, "{shown:#?}");
        }
    }

    fn starts(shown: &[String], wanted: &[&str], last: &str) {
        assert_eq!(&shown[..wanted.len()], wanted, "{shown:#?}");
        assert_eq!((shown.len(), shown[10].as_str()), (11, last), "{shown:#?}");
    }

    /// Issue 24, 12: a long table keeps its head above the count.
    #[test]
    fn long_tables_keep_their_heads() {
        let rows: String = (0..30).map(|at| format!("{at:<3}  {at:>6}\n")).collect();
        let frame = format!("      value\n{rows}\n[30 rows x 1 columns]");
        let more = "… 23 more lines (ctrl+o to expand)";
        starts(&collapsed(&frame, 60), &["        value", more], "  [30 rows x 1 columns]");
        let more = "… 24 more lines (ctrl+o to expand)";
        let shown = collapsed(&format!("hello\n{frame}"), 60);
        starts(&shown, &["        value", more], "  [30 rows x 1 columns]");
        let rows: String = (0..30).map(|at| format!("│ {at:<3} │\n")).collect();
        let head = "┌─────┐\n│ a   │\n│ --- │\n│ i64 │\n╞═════╡\n";
        let shown = collapsed(&format!("shape: (30, 1)\n{head}{rows}└─────┘"), 60);
        let more = "… 27 more lines (ctrl+o to expand)";
        let wanted = ["  ┌─────┐", "  │ a   │", "  │ --- │", "  │ i64 │", "  ╞═════╡", more];
        starts(&shown, &wanted, "  └─────┘");
    }

    /// B:T-21
    #[test]
    fn a_line_of_ours_is_cut_too() {
        let mut line = Line::of(Role::Name, &"é".repeat(3000));
        line.push(Role::Text, &"日".repeat(3000));
        let cut = clamped(line.clone());
        let wanted = format!("{}{}… [2000 chars omitted]", "é".repeat(3000), "日".repeat(1000));
        assert_eq!(cut.text(), wanted);
        assert_eq!(clamped(Line::of(Role::Dim, "short")), Line::of(Role::Dim, "short"));
    }
}
