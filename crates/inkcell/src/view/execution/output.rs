//! The output of a cell as rows: the end of its text, trees, pictures or placeholders.
//!
//! Owns the choice of what to leave out in the collapsed view (B:T-11). Text of the program stands behind
//! a margin and text of inkcell does not, so that no output can pass itself off as a remark of inkcell.

use inkcell_engine::output::{ArtifactRef, ImageItem, JsonItem, RichItem, RichKind};

use super::super::image::{Gallery, claimed_pixels};
use super::traceback::{Roles, narrowed};
use super::{Area, Expansion, json_tree, markdown, plural};
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
    let mut text = Vec::new();
    let mut rich = Vec::new();
    for item in &content.items {
        match item {
            Item::Text(lines) => text.extend(text_rows(lines, reading, layout)),
            Item::Traceback(lines) => text.extend(traceback_rows(lines, layout)),
            Item::Mark(mark) => text.extend(remark(Role::Dim, mark, layout.area.width)),
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

fn is_picture(item: &Item) -> bool {
    matches!(item, Item::Rich(item) if is_picture_kind(&item.kind))
}

fn is_picture_kind(kind: &RichKind) -> bool {
    matches!(kind, RichKind::Image(_))
}

/// Renders a traceback, with the failing parts highlighted.
fn traceback_rows(lines: &Lines, layout: Layout<'_>) -> Vec<Line> {
    let mut roles = Roles::default();
    let shown = lines.iter().map(|text| {
        let role = roles.of(text.text());
        let mut line = Line::of(role, &narrowed(text.text(), layout.inner()));
        if let Some(omitted) = text.omitted() {
            line.push(Role::Dim, &omitted);
        }
        // Break code at any column, and the prose around it between words.
        wrap(&line, layout.inner(), if role == Role::Dim { Wrap::Words } else { Wrap::Anywhere })
    });
    indented(shown.flatten().collect(), layout.margin())
}

/// Renders a page of stored output.
pub(in crate::view) fn page_rows(page: &Page, status: Status, layout: Layout<'_>) -> Vec<Line> {
    let lines = Lines::of(&page.text);
    let last = page.first_line + (lines.len() as u64).saturating_sub(1);
    let range = format!("Lines {}-{last} of {}", page.first_line, page.total_lines);
    let role = if status == Status::Error { Role::Error } else { Role::Plain };
    let mut rows = remark(Role::Dim, &range, layout.area.width);
    rows.extend(text_rows(&lines, Reading::Text(role), layout));
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

fn text_rows(text: &Lines, reading: Reading, layout: Layout<'_>) -> Vec<Line> {
    let (lines, how) = match reading {
        Reading::Markdown => (markdown::lines(text.iter(), layout.inner()), Wrap::Words),
        Reading::Text(role) => {
            (text.iter().map(|text| text_line(role, text)).collect(), Wrap::Anywhere)
        }
    };
    let rows = lines.iter().flat_map(|line| wrap(line, layout.inner(), how)).collect();
    indented(rows, layout.margin())
}

/// A line of the program's text, with a mark in place of characters that were cut.
pub(in crate::view) fn text_line(role: Role, text: &TextLine) -> Line {
    let mut line = Line::of(role, text.text());
    if let Some(omitted) = text.omitted() {
        line.push(Role::Dim, &omitted);
    }
    line
}

/// The last rows, below a line that counts the hidden ones. The count is in rows of the screen, since
/// those are what a preview saves.
fn last_rows(mut rows: Vec<Line>, layout: Layout<'_>) -> Vec<Line> {
    let hidden = rows.len().saturating_sub(layout.preview);
    if hidden == 0 {
        return rows;
    }
    let mut shown = more(hidden, layout.more, layout.area.width);
    shown.extend(rows.split_off(hidden));
    shown
}

/// The line that counts hidden lines.
pub(in crate::view) fn more(hidden: usize, how: &str, width: usize) -> Vec<Line> {
    let hint = format!("… {hidden} more {} ({how})", plural(hidden, "line"));
    remark(Role::Dim, &hint, width)
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
