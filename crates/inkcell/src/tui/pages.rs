//! The part of a long output that an expanded cell shows (B:T-11): a page of it, the last one at first.
//!
//! Owns which lines those are. Stored output is asked for by its id and comes later; a text that is in the file is
//! there. It must not know how rows are made of a page.

use crate::render::execution::Page;
use crate::screen::{Turn, last_page, turned};

/// Lines of a page: more than a screen, since the screen scrolls over them.
pub(super) const PAGE_LINES: u64 = 500;

/// What is asked for of a stored output: lines from this one on, or the last ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) artifact: String,
    pub(super) first: Option<u64>,
}

#[derive(Default)]
pub(super) struct Pages {
    /// The stored output, where there is one.
    artifact: Option<String>,
    /// The first line that is to be shown; the last page where nothing was said.
    first: Option<u64>,
    shown: Option<Page>,
    is_asked: bool,
}

impl Pages {
    /// Those of this stored output.
    pub(super) fn of(artifact: Option<&str>) -> Pages {
        Pages { artifact: artifact.map(str::to_owned), ..Pages::default() }
    }

    pub(super) fn shown(&self) -> Option<&Page> {
        self.shown.as_ref()
    }

    /// The page that is to be asked for, once.
    pub(super) fn wanted(&mut self) -> Option<Wanted> {
        let artifact = self.artifact.clone()?;
        if self.shown.is_some() || std::mem::replace(&mut self.is_asked, true) {
            return None;
        }
        Some(Wanted { artifact, first: self.first })
    }

    /// Takes a page that was asked for; whether it was this output's. One that is gone is not asked for again.
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

    /// Takes a text that is in the file, where nothing is stored elsewhere.
    pub(super) fn take_text(&mut self, text: impl FnOnce() -> Option<String>) {
        if self.artifact.is_none() && self.shown.is_none() {
            self.shown = text().map(|text| page_of(&text, self.first));
        }
    }

    /// Turns to another page; whether there is one.
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
        let page = pages.shown().unwrap();
        let (first, last) = (page.text.lines().next(), page.text.lines().next_back());
        (page.first_line, first.unwrap().to_owned(), last.unwrap().to_owned())
    }

    fn told(first: u64, from: &str, to: &str) -> (u64, String, String) {
        (first, from.to_owned(), to.to_owned())
    }

    /// B:T-11: the last page first, then every other one, and no further.
    #[test]
    fn pages_of_a_text_are_turned() {
        let mut pages = Pages::default();
        assert_eq!(lines(&mut pages), told(701, "line 701", "line 1200"));
        assert!(!pages.turn(Turn::On));
        assert!(pages.turn(Turn::Back));
        assert_eq!(lines(&mut pages), told(201, "line 201", "line 700"));
        assert!(pages.turn(Turn::Back));
        assert_eq!(lines(&mut pages), told(1, "line 1", "line 500"));
        assert!(!pages.turn(Turn::Back));
        assert!(pages.turn(Turn::On));
        assert_eq!(lines(&mut pages), told(501, "line 501", "line 1000"));
    }

    /// Stored output is asked for once, and what comes for another one is not taken.
    #[test]
    fn stored_output_is_asked_for_once() {
        let mut pages = Pages::of(Some("abc"));
        assert_eq!(pages.wanted(), Some(Wanted { artifact: "abc".to_owned(), first: None }));
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
