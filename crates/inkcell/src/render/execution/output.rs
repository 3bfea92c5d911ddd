//! The output of a cell as rows: text from its end, trees, places of pictures.
//!
//! Owns what is left out when it is collapsed (B:T-11). What the program wrote stands behind a margin and
//! what inkcell says does not, so that no output can pass itself off as a remark of ours.

use inkcell_engine::output::{ImageItem, JsonItem, RichItem, RichKind, Stored, size};

use super::cell::{Content, Item, Page, Status};
use super::frame::{Line, Role};
use super::lines::Lines;
use super::width::{Wrap, fit, indented, wrap};
use super::{Area, Expansion, json_tree, markdown, plural};

/// The lines of JSON that is shown as text, when collapsed.
const JSON_LINES: usize = 10;

/// How output is laid out: in which area, and how many rows of text when collapsed.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) area: Area,
    pub(super) preview: usize,
}

impl Layout {
    /// Columns left of what the program wrote; none where there is no room for them.
    pub(super) fn margin(self) -> usize {
        if self.area.width > 4 { 2 } else { 0 }
    }

    fn inner(self) -> usize {
        self.area.width - self.margin()
    }
}

/// How text is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Text(Role),
    Markdown,
}

/// The rows of an output.
pub(super) fn rows(content: &Content, status: Status, layout: Layout) -> Vec<Line> {
    let reading = match status {
        Status::Error => Reading::Text(Role::Error),
        _ if content.has_markdown => Reading::Markdown,
        _ => Reading::Text(Role::Plain),
    };
    let is_json =
        |item: &&Item| matches!(item, Item::Rich(item) if matches!(item.kind, RichKind::Json(_)));
    let has_several = content.items.iter().filter(is_json).count() > 1;
    let mut json_number = 0;
    let mut text = Vec::new();
    let mut rich = Vec::new();
    for item in &content.items {
        match item {
            Item::Text(lines) => text.extend(text_rows(lines, reading, layout)),
            Item::Mark(mark) => text.extend(remark(Role::Dim, mark, layout.area.width)),
            Item::Rich(item) => {
                json_number += usize::from(matches!(item.kind, RichKind::Json(_)));
                let header = has_several.then(|| format!("JSON output {json_number}"));
                let rows = indented(rich_rows(item, header, layout), layout.margin());
                match layout.area.expansion {
                    Expansion::Collapsed => rich.extend(rows),
                    Expansion::Expanded => text.extend(rows),
                }
            }
        }
    }
    if layout.area.expansion == Expansion::Collapsed {
        text = last_rows(text, layout);
    }
    text.extend(rich);
    text
}

/// The rows of a page of stored output.
pub(super) fn page_rows(page: &Page, status: Status, layout: Layout) -> Vec<Line> {
    let lines = Lines::of(&page.text);
    let last = page.first_line + (lines.len() as u64).saturating_sub(1);
    let range = format!("Lines {}-{last} of {}", page.first_line, page.total_lines);
    let role = if status == Status::Error { Role::Error } else { Role::Plain };
    let mut rows = remark(Role::Dim, &range, layout.area.width);
    rows.extend(text_rows(&lines, Reading::Text(role), layout));
    rows
}

/// Something inkcell says, at the left edge.
pub(super) fn remark(role: Role, text: &str, width: usize) -> Vec<Line> {
    text.lines().flat_map(|line| wrap(&Line::of(role, line), width, Wrap::Words)).collect()
}

fn text_rows(text: &Lines, reading: Reading, layout: Layout) -> Vec<Line> {
    let (lines, how) = match reading {
        Reading::Markdown => (markdown::lines(text.iter()), Wrap::Words),
        Reading::Text(role) => {
            let lines = text.iter().map(|text| {
                let mut line = Line::of(role, text.text());
                if let Some(omitted) = text.omitted() {
                    line.push(Role::Dim, &omitted);
                }
                line
            });
            (lines.collect(), Wrap::Anywhere)
        }
    };
    let rows = lines.iter().flat_map(|line| wrap(line, layout.inner(), how)).collect();
    indented(rows, layout.margin())
}

/// The last rows, below a line that says how many came before. Rows of the screen are counted, since they
/// are what a preview spares.
fn last_rows(mut rows: Vec<Line>, layout: Layout) -> Vec<Line> {
    let hidden = rows.len().saturating_sub(layout.preview);
    if hidden == 0 {
        return rows;
    }
    let mut shown = more(hidden, layout.area.width);
    shown.extend(rows.split_off(hidden));
    shown
}

/// The line that says how many lines are not shown.
pub(super) fn more(hidden: usize, width: usize) -> Vec<Line> {
    let hint = format!("… {hidden} more {} (ctrl+o to expand)", plural(hidden, "line"));
    remark(Role::Dim, &hint, width)
}

fn rich_rows(item: &RichItem, header: Option<String>, layout: Layout) -> Vec<Line> {
    let width = layout.inner();
    let lines = match &item.kind {
        RichKind::Json(json) => json_lines(json, header, layout.area.expansion),
        RichKind::Image(image) => return wrap(&image_line(image), width, Wrap::Words),
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
        Some(value) => lines.extend(json_tree::lines(&value, expansion)),
        // What is no JSON for us, or too large, is shown as the text it has.
        None => {
            let shown = match expansion {
                Expansion::Collapsed => JSON_LINES,
                Expansion::Expanded => usize::MAX,
            };
            let hidden = json.shown.lines().count().saturating_sub(shown);
            lines.extend(json.shown.lines().take(shown).map(|line| Line::of(Role::Plain, line)));
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

/// A picture where none can be drawn (B:T-17).
fn image_line(image: &ImageItem) -> Line {
    let pixels = image.pixels.map(|(wide, high)| format!(", {wide}x{high}")).unwrap_or_default();
    let amount = match &image.data {
        Some(data) => size(data.len() as u64),
        None => "not shown".to_owned(),
    };
    let mut line = Line::of(Role::Dim, &format!("[{}{pixels}, {amount}]", image.mime));
    push_pointer(&mut line, image.artifact.as_ref());
    line
}

fn push_pointer(line: &mut Line, artifact: Option<&Stored>) {
    if let Some(Stored { id, .. }) = artifact {
        line.push(Role::Dim, &format!(" artifact://{id}"));
    }
}
