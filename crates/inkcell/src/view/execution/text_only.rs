//! A result that is known only as text (B:T-12).
//!
//! Owns the preview of such a text. It must not know cells.
#![cfg_attr(not(test), expect(dead_code, reason = "for a reader that has only text"))]

use inkcell_engine::output::Notice;

use super::block::{PREVIEW, notices};
use super::cache::Cache;
use super::output::{remark, text_line};
use super::{Area, Expansion, plural};
use crate::view::fold::lines::Lines;
use crate::view::paint::{Frame, Line, Role, Wrap, wrap};
use crate::words;

/// A text and the notices about it.
pub(crate) struct TextOnly {
    text: String,
    notices: Vec<Notice>,
    cache: Cache,
}

impl TextOnly {
    /// The text may end with the notices, as a model receives them. They are shown once (B:T-15).
    pub(crate) fn new(text: &str, notices: Vec<Notice>) -> TextOnly {
        let mut text = text.trim_end();
        for notice in notices.iter().rev() {
            text = text.strip_suffix(&notice.to_string()).map_or(text, str::trim_end);
        }
        TextOnly { text: text.to_owned(), notices, cache: Cache::default() }
    }

    pub(crate) fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let (text, about) = (&self.text, &self.notices);
        let rows = self.cache.rows(area, 0, || rows(text, about, area));
        Frame { lines: rows.to_vec() }
    }

    /// Counts renderings. Tests use it to show that an unchanged text is not rendered again.
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.cache.renders()
    }
}

fn rows(text: &str, about: &[Notice], area: Area) -> Vec<Line> {
    let lines = Lines::of(text);
    let shown = lines.iter().map(|text| text_line(Role::Plain, text));
    let mut rows: Vec<Line> =
        shown.flat_map(|line| wrap(&line, area.width, Wrap::Anywhere)).collect();
    let (total, hidden) = (rows.len(), rows.len().saturating_sub(PREVIEW));
    if area.expansion == Expansion::Collapsed && hidden > 0 {
        let noun = plural(hidden, "line");
        let hint = words::output::earlier_lines(hidden, &noun, PREVIEW, total);
        let shown = rows.split_off(hidden);
        rows = remark(Role::Dim, &hint, area.width);
        rows.extend(shown);
    }
    rows.extend(notices(about, area.width));
    rows
}
