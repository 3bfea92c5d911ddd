//! Code at a prompt (B:T-20): the code behind `>>>`, its output and its end.
//!
//! Owns the look of a prompt. It must not know keys, clocks or terminals; the caller turns the spinner.

use std::borrow::Cow;

use inkcell_engine::CallEvent;
use inkcell_engine::api::{CellReport, CellSource, EndReport, State};
use inkcell_engine::kernel::{Death, DeathCause};

use super::super::image::Gallery;
use super::block::{code_lines, remarks};
use super::cache::Cache;
use super::output::{self, EXPANDS, Layout, remark};
use super::{Area, Expansion, Page, Renderer};
use crate::view::fold::cell::CallCell;
use crate::view::paint::{Frame, Line, Role, Wrap, wrap};
use crate::words;

const PREVIEW: usize = 20;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// One execution at a prompt.
pub(crate) struct Interactive {
    cell: CallCell,
    heading: Heading,
    turns: u64,
    /// Name of the key that stops the code.
    stops: &'static str,
    /// Hint on how to see the rest of cut output.
    more: Cow<'static, str>,
    cache: Cache,
    gallery: Option<Gallery>,
}

/// Whether the frame repeats the code above its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heading {
    Code,
    /// The code is on the screen already, since the user typed it there.
    Typed,
}

impl Interactive {
    pub(crate) fn new(source: CellSource) -> Interactive {
        Interactive {
            cell: CallCell::new(source),
            heading: Heading::Code,
            turns: 0,
            stops: "esc",
            more: EXPANDS.into(),
            cache: Cache::default(),
            gallery: None,
        }
    }

    /// For a view without a keyboard: only a signal stops the code.
    pub(crate) fn without_keys(self) -> Interactive {
        Interactive { stops: "ctrl+c", more: words::output::STREAMS.into(), ..self }
    }

    /// Replaces the hint on how to see the rest of cut output.
    pub(crate) fn seen_later(&mut self, more: String) {
        (self.more, self.cache) = (more.into(), Cache::default());
    }

    /// Id of the stored output, if it holds more than the preview.
    pub(crate) fn artifact(&self) -> Option<&str> {
        self.cell.artifact()
    }

    /// Shows a page of the stored output in the expanded view (B:T-11). `None` goes back to the preview.
    pub(crate) fn turn_to(&mut self, page: Option<Page>) {
        self.cell.page(page);
    }

    /// Leaves out the code, since the user sees it above, where it was typed.
    pub(crate) fn below_typed_code(self) -> Interactive {
        Interactive { heading: Heading::Typed, ..self }
    }

    pub(crate) fn with_gallery(self, gallery: Gallery) -> Interactive {
        Interactive { gallery: Some(gallery), ..self }
    }

    /// Takes a report from the engine.
    pub(crate) fn report(&mut self, report: &CellReport) {
        self.cell.report(report);
    }

    /// Turns the spinner by one step.
    pub(crate) fn tick(&mut self) {
        self.turns += 1;
    }

    /// The current frame without the line that says the code is running.
    pub(crate) fn still(&mut self, area: Area) -> Frame {
        Frame { lines: self.rows(area.at_least_one_wide()) }
    }

    fn rows(&mut self, area: Area) -> Vec<Line> {
        let (cell, heading) = (&self.cell, self.heading);
        let gallery = self.gallery.as_ref();
        let layout = Layout { area, preview: PREVIEW, gallery, more: &self.more };
        self.cache.rows(area, cell.revision(), || rows(cell, heading, layout)).to_vec()
    }

    /// Counts renderings. Tests use it to show that an unchanged frame is not rendered again.
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.cache.renders()
    }
}

impl Renderer for Interactive {
    fn event(&mut self, (_, event): &CallEvent) {
        self.cell.event(event);
    }

    fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let mut lines = self.rows(area);
        if !self.cell.state().is_end() {
            let turn = usize::try_from(self.turns % SPINNER.len() as u64).unwrap_or(0);
            let waiting = format!("{} Running… ({} to cancel)", SPINNER[turn], self.stops);
            lines.extend(remark(Role::Dim, &waiting, area.width));
        }
        Frame { lines }
    }
}

fn rows(cell: &CallCell, heading: Heading, layout: Layout<'_>) -> Vec<Line> {
    let area = layout.area;
    let mut rows = Vec::new();
    let code = match heading {
        Heading::Code => code_lines(&cell.source().code),
        Heading::Typed => Vec::new(),
    };
    for (number, code) in code.iter().enumerate() {
        let prompt = match number {
            0 => Line::of(Role::Title, ">>> "),
            _ => Line::of(Role::Plain, "    "),
        };
        rows.extend(wrap(&code.behind(prompt), area.width, Wrap::Anywhere));
    }
    let page = cell.shown_page().filter(|_| area.expansion == Expansion::Expanded);
    rows.extend(match page {
        Some(page) => output::page_rows(page, cell.status(), layout),
        None => output::rows(&cell.content(), cell.status(), layout),
    });
    let ended = match cell.state() {
        State::Cancelled | State::TimedOut => Some("(cancelled)".to_owned()),
        state => {
            exit_code(state, cell.last_report().end.as_ref()).map(|code| format!("(exit {code})"))
        }
    };
    if let Some(ended) = ended {
        rows.extend(remark(Role::Error, &ended, area.width));
    }
    rows.extend(remarks(cell, area.width));
    rows
}

/// The code in `(exit n)` (B:X-20). `None` for a cell that was cancelled or ended well.
fn exit_code(state: State, end: Option<&EndReport>) -> Option<i32> {
    match (state, end) {
        (_, Some(EndReport::Died(Death { cause: DeathCause::Exit { code }, .. }))) => Some(*code),
        (State::Error | State::InputRefused | State::KernelDied, _) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:X-20
    #[test]
    fn only_what_failed_by_itself_has_an_exit_code() {
        let exit = EndReport::Died(Death {
            cause: DeathCause::Exit { code: 3 },
            stderr_tail: String::new(),
            strays: Vec::new(),
        });
        assert_eq!(exit_code(State::KernelDied, Some(&exit)), Some(3));
        assert_eq!(exit_code(State::Error, None), Some(1));
        for state in [State::Done, State::Cancelled, State::TimedOut, State::Running] {
            assert_eq!(exit_code(state, None), None);
        }
    }
}
