//! The last lines about a run: its counts, and the one thing to do next.
//!
//! Owns which counts matter, and the choice of that step. The sentences are in `words`.

use std::time::Duration;

use inkcell_engine::api::{CellReport, PythonReport, State};

use super::{Advice, duration, has_run, is_saved, is_well};
use crate::output::count;
use crate::setup::quoted;
use crate::view::paint::{Line, Role};
use crate::words;

/// The counts of a run, with a comma between them.
pub(super) fn of(told: &PythonReport, took: Duration) -> Line {
    let of =
        |wanted: fn(&CellReport) -> bool| told.cells.iter().filter(|cell| wanted(cell)).count();
    let (ran, not_run) = (of(has_run), of(|cell| !has_run(cell)));
    let stopped = of(|cell| has_run(cell) && cell.state == State::Cancelled);
    let failed = ran - stopped - of(|cell| has_run(cell) && is_well(cell));
    let skipped = told.notebook.as_ref().map_or(0, |notebook| notebook.skipped.len());
    let fresh = told.notebook.as_ref().map_or(0, |notebook| notebook.fresh.len());
    let mut line = Line::of(
        Role::Strong,
        &match told.cells.len() {
            0 if fresh > 0 => words::run::NOTHING_STALE.to_owned(),
            0 => words::run::NOTHING_TO_RUN.to_owned(),
            _ => words::run::ran(&count(ran, "cell"), &duration(took)),
        },
    );
    // The run ended well, so an option or the notebook allows these failures.
    let is_allowed = told.state == State::Done;
    let failures = match is_allowed {
        true => (Role::Warning, words::run::failed_as_allowed(failed)),
        false => (Role::Error, format!("{failed} failed")),
    };
    for (number, (role, words)) in [
        (failed, failures),
        (stopped, (Role::Warning, format!("{stopped} interrupted"))),
        (not_run, (Role::Plain, format!("{not_run} not run"))),
        (fresh, (Role::Plain, format!("{fresh} fresh"))),
        (skipped, (Role::Plain, format!("{skipped} skipped"))),
    ] {
        if number > 0 {
            line.push(Role::Plain, ", ");
            line.push(role, &words);
        }
    }
    line
}

/// The next step after a run, if its end suggests one.
pub(super) fn next_step(told: &PythonReport, advice: &Advice) -> Option<String> {
    let Advice::Wanted { resume } = advice else { return None };
    let notebook = told.notebook.as_ref().filter(|notebook| notebook.unsaved().is_none())?;
    if !told.cells.iter().any(is_saved) {
        return None;
    }
    Some(match (told.state, resume) {
        (State::Cancelled, Some(command)) => words::run::go_on(command),
        (state, Some(command)) if state != State::Done => words::run::go_on_when_fixed(command),
        _ => words::run::see_outputs(&quoted(&notebook.written)),
    })
}
