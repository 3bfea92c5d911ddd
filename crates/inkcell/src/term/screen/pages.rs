//! The pages of a stored output, for a user who wants more than the preview.
//!
//! Owns the choice of the page. The lines come from the host that has the output.

use inkcell_engine::api::{ArtifactForm, ArtifactFound, ArtifactPart, ResultReport, ResultRequest};

use crate::client::Client;
use crate::exit::Failure;
use crate::host::{Answer, Ask};
use crate::view::execution::Page;

/// Direction of a page turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Back,
    On,
}

/// First line of the next page in this direction, after the page that starts at `first`. Lines count from 1.
pub(crate) fn turned(turn: Turn, first: u64, lines_a_page: u64, total_lines: u64) -> u64 {
    match turn {
        Turn::Back => first.saturating_sub(lines_a_page).max(1),
        Turn::On => first.saturating_add(lines_a_page).min(last_page(total_lines, lines_a_page)),
    }
}

/// First line of the last page. Lines count from 1.
pub(crate) fn last_page(total_lines: u64, lines_a_page: u64) -> u64 {
    total_lines.saturating_sub(lines_a_page.saturating_sub(1)).max(1)
}

/// Sends a request to the host that runs the code.
pub(crate) type Asking<'a> = dyn Fn(Ask) -> Result<Answer, Failure> + 'a;

pub(crate) fn asking(client: &Client) -> impl Fn(Ask) -> Result<Answer, Failure> + '_ {
    |ask| client.answer(ask)
}

/// Rows of the screen that are reserved for other content.
const AROUND: usize = 8;

/// The pages of a stored output.
#[derive(Default)]
pub(crate) struct Pages {
    /// The id of the output, and the first line of the shown page.
    shown: Option<(String, u64)>,
    /// First line of the wanted page. `None` before the first turn means the last page.
    wanted: Option<u64>,
    lines_a_page: u64,
    total_lines: u64,
}

impl Pages {
    pub(crate) fn turn(&mut self, turn: Turn) {
        let Some((_, shown)) = &self.shown else { return };
        self.wanted = Some(turned(turn, *shown, self.lines_a_page, self.total_lines));
    }

    /// Returns true if the shown or wanted page is the last one, or if no page is shown.
    pub(crate) fn are_at_end(&self) -> bool {
        let at = self.wanted.or_else(|| self.shown.as_ref().map(|(_, shown)| *shown));
        at.is_none_or(|at| at >= self.last())
    }

    fn last(&self) -> u64 {
        last_page(self.total_lines, self.lines_a_page)
    }

    /// Fetches the page to show from now on. The outer `None` means no change, the inner one the end of paging.
    pub(crate) fn next_page(
        &mut self,
        artifact: Option<&str>,
        host: &Asking<'_>,
        rows: usize,
    ) -> Option<Option<Page>> {
        let Some(artifact) = artifact else {
            self.wanted = None;
            return self.shown.take().map(|_| None);
        };
        let is_shown = self.shown.as_ref().is_some_and(|(id, first)| {
            id == artifact && self.wanted.is_none_or(|wanted| wanted == *first)
        });
        if is_shown {
            return None;
        }
        self.lines_a_page = u64::try_from(rows.saturating_sub(AROUND)).unwrap_or(0).max(5);
        if self.total_lines == 0 || self.shown.as_ref().is_none_or(|(id, _)| id != artifact) {
            self.total_lines = stored_lines(artifact, (1, 1), host)?.total_lines;
        }
        let first = self.wanted.unwrap_or_else(|| self.last());
        let page = stored_lines(artifact, (first, first + self.lines_a_page - 1), host)?;
        self.total_lines = page.total_lines;
        (self.shown, self.wanted) = (Some((artifact.to_owned(), first)), None);
        Some(Some(page))
    }
}

/// Lines of a stored output, fetched from its host. `None` if the host cannot deliver them.
pub(crate) fn stored_lines(
    artifact: &str,
    (first, last): (u64, u64),
    host: &Asking<'_>,
) -> Option<Page> {
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let part = ArtifactPart::Lines { start: number(first), end: Some(number(last)) };
    let (id, form) = (artifact.to_owned(), ArtifactForm::Clean);
    let request = ResultRequest::Artifact { id, part, form, max_bytes: None };
    let Ok(Answer::Result(ResultReport::Artifact(report))) = host(Ask::Result(request)) else {
        return None;
    };
    let ArtifactFound::Lines { pieces, total_lines, .. } = report.found else { return None };
    let text: Vec<String> =
        pieces.iter().map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned()).collect();
    Some(Page { first_line: first, total_lines, text: text.concat() })
}
