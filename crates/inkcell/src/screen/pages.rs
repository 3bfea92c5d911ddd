//! The pages of an output that is stored, for whoever wants to see more of it than is kept.
//!
//! Owns which page is shown. The lines come from whoever has the output.

use inkcell_engine::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, Request, Response, ResultReport, ResultRequest,
};

use crate::client::Client;
use crate::exit::Failure;
use crate::host::{Answer, Ask};
use crate::render::execution::Page;

/// Where somebody turns to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Back,
    On,
}

/// The first line of the page that is turned to, from the one that begins with this line; lines are counted from 1.
pub(crate) fn turned(turn: Turn, first: u64, lines_a_page: u64, total_lines: u64) -> u64 {
    match turn {
        Turn::Back => first.saturating_sub(lines_a_page).max(1),
        Turn::On => first.saturating_add(lines_a_page).min(last_page(total_lines, lines_a_page)),
    }
}

/// The first line of the last page.
pub(crate) fn last_page(total_lines: u64, lines_a_page: u64) -> u64 {
    total_lines.saturating_sub(lines_a_page.saturating_sub(1)).max(1)
}

/// Asks whoever runs the code.
pub(crate) type Asking<'a> = dyn Fn(Ask) -> Result<Answer, Failure> + 'a;

/// Asks a client.
pub(crate) fn asking(client: &Client) -> impl Fn(Ask) -> Result<Answer, Failure> + '_ {
    |ask| client.answer(ask)
}

/// Rows of a screen that are not for the page.
const AROUND: usize = 8;

/// The pages of a stored output.
#[derive(Default)]
pub(crate) struct Pages {
    /// The output, and the page of it that is shown.
    shown: Option<(String, u64)>,
    /// The page that is wanted; the last at first.
    wanted: Option<u64>,
    lines_a_page: u64,
    total_lines: u64,
}

impl Pages {
    pub(crate) fn turn(&mut self, turn: Turn) {
        let Some((_, shown)) = &self.shown else { return };
        self.wanted = Some(turned(turn, *shown, self.lines_a_page, self.total_lines));
    }

    /// Whether the last page is shown, behind which there is nothing.
    pub(crate) fn are_at_end(&self) -> bool {
        let at = self.wanted.or_else(|| self.shown.as_ref().map(|(_, shown)| *shown));
        at.is_none_or(|at| at >= self.last())
    }

    fn last(&self) -> u64 {
        last_page(self.total_lines, self.lines_a_page)
    }

    /// The page that is to be shown from now on, if that is another one.
    pub(crate) fn look(
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

/// Lines of a stored output, as its host has them.
pub(crate) fn stored_lines(
    artifact: &str,
    (first, last): (u64, u64),
    host: &Asking<'_>,
) -> Option<Page> {
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let part = ArtifactPart::Lines { start: number(first), end: Some(number(last)) };
    let (id, form) = (artifact.to_owned(), ArtifactForm::Clean);
    let request = Request::Result(ResultRequest::Artifact { id, part, form });
    let Ok(Answer::Engine(Response::Result(ResultReport::Artifact(report)))) =
        host(Ask::Engine(request))
    else {
        return None;
    };
    let ArtifactFound::Lines { pieces, total_lines, .. } = report.found else { return None };
    let text: Vec<String> =
        pieces.iter().map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned()).collect();
    Some(Page { first_line: first, total_lines, text: text.concat() })
}
