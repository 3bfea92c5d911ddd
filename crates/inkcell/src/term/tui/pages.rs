//! The part of a long output that an expanded cell shows (B:T-11): one page, at first the last one.
//!
//! Owns the choice of lines. Stored output is requested by its id and arrives later; a text in the file is
//! available at once. It must not know how a page is rendered.

use crate::term::screen::{Turn, last_page, turned};
use crate::view::execution::Page;

/// Lines of a page. That is more than a screen, since the screen scrolls over them.
pub(super) const PAGE_LINES: u64 = 500;

/// A request for lines of a stored output: from this line on, or the last page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LinesRequest {
    pub(super) artifact: String,
    pub(super) first: Option<u64>,
}

#[derive(Default)]
pub(super) struct Pages {
    /// Id of the stored output, if there is one.
    artifact: Option<String>,
    /// First line of the wanted page. `None` means the last page.
    first: Option<u64>,
    shown: Option<Page>,
    is_asked: bool,
}

impl Pages {
    /// The pages of this stored output.
    pub(super) fn of(artifact: Option<&str>) -> Pages {
        Pages { artifact: artifact.map(str::to_owned), ..Pages::default() }
    }

    pub(super) fn current(&self) -> Option<&Page> {
        self.shown.as_ref()
    }

    /// The page to request. `None` while the page is shown, or while its request is pending.
    pub(super) fn wanted(&mut self) -> Option<LinesRequest> {
        let artifact = self.artifact.clone()?;
        if self.shown.is_some() || std::mem::replace(&mut self.is_asked, true) {
            return None;
        }
        Some(LinesRequest { artifact, first: self.first })
    }

    /// Takes a requested page. Returns true if it belongs to this output. A lost output is not requested again.
    pub(super) fn take(&mut self, artifact: &str, page: Option<&Page>) -> bool {
        if self.artifact.as_deref() != Some(artifact) {
            return false;
        }
        self.is_asked = false;
        match page {
            Some(page) => self.shown = Some(page.clone()),
            None => *self = Pages::default(),
        }
        true
    }

    /// Takes a text from the file, if the output is not stored elsewhere.
    pub(super) fn take_text(&mut self, text: impl FnOnce() -> Option<String>) {
        if self.artifact.is_none() && self.shown.is_none() {
            self.shown = text().map(|text| page_of(&text, self.first));
        }
    }

    /// Turns to another page. Returns false if there is none.
    pub(super) fn turn(&mut self, turn: Turn) -> bool {
        let Some(page) = &self.shown else { return false };
        let first = turned(turn, page.first_line, PAGE_LINES, page.total_lines);
        if first == page.first_line {
            return false;
        }
        (self.first, self.shown) = (Some(first), None);
        true
    }
}

fn page_of(text: &str, first: Option<u64>) -> Page {
    let total_lines = text.lines().count() as u64;
    let first_line = first.unwrap_or_else(|| last_page(total_lines, PAGE_LINES));
    let first_line = first_line.clamp(1, total_lines.max(1));
    let skipped = usize::try_from(first_line - 1).unwrap_or(usize::MAX);
    let lines = text.lines().skip(skipped).take(usize::try_from(PAGE_LINES).unwrap_or(usize::MAX));
    Page { first_line, total_lines, text: lines.collect::<Vec<_>>().join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Option<String> {
        Some((1..=1200).map(|at| format!("line {at}\n")).collect())
    }

    fn lines(pages: &mut Pages) -> (u64, String, String) {
        pages.take_text(text);
        let page = pages.current().unwrap();
        let (first, last) = (page.text.lines().next(), page.text.lines().next_back());
        (page.first_line, first.unwrap().to_owned(), last.unwrap().to_owned())
    }

    fn page(first: u64, from: &str, to: &str) -> (u64, String, String) {
        (first, from.to_owned(), to.to_owned())
    }

    /// B:T-11: the last page comes first, then every other page, and none beyond them.
    #[test]
    fn pages_of_a_text_are_turned() {
        let mut pages = Pages::default();
        assert_eq!(lines(&mut pages), page(701, "line 701", "line 1200"));
        assert!(!pages.turn(Turn::On));
        assert!(pages.turn(Turn::Back));
        assert_eq!(lines(&mut pages), page(201, "line 201", "line 700"));
        assert!(pages.turn(Turn::Back));
        assert_eq!(lines(&mut pages), page(1, "line 1", "line 500"));
        assert!(!pages.turn(Turn::Back));
        assert!(pages.turn(Turn::On));
        assert_eq!(lines(&mut pages), page(501, "line 501", "line 1000"));
    }

    /// Stored output is requested once, and pages of another output are ignored.
    #[test]
    fn stored_output_is_asked_for_once() {
        let mut pages = Pages::of(Some("abc"));
        assert_eq!(pages.wanted(), Some(LinesRequest { artifact: "abc".to_owned(), first: None }));
        assert_eq!(pages.wanted(), None);
        let page = page_of(&text().unwrap(), Some(700));
        assert!(!pages.take("other", Some(&page)));
        pages.take_text(|| panic!("what is stored elsewhere is not looked for in the file"));
        assert!(pages.take("abc", Some(&page)) && pages.turn(Turn::Back));
        assert_eq!(pages.wanted().unwrap().first, Some(200));
        assert!(pages.take("abc", None), "it is gone");
        assert_eq!(pages.wanted(), None);
        assert_eq!(lines(&mut pages).0, 701, "what the file has counts then");
    }
}
